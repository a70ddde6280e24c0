"""Damage is noticed: a flipped bit, a full disk and a file that cannot be written are never a 2xx.

A bit is flipped in the file of a stopped service, which is started again and asked for everything.
What it answers is right, or is 503, and then it is not ready; what no request needs, `check` finds.
"""

import ctypes
import random
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FEEDKEEP, DidNotStart, FeedkeepProcess
from forms import in_the_long_form

FEEDS = 300
ACCOUNTS = 3
TMPFS_BYTES = 2 * 1024 * 1024
CAP_DAC_OVERRIDE = 1
PR_CAPBSET_DROP = 24


class Household:
    """Accounts with their lists as they are right, and a copy of the file with all of them."""

    def __init__(self, process):
        self.process = process
        self.file = process.folder / "feedkeep.db"
        self.whole = process.folder / "whole"
        self.lists = {}
        for account in range(ACCOUNTS):
            token = process.new_token(process.new_account("a password"))
            with self._client(token) as client:
                urls = [f"https://{account}.example/{number}" for number in range(FEEDS)]
                items = [{"feed_url": url} for url in urls]
                assert client.post("/subscriptions", json={"subscriptions": items}).is_success
                self.lists[token] = client.get(EVERYTHING).json()["subscriptions"]
        process.stop()
        shutil.copy(self.file, self.whole)

    def flip(self, chance):
        content = bytearray(self.whole.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        self.file.write_bytes(content)

    def ask_for_everything(self):
        """Read every list, write to every account; stop the service, and check its file."""
        try:
            self.process.start()
            is_refused, is_wrong = self._ask()
            assert self.process.stop() == 0
        except (DidNotStart, httpx.ConnectError):  # it ended before it served, or soon after
            is_refused, is_wrong = True, self.process.wait() != 1
        check = self.process.run("check")
        is_wrong |= "A defect" in check.stderr + self.process.log.read_text()
        is_found = check.returncode != 0
        return Finding(is_refused, is_found, is_wrong)

    def _ask(self):
        """Return whether anything was refused, and whether anything was not right."""
        is_refused = is_wrong = False
        for token, right in self.lists.items():
            with self._client(token) as client:
                listed = client.get(EVERYTHING)
                known = client.post("/subscriptions", json={"subscriptions": []})
                added = client.post("/subscriptions", json=NEW)
            for reply in (listed, known, added):
                is_refused |= reply.status_code == 503
                is_wrong |= reply.status_code not in {200, 503}
            is_wrong |= listed.is_success and listed.json()["subscriptions"] != right
        is_ready = httpx.get(f"{self.process.base_url}/readyz").is_success
        return is_refused, is_wrong or (is_ready and is_refused)

    def _client(self, token):
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.process.base_url, headers=headers, timeout=30)


EVERYTHING = "/subscriptions?per_page=1000"
NEW = {"subscriptions": [{"feed_url": "https://new.example"}]}


@dataclass(frozen=True)
class Finding:
    """How a flipped bit was noticed, and whether anything was answered that is not right."""

    is_refused: bool
    is_found_by_check: bool
    is_wrong: bool

    @property
    def is_noticed(self):
        return (self.is_refused or self.is_found_by_check) and not self.is_wrong


def findings(household, places):
    chance = random.Random(5)
    for _ in range(places):
        household.flip(chance)
        yield household.ask_for_everything()


def test_every_flipped_bit_is_noticed(start, amount):
    found = list(findings(Household(start("sqlite")), amount(2, 50)))
    assert all(finding.is_noticed for finding in found), found
    assert any(finding.is_refused for finding in found)


@in_the_long_form
def test_the_proof_notices_a_file_without_checksums(start):
    household = Household(start("sqlite"))
    household.process.run_first("pages_have_no_checksums")
    assert not all(finding.is_noticed for finding in findings(household, 5))


# A disk that is full, and one that cannot be written


@pytest.fixture
def on_a_small_disk(tmp_path):
    """A service on a file system of its own, that has little room."""
    process = of_a_small_disk(tmp_path, f'exec {FEEDKEEP} "$@" --setup me')
    process.start()
    yield process
    process.stop()


def of_a_small_disk(folder, script):
    """Return a process that a script starts on a file system of its own."""
    small = folder / "small"
    small.mkdir()
    process = FeedkeepProcess(small)
    mount = f"mount -t tmpfs -o size={TMPFS_BYTES} tmpfs {small}"
    process.command = ["unshare", "--map-root-user", "--mount", "sh", "-c",
                       f"{mount} && {script}", "sh"]  # fmt: skip
    process.log = folder / "log.jsonl"
    return process


