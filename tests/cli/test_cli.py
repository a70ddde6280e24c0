"""The command line: every command, on the database of a running service; errors in one sentence."""

import json
import os
import pty
import re
import select
import subprocess

import httpx
import pytest
from feedkeep_process import FEEDKEEP, FeedkeepProcess
from forms import in_the_long_form

from feedkeep.config.settings import shown
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import FIRST_DUE
from feedkeep.store.sqlite.connection import open_file

SILENCE_SECONDS = 20
FEEDS = "https://a.example/feed\n\n# a comment\n  https://b.example/feed  \nftp://c.example\n"


@pytest.fixture
def offline(tmp_path):
    """Commands on a database that no service runs on."""
    yield FeedkeepProcess(tmp_path)  # noqa: PT022 - it is never started


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence of a command that failed."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("feedkeep: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("feedkeep: ").strip()


def test_help_reads_like_a_manual(offline):
    help_text = offline.must("--help")
    for command in (
        "serve",
        "account",
        "token",
        "list",
        "import",
        "export",
        "migrate",
        "check",
        "version",
    ):
        assert re.search(rf"^.? *{command}  ", help_text, re.MULTILINE)
        assert "Usage" in offline.must(command, "--help")


def test_a_command_runs_without_a_standard_error(offline):
    offline.must("account", "create", "me")
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" 2>&-', FEEDKEEP, "account", "list"],
        env=offline.environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "me" in done.stdout


def test_wrong_usage_exits_with_2(offline):
    for arguments in (
        ["nonsense"],
        ["account", "create"],
        ["token", "revoke", "me", "x"],
        ["token", "revoke", "me", "99999999999999999999"],
        ["token", "create", "me", "--expires-days", "0"],
        ["export", "me", "--format", "pdf"],
        ["serve", "--port", "x"],
    ):
        done = offline.run(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr


def test_an_account_is_made_listed_changed_and_deleted(feedkeep):
    made = feedkeep.must("account", "create", "Ann", "--password-stdin", stdin="first one\n")
    assert made == f"Created account Ann in {shown(feedkeep.database)}.\n"
    with httpx.Client(base_url=feedkeep.base_url) as client:

        def enters(password):
            return client.get("/subscriptions", auth=("ann", password)).status_code == 200

        assert enters("first one")
        feedkeep.must("account", "password", "ANN", "--password-stdin", stdin="second one")
        assert (enters("first one"), enters("second one")) == (False, True)
        feedkeep.must("account", "disable", "ann")
        assert not enters("second one")
        assert re.search(r"Ann +\S+ +yes +- +disabled", feedkeep.must("account", "list"))
        feedkeep.must("account", "enable", "ann")
        assert enters("second one")
        feedkeep.must("account", "delete", "ann", "--yes")
        assert not enters("second one")
    assert "Ann" not in feedkeep.must("account", "list")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("carl@example.org", "AntennaPod's login for gpodder.net takes no @"),
        ("carl+tv", "AntennaPod's login for gpodder.net takes no @"),
        ("łukasz", "cannot send a name"),
        ("Ünïcode", ""),
        ("carl.smith-1_2", ""),
    ],
)
def test_which_apps_cannot_log_in_with_a_name_is_told_when_it_is_taken(offline, name, told):
    made = offline.run("account", "create", name)
    assert made.returncode == 0
    first, *others = made.stdout.splitlines()
    assert first.startswith(f"Created account {name}")
    assert [told in line for line in others] == ([True] if told else [])


def test_a_new_password_that_is_short_is_refused(offline):
    offline.must("account", "create", "dora")
    for arguments in (("create", "emil"), ("password", "dora")):
        done = offline.run("account", *arguments, "--password-stdin", stdin="1234567\n")
        assert done.returncode == 1
        assert "at least 8 characters" in done.stderr
    assert "emil" not in offline.must("account", "list")


def test_an_account_without_a_password_is_told_to_need_tokens(offline):
    assert "make a token" in offline.must("account", "create", "bea")
    assert re.search(r"bea +\S+ +no +- +enabled", offline.must("account", "list"))


