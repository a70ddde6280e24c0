"""Requests of AntennaPod to a server of gpodder.net's API, and replies that would break it."""

from datetime import UTC, datetime, timedelta

import pytest
from people import EPISODE, HTTP_A, LOGIN, A, B, C, basic, move, ok, play
from podcast_apps import AntennaPod, sync

WHEN = "2026-01-01T00:00:00"


@pytest.fixture
def phone(person):
    phone = AntennaPod(person)
    phone.set_up()
    return phone


@pytest.fixture
def tablet(person):
    tablet = AntennaPod(person, "tablet_1")
    tablet.set_up()
    return tablet


def of_podcasts(actions):
    return [(action["podcast"], action["position"]) for action in actions]


def test_setting_up_makes_the_device_known_and_then_the_cookie_alone_lets_in(phone, other):
    person = phone.person
    listed = phone.ask("GET", f"/api/2/devices/{person.name}.json")
    device = {"id": "phone_1", "caption": "My phone", "type": "mobile", "subscriptions": 0}
    assert listed == [device]
    phone.client.cookies.clear()
    assert phone.client.get(person.changes("phone_1"), params={"since": 0}).status_code == 401
    headers = {"Authorization": basic(person.name, other.secret)}
    reply = person.client().post(LOGIN.format(person.name), content=b"", headers=headers)
    assert reply.status_code == 401
    assert "Set-Cookie" not in reply.headers


def test_a_list_wiped_by_a_reset_phone_comes_back_on_every_device(person, phone, tablet):
    feeds = {f"https://{number}.example/feed" for number in range(12)}
    for url in sorted(feeds):
        phone.add(url)
    sync(phone, tablet)
    assert tablet.feeds == feeds
    for url in sorted(feeds):
        phone.remove(url)
    # The tablet is told to remove all, takes that for its owner's wish, and will send it.
    sync(phone, tablet)
    assert (phone.feeds, tablet.feeds, person.subscribed()) == (set(), set(), set())

    wipe = ok(person.interface().get("/history"))["changes"][0]
    assert (wipe["by"]["device"], wipe["feeds_count"]) == ("phone_1", 12)
    assert ok(person.interface().post(f"/history/{wipe['stamp']}/undo"))["changed"] == 12
    sync(phone, tablet, phone, tablet)
    assert phone.feeds == tablet.feeds == person.subscribed() == feeds

    tablet.remove("https://3.example/feed")
    sync(tablet, phone)
    assert person.subscribed() == phone.feeds == feeds - {"https://3.example/feed"}


@pytest.fixture
def removed(phone, tablet):
    """Remove A, which both devices had, on the phone; the tablet has not received that yet."""
    phone.add(A)
    sync(phone, tablet)
    phone.remove(A)
    phone.sync()


@pytest.mark.usefixtures("removed")
def test_an_echo_repeated_since_its_reply_was_lost_is_not_taken_for_a_wish(phone, tablet):
    tablet.sync()
    had = tablet.since, dict(tablet.queued)
    assert had[1] == {A: False}
    tablet.sync()
    tablet.since, tablet.queued = had
    phone.add(A)
    sync(phone, tablet, tablet, phone)
    assert phone.feeds == tablet.feeds == {A}
    tablet.remove(A)
    sync(tablet, phone)
    assert phone.feeds == set()


@pytest.mark.usefixtures("removed")
def test_a_removal_after_an_echo_whose_reply_arrived_is_a_wish(phone, tablet):
    sync(tablet, tablet, tablet)  # it is told, echoes, and asks once more
    phone.add(A)
    sync(phone, tablet)
    assert tablet.feeds == {A}
    tablet.remove(A)
    sync(tablet, phone)
    assert phone.feeds == tablet.feeds == set()


@pytest.mark.usefixtures("removed")
def test_an_echo_that_follows_another_upload_is_not_taken_for_a_wish(phone, tablet):
    tablet.add(B)
    tablet.sync()
    tablet.queued = {A: False}  # deleted in the background, after the upload
    phone.add(A)
    sync(phone, tablet, tablet, phone)
    assert phone.feeds == tablet.feeds == {A, B}


def test_two_devices_have_the_same_podcasts_after_they_synced(phone, tablet):
    phone.add(A)
    phone.sync()
    assert phone.person.subscribed() == {A}
    assert phone.since > 0
    tablet.add(B)
    sync(tablet, phone)
    assert phone.feeds == tablet.feeds == {A, B}
    phone.remove(A)
    phone.sync()
    phone.log_in()
    for _ in range(2):  # what it sent does not come back to it
        told = phone.changes()
        assert (told["add"], told["remove"]) == ([], [])
        phone.since = told["timestamp"]
    tablet.add(C)
    sync(tablet, phone, tablet)
    assert phone.feeds == tablet.feeds == phone.person.subscribed() == {B, C}


def test_an_offline_devices_late_upload_reaches_the_others(phone, tablet):
    tablet.sync()
    tablet.add(A)  # and then it is offline
    played = play(B, EPISODE, 7, timestamp="2020-01-01T00:00:00", device="tablet_1")
    tablet.queued_actions.append(played)
    for _ in range(2):
        phone.add(B)
        phone.sync()
    tablet.sync()
    since = phone.actions_since
    phone.sync()
    assert phone.feeds == {A, B}
    assert of_podcasts(phone.actions(since)) == [(B, 7)]


