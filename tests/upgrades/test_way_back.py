"""The way back: the older version restores the backup that was made before the upgrade.

The older one is this program, and does what docs/upgrades.md says. The newer one is the same with
made-up migrations (`proofs/further_steps.py`), so each version shows that one can go back to it,
before it is released.
"""

import subprocess

import httpx
import pytest
from feedkeep_process import DidNotStart, FeedkeepProcess
from postgres_server import PostgresServer, new_database

KEPT, LEFT, NEW = (f"https://{name}.example/feed" for name in ("kept", "left", "new"))


class OnSqlite:
    """An older and a newer version on one database, and a backup of its kind by the older one."""

    backup = "before-the-upgrade.db"

    def __init__(self, folder, database=""):
        for name in ("older", "newer"):
            (folder / name).mkdir()
        self.older = FeedkeepProcess(folder / "older", database)
        self.newer = FeedkeepProcess(folder / "newer", self.older.database)
        self._backup = str(folder / self.backup)

    def back_up(self):
        self.older.must("backup", self._backup)

    def restore(self):
        """Restore that backup with the older version, beside the files of the newer one."""
        for file in [*self.older.folder.glob("feedkeep.db*")]:
            file.rename(file.with_name(f"old-{file.name}"))
        self.older.must("restore", self._backup)


class OnPostgres(OnSqlite):
    backup = "before-the-upgrade.dump"

    def __init__(self, folder, server):
        self._server = server
        super().__init__(folder, new_database(server.url))

    def back_up(self):
        self._run("pg_dump", "--format=custom", "--schema=feedkeep", f"--file={self._backup}",
                  self.older.database)  # fmt: skip

    def restore(self):
        empty = new_database(self._server.url)
        self._run("pg_restore", f"--dbname={empty}", self._backup)
        self.older = FeedkeepProcess(self.older.folder, empty)
        self.older.must("database", "restored")

    def _run(self, program, *arguments):
        subprocess.run([self._server.programs / program, *arguments], check=True)


@pytest.fixture(params=["sqlite", "postgres"])
def versions(request, tmp_path):
    if request.param == "sqlite":
        yield OnSqlite(tmp_path)
        return
    with PostgresServer() as server:
        yield OnPostgres(tmp_path, server)


def ask(process, token, method, path="/subscriptions", **what):
    """Ask as an app of the interface does, with one token, whatever serves."""
    url, headers = f"{process.base_url}{path}", {"Authorization": f"Bearer {token}"}
    return httpx.request(method, url, headers=headers, **what).raise_for_status()


def add(process, token, *urls):
    items = [{"feed_url": url} for url in urls]
    ask(process, token, "POST", json={"subscriptions": items})


def sync(process, token, **since):
    """Return the changes since a stamp, oldest first, and the list's epoch."""
    reply = ask(process, token, "GET", params=since)
    return reply.json()["subscriptions"], reply.headers["feedkeep-epoch"]


def status(feeds):
    return {feed["feed_url"]: feed["is_subscribed"] for feed in feeds}


def test_the_older_version_goes_on_with_what_was_backed_up_before_the_upgrade(versions, tmp_path):
    older, newer, lists = versions.older, versions.newer, str(tmp_path / "lists.opml")
    newer.run_first("a_version_with_no_way_on")
    with older:
        name = older.new_account()
        token = older.new_token(name)
        add(older, token, KEPT, LEFT)
        before, epoch = sync(older, token)
    versions.back_up()

    advice = "Back up first: going back to an older version requires a backup that it can read."
    assert advice in newer.must("migrate", "--dry-run")
    with newer:
        left = f"/subscriptions/{before[1]['guid']}"
        ask(newer, token, "PATCH", left, json={"is_subscribed": False})
        add(newer, token, NEW)
        after, same = sync(newer, token)
    assert (status(after), same) == ({KEPT: True, LEFT: False, NEW: True}, epoch)
    newer.must("export", name, "--output", lists)

    with pytest.raises(DidNotStart, match="feedkeep that wrote it, or restore a backup"), older:
        pass  # were it to serve what it cannot read, it would be stopped here
    older.wait()
    versions.restore()
    older = versions.older
    assert "is intact" in older.must("check")
    with older:
        whole, other = sync(older, token, since=after[-1]["subscription_changed"])
        assert (status(whole), other != epoch) == ({KEPT: True, LEFT: True}, True)
        older.must("import", name, lists)
        found, _ = sync(older, token)
    assert status(found) == {KEPT: True, LEFT: True, NEW: True}
