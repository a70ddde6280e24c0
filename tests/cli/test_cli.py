"""The command line: accounts, tokens and databases; errors in one sentence."""

import os
import re
import subprocess
from contextlib import closing

import httpx
from command_line import refusal, talk
from feedkeep_process import FEEDKEEP
from typer.testing import CliRunner

from feedkeep.cli.main import app
from feedkeep.config.settings import shown
from feedkeep.store.sqlite.connection import open_file

COMMANDS = [
    *("serve", "account", "token", "list", "import", "export", "history", "undo", "restore-list"),
    *("migrate", "check", "version"),
]
LEAF = 13
"""Type byte of a leaf page of a table b-tree (SQLite's file format, 1.6)."""


def test_help_reads_like_a_manual(offline):
    help_text = offline.must("--help")
    for command in COMMANDS:
        assert re.search(rf"^.? *{command}  ", help_text, re.MULTILINE)
        done = CliRunner().invoke(app, [command, "--help"])
        assert (done.exit_code, "Usage" in done.stdout) == (0, True)
    version = offline.must("version")
    assert re.match(r"feedkeep \d+\.\d+\.\d+ \(SQLite 3\.\d+\.\d+, ", version)
    assert offline.must("--version") == version


def test_a_command_runs_without_a_standard_error(offline):
    offline.must("account", "create", "me")
    closing_it = ["sh", "-c", 'exec "$0" "$@" 2>&-', FEEDKEEP, "account", "list"]
    assert "me" in subprocess.check_output(closing_it, env=offline.environment, text=True)


