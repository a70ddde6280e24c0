"""What AntennaPod sends to a server of gpodder.net's kind, and what would break it."""

from datetime import UTC, datetime, timedelta

import pytest
from people import EPISODE, HTTP_A, A, B, C, basic, move, ok, play
from podcast_apps import AntennaPod

ODD_TIMES = [
    ("2026-05-06T07:08:09", "2026-05-06T07:08:09"),
    ("2026-05-06T07:08:09Z", "2026-05-06T07:08:09"),
    ("2026-05-06T07:08:09.123Z", "2026-05-06T07:08:09"),
    ("2026-05-06T07:08:09+02:00", "2026-05-06T05:08:09"),
    ("2026-05-06T07:08:09-0130", "2026-05-06T08:38:09"),
    ("2026-05-06 07:08:09", "2026-05-06T07:08:09"),
    (1778051289, "2026-05-06T07:08:09"),
    ("1778051289", "2026-05-06T07:08:09"),
    (1778051289123, "2026-05-06T07:08:09"),
]


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


def test_setting_up_makes_the_device_known(phone):
    listed = phone.ask("GET", f"/api/2/devices/{phone.person.name}.json")
    device = {"id": "phone_1", "caption": "My phone", "type": "mobile", "subscriptions": 0}
    assert listed == [device]


def test_a_list_that_a_reset_phone_wiped_comes_back_on_every_device_and_stays(
    person, phone, tablet
):
    feeds = {f"https://{number}.example/feed" for number in range(12)}
    for url in sorted(feeds):
        phone.add(url)
    phone.sync()
    tablet.sync()
    assert tablet.feeds == feeds
    for url in sorted(feeds):
        phone.remove(url)
    phone.sync()
    tablet.sync()  # it is told to remove all, takes that for its owner's wish, and will send it
    assert (phone.feeds, tablet.feeds, person.subscribed()) == (set(), set(), set())

    wipe = ok(person.interface().get("/history"))["changes"][0]
    assert (wipe["by"]["device"], wipe["feeds_count"]) == ("phone_1", 12)
    done = ok(person.interface().post(f"/history/{wipe['stamp']}/undo"))
    assert done["changed"] == 12
    for _ in range(2):
        phone.sync()
        tablet.sync()
    assert person.subscribed() == feeds
    assert phone.feeds == tablet.feeds == feeds

    tablet.remove("https://3.example/feed")
    tablet.sync()
    phone.sync()
    assert person.subscribed() == phone.feeds == feeds - {"https://3.example/feed"}


def remove_a_feed_that_both_have(phone: AntennaPod, tablet: AntennaPod) -> None:
    phone.add(A)
    phone.sync()
    tablet.sync()
    phone.remove(A)
    phone.sync()


def test_an_echo_that_is_repeated_since_its_reply_was_lost_is_not_taken_for_a_wish(phone, tablet):
    remove_a_feed_that_both_have(phone, tablet)
    tablet.sync()
    had = tablet.since, dict(tablet.queued)
    assert had[1] == {A: False}
    tablet.sync()
    tablet.since, tablet.queued = had
    phone.add(A)
    phone.sync()
    for _ in range(2):
        tablet.sync()
    phone.sync()
    assert phone.feeds == tablet.feeds == {A}
    tablet.remove(A)
    tablet.sync()
    phone.sync()
    assert phone.feeds == set()


def test_a_removal_after_an_echo_whose_reply_arrived_is_a_wish(phone, tablet):
    remove_a_feed_that_both_have(phone, tablet)
    for _ in range(3):  # it is told, echoes, and asks once more
        tablet.sync()
    phone.add(A)
    phone.sync()
    tablet.sync()
    assert tablet.feeds == {A}
    tablet.remove(A)
    tablet.sync()
    phone.sync()
    assert phone.feeds == tablet.feeds == set()


def test_an_echo_that_follows_another_upload_is_not_taken_for_a_wish(phone, tablet):
    remove_a_feed_that_both_have(phone, tablet)
    tablet.add(B)
    tablet.sync()
    tablet.queued = {A: False}  # deleted in the background, after the upload
    phone.add(A)
    phone.sync()
    for _ in range(2):
        tablet.sync()
    phone.sync()
    assert phone.feeds == tablet.feeds == {A, B}


