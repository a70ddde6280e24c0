"""gpoddersync's four endpoints, as AntennaPod and Kasts use them."""

import json
import time

import httpx
import pytest
from browser import let_in

from feedkeep.rules.feed_urls import parse_feed_url, usual_spellings

BASE = "/index.php/apps/gpoddersync"
LIST, CHANGE = f"{BASE}/subscriptions", f"{BASE}/subscription_change/create"
ACTIONS, ACT = f"{BASE}/episode_action", f"{BASE}/episode_action/create"
A = "https://a.example/feed"
B = "https://b.example/feed"
C = "https://c.example/feed"
EPISODE = "https://cdn.example/1.mp3"


def ok(reply):
    assert reply.status_code == 200, reply.text
    return reply.json()


def play(position):
    return {
        "podcast": A,
        "episode": f"{EPISODE}?{position}",
        "guid": f"guid-{position}",
        "action": "PLAY",
        "timestamp": "2026-01-02T03:04:05",
        "started": 0,
        "position": position,
        "total": 900,
    }


class Phone:
    """AntennaPod: after an upload, the time of its own clock is its next `since`."""

    def __init__(self, client, ahead_seconds=0):
        self.client = client
        self.ahead_seconds = ahead_seconds
        self.since = 0
        self.actions_since = 0
        self.podcasts = set()
        self.seen = set()

    def sync(self, *added, removed=()):
        self.download()
        self.upload(*added, removed=removed)

    def download(self):
        told = ok(self.client.get(LIST, params={"since": self.since}))
        self.podcasts = (self.podcasts | set(told["add"])) - set(told["remove"])
        self.since = told["timestamp"]

    def upload(self, *added, removed=()):
        self.podcasts = (self.podcasts | set(added)) - set(removed)
        ok(self.client.post(CHANGE, json={"add": added, "remove": removed}))
        self.since = int(time.time()) + self.ahead_seconds

    def sync_actions(self, *positions):
        told = ok(self.client.get(ACTIONS, params={"since": self.actions_since}))
        self.seen |= {action["position"] for action in told["actions"]}
        self.actions_since = told["timestamp"]
        if positions:
            ok(self.client.post(ACT, json=[play(position) for position in positions]))
            self.actions_since = int(time.time()) + self.ahead_seconds


@pytest.fixture
def name(feedkeep):
    return feedkeep.new_account()


@pytest.fixture
def new_client(feedkeep, name, stack):
    """Makes clients that have app passwords of their own."""

    def new():
        auth = (name, feedkeep.new_token(name))
        return stack.enter_context(httpx.Client(base_url=feedkeep.base_url, auth=auth, timeout=30))

    return new


@pytest.fixture
def client(new_client):
    return new_client()


def test_an_app_password_or_the_password_of_the_account_opens_all_endpoints(app, browser, owner):
    told = let_in(app, browser, owner)
    auth = (told["loginName"], told["appPassword"])
    for _ in range(4):  # both processes
        ok(app.post(CHANGE, json={"add": [A], "remove": []}, auth=auth))
        assert A in ok(app.get(LIST, auth=auth))["add"]
        ok(app.post(ACT, json=[play(1)], auth=auth))
        assert len(ok(app.get(ACTIONS, auth=auth))["actions"]) == 1
    # Kasts asks for a password, and knows nothing of the login flow.
    reply = app.get(LIST, auth=(owner.name, owner.password))
    assert reply.status_code == 200
    assert "Set-Cookie" not in reply.headers
    for method, path in (("GET", LIST), ("POST", CHANGE), ("GET", ACTIONS), ("POST", ACT)):
        reply = app.request(method, path)
        assert reply.status_code == 401
        assert 'Basic realm="feedkeep"' in reply.headers["WWW-Authenticate"]