def test_wrong_usage_exits_with_2(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for usage, reason in (
        ("nonsense", ""),
        ("account create", ""),
        ("token revoke me x", ""),
        ("token revoke me 99999999999999999999", ""),
        ("token create me --expires-days 0", ""),
        ("export me --format pdf", ""),
        ("serve --port x", ""),
        ("undo me", ""),
        ("undo me x", ""),
        ("undo me 0", ""),
        ("undo me 99999999999999999999", ""),
        ("undo me 5 --changed-since ask", ""),
        ("history me --limit 0", ""),
        ("restore-list me", ""),
        ("backup", "either a file, or a folder"),
        ("backup x.db --into folder", "either a file, or a folder"),
        ("backup x.db --keep-daily 2", "give --into"),
        ("backup --into . --keep-daily 0", ""),
    ):
        done = CliRunner().invoke(app, usage.split())
        assert done.exit_code == 2, usage
        assert reason in " ".join(done.stderr.split()), usage
    assert list(tmp_path.iterdir()) == []


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


def test_account_create_tells_which_apps_cannot_log_in(offline):
    no_at = "AntennaPod's login for gpodder.net takes no @"
    for name, reason in (
        ("carl@example.org", no_at),
        ("carl+tv", no_at),
        ("łukasz", "cannot send a name"),
        ("Ünïcode", ""),
        ("carl.smith-1_2", ""),
    ):
        first, *others = offline.must("account", "create", name).splitlines()
        assert first.startswith(f"Created account {name}")
        assert "make a token" in first
        assert [reason in line for line in others] == ([True] if reason else [])
    listed = offline.must("account", "list")
    assert re.search(r"łukasz +\S+ +no +- +enabled", listed)


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


def test_a_label_or_an_argument_cannot_command_the_terminal(offline):
    offline.must("account", "create", "me")
    offline.must("token", "create", "me", "--label", "Zoë's\u3000\x1b]0;pwn\x07\n\u202ephone")
    listed = offline.must("token", "list", "me")
    assert "Zoë's]0;pwnphone" in listed
    assert all(line.isprintable() for line in listed.splitlines())
    told = refusal(offline, "token", "create", "\x1b]0;pwn\x07")
    assert 'no account "\ufffd]0;pwn\ufffd"' in told


def test_check_tells_damage_and_fails(offline):
    assert offline.must("migrate") == f"{offline.database} is up to date.\n"
    assert offline.must("check") == f"{offline.database} is intact.\n"
    name = offline.new_account()
    offline.must("import", name, "-", stdin="https://a.example\nhttps://b.example\n")
    with closing(open_file(offline.folder / "feedkeep.db")) as database:
        database.execute("UPDATE entry SET feed_url = 'https://moved.example'")
        database.execute("INSERT INTO deletion (account_id, id, guid) VALUES (5, 5, x'00')")
    done = offline.run("check")
    assert done.returncode == 1
    assert done.stderr.count("does not lead to it") == 2
    assert done.stderr.count("a row of table deletion refers to a row that is missing") == 1
    assert all(line.startswith("feedkeep: ") for line in done.stderr.splitlines())


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
    assert refusal(offline, "export", names[1])
    assert offline.must("export", names[0])


def test_errors_are_one_sentence_and_exit_with_1(offline, tmp_path):
    offline.must("account", "create", "me")
    broken, feeds = tmp_path / "broken.opml", tmp_path / "feeds.txt"
    broken.write_text("<opml><body>")
    feeds.write_text("https://a.example/feed\n")
    no_account, too_short = 'There is no account "you"', "at least 8 characters"
    for usage, message, stdin in (
        ("account create ME", "There is an account me already.", ""),
        ("account create you --password-stdin", "Standard input has no password.", ""),
        ("account create you --password-stdin", too_short, "1234567\n"),
        ("account create you", "--password-stdin", "pw\npw\n"),
        ("account password me", "No password was given", ""),
        ("account password me", "--password-stdin", "pw\npw\n"),
        ("account password me --password-stdin", too_short, "1234567\n"),
        ("account delete you --yes", no_account, ""),
        ("account delete me", "--yes", ""),
        ("account delete me", "--yes", "y\n"),
        ("token create you", no_account, ""),
        ("token revoke me 7", "me has no token 7", ""),
        (f"import you {feeds}", no_account, ""),
        (f"import me {tmp_path / 'none'}", "No such file or directory", ""),
        (f"import me {broken}", "The XML is broken at line 1", ""),
        ("list you", no_account, ""),
        ("export you", no_account, ""),
        (f"export me --output {tmp_path}", "Is a directory", ""),
        ("history you", no_account, ""),
        ("undo you 5", no_account, ""),
        ("undo me 1", "The history of me has no change 1; `", ""),
        ("restore-list you --at 2999-01-01", no_account, ""),
        ("restore-list me --at yesterday", "Not a moment: write one such as", ""),
        ("restore-list me --at 1980-01-01", "does not go back that far", ""),
        ("restore-list me --at 2999-01-01T00:00:00Z", "T00:00:00Z is in the future", ""),
        ("check --database mysql://x", 'Cannot use "mysql://x" as the database', ""),
        ("check --database sqlite://[x", "as the database", ""),
        ("check --database sqlite:///%00", "as the database", ""),
        (f"check --database sqlite:///{tmp_path}", "Is a directory", ""),
        (f"check --database sqlite:///{broken}", "file is not a database", ""),
        (f"check --config {tmp_path / 'none'}", "No such file or directory", ""),
        ("token create me --label \udcff", "An argument is not UTF-8 text.", ""),
        ("backup x.db --database postgresql://127.0.0.1/x", "pg_dump", ""),
        ("backup --into . --database postgresql://127.0.0.1/x", "pg_dump", ""),
        ("restore x.db --database postgresql://127.0.0.1/x", "pg_restore", ""),
    ):
        assert message in refusal(offline, *usage.split(" "), stdin=stdin), usage
    assert "use 1 to 64 letters" in refusal(offline, "account", "create", "a b")
    [_, me] = offline.must("account", "list").splitlines()
    assert re.match(r"me +\S+ +no ", me)
    assert offline.must("account", "delete", "me", "--yes") == "Deleted me.\n"
    assert "me" not in offline.must("account", "list").split()


def test_a_database_of_a_newer_feedkeep_is_refused(offline):
    offline.must("migrate")
    with closing(open_file(offline.folder / "feedkeep.db")) as database:
        database.pragma("user_version", 999)
    for command in ("account list", "serve --port 0"):
        assert "has schema version 99" in refusal(offline, *command.split())


def test_a_defect_is_told_in_one_sentence_too(offline):
    offline.must("migrate")
    offline.run_first("accounts_have_a_defect")
    message = refusal(offline, "account", "list")
    assert message.startswith("A defect in feedkeep: ZeroDivisionError('x').")
    offline.environment["FEEDKEEP_DEBUG"] = "1"
    assert "Traceback" in offline.run("account", "list").stderr


def test_without_settings_the_database_lies_in_the_users_data_directory(tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    file = tmp_path / ".local/share/feedkeep/feedkeep.db"
    told = subprocess.check_output([FEEDKEEP, "migrate"], env=environment, text=True)
    assert told == f"sqlite:///{file} is up to date.\n"
    assert file.exists()


def test_a_terminal_asks_for_a_password_twice_and_before_a_deletion(offline):
    shown = talk(offline, ["account", "create", "me"], b"opensesame\nopensesame\n")
    assert f"Created account me in {offline.database}.\r\n" in shown
    assert "opensesame" not in shown
    assert re.search(r"me +\S+ +yes", offline.must("account", "list"))
    talk(offline, ["account", "delete", "me"], b"n\n")
    assert "me" in offline.must("account", "list")
    assert "Deleted me." in talk(offline, ["account", "delete", "me"], b"y\n")
