"""Errors of first-time users: a missing database, an invalid setting."""

import re

import pytest
from command_line import refusal

NEED_A_DATABASE = [
    "account list",
    "account password me --password-stdin",
    "account disable me",
    "account enable me",
    "account delete me --yes",
    "account import -",
    "token create me",
    "token list me",
    "token revoke me 1",
    "session list me",
    "session revoke me 1",
    "import me -",
    "export me",
    "migrate-from http://127.0.0.1:9 me --password-stdin",
    "check",
    "database restored",
    "backup there.db",
]
SSH = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"}


def test_a_database_that_is_not_there_is_told_and_not_made(offline):
    missing = f"There is no database {offline.database}. "
    for command in NEED_A_DATABASE:
        told = refusal(offline, *command.split(), stdin="https://a.example/feed\n")
        assert missing in told, command
        assert "FEEDKEEP_DATABASE" in told
        assert list(offline.folder.iterdir()) == [], command
    target = f"sqlite:///{offline.folder / 'target.db'}"
    assert "There is no database" in refusal(offline, "copy", offline.database, target)
    assert list(offline.folder.glob("*.db")) == []
    (offline.folder / "feedkeep.db").touch()  # which is no database either
    assert "There is no database" in refusal(offline, "check")
    assert (offline.folder / "feedkeep.db").stat().st_size == 0


@pytest.mark.parametrize("offline", ["postgres"], indirect=True)
def test_a_postgres_database_without_tables_is_told_and_left_alone(offline):
    for command in ("check", "account list"):
        assert "The database has no tables of feedkeep" in refusal(offline, *command.split())
    offline.must("account", "create", "me")
    offline.must("check")


def test_serve_prints_how_to_reach_it_over_ssh_and_that_it_has_no_administrator(offline):
    offline.must("account", "create", "me")
    offline.environment.pop("SSH_CONNECTION", None)
    public = {"FEEDKEEP_PUBLIC_URL": "https://feeds.example"}
    for settings, is_told in (({}, False), (SSH, True), (SSH | public, False)):
        offline.environment |= settings
        with offline:
            printed = "".join(offline.printed)
        assert bool(re.search(r"ssh -L (\d+):127\.0\.0\.1:\1 USER@SERVER\n", printed)) is is_told
        assert ("account admin NAME` makes one.\n" in printed) is (settings != SSH | public)
        if settings:
            offline.must("account", "admin", "me")


def test_a_public_url_that_does_not_work_is_refused_at_the_start(offline):
    own = "choose another path, such as /feedkeep"
    for url, message in (
        *((f"https://home.example{path}", own) for path in ("/feeds", "/v1/", "/subscriptions/x")),
        *((url, "such as https://feeds.example") for url in (
            "feeds.example", "ftp://feeds.example", "https://", "https://[",
            "https://h.example/a b", "https://h.example/%61", "https://h.example//a",
            'https://h.example/"',
        )),
    ):  # fmt: skip
        offline.environment["FEEDKEEP_PUBLIC_URL"] = url
        told = refusal(offline, "serve", "--port", "0")
        assert message in told, url
        assert "public_url" in told