def test_a_token_is_printed_alone_listed_and_revoked(feedkeep):
    name = feedkeep.new_account()
    printed = feedkeep.must("token", "create", name, "--label", "my [phone]")
    token = printed.strip()
    assert re.fullmatch(r"fk_[A-Za-z0-9_-]{44}\n", printed)
    feedkeep.must("token", "create", name, "--expires-days", "30")
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{feedkeep.base_url}/subscriptions"
    assert httpx.get(url, headers=headers).status_code == 200
    listed = feedkeep.must("token", "list", name)
    assert re.search(r"1 +active +write +\S+ +- +\S+ +my \[phone\]", listed)
    assert re.search(r"2 +active +write +\S+ +\d{4}-\d\d-\d\dT", listed)
    assert token not in listed
    feedkeep.must("token", "revoke", name, "1")
    assert httpx.get(url, headers=headers).status_code == 401
    assert re.search(r"1 +revoked", feedkeep.must("token", "list", name))
    feedkeep.use(lambda service: service.tokens.create(name, "old", 0))
    assert re.search(r"3 +expired", feedkeep.must("token", "list", name))


def test_import_tells_what_became_of_each_line(feedkeep, tmp_path):
    name = feedkeep.new_account()
    file = tmp_path / "feeds.txt"
    file.write_text(FEEDS)
    first = feedkeep.must("import", name, str(file)).splitlines()
    assert first[0] == "2 added, 0 already there, 1 refused."
    assert first[1].startswith('line 5: Unsupported protocol "ftp"')
    assert first[1].endswith("(ftp://c.example)")
    again = feedkeep.must("import", name, "-", stdin=FEEDS + "http://a.example/feed/\n")
    assert again.startswith("0 added, 3 already there, 1 refused.\n")
    with feedkeep.client(name) as client:
        assert client.get("/subscriptions").json()["total"] == 2


def test_import_says_what_was_not_understood_and_lists_no_more_of_it_than_can_be_read(
    feedkeep, tmp_path
):
    name, file = feedkeep.new_account(), tmp_path / "feeds.opml"
    unknown = '<outline type="rss" text="Lost"/>'
    outlines = '<outline url="feed:https://a.example"/><outline xmlUrl="b.example"/>'
    file.write_text(f"```\n<outlines>{outlines}{unknown * 120}</outlines>")
    done = feedkeep.run("import", name, str(file))
    assert done.stderr.splitlines() == [
        "feedkeep: Ignored text outside the list: ```",
        "feedkeep: Addresses completed with “https://”: 1, such as https://b.example.",
    ]
    told = done.stdout.splitlines()
    assert told[0] == "2 added, 0 already there, 120 refused."
    assert told[1:] == ["line 2: No feed address was found here. (Lost)"] * 100 + ["And 20 more."]


def test_import_names_what_it_did_not_add_and_keeps_the_first_title_and_folder(feedkeep):
    name = feedkeep.new_account()
    outlines = (
        '<outline text="News"><outline text="A" xmlUrl="https://a.example"/></outline>'
        '<outline text="Other"><outline text="B" xmlUrl="http://a.example/"/></outline>'
        '<outline text="C" xmlUrl="https://c.example" subscribed="0"/>'
    )
    printed = feedkeep.must("import", name, "-", stdin=f"<opml>{outlines}</opml>").splitlines()
    assert printed == [
        "1 added, 1 already there, 0 refused.",
        "line 1: The file has this feed more than once; the first one counts. (http://a.example/)",
        "line 1: You had left this feed in the app that wrote the file. (https://c.example)",
    ]
    exported = feedkeep.must("export", name)
    assert '<outline text="News"' in exported
    assert 'text="A"' in exported
    assert "Other" not in exported


def test_import_refuses_a_table_with_several_columns_of_addresses(feedkeep):
    table = "name,website,link\nA,https://a.example,https://a.example/rss\n"
    done = feedkeep.run("import", feedkeep.new_account(), "-", stdin=table.replace("website", "x"))
    assert done.returncode == 1
    assert "which column has the addresses of the feeds: x, link." in done.stderr


def test_export_as_opml_works_with_a_character_that_xml_does_not_have(feedkeep):
    name, other = feedkeep.new_account(), feedkeep.new_account()
    feedkeep.must("import", name, "-", stdin="https://a.example/\ufffe\nhttps://b.example\n")
    exported = feedkeep.must("export", name)
    assert "https://a.example/%EF%BF%BE" in exported
    feedkeep.must("import", other, "-", stdin=exported)
    assert feedkeep.must("export", other) == exported


def test_what_is_imported_is_left_for_the_service_to_look_at_before_what_is_due(tmp_path):
    feedkeep = FeedkeepProcess(tmp_path, fetch="public")  # it is never started
    feedkeep.must("account", "create", "me")
    urls = ["https://a.example/1", "https://a.example/2", "https://me:key@a.example/3"]
    feedkeep.must("import", "me", "-", stdin="\n".join(urls))
    guids = [parse_feed_url(url).guid for url in urls]
    known = feedkeep.use(lambda service: service.store.feeds.known(set(guids)))
    assert {guid: known[guid].next_fetch < FIRST_DUE for guid in known} == dict.fromkeys(
        guids[:2], True
    )


