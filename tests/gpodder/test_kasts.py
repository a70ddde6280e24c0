"""Requests of Kasts to a server of gpodder.net's API, and replies that would break it."""

import pytest
from people import EPISODE, HTTP_A, A, B, C, log_in, ok, play
from podcast_apps import AntennaPod, Kasts, next_since

AT = {"timestamp": "2026-01-01T00:00"}
OF_A = {"podcast": A, "episode": EPISODE}


@pytest.fixture
def desk(person):
    return Kasts(person)


def positions(actions):
    return [action["position"] for action in actions]


def test_all_its_requests_in_their_order_work(person, desk):
    assert desk.log_in() == []
    desk.describe()
    described = {"id": "desktop-1", "caption": "Desk", "type": "desktop", "subscriptions": 0}
    assert desk.log_in() == [described]
    told = desk.ask("GET", f"/api/2/sync-devices/{person.name}.json")
    assert told == {"synchronized": [], "not-synchronized": ["desktop-1"]}
    body = {"synchronize": [["desktop-1", "phone"]], "stop-synchronize": []}
    told = desk.ask("POST", f"/api/2/sync-devices/{person.name}.json", body)
    assert set(told) == {"synchronized", "not-synchronized"}
    desk.changes()
    desk.upload([A], [])
    desk.actions("true")
    next_since(desk.ask("GET", f"/api/2/updates/{person.name}/desktop-1.json", since=0))
    next_since(desk.send(play(A, EPISODE, 5, device="desktop-1")))
    assert desk.actions("false") == []  # its own
    assert positions(Kasts(person, "phone").actions("false")) == [5]


def test_one_more_than_the_second_it_was_told_loses_nothing(person, desk):
    phone = Kasts(person, "phone")
    for one in (desk, phone):  # which names its device, as each sync does first
        one.changes()
    feeds, plays = [], []
    for number in range(1, 21):
        desk.upload([f"https://{number}.example"], [])
        feeds += phone.changes()["add"]
        desk.send(play(A, EPISODE, number, **AT))
        plays += positions(phone.actions("false"))
    assert set(feeds) == {f"https://{number}.example" for number in range(1, 21)}
    assert phone.changes()["add"] == []
    assert plays == list(range(1, 21))
    assert phone.actions("false") == []


def test_it_loses_nothing_that_others_do_between_its_download_and_its_upload(person, desk):
    phone = AntennaPod(person)
    desk.changes()
    phone.add(A)
    phone.sync()
    desk.upload([B], [])
    assert A in desk.changes()["add"]
    phone.sync()
    assert phone.feeds == {A, B}


def test_aggregated_tells_the_last_action_of_each_kind_with_an_episode_only(desk):
    """Kasts reads `play` alone, and AntennaPod deletes what was played to its end."""
    desk.send(
        {**OF_A, "action": "download", "device": "desktop-1"},
        play(A, EPISODE, 10, device="desktop-1"),
        play(A, EPISODE, 30, device="phone"),
        play(B, EPISODE, 50, device="phone"),
        {**OF_A, "action": "delete", "device": "phone"},
    )
    told = desk.all_actions(aggregated="true")
    assert [(action["podcast"], action["action"], action.get("position")) for action in told] == [
        (A, "download", None),
        (A, "play", 30),
        (B, "play", 50),
        (A, "delete", None),
    ]
    assert len(desk.all_actions(aggregated="false")) == 4


@pytest.mark.parametrize(
    "numbers", [{}, {"started": -1, "position": -1, "total": -1}, {"started": 0, "position": 0}]
)
def test_a_play_that_does_not_say_how_far_changes_nothing(person, desk, numbers):
    """gPodder sends one as soon as playback starts: a phone would go back to the start."""
    phone = log_in(person)
    desk.send(play(A, EPISODE, 2400, device="desktop-1"))
    told = ok(phone.get(person.episodes))
    assert positions(told["actions"]) == [2400]
    begun = {**OF_A, "action": "play", "device": "desktop-1", **numbers}
    desk.send(begun, {**begun, "device": "other"})
    assert person.actions(phone, since=told["timestamp"]) == []
    assert positions(desk.all_actions()) == [2400]
    desk.send(play(A, EPISODE, 2500, device="desktop-1", started=None))
    (action,) = person.actions(phone, since=told["timestamp"])
    assert (action["started"], action["position"], action["total"]) == (0, 2500, 3600)


def test_two_guids_with_one_url_are_two_episodes_and_one_guid_with_two_urls_is_one(desk):
    desk.send(
        play(A, EPISODE, 10, guid="a", device="phone"),
        play(A, EPISODE, 20, guid="b", device="phone"),
        play(A, f"{EPISODE}?1", 30, guid="c", device="phone", timestamp="2026-01-01T00:00:00"),
        play(A, f"{EPISODE}?1", 40, guid="c", device="tablet", timestamp="2026-01-01T00:00:01"),
    )
    later = {"device": "phone", "timestamp": "2026-01-02T00:00:00"}
    desk.send(play(A, f"{EPISODE}?2", 50, guid="c", **later))
    told = desk.all_actions()
    assert [(one["guid"], one["episode"], one["position"]) for one in told] == [
        ("a", EPISODE, 10),
        ("b", EPISODE, 20),
        ("c", f"{EPISODE}?2", 50),
    ]
    assert desk.all_actions(aggregated="true") == told


