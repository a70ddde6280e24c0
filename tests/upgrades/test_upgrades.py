"""A database of each released version goes on with this program, and nothing in it is lost.

The folder has one file for each version and store, written once by that version's own programs. A
release adds its own: what it must hold is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from known_feeds import note
from postgres_server import drop_database, new_database, with_connection

from feedkeep.model import FeedContent, Stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.store.sqlite.connection import open_file

FOLDER = Path(__file__).parent
DATABASES = sorted(FOLDER.glob("*.sql"), reverse=True)  # SQLite's first
FEEDS = "https://feeds.example/"
FILES = "https://files.example/"

SUBSCRIBED = {
    "plain", "beside?by=another", "moved/new", "first-of-two", "renamed", "alive", "from-the-app",
    "from-nextcloud",
}  # fmt: skip
UNSUBSCRIBED = {"unsubscribed", "removed-by-the-app", "deleted"}
RENAMED, MERGED = "8f14e45f-ceea-467f-9575-2c1d1a1e1f01", "7473296a-e340-5334-8517-a7d995cffaac"
FORMER_GUIDS = {
    "262344cf-45f0-5067-8438-bda5f79750b4": RENAMED,
    "0e6a7c00-8292-5785-8dc1-08c9f6628d18": MERGED,
}
DELETED = "c3b1589a-a69d-5173-8aaf-299a4996e58c"
PLAYED = {
    ("plain", "1.mp3", "play", 120),
    ("plain", "2.mp3", "download", None),
    ("plain", "1.mp3", "flattr", None),
    ("moved/new", "3.mp3", "delete", None),
    ("moved/new", "3.mp3", "new", None),
}


@pytest.fixture(params=first_of(*DATABASES), ids=lambda path: path.name.removesuffix(".sql"))
def written(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def older(
    written: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[FeedkeepProcess]:
    """This program's commands on a database of that version."""
    if ".sqlite." in written.name:
        make_file(written, tmp_path / "feedkeep.db")
        yield FeedkeepProcess(tmp_path)
        return
    server: str = request.getfixturevalue("postgres")
    database = new_database(server)
    with_connection(database, lambda connection: connection.execute(written.read_text()))
    yield FeedkeepProcess(tmp_path, database)
    drop_database(server, database)


@pytest.fixture
def upgraded(older: FeedkeepProcess) -> Iterator[FeedkeepProcess]:
    """This program's service on a database of that version."""
    with older:
        yield older


def make_file(written: Path, path: Path) -> None:
    with closing(open_file(path)) as database:
        database.execute(written.read_text())


def told(written: Path, what: str) -> str:
    """Return what the head of a file tells of it."""
    found = re.search(rf"^-- {re.escape(what)}: (.*)$", written.read_text(), re.MULTILINE)
    assert found, what
    return found[1]


def asking(process: FeedkeepProcess, token: str) -> httpx.Client:
    return httpx.Client(base_url=process.base_url, headers={"Authorization": f"Bearer {token}"})


def paths(urls: list[str]) -> set[str]:
    found = {url.removeprefix(FEEDS) for url in urls}
    assert len(found) == len(urls)
    return found


def test_every_version_has_a_database_of_each_store() -> None:
    names = {path.name for path in DATABASES}
    versions = {name.rsplit(".", 2)[0] for name in names}
    assert versions
    assert names == {f"{v}.{kind}.sql" for v in versions for kind in ("sqlite", "postgres")}


def test_the_list_is_whole_and_goes_on(upgraded: FeedkeepProcess, written: Path) -> None:
    assert "is whole" in upgraded.must("check")
    with asking(upgraded, told(written, "token of alice")) as client:
        listed = client.get("/subscriptions", params={"per_page": 100}).json()["subscriptions"]
        status = {feed["feed_url"].removeprefix(FEEDS): feed["is_subscribed"] for feed in listed}
        kept = {path for path, is_subscribed in status.items() if is_subscribed}
        assert (kept, status.keys() - kept) == (SUBSCRIBED, UNSUBSCRIBED)
        for former, guid in FORMER_GUIDS.items():
            assert client.get(f"/subscriptions/{former}").json()["new_guid"] == guid
        assert [feed["guid"] for feed in listed if "deleted" in feed] == [DELETED]
        added = client.post("/subscriptions", json={"subscriptions": [{"feed_url": FEEDS + "new"}]})
        newest = added.json()["success"][0]["subscription_changed"]
        assert newest > max(feed.get("subscription_changed", "") for feed in listed)
    assert "is whole" in upgraded.must("check")