def test_what_is_added_between_a_download_and_an_upload_is_not_lost(phone, tablet):
    phone.sync()
    phone.changes()
    tablet.add(A)
    tablet.sync()
    body = {"add": [B], "remove": []}
    phone.since = phone.send(phone.person.changes("phone_1"), body).json()["timestamp"]
    phone.sync()
    assert A in phone.feeds


def test_an_upload_sent_again_does_no_harm_and_a_bad_or_local_url_stops_nothing(phone):
    path, local = phone.person.changes("phone_1"), "antennapod_local:content://tree/music"
    body = {"add": [A, "not a url", local, B], "remove": [C, ""]}
    replies = [phone.send(path, body).json() for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]
    told = [pair for pair in replies[0]["update_urls"] if pair[0]]
    assert told == [["not a url", ""], [local, ""]]
    assert phone.person.subscribed() == {A, B}


def test_a_removal_by_http_is_one_of_https_and_names_it_in_each_spelling(phone, tablet):
    phone.add(A)
    sync(phone, tablet)
    assert tablet.feeds == {A}
    phone.send(phone.person.changes("phone_1"), {"add": [], "remove": [HTTP_A]})
    assert phone.person.subscribed() == set()
    told = tablet.changes()
    assert (told["add"], told["remove"]) == ([], [A, f"{A}/", HTTP_A, f"{HTTP_A}/"])
    tablet.sync()
    assert tablet.feeds == set()


def test_a_podcast_that_both_have_by_other_schemes_is_one_subscription(phone, tablet):
    phone.add(A)
    tablet.add(HTTP_A)
    sync(phone, tablet, phone, tablet)
    assert (phone.feeds, tablet.feeds) == ({A}, {HTTP_A})
    assert phone.person.subscribed() == {A}


def test_a_feed_that_moved_stays_on_the_phone_as_it_is(phone):
    phone.add(A)
    phone.sync()
    move(phone.person, A, B)
    for _ in range(2):
        phone.sync()
        assert (phone.feeds, phone.person.subscribed()) == ({A}, {B})
    phone.remove(A)
    phone.sync()
    assert phone.person.subscribed() == set()


def test_a_move_that_the_phone_is_sent_is_made_there_and_unsubscribes_nothing(phone, tablet):
    """The phone sends back the removal that it was told; that is not what its owner wants."""
    phone.add(A)
    phone.queued_actions = [play(A, EPISODE, 7, timestamp=WHEN, device="phone_1")]
    sync(phone, tablet)
    phone.person.process.must("move", phone.person.name, A, B, "--tell-apps")
    since = tablet.actions_since
    sync(phone, tablet, phone, tablet)
    assert phone.feeds == tablet.feeds == phone.person.subscribed() == {B}
    assert of_podcasts(tablet.actions(since)) == [(B, 7)]


def test_an_action_that_a_phone_sent_does_not_come_back_to_it(phone, tablet):
    """It would overwrite what was played since: of an episode that was finished, and begun anew."""
    phone.queued_actions = [
        play(A, f"{EPISODE}?{number}", number, timestamp=WHEN, device="phone_1")
        for number in range(1, 96)
    ]
    phone.sync()
    first = [action["position"] for action in tablet.actions()]  # sent 30 at a time
    assert sorted(first) == list(range(1, 96))
    tablet.queued_actions = [play(A, EPISODE, 7, timestamp=WHEN, device="tablet_1")]
    tablet.sync()
    phone.log_in()
    assert of_podcasts(phone.actions(phone.actions_since)) == [(A, 7)]


def test_what_a_session_played_is_newer_than_what_came_since_its_last_reply(phone, tablet):
    """Told of the older play, the phone would go back to it."""
    other = f"{EPISODE}?other"
    tablet.queued_actions = [play(A, EPISODE, 5, device="tablet_1")]
    tablet.sync()
    phone.log_in()
    since = phone.ask("GET", phone.person.episodes, since=0)["timestamp"]
    tablet.queued_actions = [play(A, EPISODE, 7, device="tablet_1")]
    tablet.sync()
    played = [play(A, EPISODE, 9, device="phone_1"), play(A, other, 3, device="phone_1")]
    phone.send(phone.person.episodes, played)
    assert phone.actions(since) == []
    assert sorted(of_podcasts(phone.actions())) == [(A, 3), (A, 9)]


def test_action_times_are_told_in_utc_and_those_that_cannot_be_read_are_of_their_coming(person):
    noon = ("2026-05-06T07:08:09", "2026-05-06T09:08:09.123+02:00", 1778051289, "1778051289")
    unreadable = (None, "", "yesterday", "2026-02-30T00:00:00", -1, True, [1])
    sent = enumerate([*noon, *unreadable], 1)
    person.played(*(play(A, f"{EPISODE}?{n}", n, timestamp=written) for n, written in sent))
    told = {action["position"]: action["timestamp"] for action in person.actions()}
    assert [told.pop(position) for position in range(1, 5)] == ["2026-05-06T07:08:09"] * 4
    assert len(told) == len(unreadable)
    for text in told.values():
        came = datetime.fromisoformat(text).replace(tzinfo=UTC)
        assert abs(datetime.now(UTC) - came) < timedelta(minutes=1)