def test_import_counts_what_it_subscribes_again_as_added(feedkeep):
    name = feedkeep.new_account()
    feedkeep.must("import", name, "-", stdin="https://a.example\nhttps://b.example\n")
    with feedkeep.client(name) as client:
        first, second = client.get("/subscriptions").json()["subscriptions"]
        client.patch(f"/subscriptions/{first['guid']}", json={"is_subscribed": False})
        client.delete(f"/subscriptions/{second['guid']}")
    printed = feedkeep.must("import", name, "-", stdin="https://a.example\nhttps://b.example\n")
    assert printed == "2 added, 0 already there, 0 refused.\n"


def test_a_line_of_a_file_cannot_command_the_terminal(feedkeep):
    name = feedkeep.new_account()
    printed = feedkeep.must("import", name, "-", stdin=f"{FEEDS}x\x1b]0;pwn\x07{'y' * 999}\n")
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert len(printed) < 500


def test_a_label_cannot_command_the_terminal(offline):
    offline.must("account", "create", "me")
    offline.must("token", "create", "me", "--label", "Zoë's\u3000\x1b]0;pwn\x07\n\u202ephone")
    listed = offline.must("token", "list", "me")
    assert "Zoë's]0;pwnphone" in listed
    assert all(line.isprintable() for line in listed.splitlines())


def test_a_sentence_of_failure_cannot_command_the_terminal(offline):
    offline.must("account", "create", "me")
    told = failure(offline.run("token", "create", "\x1b]0;pwn\x07"))
    assert 'no account "\ufffd]0;pwn\ufffd"' in told


def test_a_long_list_is_imported_in_steps(feedkeep):
    name = feedkeep.new_account()
    feeds = "".join(f"https://a.example/{number}\n" for number in range(2_500))
    assert feedkeep.must("import", name, "-", stdin=feeds).startswith("2500 added")


@pytest.mark.parametrize("kind", ["opml", "json", "urls"])
def test_an_export_imported_into_an_empty_account_gives_the_same_list(feedkeep, kind, tmp_path):
    one, other = feedkeep.new_account(), feedkeep.new_account()
    guid = "00000000-0000-4000-8000-000000000001"
    items = [
        {"feed_url": "https://a.example/?x=1&y=<2>"},
        {"feed_url": 'https://b.example/"quoted"', **({"guid": guid} if kind != "urls" else {})},
        {"feed_url": "https://ünï.example/\u2028"[:-1]},
        {"feed_url": "https://gone.example"},
    ]
    with feedkeep.client(one) as client:
        added = client.post("/subscriptions", json={"subscriptions": items}).json()["success"]
        client.patch(f"/subscriptions/{added[3]['guid']}", json={"is_subscribed": False})
    file = tmp_path / "export"
    feedkeep.must("export", one, "--format", kind, "--output", str(file))
    assert feedkeep.must("export", one, "--format", kind).encode() == file.read_bytes()
    assert feedkeep.must("import", other, str(file)) == "3 added, 0 already there, 0 refused.\n"
    with feedkeep.client(other) as client:
        entries = client.get("/subscriptions").json()["subscriptions"]
    assert [(e["feed_url"], e["guid"]) for e in entries] == [
        (item["feed_url"], item["guid"]) for item in added[:3]
    ]
    assert feedkeep.must("export", other, "--format", kind).encode() == file.read_bytes()


def test_an_export_as_json_is_the_body_of_a_post(feedkeep):
    one, other = feedkeep.new_account(), feedkeep.new_account()
    feedkeep.must("import", one, "-", stdin=FEEDS)
    body = feedkeep.must("export", one, "--format", "json")
    with feedkeep.client(other) as client:
        assert len(client.post("/subscriptions", content=body).json()["success"]) == 2


def test_commands_bring_a_database_up_to_date_first(offline):
    assert offline.must("migrate") == f"{offline.database} is up to date.\n"
    assert offline.must("check") == f"{offline.database} is intact.\n"
    assert re.match(r"feedkeep \d+\.\d+\.\d+ \(SQLite 3\.\d+\.\d+, ", offline.must("version"))


def test_check_tells_damage_and_fails(offline):
    name = offline.new_account()
    offline.must("import", name, "-", stdin="https://a.example\nhttps://b.example\n")
    database = open_file(offline.folder / "feedkeep.db")
    database.execute("UPDATE entry SET feed_url = 'https://moved.example'")
    database.execute("INSERT INTO deletion (account_id, id, guid) VALUES (5, 5, x'00')")
    database.close()
    done = offline.run("check")
    assert done.returncode == 1
    assert done.stderr.count("does not lead to it") == 2
    assert done.stderr.count("a row of table deletion refers to a row that is missing") == 1
    assert all(line.startswith("feedkeep: ") for line in done.stderr.splitlines())


