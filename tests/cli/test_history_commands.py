"""feedkeep history, undo and restore-list, on the database of a running service."""

import re

import pytest
from feedkeep_process import FEEDKEEP, FeedkeepProcess
from test_cli import failure, talk

from feedkeep.model.stamps import write_stamp
from feedkeep.service import Service

FEEDS = "https://a.example/feed\nhttps://b.example/feed\nhttps://c.example/feed\n"


@pytest.fixture
def offline(tmp_path):
    """Commands on a database that no service runs on."""
    yield FeedkeepProcess(tmp_path)  # noqa: PT022 - it is never started


@pytest.fixture
def name(feedkeep):
    """An account with three feeds."""
    return with_feeds(feedkeep)


def with_feeds(process: FeedkeepProcess) -> str:
    name = process.new_account()
    process.must("import", name, "-", stdin=FEEDS)
    return name


def as_on_the_path(told: str) -> str:
    """Return what a command told as if the shell had found it by its name alone."""
    return told.replace(f"`{FEEDKEEP} ", "`feedkeep ")


def wipe(process: FeedkeepProcess, name: str) -> None:
    """Unsubscribe from everything in one request, as an app that was reset does."""
    with process.client(name) as client:
        path = f"/api/2/subscriptions/{name}/phone.json"
        removed = {"add": [], "remove": FEEDS.split()}
        assert client.post(path, json=removed).status_code == 200


def stamps(process: FeedkeepProcess, name: str) -> list[str]:
    """Return the stamps of all changes, newest first."""
    return re.findall(r"^([0-9]{16}) ", process.must("history", name), re.MULTILINE)


def urls(process: FeedkeepProcess, name: str) -> list[str]:
    return sorted(process.must("export", name, "--format", "urls").split())


async def moment_of_now(service: Service) -> str:
    return write_stamp(service.now())


def test_the_history_is_a_table_in_words(feedkeep, name):
    wipe(feedkeep, name)
    feedkeep.must("move", name, "https://a.example/feed", "https://d.example/feed")
    head, moved, wiped, imported, end = feedkeep.must("history", name).splitlines()
    assert head.split() == ["stamp", "when", "who", "what"]
    for line, who, what in (
        (moved, "feedkeep move", "moved https://a.example/feed to https://d.example/feed"),
        (wiped, r"token 1 \(test\) on phone", "unsubscribed 3 feeds"),
        (imported, "feedkeep import", "added 3 feeds"),
    ):
        when = r"[0-9]{16}  [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"
        assert re.fullmatch(rf"{when}  {who} +{what} *", line), line
    assert end.startswith("The history begins at ")


def test_the_feeds_of_a_change_are_named_where_that_is_asked_for(feedkeep, name):
    wipe(feedkeep, name)
    feedkeep.must("move", name, "https://a.example/feed", "https://d.example/feed")
    shown = feedkeep.must("history", name, "--feeds")
    told = [line[line.index("- ") :] for line in shown.splitlines() if line.startswith(" ")]
    assert [line.rstrip() for line in told] == [
        *(f"- unsubscribed {url}" for url in FEEDS.split()),
        *(f"- added {url}" for url in FEEDS.split()),
    ]
    assert "moved https://a.example/feed" in shown


def test_the_history_is_shown_page_by_page(feedkeep, name):
    wipe(feedkeep, name)
    last, first = stamps(feedkeep, name)
    shown = as_on_the_path(feedkeep.must("history", name, "--limit", "1"))
    assert f"There is more: `feedkeep history {name} --before {last}`\n" in shown
    assert first not in shown
    older = feedkeep.must("history", name, "--before", last)
    assert (first in older, last in older) == (True, False)


def test_a_wiped_list_is_back_after_one_command_and_that_can_be_taken_back(feedkeep, name):
    wipe(feedkeep, name)
    assert urls(feedkeep, name) == []
    told = as_on_the_path(feedkeep.must("undo", name, stamps(feedkeep, name)[0]))
    newest = stamps(feedkeep, name)[0]
    assert told == (
        f"Done: subscribed to 3 feeds again.\nTo undo this: `feedkeep undo {name} {newest}`\n"
    )
    assert urls(feedkeep, name) == FEEDS.split()
    assert "Done: unsubscribed 3 feeds." in feedkeep.must("undo", name, newest)
    assert urls(feedkeep, name) == []


