"""What is the same app, and what is another one."""

import pytest

from feedkeep.model import (
    Account,
    AccountId,
    Admitted,
    Author,
    CredentialKind,
    Stamp,
    Token,
    TokenId,
)
from feedkeep.rules.app_identity import App, app_name, app_of, author_key, name_of, product_of

ANTENNAPOD = "AntennaPod/3.5.0"
PHONE = Author(CredentialKind.SESSION, TokenId(3), ANTENNAPOD, "phone")


@pytest.mark.parametrize(
    ("user_agent", "product"),
    [
        ("AntennaPod/3.5.0", "AntennaPod/"),
        ("AntennaPod/3.6.0-beta1", "AntennaPod/"),
        ("gPodder/3.11.1 (+http://gpodder.org/) Linux", "gPodder/ (+http://gpodder.org/) Linux"),
        ("Kasts v24.02, Qt 6.7", "Kasts , Qt"),
        ("Music2Go 4", "Music2Go"),
        ("", ""),
        ("x" * 100_000, "x" * 200),
    ],
)
def test_a_product_has_no_version_numbers_and_is_not_long(user_agent, product):
    assert product_of(user_agent) == product


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AntennaPod/3.4.0", "AntennaPod"),
        ("gPodder/3.11.1 (+http://gpodder.org/)", "gPodder"),
        ("mygpoclient/1.9 (+https://gpodder.org) gPodder/3", "mygpoclient"),
        ("python-requests/2.32", "python-requests"),
        ("My old phone", "My old phone"),
        ("kitchen/radio", "kitchen/radio"),
        ("Mozilla/5.0 (Android) Nextcloud-android/3.30.0", "Nextcloud-android"),
        ("Mozilla/5.0", "Mozilla"),
        ("", ""),
        ("/1", "/1"),
    ],
)
def test_an_app_is_called_without_its_version(name, expected):
    assert app_name(name) == expected


def test_an_app_is_the_same_whatever_session_and_version_it_has():
    later = Author(CredentialKind.SESSION, TokenId(4), "AntennaPod/3.6.0", "phone")
    without_cookies = Author(CredentialKind.PASSWORD, None, ANTENNAPOD, "phone")
    assert author_key(PHONE) == author_key(later) == author_key(without_cookies)


@pytest.mark.parametrize(
    "other",
    [
        Author(CredentialKind.SESSION, TokenId(3), ANTENNAPOD, "tablet"),
        Author(CredentialKind.SESSION, TokenId(3), "Kasts/24.02", "phone"),
        Author(CredentialKind.TOKEN, TokenId(3), ANTENNAPOD, "phone"),
        Author(CredentialKind.BROWSER, TokenId(3), ANTENNAPOD, "phone"),
        Author(CredentialKind.COMMAND, None, "import", ""),
    ],
)
def test_another_device_sign_in_or_product_is_another_app(other):
    assert author_key(PHONE) != author_key(other)


def test_browsers_and_commands_are_told_apart_by_what_they_are():
    browsers = [Author(CredentialKind.BROWSER, TokenId(number), "Firefox") for number in (1, 2)]
    commands = [Author(CredentialKind.COMMAND, None, name) for name in ("import", "undo")]
    assert len({author_key(author) for author in (*browsers, *commands)}) == 4


def test_an_app_is_known_by_the_password_that_began_its_session_and_not_by_the_session():
    account = Account(AccountId(1), "alice", None, False, Stamp(0))
    sessions = [
        Token(TokenId(number), b"", ANTENNAPOD, Stamp(0), is_session=True, of_token=TokenId(2))
        for number in (8, 9)
    ]
    apps = [
        app_of(Admitted(account, CredentialKind.SESSION, token=one, sign_in=TokenId(2)), "phone")
        for one in sessions
    ]
    assert apps[0] == apps[1] == App("phone", TokenId(2), "AntennaPod/")
    assert len({App("phone", number, "").key for number in (None, TokenId(2), TokenId(3))}) == 3


@pytest.mark.parametrize(
    ("kind", "label", "user_agent", "expected"),
    [
        (CredentialKind.SESSION, ANTENNAPOD, "", "AntennaPod"),
        (CredentialKind.TOKEN, "Zoë's phone", "", "Zoë's phone"),
        (CredentialKind.PASSWORD, None, "Kasts/24.02 (KDE)", "Kasts"),
        (CredentialKind.PASSWORD, None, "a\0b\x1f", "ab"),
        (CredentialKind.PASSWORD, None, "é" * 100, "é" * 32),
        (CredentialKind.PASSWORD, None, "x" + "é" * 100, "x" + "é" * 31),
        (CredentialKind.COMMAND, None, "", None),
        (CredentialKind.BROWSER, "Mozilla/5.0 (X11) Firefox/130.0", "", "feedkeep"),
    ],
)
def test_the_name_of_a_sender_is_known_and_short_or_none(kind, label, user_agent, expected):
    account = Account(AccountId(1), "alice", None, False, Stamp(0))
    token = None if label is None else Token(TokenId(1), b"", label, Stamp(0))
    assert name_of(Admitted(account, kind, token=token, user_agent=user_agent)) == expected