def test_changes_are_told_with_whole_seconds(client):
    body = {"add": [A, B, "antennapod_local:1"], "remove": [C]}
    told = ok(client.post(CHANGE, json=body))
    assert type(told["timestamp"]) is int
    assert told["update_urls"] == [["antennapod_local:1", ""]]
    first = ok(client.get(LIST))
    assert (set(first["add"]), first["remove"]) == ({A, B}, [])
    assert type(first["timestamp"]) is int
    body = {"add": [], "remove": ["http://a.example/feed"]}
    ok(client.post(CHANGE, content=json.dumps(body).encode()))
    second = ok(client.get(LIST, params={"since": first["timestamp"]}))
    assert (second["add"], second["remove"]) == ([], usual_spellings(A))
    for path in (CHANGE, ACT):
        assert client.post(path, content=b"{").status_code == 400
    assert client.get(LIST, params={"since": "x"}).status_code == 400


def test_actions_keep_the_guid_of_the_episode_and_are_told_as_all_apps_read_them(client):
    ok(client.post(ACT, content=json.dumps([play(7)]).encode()))
    told = ok(client.get(ACTIONS, params={"since": 0}))
    assert told["actions"] == [{**play(7), "action": "play"}]
    assert type(told["timestamp"]) is int
    assert ok(client.get(ACTIONS, params={"since": told["timestamp"]}))["actions"] == []


@pytest.mark.parametrize("ahead_seconds", [0, 3_600, -3_600, 10**9])
def test_the_phones_own_clock_as_the_next_since_loses_nothing(new_client, ahead_seconds):
    phone, other = Phone(new_client(), ahead_seconds), Phone(new_client())
    expected: set[str] = set()
    for number in range(8):
        phone.download()
        other.sync(f"https://other.example/{number}")  # between a download and an upload
        phone.upload(f"https://phone.example/{number}")
        expected |= {f"https://{who}.example/{number}" for who in ("other", "phone")}
        if number % 3 == 2:
            gone = f"https://other.example/{number - 1}"
            other.sync(removed=[gone])
            expected.remove(gone)
    phone.download()
    other.download()
    assert phone.podcasts == other.podcasts == expected


@pytest.mark.parametrize("ahead_seconds", [0, 3_600])
def test_no_action_is_lost_by_the_phones_own_clock(new_client, ahead_seconds):
    phone, other = Phone(new_client(), ahead_seconds), Phone(new_client())
    for number in range(8):
        phone.sync_actions(100 + number)
        other.sync_actions(200 + number)
    phone.sync_actions()
    other.sync_actions()
    assert phone.seen == other.seen == {*range(100, 108), *range(200, 208)}


def test_what_is_done_here_shows_in_the_interface_and_in_gpodders_api(feedkeep, name, client):
    ok(client.post(CHANGE, json={"add": [A, B], "remove": []}))
    ok(client.post(CHANGE, json={"add": [], "remove": [B]}))
    ok(client.post(ACT, json=[play(3)]))
    with feedkeep.client(name) as api:
        listed = ok(api.get("/subscriptions"))["subscriptions"]
        found = {entry["guid"]: entry["is_subscribed"] for entry in listed}
        assert found == {parse_feed_url(A).guid: True, parse_feed_url(B).guid: False}
        assert not any("deleted" in entry for entry in listed)
        assert ok(api.get(f"/subscriptions/{name}/phone.json")) == [A]
        assert len(ok(api.get(f"/api/2/episodes/{name}.json"))["actions"]) == 1


def test_podcini_is_sent_one_text_for_each_feed_that_was_removed(new_client):
    """For each text that it is sent, Podcini.X deletes a feed, whichever the text names."""
    phone, other, podcini = (Phone(new_client()) for _ in range(3))
    podcini.client.headers["User-Agent"] = "Mozilla/5.0 (compatible; Podcini/11.2.2.7; Android)"
    phone.sync(A, B, C)
    other.download()
    podcini.download()
    phone.upload(removed=[A, B])
    asked = [ok(app.client.get(LIST, params={"since": app.since})) for app in (podcini, other)]
    expected = [[A, B], [*usual_spellings(A), *usual_spellings(B)]]
    assert [told["remove"] for told in asked] == expected
