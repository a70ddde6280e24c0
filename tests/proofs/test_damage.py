"""Damage is noticed: a flipped bit, a full disk and a file that cannot be written are never a 2xx.

A bit is flipped in the file of a stopped service, which is started again and asked for everything.
What it answers is right, or is 503, and then it is not ready; what no request needs, `check` finds.
"""

import ctypes
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FEEDKEEP, DidNotStart, FeedkeepProcess
from forms import in_the_long_form

FEEDS = 300
ACCOUNTS = 3
TMPFS_BYTES = 2 * 1024 * 1024
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


EVERYTHING = "/subscriptions?per_page=1000"
NEW = {"subscriptions": [{"feed_url": "https://new.example"}]}


def client_of(process, token):
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=process.base_url, headers=headers, timeout=30)


class Household:
    """Accounts with their lists as they are right, and a copy of the file with all of them."""

    def __init__(self, process):
        self.process = process
        self.file = process.folder / "feedkeep.db"
        self.lists = {}
        for account in range(ACCOUNTS):
            token = process.new_token(process.new_account("a password"))
            with client_of(process, token) as client:
                items = [{"feed_url": f"https://{account}.example/{n}"} for n in range(FEEDS)]
                assert client.post("/subscriptions", json={"subscriptions": items}).is_success
                self.lists[token] = client.get(EVERYTHING).json()["subscriptions"]
        process.stop()
        self.whole = self.file.read_bytes()

    def findings(self, places):
        """Flip so many bits, one after the other; say whether each is refused, and is noticed."""
        chance = random.Random(5)
        for _ in range(places):
            content = bytearray(self.whole)
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            self.file.write_bytes(content)
            yield self._ask_for_everything()

    def _ask_for_everything(self):
        """Read every list, write to every account; stop the service, and check its file."""
        try:
            self.process.start()
            is_refused, is_wrong = self._ask()
            assert self.process.stop() == 0
        except (DidNotStart, httpx.ConnectError):  # it ended before it served, or soon after
            is_refused, is_wrong = True, self.process.wait() != 1
        check = self.process.run("check")
        is_wrong |= "A defect" in check.stderr + self.process.log.read_text()
        return is_refused, (is_refused or check.returncode != 0) and not is_wrong

    def _ask(self):
        """Return whether anything was refused, and whether anything was not right."""
        is_refused = is_wrong = False
        for token, right in self.lists.items():
            with client_of(self.process, token) as client:
                listed = client.get(EVERYTHING)
                known = client.post("/subscriptions", json={"subscriptions": []})
                added = client.post("/subscriptions", json=NEW)
            for reply in (listed, known, added):
                is_refused |= reply.status_code == 503
                is_wrong |= reply.status_code not in {200, 503}
            is_wrong |= listed.is_success and listed.json()["subscriptions"] != right
        is_ready = httpx.get(f"{self.process.base_url}/readyz").is_success
        return is_refused, is_wrong or (is_ready and is_refused)


def test_every_flipped_bit_is_noticed(start, amount):
    found = list(Household(start()).findings(amount(2, 50)))
    assert all(is_noticed for _, is_noticed in found), found
    assert any(is_refused for is_refused, _ in found)


@in_the_long_form
def test_the_proof_notices_a_file_without_checksums(start):
    household = Household(start())
    household.process.run_first("pages_have_no_checksums")
    assert not all(is_noticed for _, is_noticed in household.findings(5))


def of_a_small_disk(folder, script):
    """Return a process that a script starts on a file system of its own, that has little room."""
    small = folder / "small"
    small.mkdir()
    process = FeedkeepProcess(small)
    mount = f"mount -t tmpfs -o size={TMPFS_BYTES} tmpfs {small}"
    process.command = [*AS_ROOT, f"{mount} && {script}", "sh"]
    process.log = folder / "log.jsonl"
    return process


def ballast_of(process):
    return Path(f"/proc/{process.process.pid}/root{process.folder}/ballast")


AS_ROOT = ["unshare", "--map-root-user", "--mount", "sh", "-c"]