def test_what_was_known_of_feeds_is_shown_as_before(
    upgraded: FeedkeepProcess, written: Path
) -> None:
    """No list turns into addresses until its feeds are fetched again."""
    long_ago = Stamp(1_700_000_000_000_000)
    known = {path: FEEDS + path for path in ("plain", "moved/new", "deleted")}
    for path, url in known.items():
        content = FeedContent(title=path)
        upgraded.use(
            lambda service, url=url, content=content: note(
                service, url, content, looked=long_ago, answered=long_ago
            )
        )
    with asking(upgraded, told(written, "token of alice")) as client:

        def title(path: str) -> str:
            guid = parse_feed_url(known[path]).guid
            found: str = client.get(f"/subscriptions/{guid}/feed").json()["title"]
            return found

        for path in ("plain", "moved/new"):
            assert title(path) == path
        added = {"subscriptions": [{"feed_url": url} for url in known.values()]}
        assert client.post("/subscriptions", json=added).status_code == 200
        for path in known:  # also what was removed, and comes back
            assert title(path) == path


def test_who_was_let_in_is_and_who_was_not_is_not(upgraded: FeedkeepProcess, written: Path) -> None:
    for who, status in {
        "token of alice": 200,
        "token of alice's app": 200,
        "token that was revoked": 401,
        "token of gone": 401,
    }.items():
        with asking(upgraded, told(written, who)) as client:
            assert client.get("/subscriptions").status_code == status, who
    for password, status in ((told(written, "password of alice"), 200), ("wrong", 401)):
        login = f"{upgraded.base_url}/api/2/auth/alice/login.json"
        assert httpx.post(login, auth=("alice", password)).status_code == status


def test_apps_go_on_with_what_was_played_and_their_settings(
    upgraded: FeedkeepProcess, written: Path
) -> None:
    password = told(written, "password of alice")
    with httpx.Client(base_url=upgraded.base_url, auth=("alice", password)) as client:
        played = client.get("/api/2/episodes/alice.json", params={"since": 0}).json()["actions"]
        assert {
            (
                action["podcast"].removeprefix(FEEDS),
                action["episode"].removeprefix(FILES),
                action["action"],
                action.get("position"),
            )
            for action in played
        } == PLAYED
        devices = client.get("/api/2/devices/alice.json").json()
        assert [(device["id"], device["caption"]) for device in devices] == [
            ("phone", "Alice's phone")
        ]
        assert client.get("/api/2/settings/alice/account.json").json() == {"theme": "dark"}
        since = {"since": 0}
        changes = client.get("/api/2/subscriptions/alice/phone.json", params=since).json()
        assert paths(changes["add"]) == SUBSCRIBED
    exported = upgraded.must("export", "Ünïcode", "--format", "urls").split()
    assert paths(exported) == SUBSCRIBED


def test_a_dry_run_says_what_will_change_and_changes_nothing(older: FeedkeepProcess) -> None:
    first, *steps, last = older.must("migrate", "--dry-run").splitlines()
    assert " has version " in first
    assert "labels.sql: What the owner of a list calls its feeds, and the folders" in "".join(steps)
    assert last == "Stop all older processes first: they cannot go on with it."
    again = older.must("migrate", "--dry-run").splitlines()
    assert again == [first, *steps, last]
    older.environment["FEEDKEEP_PORT"] = "0"
    assert "note  database: " in older.must("doctor")
    assert older.must("migrate", "--dry-run").splitlines() == again
    older.must("migrate")
    shown = older.must("migrate", "--dry-run")
    assert shown.endswith(" is up to date; there is nothing to change.\n")


def test_a_dry_run_makes_no_database(tmp_path: Path, postgres: str) -> None:
    file = FeedkeepProcess(tmp_path)
    done = file.run("migrate", "--dry-run")
    assert (done.returncode, file.database in done.stderr) == (1, True)
    assert list(tmp_path.glob("feedkeep.db*")) == []
    database = new_database(postgres)
    empty = FeedkeepProcess(tmp_path, database)
    for _ in range(2):
        assert "has no tables yet" in empty.must("migrate", "--dry-run")
    drop_database(postgres, database)


def test_a_backup_of_that_version_is_restored(written: Path, tmp_path: Path) -> None:
    if ".postgres." in written.name:
        return  # what pg_dump writes is what the other tests begin with
    make_file(written, tmp_path / "backup.db")
    process = FeedkeepProcess(tmp_path)
    process.must("restore", str(tmp_path / "backup.db"))
    assert "is whole" in process.must("check")
    assert paths(process.must("export", "alice", "--format", "urls").split()) == SUBSCRIBED


def test_one_list_is_taken_out_of_a_backup_of_that_version(
    older: FeedkeepProcess, written: Path, tmp_path: Path
) -> None:
    """Into a database of each store; a backup is a file of SQLite."""
    backup = tmp_path / "backup.db"
    make_file(written.with_name(written.name.replace(".postgres.", ".sqlite.")), backup)
    older.must("account", "delete", "alice", "--yes")
    older.must("account", "create", "alice", stdin="")
    older.must("restore-list", "alice", "--from", str(backup), "--yes")
    assert paths(older.must("export", "alice", "--format", "urls").split()) == SUBSCRIBED
    assert "is whole" in older.must("check")