def test_after_the_login_the_cookie_alone_lets_in(phone):
    phone.ask("GET", phone.person.changes("phone_1"), since=0)
    phone.client.cookies.clear()
    reply = phone.client.get(phone.person.changes("phone_1"), params={"since": 0})
    assert reply.status_code == 401


def test_a_login_with_a_wrong_password_is_401(person, other):
    path = f"/api/2/auth/{person.name}/login.json"
    headers = {"Authorization": basic(person.name, other.secret)}
    reply = person.client().post(path, content=b"", headers=headers)
    assert reply.status_code == 401
    assert "Set-Cookie" not in reply.headers


def test_the_first_sync_brings_every_podcast_up(phone):
    for url in (A, B):
        phone.add(url)
    phone.sync()
    assert phone.person.subscribed() == {A, B}
    assert phone.since > 0


def test_two_devices_have_the_same_podcasts_after_they_synced(phone, tablet):
    phone.add(A)
    tablet.add(B)
    for device in (phone, tablet, phone):
        device.sync()
    assert phone.feeds == tablet.feeds == {A, B}
    phone.remove(A)
    tablet.add(C)
    for device in (phone, tablet, phone, tablet):
        device.sync()
    assert phone.feeds == tablet.feeds == phone.person.subscribed() == {B, C}


def test_an_offline_devices_late_upload_reaches_the_others(phone, tablet):
    tablet.sync()
    tablet.add(A)  # and then it is offline
    tablet.queued_actions.append(
        play(B, EPISODE, 7, timestamp="2020-01-01T00:00:00", device="tablet_1")
    )
    for _ in range(2):
        phone.add(B)
        phone.sync()
    tablet.sync()
    since = phone.actions_since
    phone.sync()
    assert phone.feeds == {A, B}
    told = phone.ask("GET", phone.person.episodes, since=since)["actions"]
    assert [(action["podcast"], action["position"]) for action in told] == [(B, 7)]


def test_what_is_added_between_a_download_and_an_upload_is_not_lost(phone, tablet):
    phone.sync()
    path = phone.person.changes("phone_1")
    phone.ask("GET", path, since=phone.since)
    tablet.add(A)
    tablet.sync()
    phone.since = phone.send(path, {"add": [B], "remove": []}).json()["timestamp"]
    phone.sync()
    assert A in phone.feeds


def test_a_sync_without_changes_tells_nothing(phone):
    phone.add(A)
    phone.sync()
    phone.sync()
    for _ in range(2):
        path = phone.person.changes("phone_1")
        told = phone.ask("GET", path, since=phone.since)
        assert (told["add"], told["remove"]) == ([], [])
        phone.since = told["timestamp"]


def test_an_upload_that_is_sent_again_does_no_harm(phone):
    path = phone.person.changes("phone_1")
    body = {"add": [A, B], "remove": [C]}
    replies = [phone.send(path, body).json() for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]
    assert phone.person.subscribed() == {A, B}


def test_one_bad_and_one_local_url_stop_nothing(phone):
    local = "antennapod_local:content://tree/music"
    body = {"add": [A, "not a url", local, B], "remove": [C, ""]}
    told = phone.send(phone.person.changes("phone_1"), body).json()
    assert [pair for pair in told["update_urls"] if pair[0]] == [["not a url", ""], [local, ""]]
    assert phone.person.subscribed() == {A, B}


def test_a_removal_by_http_is_one_of_what_was_added_by_https_and_names_it_in_each_spelling(
    phone, tablet
):
    phone.add(A)
    phone.sync()
    tablet.sync()
    assert tablet.feeds == {A}
    phone.send(phone.person.changes("phone_1"), {"add": [], "remove": [HTTP_A]})
    assert phone.person.subscribed() == set()
    told = tablet.ask("GET", phone.person.changes("tablet_1"), since=tablet.since)
    assert (told["add"], told["remove"]) == ([], [A, f"{A}/", HTTP_A, f"{HTTP_A}/"])
    tablet.sync()
    assert tablet.feeds == set()