def test_feeds_that_were_changed_again_are_asked_about(feedkeep, name):
    wipe(feedkeep, name)
    burst = stamps(feedkeep, name)[0]
    feedkeep.must("move", name, "https://a.example/feed", "https://d.example/feed")
    moving = stamps(feedkeep, name)[0]
    told = failure(feedkeep.run("undo", name, burst))
    assert told == (
        f"Nothing was done: 1 of the feeds was changed again since then, by {moving}."
        " Give --changed-since leave to leave these unchanged, or --changed-since overwrite to undo"
        " those changes, too."
    )
    left = feedkeep.must("undo", name, burst, "--changed-since", "leave")
    assert "Done: subscribed to 2 feeds again.\n1 of the feeds was changed again since then" in left
    assert urls(feedkeep, name) == ["https://b.example/feed", "https://c.example/feed"]
    feedkeep.must("undo", name, stamps(feedkeep, name)[0])
    feedkeep.must("undo", name, burst, "--changed-since", "overwrite")
    assert urls(feedkeep, name) == FEEDS.split()


def test_a_change_that_there_is_not_is_told_in_one_sentence(feedkeep, name):
    told = as_on_the_path(failure(feedkeep.run("undo", name, "1")))
    assert told == (
        f"The history of {name} has no change 1; `feedkeep history {name}` lists its changes."
    )


def test_a_list_is_brought_back_to_what_it_was_at_a_moment_after_a_preview(feedkeep, name):
    at = feedkeep.use(moment_of_now)
    wipe(feedkeep, name)
    feedkeep.must("move", name, "https://a.example/feed", "https://d.example/feed")
    feedkeep.must("import", name, "-", stdin="https://new.example\n")
    asked = ["restore-list", name, "--at", at]
    lines = preview(feedkeep, *asked).splitlines()
    assert lines[0].startswith(f"To restore the list of {name} to its state at {at[:19]}")
    assert lines[1:] == [
        "Restored: 3",
        "  https://a.example/feed",
        "  https://b.example/feed",
        "  https://c.example/feed",
        "Changed: 1",
        "  moved https://d.example/feed to https://a.example/feed",
    ]
    assert urls(feedkeep, name) == ["https://new.example"]
    done = feedkeep.must(*asked, "--yes")
    assert "\nDone: subscribed to 3 feeds again, moved https://d" in done
    assert urls(feedkeep, name) == sorted([*FEEDS.split(), "https://new.example"])
    there = feedkeep.must(*asked, "--yes")
    assert (
        there
        == f"The list of {name} has all feeds that it had at {at[:19]}Z; there is nothing to do.\n"
    )
    assert "Removed: 1\n  https://new.example\n" in preview(feedkeep, *asked, "--drop-added")
    feedkeep.must(*asked, "--drop-added", "--yes")
    assert urls(feedkeep, name) == FEEDS.split()
    nothing = feedkeep.must(*asked, "--drop-added", "--yes")
    assert nothing == f"The list of {name} is as it was at {at[:19]}Z; there is nothing to do.\n"


def preview(feedkeep: FeedkeepProcess, *asked: str) -> str:
    """Return what a command shows, and does not do, since there is no terminal to ask on."""
    shown = feedkeep.run(*asked)
    assert shown.returncode == 1
    reason = "Nothing was done: there is no terminal to confirm on; give --yes."
    assert reason in shown.stderr
    return shown.stdout


def test_a_long_preview_is_cut(feedkeep):
    name = feedkeep.new_account()
    feeds = "".join(f"https://{number:02}.example\n" for number in range(25))
    feedkeep.must("import", name, "-", stdin=feeds)
    told = preview(feedkeep, "restore-list", name, "--at", "1 day ago", "--drop-added")
    assert "Removed: 25\n" in told
    assert "  https://19.example\n  and 5 more\n" in told


def test_on_a_terminal_it_is_asked_whether_to_restore(offline):
    name = with_feeds(offline)
    asked = ["restore-list", name, "--at", "1 day ago", "--drop-added"]
    assert "Removed: 3" in talk(offline, asked, b"n\n")
    assert urls(offline, name) == FEEDS.split()
    assert "Done: deleted 3 feeds." in talk(offline, asked, b"y\n")
    assert urls(offline, name) == []


def test_a_moment_since_a_restore_of_the_database_is_told_to_be_unsure(offline):
    name = with_feeds(offline)
    before = offline.use(moment_of_now)
    offline.must("database", "restored")
    offline.must("import", name, "-", stdin="https://new.example\n")
    asked = ["restore-list", name, "--drop-added", "--at"]
    told = offline.run(*asked, offline.use(moment_of_now))
    assert "Removed: 1\n  https://new.example\n" in told.stdout
    assert re.search("The clock of this list is ahead until .*, and are undone, too", told.stderr)
    assert "ahead" not in offline.run(*asked, before).stderr


