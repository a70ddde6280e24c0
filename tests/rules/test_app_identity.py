"""Identity of apps, and the stored state of apps without cookies and of their devices."""

import pytest

from feedkeep import model
from feedkeep.model import Admitted, Author, Clock, Second, SyncProgress, Token, TokenId
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import app_identity as rules
from feedkeep.rules import devices
from feedkeep.rules.app_identity import App, CookielessApp, after_naming, author_key, progress_of
from feedkeep.rules.devices import MAX_DOCUMENTS, Device, check_limits, described, is_within_limits
from feedkeep.rules.seconds import NOTHING

KINDS = model.CredentialKind
ALICE = model.Account(model.AccountId(1), "alice", None, False, 0)
ANTENNAPOD = "AntennaPod/3.5.0"
PHONE = Author(KINDS.SESSION, TokenId(3), ANTENNAPOD, "phone")


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
def test_product_has_no_version_numbers_and_is_not_long(user_agent, product):
    assert rules.product_of(user_agent) == product


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
def test_app_is_called_without_its_version(name, expected):
    assert rules.app_name(name) == expected


def test_app_is_the_same_whatever_session_and_version_it_has():
    later = Author(KINDS.SESSION, TokenId(4), "AntennaPod/3.6.0", "phone")
    without_cookies = Author(KINDS.PASSWORD, None, ANTENNAPOD, "phone")
    assert author_key(PHONE) == author_key(later) == author_key(without_cookies)


@pytest.mark.parametrize(
    "other",
    [
        Author(KINDS.SESSION, TokenId(3), ANTENNAPOD, "tablet"),
        Author(KINDS.SESSION, TokenId(3), "Kasts/24.02", "phone"),
        Author(KINDS.TOKEN, TokenId(3), ANTENNAPOD, "phone"),
        Author(KINDS.BROWSER, TokenId(3), ANTENNAPOD, "phone"),
        Author(KINDS.COMMAND, None, "import", ""),
    ],
)
def test_another_device_sign_in_or_product_is_another_app(other):
    assert author_key(PHONE) != author_key(other)


def test_browsers_and_commands_are_told_apart_by_what_they_are():
    browsers = [Author(KINDS.BROWSER, TokenId(number), "Firefox") for number in (1, 2)]
    commands = [Author(KINDS.COMMAND, None, name) for name in ("import", "undo")]
    assert len({author_key(author) for author in (*browsers, *commands)}) == 4


def test_app_is_known_by_the_password_that_began_its_session_and_not_by_the_session():
    sessions = [
        Token(TokenId(number), b"", ANTENNAPOD, 0, is_session=True, of_token=TokenId(2))
        for number in (8, 9)
    ]
    admitted = [Admitted(ALICE, KINDS.SESSION, token=one, sign_in=2) for one in sessions]
    apps = [rules.app_of(one, "phone") for one in admitted]
    assert apps[0] == apps[1] == App("phone", TokenId(2), "AntennaPod/")
    assert len({App("phone", number, "").key for number in (None, TokenId(2), TokenId(3))}) == 3


@pytest.mark.parametrize(
    ("kind", "label", "user_agent", "expected"),
    [
        (KINDS.SESSION, ANTENNAPOD, "", "AntennaPod"),
        (KINDS.TOKEN, "Zoë's phone", "", "Zoë's phone"),
        (KINDS.PASSWORD, None, "Kasts/24.02 (KDE)", "Kasts"),
        (KINDS.PASSWORD, None, "a\0b\x1f", "ab"),
        (KINDS.PASSWORD, None, "é" * 100, "é" * 32),
        (KINDS.PASSWORD, None, "x" + "é" * 100, "x" + "é" * 31),
        (KINDS.COMMAND, None, "", None),
        (KINDS.BROWSER, "Mozilla/5.0 (X11) Firefox/130.0", "", "feedkeep"),
    ],
)
def test_name_of_a_sender_is_known_and_short_or_none(kind, label, user_agent, expected):
    token = None if label is None else Token(TokenId(1), b"", label, 0)
    assert rules.name_of(Admitted(ALICE, kind, token=token, user_agent=user_agent)) == expected


