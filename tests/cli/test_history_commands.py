"""feedkeep history, undo and restore-list, on the database of a running service."""

import re

import pytest
from command_line import refusal, talk
from feedkeep_process import FEEDKEEP, FeedkeepProcess
from test_list_commands import urls

from feedkeep.model.stamps import write_stamp

A, B, C, D = (f"https://{letter}.example/feed" for letter in "abcd")
FEEDS = [A, B, C]
NEW = "https://new.example"


@pytest.fixture
def name(feedkeep):
    """An account with three feeds."""
    return with_feeds(feedkeep)


def with_feeds(process):
    name = process.new_account()
    process.must("import", name, "-", stdin="\n".join(FEEDS))
    return name


def as_on_the_path(told):
    """Return a command's output as if the shell had found the command on its PATH."""
    return told.replace(f"`{FEEDKEEP} ", "`feedkeep ")


def wipe(process, name):
    """Unsubscribe from everything in one request, as an app that was reset does."""
    with process.client(name) as client:
        path = f"/api/2/subscriptions/{name}/phone.json"
        assert client.post(path, json={"add": [], "remove": FEEDS}).status_code == 200


def stamps(process, name):
    """Return the stamps of all changes, newest first."""
    return re.findall(r"^([0-9]{16}) ", process.must("history", name), re.MULTILINE)


async def moment_of_now(service):
    return write_stamp(service.now())


def preview(feedkeep, *asked):
    """Return a command's preview; it does nothing without a terminal to confirm on."""
    shown = feedkeep.run(*asked)
    assert shown.returncode == 1
    reason = "Nothing was done: there is no terminal to confirm on; give --yes."
    assert reason in shown.stderr
    return shown.stdout


def test_the_history_is_a_table_page_by_page(feedkeep, name):
    wipe(feedkeep, name)
    feedkeep.must("move", name, A, D)
    head, moved, wiped, imported, end = feedkeep.must("history", name).splitlines()
    assert head.split() == ["stamp", "when", "who", "what"]
    for line, who, what in (
        (moved, "feedkeep move", f"moved {A} to {D}"),
        (wiped, r"token 1 \(test\) on phone", "unsubscribed 3 feeds"),
        (imported, "feedkeep import", "added 3 feeds"),
    ):
        when = r"[0-9]{16}  [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"
        assert re.fullmatch(rf"{when}  {who} +{what} *", line), line
    assert end.startswith("The history begins at ")
    shown = feedkeep.must("history", name, "--feeds")
    told = [line[line.index("- ") :] for line in shown.splitlines() if line.startswith(" ")]
    assert [line.rstrip() for line in told] == [
        *(f"- unsubscribed {url}" for url in FEEDS),
        *(f"- added {url}" for url in FEEDS),
    ]
    assert f"moved {A}" in shown
    last, *_, first = stamps(feedkeep, name)
    shown = as_on_the_path(feedkeep.must("history", name, "--limit", "1"))
    assert f"There is more: `feedkeep history {name} --before {last}`\n" in shown
    assert first not in shown
    older = feedkeep.must("history", name, "--before", last)
    assert (first in older, last in older) == (True, False)


def test_a_wiped_list_is_back_after_an_undo_that_can_be_undone(feedkeep, name):
    wipe(feedkeep, name)
    assert urls(feedkeep, name) == []
    told = as_on_the_path(feedkeep.must("undo", name, stamps(feedkeep, name)[0]))
    newest = stamps(feedkeep, name)[0]
    assert told == (
        f"Done: subscribed to 3 feeds again.\nTo undo this: `feedkeep undo {name} {newest}`\n"
    )
    assert urls(feedkeep, name) == FEEDS
    assert "Done: unsubscribed 3 feeds." in feedkeep.must("undo", name, newest)
    assert urls(feedkeep, name) == []
    burst = stamps(feedkeep, name)[0]
    feedkeep.must("move", name, A, D)
    moving = stamps(feedkeep, name)[0]
    assert refusal(feedkeep, "undo", name, burst) == (
        f"Nothing was done: 1 of the feeds was changed again since then, by {moving}."
        " Give --changed-since leave to leave these unchanged, or --changed-since overwrite to undo"
        " those changes, too."
    )
    left = feedkeep.must("undo", name, burst, "--changed-since", "leave")
    assert "Done: subscribed to 2 feeds again.\n1 of the feeds was changed again since then" in left
    assert urls(feedkeep, name) == [B, C]
    feedkeep.must("undo", name, stamps(feedkeep, name)[0])
    feedkeep.must("undo", name, burst, "--changed-since", "overwrite")
    assert urls(feedkeep, name) == FEEDS
    assert as_on_the_path(refusal(feedkeep, "undo", name, "1")) == (
        f"The history of {name} has no change 1; `feedkeep history {name}` lists its changes."
    )