LEAF = 13
"""What a page of a table without pages below it starts with (SQLite's file format, 1.6)."""


def test_check_names_the_accounts_that_a_disk_has_damaged(offline):
    names = [offline.new_account(), offline.new_account()]
    for name in names:
        feeds = "".join(f"https://{name}{number}.example\n" for number in range(500))
        offline.must("import", name, "-", stdin=feeds)
    file = offline.folder / "feedkeep.db"
    content = bytearray(file.read_bytes())
    for place in (match.start() for match in re.finditer(names[1].encode(), content)):
        page = content[place - place % 4096 :][:4096]
        if page[0] == LEAF and names[0].encode() not in page:
            content[place] ^= 1
            break
    file.write_bytes(content)
    done = offline.run("check")
    assert done.returncode == 1
    assert f"account {names[1]}: not all of its list can be read" in done.stderr
    assert f"account {names[0]}" not in done.stderr
    assert failure(offline.run("export", names[1]))
    assert offline.must("export", names[0])


def test_errors_are_one_sentence_and_exit_with_1(offline, tmp_path):
    offline.must("account", "create", "me")
    broken = tmp_path / "broken.opml"
    broken.write_text("<opml><body>")
    feeds = tmp_path / "feeds.txt"
    feeds.write_text("https://a.example/feed\n")
    for arguments, message in [
        (["account", "create", "ME"], "There is an account me already."),
        (["account", "create", "a b"], "use 1 to 64 letters"),
        (["account", "create", "you", "--password-stdin"], "Standard input has no password."),
        (["account", "password", "me"], "No password was given"),
        (["account", "delete", "you", "--yes"], 'There is no account "you"'),
        (["token", "create", "you"], 'There is no account "you"'),
        (["token", "revoke", "me", "7"], "me has no token 7"),
        (["import", "you", str(feeds)], 'There is no account "you"'),
        (["import", "me", str(tmp_path / "none")], "No such file or directory"),
        (["import", "me", str(broken)], "The XML is broken at line 1"),
        (["export", "you"], 'There is no account "you"'),
        (["export", "me", "--output", str(tmp_path)], "Is a directory"),
        (["check", "--database", "mysql://x"], 'Cannot use "mysql://x" as the database'),
        (["check", "--database", "sqlite://[x"], "as the database"),
        (["check", "--database", "sqlite:///%00"], "as the database"),
        (["check", "--database", f"sqlite:///{tmp_path}"], "Is a directory"),
        (["check", "--database", f"sqlite:///{broken}"], "file is not a database"),
        (["check", "--config", str(tmp_path / "none")], "No such file or directory"),
        (["token", "create", "me", "--label", "\udcff"], "An argument is not UTF-8 text."),
    ]:
        assert message in failure(offline.run(*arguments)), arguments


def test_a_database_of_a_newer_feedkeep_is_refused(offline):
    offline.must("migrate")
    database = open_file(offline.folder / "feedkeep.db")
    database.execute("PRAGMA user_version = 999")
    database.close()
    assert "has schema version 99" in failure(offline.run("account", "list"))
    assert "has schema version 99" in failure(offline.run("serve", "--port", "0"))


def test_a_defect_is_told_in_one_sentence_too(offline):
    offline.must("migrate")
    offline.run_first("accounts_have_a_defect")
    message = failure(offline.run("account", "list"))
    assert message.startswith("A defect in feedkeep: ZeroDivisionError('x').")
    offline.environment["FEEDKEEP_DEBUG"] = "1"
    assert "Traceback" in offline.run("account", "list").stderr