def test_a_podcast_that_both_have_by_other_schemes_is_one_subscription(phone, tablet):
    phone.add(A)
    tablet.add(HTTP_A)
    for device in (phone, tablet, phone, tablet):
        device.sync()
    assert (phone.feeds, tablet.feeds) == ({A}, {HTTP_A})
    assert phone.person.subscribed() == {A}


def test_a_feed_that_moved_stays_on_the_phone_as_it_is(phone):
    phone.add(A)
    phone.sync()
    move(phone.person, A, B)
    for _ in range(2):
        phone.sync()
        assert phone.feeds == {A}
        assert phone.person.subscribed() == {B}
    phone.remove(A)
    phone.sync()
    assert phone.person.subscribed() == set()


def test_a_move_that_the_phone_is_sent_is_made_there_and_unsubscribes_nothing(phone, tablet):
    """The phone sends back the removal that it was told; that is not what its owner wants."""
    phone.add(A)
    phone.queued_actions = [play(A, EPISODE, 7, timestamp="2026-01-01T00:00:00", device="phone_1")]
    for device in (phone, tablet):
        device.sync()
    phone.person.process.must("move", phone.person.name, A, B, "--tell-apps")
    since = tablet.actions_since
    for device in (phone, tablet, phone, tablet):
        device.sync()
    assert phone.feeds == tablet.feeds == phone.person.subscribed() == {B}
    told = tablet.ask("GET", phone.person.episodes, since=since)["actions"]
    assert [(action["podcast"], action["position"]) for action in told] == [(B, 7)]


def test_an_action_that_a_phone_sent_does_not_come_back_to_it(phone, tablet):
    """It would overwrite what was played since: of an episode that was finished, and begun anew."""
    when = "2026-01-01T00:00:00"
    phone.queued_actions = [
        play(A, f"{EPISODE}?{number}", 3600, timestamp=when, device="phone_1")
        for number in range(40)
    ]
    phone.sync()
    tablet.queued_actions = [play(A, EPISODE, 7, timestamp=when, device="tablet_1")]
    tablet.sync()
    phone.log_in()
    told = phone.ask("GET", phone.person.episodes, since=phone.actions_since)["actions"]
    assert [action["position"] for action in told] == [7]


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
    told = phone.ask("GET", phone.person.episodes, since=since)["actions"]
    assert told == []
    everything = phone.ask("GET", phone.person.episodes, since=0)["actions"]
    assert sorted(action["position"] for action in everything) == [3, 9]


def test_what_a_phone_sent_does_not_come_back_to_it(phone):
    for url in (A, B):
        phone.add(url)
    phone.sync()
    phone.remove(A)
    phone.sync()
    phone.log_in()
    told = phone.ask("GET", phone.person.changes("phone_1"), since=phone.since)
    assert (told["add"], told["remove"]) == ([], [])


@pytest.mark.parametrize(("sent", "told"), ODD_TIMES, ids=str)
def test_action_times_are_told_in_utc_without_an_offset(person, sent, told):
    app = person.app()
    ok(app.post(person.episodes, json=[play(A, EPISODE, 1, timestamp=sent)]))
    assert ok(app.get(person.episodes))["actions"][0]["timestamp"] == told


@pytest.mark.parametrize("sent", [None, "", "yesterday", "2026-02-30T00:00:00", -1, True, [1]])
def test_an_action_without_a_time_that_can_be_read_has_that_of_its_coming(person, sent):
    app = person.app()
    ok(app.post(person.episodes, json=[play(A, EPISODE, 1, timestamp=sent)]))
    action = ok(app.get(person.episodes))["actions"][0]
    came = datetime.fromisoformat(action["timestamp"]).replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - came) < timedelta(minutes=1)


def test_first_uploads_are_told_completely_30_at_a_time(phone, tablet):
    phone.queued_actions = [
        play(A, f"{EPISODE}?{number}", number, timestamp="2026-01-01T00:00:00", device="phone_1")
        for number in range(1, 96)
    ]
    phone.sync()
    told = tablet.ask("GET", phone.person.episodes, since=0)["actions"]
    assert sorted(action["position"] for action in told) == list(range(1, 96))