def test_a_list_is_restored_to_its_state_at_a_time_after_a_preview(feedkeep, name):
    at = feedkeep.use(moment_of_now)
    wipe(feedkeep, name)
    feedkeep.must("move", name, A, D)
    feedkeep.must("import", name, "-", stdin=NEW)
    asked = ["restore-list", name, "--at", at]
    lines = preview(feedkeep, *asked).splitlines()
    assert lines[0].startswith(f"To restore the list of {name} to its state at {at[:19]}")
    restored, changed = [f"  {url}" for url in FEEDS], f"  moved {D} to {A}"
    assert lines[1:] == ["Restored: 3", *restored, "Changed: 1", changed]
    assert urls(feedkeep, name) == [NEW]
    done = feedkeep.must(*asked, "--yes")
    assert "\nDone: subscribed to 3 feeds again, moved https://d" in done
    assert urls(feedkeep, name) == [*FEEDS, NEW]
    there = f"The list of {name} has all feeds that it had at {at[:19]}Z; there is nothing to do.\n"
    assert feedkeep.must(*asked, "--yes") == there
    asked.append("--drop-added")
    assert f"Removed: 1\n  {NEW}\n" in preview(feedkeep, *asked)
    feedkeep.must(*asked, "--yes")
    assert urls(feedkeep, name) == FEEDS
    nothing = f"The list of {name} is as it was at {at[:19]}Z; there is nothing to do.\n"
    assert feedkeep.must(*asked, "--yes") == nothing


def test_a_terminal_asks_before_a_list_is_restored_after_a_short_preview(offline):
    name, feeds = offline.new_account(), [f"https://{number:02}.example" for number in range(25)]
    offline.must("import", name, "-", stdin="\n".join(feeds))
    asked = ["restore-list", name, "--at", "1 day ago", "--drop-added"]
    told = talk(offline, asked, b"n\n").replace("\r", "")
    assert "Removed: 25\n" in told
    assert "  https://19.example\n  and 5 more\n" in told
    assert urls(offline, name) == feeds
    assert "Done: deleted 25 feeds." in talk(offline, asked, b"y\n")
    assert urls(offline, name) == []


def test_a_time_since_a_restore_of_the_database_is_told_to_be_unsure(offline):
    name = with_feeds(offline)
    before = offline.use(moment_of_now)
    offline.must("database", "restored")
    offline.must("import", name, "-", stdin=NEW)
    asked = ["restore-list", name, "--drop-added", "--at"]
    told = offline.run(*asked, offline.use(moment_of_now))
    assert f"Removed: 1\n  {NEW}\n" in told.stdout
    assert re.search("The clock of this list is ahead until .*, and are undone, too", told.stderr)
    assert "ahead" not in offline.run(*asked, before).stderr


def test_one_list_is_taken_out_of_a_backup_while_the_service_runs(tmp_path):
    """Of a feed that the database no longer has, and of what its history has forgotten."""
    later = "https://later.example"
    with FeedkeepProcess(tmp_path) as process:
        name, other = with_feeds(process), with_feeds(process)
        early = process.use(moment_of_now)
        process.must("import", name, "-", stdin=later)
        backup = tmp_path / "backup.db"
        process.must("backup", str(backup))
        before = backup.read_bytes()
        wipe(process, name)
        wipe(process, other)
        process.must("move", name, A, D)
        process.must("import", name, "-", stdin=NEW)
        asked = ["restore-list", name.upper(), "--from", str(backup)]
        shown = preview(process, *asked)
        assert "Restored: 3\n" in shown
        assert f"moved {D} to {A}" in shown
        assert urls(process, name) == [later, NEW]
        assert "subscribed to 3 feeds again" in process.must(*asked, "--yes")
        assert urls(process, name) == [*FEEDS, later, NEW]
        assert urls(process, other) == []
        assert "there is nothing to do" in process.must(*asked, "--yes")
        process.must(*asked, "--drop-added", "--yes")
        assert urls(process, name) == [*FEEDS, later]
        process.must(*asked, "--at", early, "--drop-added", "--yes")
        assert urls(process, name) == FEEDS
        process.must("undo", name, stamps(process, name)[0])
        assert urls(process, name) == [*FEEDS, later]
        assert backup.read_bytes() == before
        assert "intact" in process.must("check")


def test_a_list_of_a_backup_comes_into_a_new_account(offline, tmp_path):
    name = with_feeds(offline)
    offline.must("move", name, A, D)
    backup = tmp_path / "backup.db"
    offline.must("backup", str(backup))
    asked = ["restore-list", name, "--from", str(backup)]
    had = urls(offline, name)
    offline.must("account", "delete", name, "--yes")
    assert "There is no account" in refusal(offline, *asked)
    offline.must("account", "create", name, stdin="")
    assert "is before" in refusal(offline, *asked, "--at", "1980-01-01", "--yes")
    offline.must(*asked, "--yes")
    assert urls(offline, name) == had
    offline.must("import", name, "-", stdin=A)
    assert urls(offline, name) == had  # the former URL leads to the feed, as it did
    assert "intact" in offline.must("check")
    stranger, text, damaged = with_feeds(offline), tmp_path / "feeds.txt", tmp_path / "damaged.db"
    text.write_text("\n".join(FEEDS))
    damaged.write_bytes(backup.read_bytes()[:-5_000])
    for source, message in (
        (damaged, f"{damaged} is damaged; take another backup."),
        (backup, f"has no account {stranger}: it may have had another name then"),
        (text, "cannot be read as a feedkeep database"),
        (tmp_path / "missing.db", "There is no file"),
    ):
        asked = ["restore-list", stranger, "--from", str(source), "--yes"]
        assert message in refusal(offline, *asked)


def test_where_no_history_is_kept_that_is_said(offline):
    offline.environment["FEEDKEEP_HISTORY_DAYS"] = "0"
    name = with_feeds(offline)
    assert offline.must("history", name) == "No history is kept here, since history_days is 0.\n"
    for asked in (["undo", name, "5"], ["restore-list", name, "--at", "1 hour ago"]):
        assert "No history is kept here" in refusal(offline, *asked)