def test_without_settings_the_database_lies_in_the_users_data_directory(tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    database = f"sqlite:///{tmp_path}/.local/share/feedkeep/feedkeep.db"
    done = subprocess.run(
        [FEEDKEEP, "migrate"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{database} is up to date.\n"
    assert (tmp_path / ".local/share/feedkeep/feedkeep.db").exists()


def talk(process: FeedkeepProcess, arguments: list[str], typed: bytes) -> str:
    """Run a command on a terminal, type, and return what was shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(FEEDKEEP, [FEEDKEEP, *arguments], process.environment)
    shown = b""
    answers = typed.splitlines(keepends=True)
    while select.select([terminal], [], [], SILENCE_SECONDS)[0]:
        try:
            shown += os.read(terminal, 4_096)
        except OSError:  # Linux's way to say that the other side is gone
            break
        if answers and shown.endswith(b": "):
            os.write(terminal, answers.pop(0))
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()


def test_on_a_terminal_a_password_is_asked_for_twice_and_not_shown(offline):
    shown = talk(offline, ["account", "create", "me"], b"opensesame\nopensesame\n")
    assert f"Created account me in {offline.database}.\r\n" in shown
    assert "opensesame" not in shown
    assert re.search(r"me +\S+ +yes", offline.must("account", "list"))


def test_on_a_terminal_a_deletion_is_asked_for(offline):
    offline.must("account", "create", "me")
    talk(offline, ["account", "delete", "me"], b"n\n")
    assert "me" in offline.must("account", "list")
    assert "Deleted me." in talk(offline, ["account", "delete", "me"], b"y\n")


@in_the_long_form
def test_on_a_terminal_an_import_shows_a_bar(offline):
    offline.must("account", "create", "me")
    file = offline.folder / "feeds.txt"
    file.write_text("".join(f"https://a.example/{number}\n" for number in range(3_000)))
    shown = talk(offline, ["import", "me", str(file)], b"")
    assert "3000/3000" in shown
    assert "3000 added" in shown


def test_exported_json_is_readable(feedkeep):
    name = feedkeep.new_account()
    feedkeep.must("import", name, "-", stdin=FEEDS)
    exported = feedkeep.must("export", name, "--format", "json")
    assert exported.count("\n") > 5
    assert [set(item) for item in json.loads(exported)["subscriptions"]] == [
        {"feed_url", "guid"}
    ] * 2


def test_a_feed_is_moved_and_apps_go_on_with_the_url_they_have_unless_they_are_told(feedkeep):
    name, moved = feedkeep.new_account(), "https://moved.example/feed"
    feedkeep.must("import", name, "-", stdin=FEEDS)
    told = feedkeep.must("move", name, "feed://a.example/feed", f"feed:{moved}")
    assert told == "Moved; apps keep the old URL.\n"
    assert "apps get the new URL" in feedkeep.must(
        "move", name, "http://a.example/feed", moved, "--tell-apps"
    )
    listed = feedkeep.must("export", name, "--format", "urls").split()
    assert sorted(listed) == ["https://b.example/feed", moved]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("https://never.example", "https://moved.example", "no feed with the old URL"),
        ("https://a.example/feed", "https://b.example/feed", "merge them on the page"),
        ("https://a.example/feed", "moved.example", "No protocol present"),
        ("https://a.example/feed", "http://https://moved.example", "Two protocols present"),
        ("https://a.example/feed", "https://moved..example", "Invalid host"),
    ],
)
def test_a_move_that_cannot_be_says_why_and_changes_nothing(feedkeep, old, new, reason):
    name = feedkeep.new_account()
    feedkeep.must("import", name, "-", stdin=FEEDS)
    assert reason in failure(feedkeep.run("move", name, old, new))
    listed = feedkeep.must("export", name, "--format", "urls").split()
    assert sorted(listed) == ["https://a.example/feed", "https://b.example/feed"]


def test_a_backup_made_while_the_service_runs_is_restored_where_nothing_is(tmp_path):
    own = FeedkeepProcess(tmp_path)
    own.must("account", "create", "alice")
    own.must("import", "alice", "-", stdin="https://a.example\n")
    own.start()
    backup = tmp_path / "backup.db"
    assert own.must("backup", str(backup)) == f"Backed up to {backup}.\n"
    again = own.run("backup", str(backup))
    assert (again.returncode, again.stderr) == (
        1, f"feedkeep: {backup} exists, and is not overwritten; move it away first.\n"
    )  # fmt: skip
    own.stop()
    over = own.run("restore", str(backup))
    assert over.returncode == 1
    assert "not overwritten" in over.stderr
    elsewhere = f"sqlite:///{tmp_path / 'new' / 'restored.db'}"
    (tmp_path / "new").mkdir()
    own.must("restore", str(backup), "--database", elsewhere)
    assert own.must("export", "alice", "--format", "urls", "--database", elsewhere) == (
        "https://a.example\n"
    )
    own.must("check", "--database", elsewhere)


def test_a_postgres_database_is_backed_up_by_its_own_means(offline):
    url = "postgresql://127.0.0.1/feedkeep"
    for command, means in (("backup", "pg_dump"), ("restore", "pg_restore")):
        done = offline.run(command, "x.db", "--database", url)
        assert done.returncode == 1
        assert means in done.stderr
