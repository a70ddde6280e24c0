"""The machines of a Citus cluster: made for a drill, or running already."""

import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from postgres_server import PostgresServer

SETTINGS = {
    "shared_preload_libraries": "citus",
    "max_connections": "300",
    "wal_level": "logical",  # shards move while they are written
    "fsync": "on",
    "log_line_prefix": "%p %v ",  # which transaction sends what to which machine
    "citus.enable_statistics_collection": "off",
}


@dataclass
class Cluster:
    """URLs of the coordinator and the workers, as their superuser.

    Also their processes, and the programs of PostgreSQL, if the drill has started them: nothing of
    a cluster that already runs is killed.
    """

    coordinator: str
    workers: list[str]
    servers: list[PostgresServer] = field(default_factory=list)
    programs: Path | None = None

    def environment(self):
        return {
            "FEEDKEEP_TEST_POSTGRES": self.coordinator,
            "FEEDKEEP_TEST_WORKERS": " ".join(self.workers),
        }


def programs_with_citus(prefix):
    """Return the folder of the programs of PostgreSQL with Citus: in a prefix, or pg_config's."""
    if prefix:
        found = sorted(Path(prefix).resolve().glob("**/bin/postgres"))
        folders = [program.parent for program in found]
    elif shutil.which("pg_config"):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        folders = [Path(told.stdout.strip())]
    else:
        folders = []
    return next((folder for folder in folders if _has_citus(folder)), None)


def _has_citus(programs):
    if not (programs / "pg_config").exists() or not (programs / "postgres").exists():
        return False
    told = subprocess.run(
        [programs / "pg_config", "--pkglibdir"], capture_output=True, text=True, check=True
    )
    return (Path(told.stdout.strip()) / "citus.so").exists()


@contextmanager
def made(programs, workers=2):
    """Make a coordinator and workers, on free ports of loopback, in temporary folders."""
    with ExitStack() as stack:
        servers = [stack.enter_context(new_machine(programs)) for _ in range(workers + 1)]
        coordinator, *others = (server.url for server in servers)
        yield Cluster(coordinator, others, servers, programs)


def new_machine(programs):
    return PostgresServer(programs=str(programs), superuser="postgres", **SETTINGS)
