"""The units in deploy/systemd: what systemd says of them, and whether their commands work."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = ("feedkeep.service", "feedkeep-backup.service")
ANALYZE = shutil.which("systemd-analyze")

HARDENING = {
    "NoNewPrivileges": "true", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
    "ProtectSystem": "strict", "ProtectHome": "true", "PrivateTmp": "true",
    "PrivateDevices": "true", "PrivateUsers": "true", "PrivateIPC": "true", "ProtectClock": "true",
    "ProtectHostname": "true", "ProtectKernelLogs": "true", "ProtectKernelModules": "true",
    "ProtectKernelTunables": "true", "ProtectControlGroups": "true", "ProtectProc": "invisible",
    "ProcSubset": "pid", "RestrictNamespaces": "true", "RestrictRealtime": "true",
    "RestrictSUIDSGID": "true", "LockPersonality": "true", "MemoryDenyWriteExecute": "true",
    "SystemCallArchitectures": "native", "User": "feedkeep", "UMask": "0077",
}  # fmt: skip
"""What the rating is made of; without systemd, this much can be seen in the file."""


def directives(unit: str) -> dict[str, list[str]]:
    found = {}
    for line in (UNITS / unit).read_text().splitlines():
        name, is_there, value = line.partition("=")
        if is_there and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("unit", SERVICES)
def test_a_service_may_do_little_besides_its_work(unit, capsys):
    found = directives(unit)
    assert {name: " ".join(found[name]) for name in HARDENING} == HARDENING
    assert found["SystemCallFilter"][:2] == ["@system-service", "~@privileged @resources"]
    if ANALYZE is None:
        with capsys.disabled():
            sys.stdout.write(f"\nsystemd-analyze is not here: {unit} is checked, and not rated.\n")
        return
    command = [ANALYZE, "security", "--offline=true", "--no-pager", str(UNITS / unit)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rating = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert rating is not None, told
    assert float(rating[1]) <= 2.0, told


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path):
    assert sorted(path.name for path in UNITS.iterdir()) == [
        "feedkeep-backup.service", "feedkeep-backup.timer", "feedkeep.env", "feedkeep.service",
        "feedkeep.socket",
    ]  # fmt: skip
    for path in UNITS.iterdir():
        text = path.read_text().replace("ExecStart=feedkeep ", f"ExecStart={sys.executable} ")
        (tmp_path / path.name).write_text(text)
    if ANALYZE is not None:  # the next tests look at the lines that are not rated
        units = [str(path) for path in tmp_path.iterdir() if path.suffix != ".env"]
        told = subprocess.run(
            [ANALYZE, "verify", "--man=no", *units], capture_output=True, text=True, check=False
        )
        assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


def test_the_timer_catches_up_on_what_it_missed_and_does_not_run_everywhere_at_once():
    timer = directives("feedkeep-backup.timer")
    told = [timer[name] for name in ("OnCalendar", "Persistent", "RandomizedDelaySec")]
    assert told == [["daily"], ["true"], ["1h"]]


def test_the_package_waits_for_no_service_which_may_itself_wait_for_a_database():
    told = (UNITS.parent / "debian" / "postinst").read_text()
    commands = re.findall(r"^[^#\n]*systemctl (.*\b(?:re)?start\b.*)", told, re.MULTILINE)
    assert len(commands) == 2
    assert all(command.startswith("--no-block ") for command in commands)


def test_their_commands_serve_and_back_up_what_they_name(tmp_path):
    service, backup = map(directives, SERVICES)
    assert service["Type"] == ["notify"]
    assert service["ExecStart"] == ["feedkeep serve"]
    [database] = service["Environment"]
    assert backup["Environment"] == [database]
    name, _, url = database.partition("=")
    assert name == "FEEDKEEP_DATABASE"

    for unit in (service, backup):
        for state in " ".join(unit["StateDirectory"]).split():
            (tmp_path / state).mkdir(exist_ok=True)
    [line] = backup["ExecStart"]
    program, *arguments = shlex.split(line.replace("/var/lib", str(tmp_path)))
    assert program == "feedkeep"
    with FeedkeepProcess(tmp_path, url.replace("/var/lib", str(tmp_path))) as process:
        process.must(*arguments)
    assert (tmp_path / "feedkeep" / "feedkeep.db").exists()
    assert len(list((tmp_path / "feedkeep-backups").iterdir())) == 1
