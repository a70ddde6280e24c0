"""What is known of an app that sends a password with each request."""

import pytest

from feedkeep.model import Clock, Second, SyncProgress
from feedkeep.rules.app_identity import CookielessApp, after_naming, progress_of, with_progress
from feedkeep.rules.seconds import NOTHING

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
def test_a_second_device_ends_that_it_is_one_app(app, devices, after):
    assert after_naming(app, devices) == after


@pytest.mark.parametrize("clock", Clock)
def test_of_one_app_is_known_how_far_it_knows_what_changed(clock):
    sent = with_progress(DESK, clock, SENT)
    assert progress_of(sent, clock) == progress_of(sent, clock, Second(9)) == SENT
    other = next(one for one in Clock if one is not clock)
    assert progress_of(sent, other) == SyncProgress(is_alone=True)


def test_who_asks_for_everything_begins_anew():
    sent = with_progress(DESK, Clock.ACTIONS, SENT)
    assert progress_of(sent, Clock.ACTIONS, Second(0)) == SyncProgress(is_alone=True)


def test_of_several_apps_nothing_is_known():
    app = CookielessApp("desk", is_several=True)
    assert with_progress(app, Clock.ACTIONS, SENT) == app
    assert progress_of(app, Clock.ACTIONS) == NOTHING


@pytest.mark.parametrize("clock", list(Clock))
def test_of_an_app_that_names_no_device_it_is_known_too_and_stays_known_once_it_does(clock):
    """Nextcloud's requests name none."""
    sent = with_progress(after_naming(CookielessApp(), [""]), clock, SENT)
    assert progress_of(sent, clock) == SENT
    assert progress_of(after_naming(sent, ["desk"]), clock) == SENT