SENT = SyncProgress(Second(9), Second(8), is_alone=True)
DESK = CookielessApp("desk")


@pytest.mark.parametrize(
    ("app", "devices", "after"),
    [
        (CookielessApp(), ["desk"], DESK),
        (DESK, ["desk", ""], DESK),
        (DESK, [], DESK),
        (DESK, ["phone"], CookielessApp(is_several=True)),
        (CookielessApp(), ["desk", "phone"], CookielessApp(is_several=True)),
        (CookielessApp(is_several=True), ["desk"], CookielessApp(is_several=True)),
    ],
)
def test_second_device_ends_that_it_is_one_app(app, devices, after):
    assert after_naming(app, devices) == after


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize("app", [DESK, after_naming(CookielessApp(), [""])])
def test_of_one_app_is_known_how_far_it_knows_what_changed(app, clock):
    """Nextcloud's requests name no device."""
    sent = rules.with_progress(app, clock, SENT)
    assert progress_of(sent, clock) == progress_of(sent, clock, Second(9)) == SENT
    assert progress_of(after_naming(sent, ["desk"]), clock) == SENT
    other = next(one for one in Clock if one is not clock)
    assert progress_of(sent, other) == SyncProgress(is_alone=True)
    assert progress_of(sent, clock, Second(0)) == SyncProgress(is_alone=True), "it begins again"


def test_of_several_apps_nothing_is_known():
    app = CookielessApp("desk", is_several=True)
    assert rules.with_progress(app, Clock.ACTIONS, SENT) == app
    assert progress_of(app, Clock.ACTIONS) == NOTHING


# Devices, and the documents of an account


MY_PHONE = Device("phone", "My phone", "mobile")


@pytest.mark.parametrize(
    ("known", "sent", "caption", "kind"),
    [
        (None, ("", ""), "phone", "other"),  # it is called by its id
        (MY_PHONE, ("", ""), "My phone", "mobile"),  # an empty text changes nothing
        (MY_PHONE, ("Old phone", ""), "Old phone", "mobile"),
        (MY_PHONE, ("", "watch"), "My phone", "other"),  # apps do not know it
        (MY_PHONE, ("", " Laptop "), "My phone", "laptop"),
        (None, ("a\nb\x1b" + "c" * 500, ""), "ab" + "c" * 198, "other"),
    ],
)
def test_device_has_a_caption_of_one_line_and_a_type_that_apps_know(known, sent, caption, kind):
    assert described("phone", known, *sent) == Device("phone", caption, kind)


@pytest.mark.parametrize("device_id", ["", "a b", "a/b", "x" * 65, "a\n"])
def test_id_that_is_not_valid_is_refused(device_id):
    with pytest.raises(InvalidInput):
        described(device_id, None, "", "")


def test_settings_are_set_and_removed_and_others_stay():
    after = devices.with_settings({"a": 1, "b": 2, "c": 3}, {"a": None, "d": []}, ["b", "x"])
    assert after == {"a": None, "c": 3, "d": []}


def test_documents_have_room_by_the_kib_and_can_always_become_shorter():
    check_limits(model.KnownDocument(None, MAX_DOCUMENTS - 1), "{}")
    with pytest.raises(InvalidInput):
        check_limits(model.KnownDocument(None, MAX_DOCUMENTS), "{}")
    long, longer = "x" * 2_600, "x" * 3_600  # 4 and 5 KiB
    assert is_within_limits(model.KnownDocument(None, MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(model.KnownDocument(None, MAX_DOCUMENTS - 3), long)
    assert is_within_limits(model.KnownDocument("{}", MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(model.KnownDocument(long, MAX_DOCUMENTS - 4), longer)
    for body in (long, "{}"):
        assert is_within_limits(model.KnownDocument(long, 2 * MAX_DOCUMENTS), body)
