"""Apps that sync the devices of other apps, without changing the state of these.

Kasts ("sync all devices"), CPod and cliamp ask for each device of the account since 0.
"""

import pytest
from people import A, B, change, move, ok
from podcast_apps import AntennaPod, Kasts, sync


@pytest.fixture
def phone(person):
    """Return a phone that has synced, and knows it."""
    phone = AntennaPod(person)
    phone.set_up()
    phone.add(A)
    sync(phone, phone)
    return phone


def as_kasts(person):
    kasts = Kasts(person)
    kasts.describe()
    kasts.sync_all_devices()


def as_cliamp(person):
    cliamp = person.client(**{"Authorization": person.basic, "User-Agent": "cliamp-gpodder/0.3"})
    for device in ok(cliamp.get(f"/api/2/devices/{person.name}.json")):
        person.pull(device["id"], cliamp, since=0)


def as_unknown(_):
    """Ask for nothing."""


each_way = pytest.mark.parametrize("ask_for_all_devices", [as_kasts, as_cliamp, as_unknown])


@each_way
def test_removing_a_duplicate_unsubscribes_nothing(person, phone, ask_for_all_devices):
    move(person, A, B)
    phone.sync()
    phone.add(B)
    phone.sync()
    ask_for_all_devices(person)
    phone.remove(B)
    sync(phone, phone)
    assert person.subscribed() == {B}
    assert phone.feeds == {A}


@each_way
def test_a_real_removal_of_a_feed_that_moved_unsubscribes(person, phone, ask_for_all_devices):
    move(person, A, B)
    phone.sync()
    ask_for_all_devices(person)
    phone.sync()
    phone.remove(A)
    phone.sync()
    assert person.subscribed() == set()


@each_way
@pytest.mark.parametrize("is_forced", [False, True])
def test_the_echo_of_a_removal_leaves_a_feed_that_was_brought_back(
    person, phone, ask_for_all_devices, *, is_forced
):
    change(person, A, is_subscribed=False)
    phone.sync()
    assert phone.queued == {A: False}  # it takes that for its owner's wish, and sends it next time
    change(person, A, is_subscribed=True)
    ask_for_all_devices(person)
    if is_forced:
        phone.force_full_synchronization()
    sync(phone, phone)
    assert person.subscribed() == {A}
    assert phone.feeds == {A}


def test_what_an_owner_removes_after_a_full_synchronization_is_removed(person, phone):
    phone.force_full_synchronization()
    phone.sync()
    phone.remove(A)
    phone.sync()
    assert person.subscribed() == set()


@pytest.mark.parametrize("has_moved", [True, False])
def test_an_app_not_known_removes_a_feed_that_moved_on_the_second_try(person, phone, has_moved):
    """It may have the feed by both URLs: in doubt the feed stays, and the app is told so."""
    if has_moved:
        move(person, A, B)
        phone.sync()
    person.secret = person.process.new_token(person.name)  # an app password of its own from now on
    phone.remove(A)
    phone.sync()
    if has_moved:
        assert person.subscribed() == {B}
        phone.sync()
        assert phone.feeds == {A}
        phone.remove(A)
        phone.sync()
    assert person.subscribed() == set()
