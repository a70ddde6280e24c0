"""What gPodder sends through mygpoclient, and what would make it give up."""

import json

import httpx
import pytest
from mygpoclient.api import EpisodeAction, MygPodderClient
from people import EPISODE, A, B, C, basic, ok

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OPML = f"""<opml version="2.0"><head/><body>
<outline text="News"><outline type="rss" text="A &amp; B" xmlUrl="{A}"/></outline>
<outline type="rss" text="B" xmlUrl="{B}"/></body></opml>"""


def sync(
    client: MygPodderClient, since: int, actions_since: int, actions: list[EpisodeAction]
) -> tuple[set[str], int, int]:
    """Do all that one sync of gPodder does; return what was added, and the next seconds."""
    assert client.update_device_settings("gpo_desk", "gPodder", "desktop") is True
    pulled = client.pull_subscriptions("gpo_desk", since)
    since = client.update_subscriptions("gpo_desk", [C], []).since
    actions_since = client.download_episode_actions(actions_since).since
    for start in range(0, len(actions), 100):
        actions_since = client.upload_episode_actions(actions[start : start + 100])
    return set(pulled.add), since, actions_since


def test_a_whole_sync_with_actions_100_at_a_time_works_again_and_again(person):
    client = MygPodderClient(person.name, person.secret, root_url=person.process.base_url)
    actions = [
        EpisodeAction(A, f"{EPISODE}?{number}", "play", "gpo_desk", None, 0, number, 900)
        for number in range(1, 251)
    ]
    ok(person.app().post(person.changes(), json={"add": [A], "remove": []}))
    added, since, actions_since = sync(client, 0, 0, actions)
    assert added == {A}
    ok(person.app().post(person.changes(), json={"add": [B], "remove": []}))
    added, since, actions_since = sync(client, since, actions_since, [])
    assert added == {B}  # and not what it has sent itself
    told = ok(person.app().get(person.episodes, params={"since": 0}))["actions"]
    assert sorted(action["position"] for action in told) == list(range(1, 251))
    person.process.tokens += [str(cookie.value) for cookie in client._client._cookie_jar]


def test_the_first_request_without_credentials_is_challenged_with_basic_and_a_realm(person):
    anyone = person.client()
    for path in (person.changes(), person.episodes, f"/subscriptions/{person.name}.json"):
        reply = anyone.get(path)
        assert reply.status_code == 401
        assert 'Basic realm="' in reply.headers["WWW-Authenticate"]
        assert "Set-Cookie" not in reply.headers


def test_json_that_calls_itself_a_form_is_json(person):
    app = person.app()
    body = json.dumps({"add": [A], "remove": []}).encode()
    ok(app.post(person.changes(), content=body, headers=FORM))
    action = {"podcast": A, "episode": EPISODE, "action": "new"}
    ok(app.post(person.episodes, content=json.dumps([action]).encode(), headers=FORM))
    path = f"/api/2/settings/{person.name}/account.json"
    ok(app.post(path, content=b'{"set": {"a": 1}}', headers=FORM))
    assert person.subscribed() == {A}
    assert len(ok(app.get(person.episodes))["actions"]) == 1
    assert ok(app.get(path)) == {"a": 1}


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "x; y=z", "\xe9"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_describing_a_device_is_answered_with_an_empty_body(person, method, content_type):
    path = f"/api/2/devices/{person.name}/my.laptop-2.json"
    headers = [(b"Content-Type", content_type.encode())] if content_type else []
    body = b'{"caption": "Laptop", "type": "laptop"}'
    request = httpx.Request(method, person.process.base_url + path, headers=headers, content=body)
    reply = person.client().send(request, auth=(person.name, person.secret))
    assert (reply.status_code, reply.content) == (200, b"")
    described = {"id": "my.laptop-2", "caption": "Laptop", "type": "laptop", "subscriptions": 0}
    assert ok(person.app().get(f"/api/2/devices/{person.name}.json")) == [described]


@pytest.mark.parametrize(
    ("ending", "body"),
    [("json", json.dumps([A, B])), ("txt", f"{A}\r\n\n  {B}\n"), ("opml", OPML)],
)
def test_a_whole_list_that_is_put_is_answered_with_an_empty_body(person, ending, body):
    app = person.app()
    ok(app.post(person.changes(), json={"add": [C], "remove": []}))
    path = f"/subscriptions/{person.name}/gpo_desk.{ending}"
    reply = app.put(path, content=body.encode(), headers=FORM)
    assert (reply.status_code, reply.content) == (200, b"")
    assert person.subscribed() == {A, B}


def test_putting_the_list_again_sends_no_changes(person):
    app = person.app()
    path = f"/subscriptions/{person.name}/gpo_desk.json"
    app.put(path, json=[A, B])
    since = ok(app.get(person.changes()))["timestamp"]
    app.put(path, json=[B, A])
    told = ok(app.get(person.changes(), params={"since": since}))
    assert (told["add"], told["remove"]) == ([], [])


@pytest.mark.parametrize("kind", ["desktop", "laptop", "mobile", "server", "other"])
def test_each_type_of_device_is_kept(person, kind):
    app = person.app()
    app.post(f"/api/2/devices/{person.name}/d.json", json={"type": kind.upper()})
    assert ok(app.get(f"/api/2/devices/{person.name}.json"))[0]["type"] == kind


@pytest.mark.parametrize("kind", ["fridge", "", None, 7])
def test_any_other_type_becomes_one_that_gpodder_knows(person, kind):
    app = person.app()
    reply = app.post(f"/api/2/devices/{person.name}/d.json", json={"caption": "", "type": kind})
    assert (reply.status_code, reply.content) == (200, b"")
    listed = ok(app.get(f"/api/2/devices/{person.name}.json"))
    assert [(device["type"], device["caption"]) for device in listed] == [("other", "d")]


def test_the_list_is_there_as_opml_for_those_who_ask_for_it(person):
    app = person.app()
    ok(app.post(person.changes(), json={"add": [f"{A}?x=1&y=2"], "remove": []}))
    reply = app.get(f"/subscriptions/{person.name}.opml")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith("text/xml")
    assert f'xmlUrl="{A}?x=1&amp;y=2"' in reply.text


def test_a_name_and_a_token_of_another_do_not_go_together(person, other):
    headers = {"Authorization": basic(person.name, other.secret)}
    assert person.client(**headers).get(person.changes()).status_code == 401