def can_mount():
    with suppress(OSError):
        probe = [*AS_ROOT, "mount -t tmpfs tmpfs /mnt"]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return False


if can_mount():  # where not, tests/running/test_running.py has a full disk that is not quite one

    def test_a_full_file_system_is_503_and_not_ready_until_there_is_room(tmp_path):
        with of_a_small_disk(tmp_path, f'exec {FEEDKEEP} "$@" --setup me') as process:
            token = next(line for line in process.process.stdout if line.startswith("Token:"))
            with client_of(process, token.split()[1]) as client:

                def add(what):
                    return client.post("/subscriptions", json=what).status_code

                assert add(NEW) == 200
                with suppress(OSError):
                    ballast_of(process).write_bytes(bytes(TMPFS_BYTES))
                assert 503 in {add(many(number)) for number in range(20)}
                assert add(many(20)) == 503
                total = client.get("/subscriptions").json()["total"]
                assert client.get("/readyz").status_code == 503
                ballast_of(process).unlink()
                process.wait_until_ready()
                assert add(many(20)) == 200
                assert client.get("/subscriptions").json()["total"] == total + 100

    def test_without_a_free_byte_it_starts_and_reads_and_writes_once_there_is_room(tmp_path):
        made = f"{FEEDKEEP} account create me && {FEEDKEEP} token create me > {tmp_path}/token"
        fill = f"cat /dev/zero > {tmp_path}/small/ballast"
        with of_a_small_disk(tmp_path, f'{made} && {{ {fill}; exec {FEEDKEEP} "$@"; }}') as process:
            token = (tmp_path / "token").read_text().split()[-1]
            with client_of(process, token) as client:
                assert client.get("/subscriptions").json()["total"] == 0
                for refused in (client.post("/subscriptions", json=NEW), client.get("/readyz")):
                    assert refused.status_code == 503
                    assert "full or read-only" in refused.json()["message"]
                process.wait_for_line("database is read-only")
                ballast_of(process).unlink()
                process.wait_until_ready()
                assert client.post("/subscriptions", json=NEW).status_code == 200
                process.wait_for_line("database writable again")

    def test_a_database_on_a_read_only_file_system_is_read_or_told_what_to_do(tmp_path):
        process = FeedkeepProcess(tmp_path)
        process.must("account", "create", "anna")
        mount = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
        command = [*AS_ROOT, f"{mount} && exec {FEEDKEEP} account list"]
        listed = run(process, command)
        assert listed.returncode == 0
        assert "anna" in listed.stdout
        (tmp_path / ".feedkeep.db.lock").unlink()
        refused = run(process, command)
        assert refused.returncode == 1
        assert "as the database: Read-only file system" in refused.stderr
        assert refused.stderr.endswith(
            " Copy it, with its -wal if there is one, to a folder that can be written to.\n"
        )


def many(number):
    urls = [f"https://{number}.example/{one}/{'x' * 500}" for one in range(100)]
    return {"subscriptions": [{"feed_url": url} for url in urls]}


def run(process, command, **how):
    told = {"env": process.environment, "capture_output": True, "text": True}
    return subprocess.run(command, check=False, **told, **how)


@pytest.mark.parametrize("name", ["feedkeep.db", ".feedkeep.db.lock"])
def test_a_file_that_cannot_be_written_is_refused_at_the_start_in_one_sentence(tmp_path, name):
    process = FeedkeepProcess(tmp_path)
    process.must("migrate")
    (tmp_path / name).chmod(0o400)
    serve = [FEEDKEEP, "serve", "--port", "0"]
    refused = run(process, serve, preexec_fn=without_the_rights_of_root)
    assert refused.returncode == 1
    which = "" if name == "feedkeep.db" else f" ({tmp_path / name})"
    assert refused.stderr == (
        f"feedkeep: Cannot use {tmp_path / 'feedkeep.db'} as the database:"
        f" Permission denied{which}. {tmp_path} and all files in it have to belong to the user who"
        " runs this.\n"
    )


def without_the_rights_of_root():
    """Apply the permissions of files to root, too."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
