"""What gPodder sends through mygpoclient, and what would make it give up."""

import json

import httpx
import pytest
from mygpoclient.api import EpisodeAction, MygPodderClient
from people import EPISODE, A, B, C, add, assert_empty, ok, play

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OPML = f"""<opml version="2.0"><head/><body>
<outline text="News"><outline type="rss" text="A &amp; B" xmlUrl="{A}"/></outline>
<outline type="rss" text="B" xmlUrl="{B}"/></body></opml>"""


def sync(client, since, actions_since, actions):
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
    add(person, A)
    added, since, actions_since = sync(client, 0, 0, actions)
    assert added == {A}
    add(person, B)
    added, since, actions_since = sync(client, since, actions_since, [])
    assert added == {B}  # and not what it has sent itself
    told = person.actions(since=0)
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
    for path, body in (
        (person.changes(), {"add": [A], "remove": []}),
        (person.episodes, [play(A, EPISODE, 1)]),
        (person.settings(), {"set": {"a": 1}}),
    ):
        ok(app.post(path, content=json.dumps(body).encode(), headers=FORM))
    assert person.subscribed() == {A}
    assert len(person.actions(app)) == 1
    assert ok(app.get(person.settings())) == {"a": 1}


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "x; y=z", "\xe9"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_describing_a_device_is_answered_with_an_empty_body(person, method, content_type):
    path = f"/api/2/devices/{person.name}/my.laptop-2.json"
    headers = [(b"Content-Type", content_type.encode())] if content_type else []
    body = b'{"caption": "Laptop", "type": "laptop"}'
    request = httpx.Request(method, person.process.base_url + path, headers=headers, content=body)
    assert_empty(person.client().send(request, auth=(person.name, person.secret)))
    described = {"id": "my.laptop-2", "caption": "Laptop", "type": "laptop", "subscriptions": 0}
    assert ok(person.app().get(f"/api/2/devices/{person.name}.json")) == [described]


@pytest.mark.parametrize(
    ("ending", "body"),
    [("json", json.dumps([A, B])), ("txt", f"{A}\r\n\n  {B}\n"), ("opml", OPML)],
)
def test_a_whole_list_that_is_put_is_answered_with_an_empty_body(person, ending, body):
    add(person, C)
    path = f"/subscriptions/{person.name}/gpo_desk.{ending}"
    assert_empty(person.app().put(path, content=body.encode(), headers=FORM))
    assert person.subscribed() == {A, B}


def test_putting_the_list_again_sends_no_changes(person):
    app = person.app()
    person.put([A, B], "gpo_desk", app)
    since = person.pull(app=app)["timestamp"]
    person.put([B, A], "gpo_desk", app)
    told = person.pull(app=app, since=since)
    assert (told["add"], told["remove"]) == ([], [])
