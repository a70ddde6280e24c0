"""What a newcomer does wrong is told: a database that is not there, a list that is none."""

import json
import re

import pytest
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, new_database

FEEDS = "https://a.example/feed\nhttps://b.example/feed\n"
NEED_A_DATABASE = [
    ["account", "list"],
    ["account", "password", "me", "--password-stdin"],
    ["account", "disable", "me"],
    ["account", "enable", "me"],
    ["account", "delete", "me", "--yes"],
    ["token", "create", "me"],
    ["token", "list", "me"],
    ["token", "revoke", "me", "1"],
    ["session", "list", "me"],
    ["session", "revoke", "me", "1"],
    ["import", "me", "-"],
    ["export", "me"],
    ["migrate-from", "http://127.0.0.1:9", "me", "--password-stdin"],
    ["check"],
    ["database", "restored"],
]


@pytest.fixture
def nothing(tmp_path):
    """Commands on a database that does not exist."""
    return FeedkeepProcess(tmp_path)


@pytest.fixture
def with_account(nothing):
    nothing.must("account", "create", "me")
    return nothing


@pytest.fixture
def empty_postgres(postgres, tmp_path):
    database = new_database(postgres)
    yield FeedkeepProcess(tmp_path, database)
    drop_database(postgres, database)


def refusal(process: FeedkeepProcess, *arguments: str, stdin: str = FEEDS) -> str:
    """Return the one sentence of a command that is refused."""
    done = process.run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (1, ""), arguments
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("arguments", [*NEED_A_DATABASE, ["backup", "there.db"]])
def test_a_database_that_is_not_there_is_told_and_not_made(nothing, arguments):
    told = refusal(nothing, *arguments)
    assert f"There is no database {nothing.database}. " in told
    assert "FEEDKEEP_DATABASE" in told
    assert list(nothing.folder.iterdir()) == []


def test_an_empty_file_is_no_database_for_a_command_that_needs_one(nothing):
    (nothing.folder / "feedkeep.db").touch()
    assert "There is no database" in refusal(nothing, "check")
    assert (nothing.folder / "feedkeep.db").stat().st_size == 0


def test_a_postgres_database_without_feedkeep_in_it_is_told_and_left_alone(empty_postgres):
    for arguments in (["check"], ["account", "list"]):
        assert "The database has no tables of feedkeep" in refusal(empty_postgres, *arguments)
    empty_postgres.must("account", "create", "me")
    empty_postgres.must("check")


def test_an_empty_database_is_not_copied(nothing):
    target = f"sqlite:///{nothing.folder / 'target.db'}"
    assert "There is no database" in refusal(nothing, "copy", nothing.database, target)
    assert list(nothing.folder.glob("*.db")) == []


@pytest.mark.parametrize("command", [["migrate"], ["account", "create", "me"]])
def test_a_command_that_makes_a_database_says_which(nothing, command):
    assert nothing.database in nothing.must(*command)
    assert (nothing.folder / "feedkeep.db").exists()


def test_an_account_is_not_deleted_without_a_confirmation(with_account):
    assert "--yes" in refusal(with_account, "account", "delete", "me", stdin="")
    assert "--yes" in refusal(with_account, "account", "delete", "me", stdin="y\n")
    assert "me" in with_account.must("account", "list")
    assert with_account.must("account", "delete", "me", "--yes") == "Deleted me.\n"
    assert "me" not in with_account.must("account", "list").split()


@pytest.mark.parametrize(
    "content",
    [
        '{"subscriptions": [{"feed_url": "x"}]}',
        "<opml><body><outline xmlUrl='x'/></body></opml>",
    ],
)
def test_a_file_without_any_feed_in_it_is_an_error(with_account, content):
    file = with_account.folder / "README.md"
    file.write_text(content)
    told = refusal(with_account, "import", "me", str(file))
    assert f"{file} has no feed URLs, so nothing was imported." in told
    assert re.search(r"(item|line) 1: No protocol present.* \(x\)$", told)


@pytest.mark.parametrize("content", ["", "\n\n", "<opml><body/></opml>", '{"subscriptions": []}'])
def test_an_empty_list_is_an_error_since_its_command_may_have_failed(with_account, content):
    told = refusal(with_account, "import", "me", "-", stdin=content)
    assert told == "feedkeep: Standard input has no feed URLs, so nothing was imported.\n"


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\0", b"<opml><body>", b'{"subscriptions": [', b"# A title\n\nSome words.\n" * 20],
)
def test_a_file_that_is_no_list_is_named_and_told_what_would_be(with_account, content):
    file = with_account.folder / "feeds.opml"
    file.write_bytes(content)
    told = refusal(with_account, "import", "me", str(file))
    assert told.startswith(f"feedkeep: {file} is not a list of feeds (OPML, ")


@pytest.mark.parametrize("command", ["create", "password"])
def test_password_in_standard_input_is_refused_without_its_option(with_account, command):
    told = refusal(with_account, "account", command, "x", stdin="pw\npw\n")
    assert "--password-stdin" in told
    assert "x" not in with_account.must("account", "list").split()


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ({"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"}, True),
        (
            {
                "SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22",
                "FEEDKEEP_PUBLIC_URL": "https://feeds.example",
            },
            False,
        ),
        ({}, False),
    ],
)
def test_service_started_over_ssh_prints_how_to_reach_its_loopback_address(
    nothing, settings, is_told
):
    nothing.environment.pop("SSH_CONNECTION", None)
    nothing.environment |= settings
    with nothing:
        told = re.search(r"ssh -L (\d+):127\.0\.0\.1:\1 USER@SERVER\n", "".join(nothing.printed))
    assert bool(told) is is_told


def test_a_service_without_an_administrator_says_so_at_its_start(with_account):
    for is_told in (True, False):
        with_account.start()
        told = "account admin NAME` makes one.\n" in "".join(with_account.printed)
        assert told is is_told
        assert with_account.stop() == 0
        with_account.must("account", "admin", "me")


def test_a_file_with_some_feeds_in_it_tells_what_was_refused(with_account):
    printed = with_account.must("import", "me", "-", stdin=f"a title\n{FEEDS}")
    assert printed.startswith("2 added, 0 already there, 1 refused.\nline 1: ")


def test_a_dash_as_output_is_standard_output(with_account):
    with_account.must("import", "me", "-", stdin=FEEDS)
    exported = with_account.must("export", "me", "--format", "json", "--output", "-")
    assert len(json.loads(exported)["subscriptions"]) == 2


def test_the_version_is_told_however_it_is_asked_for(nothing):
    assert nothing.must("--version") == nothing.must("version")
    assert nothing.must("--version").startswith("feedkeep ")


@pytest.mark.parametrize("path", ["/feeds", "/v1/", "/subscriptions/x"])
def test_a_path_that_the_service_has_itself_is_refused_at_the_start(nothing, path):
    nothing.environment["FEEDKEEP_PUBLIC_URL"] = f"https://home.example{path}"
    assert "choose another path, such as /feedkeep" in refusal(nothing, "serve", "--port", "0")


@pytest.mark.parametrize("url", [
    "feeds.example", "ftp://feeds.example", "https://", "https://[", "https://h.example/a b",
    "https://h.example/%61", "https://h.example//a", 'https://h.example/"',
])  # fmt: skip
def test_a_public_url_that_is_none_is_refused_at_the_start(nothing, url):
    nothing.environment["FEEDKEEP_PUBLIC_URL"] = url
    told = refusal(nothing, "serve", "--port", "0")
    assert "public_url" in told
    assert "such as https://feeds.example" in told