def can_mount():
    probe = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    with suppress(OSError):
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return False


if can_mount():  # where not, tests/running/test_running.py has a full disk that is not quite one

    def test_a_full_file_system_is_503_and_not_ready_until_there_is_room(on_a_small_disk):
        process = on_a_small_disk
        assert process.process.stdout is not None
        token = next(line for line in process.process.stdout if line.startswith("Token:")).split()[
            1
        ]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=process.base_url, headers=headers) as client:
            assert client.post("/subscriptions", json=NEW).status_code == 200
            ballast = Path(f"/proc/{process.process.pid}/root{process.folder}/ballast")
            with suppress(OSError):
                ballast.write_bytes(bytes(TMPFS_BYTES))
            statuses = {client.post("/subscriptions", json=many(n)).status_code for n in range(20)}
            assert 503 in statuses
            assert client.post("/subscriptions", json=many(20)).status_code == 503
            total = client.get("/subscriptions").json()["total"]
            assert httpx.get(f"{process.base_url}/readyz").status_code == 503
            ballast.unlink()
            process.wait_until_ready()
            assert client.post("/subscriptions", json=many(20)).status_code == 200
            assert client.get("/subscriptions").json()["total"] == total + 100

    def test_without_a_free_byte_it_starts_and_reads_and_writes_once_there_is_room(tmp_path):
        made = f"{FEEDKEEP} account create me && {FEEDKEEP} token create me > {tmp_path}/token"
        fill = f"cat /dev/zero > {tmp_path}/small/ballast"
        process = of_a_small_disk(tmp_path, f'{made} && {{ {fill}; exec {FEEDKEEP} "$@"; }}')
        with process:
            token = (tmp_path / "token").read_text().split()[-1]
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=process.base_url, headers=headers) as client:
                assert client.get("/subscriptions").json()["total"] == 0
                for refused in (client.post("/subscriptions", json=NEW), client.get("/readyz")):
                    assert refused.status_code == 503
                    assert "full or read-only" in refused.json()["message"]
                process.wait_for_line("database is read-only")
                Path(f"/proc/{process.process.pid}/root{process.folder}/ballast").unlink()
                process.wait_until_ready()
                assert client.post("/subscriptions", json=NEW).status_code == 200
                process.wait_for_line("database writable again")

    @pytest.mark.parametrize("has_lock", [True, False])
    def test_a_database_on_a_read_only_file_system_is_read_or_told_what_to_do(tmp_path, has_lock):
        process = FeedkeepProcess(tmp_path)
        process.must("account", "create", "anna")
        if not has_lock:
            (tmp_path / ".feedkeep.db.lock").unlink()
        mount = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
        done = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c",
             f"{mount} && exec {FEEDKEEP} account list"],
            env=process.environment,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        if has_lock:
            assert done.returncode == 0
            assert "anna" in done.stdout
            return
        assert done.returncode == 1
        assert "as the database: Read-only file system" in done.stderr
        assert done.stderr.endswith(
            " Copy it, with its -wal if there is one, to a folder that can be written to.\n"
        )


def many(number):
    urls = [f"https://{number}.example/{one}/{'x' * 500}" for one in range(100)]
    return {"subscriptions": [{"feed_url": url} for url in urls]}


@pytest.mark.parametrize("name", ["feedkeep.db", ".feedkeep.db.lock"])
def test_a_file_that_cannot_be_written_is_refused_at_the_start_in_one_sentence(tmp_path, name):
    process = FeedkeepProcess(tmp_path)
    process.must("migrate")
    (tmp_path / name).chmod(0o400)
    done = subprocess.run(
        [FEEDKEEP, "serve", "--port", "0"],
        env=process.environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=without_the_rights_of_root,
    )
    assert done.returncode == 1
    which = "" if name == "feedkeep.db" else f" ({tmp_path / name})"
    assert done.stderr == (
        f"feedkeep: Cannot use {tmp_path / 'feedkeep.db'} as the database:"
        f" Permission denied{which}. {tmp_path} and all files in it have to belong to the user who"
        " runs this.\n"
    )


def without_the_rights_of_root():
    """Let root, too, be held to what a file allows."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