def test_one_list_is_taken_out_of_a_backup_while_the_service_runs(tmp_path):
    """Of a feed that the database no longer has, and of what its history has forgotten."""
    with FeedkeepProcess(tmp_path) as process:
        name, other = with_feeds(process), with_feeds(process)
        early = process.use(moment_of_now)
        process.must("import", name, "-", stdin="https://later.example\n")
        backup = tmp_path / "backup.db"
        process.must("backup", str(backup))
        before = backup.read_bytes()
        wipe(process, name)
        wipe(process, other)
        process.must("move", name, "https://a.example/feed", "https://d.example/feed")
        process.must("import", name, "-", stdin="https://new.example\n")
        asked = ["restore-list", name.upper(), "--from", str(backup)]
        shown = preview(process, *asked)
        assert "Restored: 3\n" in shown
        assert "moved https://d.example/feed to https://a.example/feed" in shown
        assert urls(process, name) == ["https://later.example", "https://new.example"]
        assert "subscribed to 3 feeds again" in process.must(*asked, "--yes")
        had = sorted([*FEEDS.split(), "https://later.example"])
        assert urls(process, name) == sorted([*had, "https://new.example"])
        assert urls(process, other) == []
        assert "there is nothing to do" in process.must(*asked, "--yes")
        process.must(*asked, "--drop-added", "--yes")
        assert urls(process, name) == had
        process.must(*asked, "--at", early, "--drop-added", "--yes")
        assert urls(process, name) == FEEDS.split()
        process.must("undo", name, stamps(process, name)[0])
        assert urls(process, name) == had
        assert backup.read_bytes() == before
        assert "intact" in process.must("check")


def test_a_list_of_a_backup_comes_into_an_account_that_has_never_had_its_feeds(offline, tmp_path):
    name = with_feeds(offline)
    offline.must("move", name, "https://a.example/feed", "https://d.example/feed")
    backup = tmp_path / "backup.db"
    offline.must("backup", str(backup))
    had = urls(offline, name)
    offline.must("account", "delete", name, "--yes")
    failed = offline.run("restore-list", name, "--from", str(backup))
    assert "There is no account" in failure(failed)
    offline.must("account", "create", name, stdin="")
    early = offline.run("restore-list", name, "--from", str(backup), "--at", "1980-01-01", "--yes")
    assert "is before" in failure(early)
    offline.must("restore-list", name, "--from", str(backup), "--yes")
    assert urls(offline, name) == had
    offline.must("import", name, "-", stdin="https://a.example/feed\n")
    assert urls(offline, name) == had  # the former URL leads to the feed, as it did
    assert "intact" in offline.must("check")


def test_a_backup_that_has_no_such_list_says_so(offline, tmp_path):
    backup, nothing = tmp_path / "backup.db", tmp_path / "feeds.txt"
    with_feeds(offline)
    offline.must("backup", str(backup))
    name = with_feeds(offline)
    nothing.write_text(FEEDS)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(backup.read_bytes()[:-5_000])
    for source, message in (
        (damaged, f"{damaged} is damaged; take another backup."),
        (backup, f"has no account {name}: it may have had another name then"),
        (nothing, "cannot be read as a feedkeep database"),
        (tmp_path / "missing.db", "There is no file"),
    ):
        asked = ["restore-list", name, "--from", str(source), "--yes"]
        assert message in failure(offline.run(*asked))


def test_what_cannot_be_is_told_in_one_sentence(offline):
    name = with_feeds(offline)
    for arguments, message in [
        (["history", "stranger"], 'There is no account "stranger"'),
        (["undo", "stranger", "5"], 'There is no account "stranger"'),
        (["restore-list", "stranger", "--at", "1 day ago"], 'There is no account "stranger"'),
        (["restore-list", name, "--at", "yesterday"], "Not a moment: write one such as"),
        (["restore-list", name, "--at", "1980-01-01"], "does not go back that far"),
        (
            ["restore-list", name, "--at", "2999-01-01T00:00:00Z"],
            "2999-01-01T00:00:00Z is in the future",
        ),
    ]:
        assert message in failure(offline.run(*arguments)), arguments
    for arguments in (
        ["undo", name],
        ["undo", name, "x"],
        ["undo", name, "0"],
        ["undo", name, "9" * 20],
        ["undo", name, "5", "--changed-since", "ask"],
        ["history", name, "--limit", "0"],
        ["restore-list", name],
    ):
        done = offline.run(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr


def test_where_no_history_is_kept_that_is_said(offline):
    offline.environment["FEEDKEEP_HISTORY_DAYS"] = "0"
    name = with_feeds(offline)
    assert offline.must("history", name) == ("No history is kept here, since history_days is 0.\n")
    for arguments in (["undo", name, "5"], ["restore-list", name, "--at", "1 hour ago"]):
        assert "No history is kept here" in failure(offline.run(*arguments))


def test_help_says_what_the_commands_for_the_history_do(offline):
    help_text = offline.must("--help")
    for command in ("history", "undo", "restore-list"):
        assert re.search(rf"^.? *{command}  ", help_text, re.MULTILINE)
        assert "Usage" in offline.must(command, "--help")
