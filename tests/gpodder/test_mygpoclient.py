"""The real mygpoclient, which gPodder and others use, against a real process."""

import pytest
from mygpoclient import http, simple
from mygpoclient.api import EpisodeAction, MygPodderClient
from people import EPISODE, HTTP_A, LAST_32_BIT_SECOND, A, B, C, add, ok

from feedkeep.rules.feed_urls import usual_spellings

MORE_THAN_IT_ANSWERS = 3 * 4
"""It answers three challenges in its life."""


def client_of(person):
    return MygPodderClient(person.name, person.secret, root_url=person.process.base_url)


@pytest.fixture
def client(person):
    client = client_of(person)
    yield client
    jar = client._client._cookie_jar
    person.process.tokens += [cookie.value for cookie in jar if cookie.value]


def test_it_answers_one_challenge_and_lives_on_the_cookie(client):
    for number in range(MORE_THAN_IT_ANSWERS):
        assert client.update_device_settings("desk", caption=f"Desk {number}") is True
    assert [cookie.name for cookie in client._client._cookie_jar] == ["sessionid"]


def test_without_the_cookie_it_would_give_up(client):
    """The control of the test above: the limit is really there."""
    for _ in range(3):
        client.get_devices()
        client._client._cookie_jar.clear()
    with pytest.raises(http.Unauthorized):
        client.get_devices()


def test_a_host_without_a_scheme_is_reached_and_a_wrong_secret_is_unauthorized(person, other):
    host = person.process.base_url.removeprefix("http://")
    assert MygPodderClient(person.name, person.secret, root_url=host).get_devices() == []
    with pytest.raises(http.Unauthorized):
        MygPodderClient(person.name, other.secret, root_url=host).get_devices()


def sync(client, since, actions_since, actions):
    """Do all that one sync of gPodder does; return what was added, and the next seconds."""
    assert client.update_device_settings("gpo_desk", "gPodder", "desktop") is True
    pulled = client.pull_subscriptions("gpo_desk", since)
    since = client.update_subscriptions("gpo_desk", [C], []).since
    actions_since = client.download_episode_actions(actions_since).since
    for start in range(0, len(actions), 100):
        actions_since = client.upload_episode_actions(actions[start : start + 100])
    return set(pulled.add), since, actions_since


def test_a_whole_sync_with_actions_100_at_a_time_works_again_and_again(person, client):
    actions = [
        EpisodeAction(A, f"{EPISODE}?{number}", "play", "gpo_desk", None, 0, number, 900)
        for number in range(1, 251)
    ]
    add(person, A)
    added, since, actions_since = sync(client, 0, 0, actions)
    assert added == {A}
    add(person, B)
    added, since, actions_since = sync(client, since, actions_since, [])
    assert added == {B}  # and not what it has sent itself
    told = person.actions(since=0)
    assert sorted(action["position"] for action in told) == list(range(1, 251))


def test_devices_are_described_listed_and_described_anew(client):
    assert client.update_device_settings("desk", "My desk", "desktop") is True
    assert client.update_device_settings("phone.1", type="mobile") is True
    assert client.update_device_settings("desk", caption="His desk") is True
    client.update_subscriptions("desk", [A, B])
    found = [(d.device_id, d.caption, d.type, d.subscriptions) for d in client.get_devices()]
    assert found == [("desk", "His desk", "desktop", 2), ("phone.1", "phone.1", "mobile", 2)]


def test_a_whole_list_is_put_and_got(person, client):
    assert client.put_subscriptions("desk", [A, B]) is True
    assert client.put_subscriptions("desk", [B, C]) is True
    simple_client = simple.SimpleClient(person.name, person.secret, person.process.base_url)
    for device in ("desk", "phone"):
        assert set(client.get_subscriptions(device)) == {B, C}
    assert simple_client.put_subscriptions("desk", [A]) is True
    assert simple_client.get_subscriptions("desk") == [A]
    assert simple_client.get_suggestions() == []