def test_actions_are_told_in_lower_case_with_numbers_at_play_alone(desk):
    numbers = {"started": 1, "position": 2, "total": 3}
    kinds = {"PLAY": numbers, "Download": numbers, "DELETE": {}, "new": {}}
    desk.send(*({**OF_A, "action": kind, **AT, **extra} for kind, extra in kinds.items()))
    told = {action.pop("action"): action for action in desk.actions("false")}
    common = {**OF_A, "timestamp": "2026-01-01T00:00:00"}
    assert told.pop("play") == {**common, **numbers}
    assert told == {"download": common, "delete": common, "new": common}


def test_an_action_that_is_none_stops_none_of_the_others_and_none_subscribes(person, desk):
    texts = {"started": "0", "position": "7", "total": "90"}  # numbers as texts are numbers
    told = desk.send(
        play(A, EPISODE, 1),
        "nonsense",
        None,
        {},
        OF_A,
        {**OF_A, "action": "!"},
        play("no url", EPISODE, 2),
        play("antennapod_local:1", EPISODE, 3),
        play(B, EPISODE, 4),
        {**play(C, EPISODE, 0), **texts},
    )
    assert told["update_urls"] == [["no url", ""], ["antennapod_local:1", ""]]
    assert positions(desk.actions("false")) == [1, 4, 7]
    assert person.subscribed() == set()


def test_a_resent_action_is_told_no_more_and_of_several_the_latest_one_is_kept(desk):
    first = play(A, EPISODE, 5, timestamp="2026-01-01T00:00:00", device="phone")
    later = play(HTTP_A, EPISODE, 9, timestamp="2026-01-01T00:00:09", device="phone")
    for sent in (first, later, first, later):
        desk.send(sent)
    assert positions(desk.actions("false")) == [9]
    desk.send(later)
    desk.send(first)
    assert desk.actions("false") == []


def test_what_it_removed_is_removed_everywhere(person, desk):
    phone = AntennaPod(person)
    phone.add(A)
    phone.add(B)
    phone.sync()
    assert set(desk.changes()["add"]) == {A, B}
    assert desk.upload([], [B])["update_urls"] == []
    phone.sync()
    assert phone.feeds == {A}
    listed = ok(person.interface().get("/subscriptions"))["subscriptions"]
    assert {entry["feed_url"]: entry["is_subscribed"] for entry in listed} == {A: True, B: False}


def test_a_feed_that_is_new_is_removed_at_the_first_try_whatever_was_removed_before(person, desk):
    phone = Kasts(person, "phone")
    phone.upload([A], [])
    assert desk.changes()["add"] == [A]
    phone.upload([], [A])
    assert A in desk.changes()["remove"]  # AntennaPod would send it back, Kasts does not
    phone.upload([B], [])
    assert desk.changes()["add"] == [B]
    desk.upload([], [B])
    assert person.subscribed() == set()
    assert B in phone.changes()["remove"]


def test_after_an_upload_it_is_sent_only_what_others_have_done(person, desk):
    """It keeps no cookies: so what it was sent is stored with its password, while that is its own.

    Otherwise each sync after an upload would bring everything once more.
    """
    phone = AntennaPod(person)
    phone.sync()
    desk.changes()
    desk.upload([A, B], [])
    assert desk.changes()["add"] == []
    desk.actions("false")
    actions = [play(A, f"{EPISODE}?{number}", 5, device="desktop-1") for number in range(9)]
    desk.actions_since = next_since(desk.send(*actions))
    assert desk.actions("false") == []
    phone.add(C)
    phone.queued_actions = [play(A, EPISODE, 7, device="phone_1")]
    phone.sync()
    assert desk.changes()["add"] == [C]
    assert positions(desk.actions("false")) == [7]


def test_a_second_device_with_the_same_password_ends_that_for_good(person, desk):
    """A reply to one device says nothing of the other: each is rather sent too much."""
    laptop = Kasts(person, "laptop-1")
    desk.changes()
    desk.upload([A], [])
    laptop.changes()
    desk.upload([B], [])
    assert laptop.upload([C], [])["timestamp"] == 1
    assert desk.upload([C], [])["timestamp"] == 1
    assert sorted(desk.changes()["add"]) == [A, B, C]


@pytest.mark.parametrize(
    ("query", "sent", "stored"),
    [
        ({}, [{**OF_A, "action": "play", "device": "laptop-1"}], 0),  # which says not how far
        ({}, [play(A, f"{EPISODE}?{d}", 5, device=d) for d in ("desktop-1", "laptop-1")], 2),
        ({"device": "laptop-1"}, [play(A, EPISODE, 5, device="desktop-1")], 1),
    ],
    ids=["action that is not stored", "actions", "query"],
)
def test_a_second_device_that_is_named_elsewhere_ends_that_too(person, desk, query, sent, stored):
    desk.changes()
    desk.actions("false")
    if query:
        desk.ask("GET", person.episodes, since=desk.actions_since, **query)
    assert desk.send(*sent)["timestamp"] == 1
    assert len(desk.actions("false")) == stored


def test_one_that_is_installed_anew_is_told_to_remove_nothing(person, desk):
    desk.changes()
    desk.upload([A, B], [])
    desk.upload([], [A])
    desk.changes()
    desk.changes()
    told = Kasts(person).changes()
    assert (told["add"], told["remove"]) == ([B], [])