def test_a_list_that_is_brought_back_is_pulled_as_new(person, client):
    since = client.update_subscriptions("desk", [A, B, C]).since
    since = client.update_subscriptions("desk", [], [A, B, C]).since
    wipe = ok(person.interface().get("/history"))["changes"][0]
    ok(person.interface().post(f"/history/{wipe['stamp']}/undo"))
    changes = client.pull_subscriptions("desk", since)
    assert (set(changes.add), changes.remove) == ({A, B, C}, [])
    assert set(client.get_subscriptions("desk")) == {A, B, C}
    assert client.pull_subscriptions("desk", changes.since).add == []


def test_changes_go_up_and_come_down_on_another_device(person):
    desk, phone = client_of(person), client_of(person)
    desk.update_subscriptions("desk", [A, B])
    first = phone.pull_subscriptions("phone", 0)
    assert (set(first.add), first.remove) == ({A, B}, [])
    desk.update_subscriptions("desk", [C], [A])
    second = phone.pull_subscriptions("phone", first.since)
    assert (second.add, second.remove) == ([C], usual_spellings(A))
    third = phone.pull_subscriptions("phone", second.since)
    assert (third.add, third.remove) == ([], [])
    assert first.since <= second.since <= third.since <= LAST_32_BIT_SECOND
    desk.update_subscriptions("desk", [A])  # after the pull of the phone, before its upload
    since = phone.update_subscriptions("phone", ["https://d.example"]).since
    assert A in phone.pull_subscriptions("phone", since).add


def test_update_urls_tell_how_a_url_is_kept_and_which_is_none(client):
    pulled = client.pull_subscriptions("desk", 0)
    uploaded = client.update_subscriptions("desk", [A])
    assert uploaded.since <= pulled.since  # it tells no later second than the pull before
    for _ in range(2):  # without a since it is told all
        assert client.pull_subscriptions("desk").add == [A]
    sent = [f" {B} ", HTTP_A, "antennapod_local:1", "nonsense", C]
    result = client.update_subscriptions("desk", sent, ["also nonsense"])
    assert dict(result.update_urls) == {
        f" {B} ": B,
        HTTP_A: A,
        "antennapod_local:1": "",
        "nonsense": "",
        "also nonsense": "",
    }
    assert set(client.get_subscriptions("desk")) == {A, B, C}


def test_episode_actions_go_up_and_come_down_by_since_and_podcast(person):
    desk, phone = client_of(person), client_of(person)
    played = EpisodeAction(A, EPISODE, "play", "desk", "2026-01-02T03:04:05", 10, 20, 600)
    loaded = EpisodeAction(B, EPISODE, "download", "phone", "2026-01-02T03:04:06")
    assert desk.upload_episode_actions([played]) <= LAST_32_BIT_SECOND
    first = phone.download_episode_actions(0)
    assert [action.to_dictionary() for action in first.actions] == [played.to_dictionary()]
    phone.upload_episode_actions([loaded])
    second = desk.download_episode_actions(first.since)
    assert [action.to_dictionary() for action in second.actions] == [loaded.to_dictionary()]
    assert [a.podcast for a in desk.download_episode_actions(podcast=A).actions] == [A]
    third = desk.download_episode_actions(second.since)
    assert third.actions == []
    phone.upload_episode_actions([EpisodeAction(A, "a", "new"), EpisodeAction(B, "b", "new")])
    desk.download_episode_actions(third.since, podcast=A)  # which hides none from the next poll
    assert len(desk.download_episode_actions(third.since).actions) == 2


def test_settings_of_all_four_scopes_are_set_removed_and_kept_apart(client):
    of_episode = ("episode", A, EPISODE)
    scopes = [("account", None, None), ("device", "desk", None), ("podcast", A, None), of_episode]
    for number, scope in enumerate(scopes):
        assert client.get_settings(*scope) == {}
        told = client.set_settings(*scope, {"number": number, "gone": [None]})
        assert told == {"number": number, "gone": [None]}
    for number, scope in enumerate(scopes):
        assert client.set_settings(*scope, {}, ["gone", "never there"]) == {"number": number}
        assert client.get_settings(*scope) == {"number": number}
