"""Three apps as far as a server sees them: what each sends, keeps and takes for a failure."""

import json
import re
import time
from datetime import datetime

from people import LAST_32_BIT_SECOND, assert_empty, ok
from podsync_check.messages import Reply
from podsync_check.protocols.url_lists import GpodderCalls
from podsync_check.simulated.apps import ANTENNAPOD, SimulatedApp


class AntennaPod(SimulatedApp):
    """The gpodder.net provider: logs in, then shows the cookie only; any status but 200 fails."""

    def __init__(self, person, device="phone_1"):
        super().__init__(ANTENNAPOD, GpodderCalls(person.name, device), "http", time.time)
        self.person = person
        self.device = device
        self.client = person.client(**{"User-Agent": "AntennaPod/3.8.0"})

    def set_up(self):
        self.log_in()
        self.ask("GET", f"/api/2/devices/{self.person.name}.json")
        path = f"/api/2/devices/{self.person.name}/{self.device}.json"
        assert_empty(self.send(path, {"caption": "My phone", "type": "mobile"}))

    def log_in(self):
        """Begin anew: cookies are not kept from one sync to the next."""
        self.client.cookies.clear()
        path = f"/api/2/auth/{self.person.name}/login.json"
        headers = {"Authorization": self.person.basic, "Content-Type": "text/plain"}
        assert_empty(self.client.post(path, content=b"", headers=headers))
        self.person.kept_session(self.client)

    def ask(self, method, path, **query):
        reply = self.client.request(method, path, params=query)
        assert "Authorization" not in reply.request.headers
        return ok(reply)

    def send(self, path, body):
        reply = self.client.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return reply

    def changes(self):
        """Return the changes that the app receives, without applying them."""
        return self.ask("GET", self.person.changes(self.device), since=self.since)

    def actions(self, since=0):
        return self.ask("GET", self.person.episodes, since=since)["actions"]

    def force_full_synchronization(self):
        """Reset both timestamps, as the button of that name does; queued changes stay."""
        self.since = self.actions_since = 0

    def sync(self):
        """Log in; then the list, then the actions: first what came, then what there is to tell."""
        self.log_in()
        dialogue, answer = self.dialogue(), None
        while True:
            try:
                call = dialogue.send(answer)
            except StopIteration:
                return
            one = call.request
            got = self.client.request(one.method, one.target, content=one.body, headers=one.headers)
            assert "Authorization" not in got.request.headers
            answer = call.read(Reply(got.status_code, dict(got.headers), got.content))


def sync(*apps):
    """Sync apps, one after the other."""
    for app in apps:
        app.sync()


class Kasts:
    """Basic with every request, no cookies, no content type; 32-bit seconds, and then one more."""

    def __init__(self, person, device="desktop-1"):
        self.person = person
        self.device = device
        user_agent = "Mozilla/5.0 (X11; Linux x86_64) Kasts/24.02"
        self.client = person.client(**{"Authorization": person.basic, "User-Agent": user_agent})
        self.since = 0
        self.actions_since = 0

    def ask(self, method, path, body=None, **query):
        self.client.cookies.clear()
        content = None if body is None else json.dumps(body).encode()
        reply = self.client.request(method, path, params=query, content=content)
        assert "Content-Type" not in reply.request.headers
        assert reply.status_code == 200, reply.text
        return reply.json() if reply.content else None

    def log_in(self):
        return self.ask("GET", f"/api/2/devices/{self.person.name}.json")

    def describe(self):
        path = f"/api/2/devices/{self.person.name}/{self.device}.json"
        assert self.ask("POST", path, {"caption": "Desk", "type": "desktop"}) is None

    def changes(self):
        found = self.ask("GET", self.person.changes(self.device), since=self.since)
        self.since = next_since(found)
        return found

    def sync_all_devices(self):
        """Give every device the feeds of all devices, as that switch does."""
        paths = [self.person.changes(device["id"]) for device in self.log_in()]
        union = {url for path in paths for url in self.ask("GET", path, since=0)["add"]}
        for path in paths:
            self.ask("POST", path, {"add": sorted(union), "remove": []})

    def upload(self, add, remove):
        body = {"add": add, "remove": remove}
        told = self.ask("POST", self.person.changes(self.device), body)
        self.since = next_since(told)
        return told

    def send(self, *actions):
        return self.ask("POST", self.person.episodes, actions)

    def actions(self, aggregated="true"):
        """Return the actions that are news."""
        since = self.actions_since
        found = self.ask("GET", self.person.episodes, since=since, aggregated=aggregated)
        self.actions_since = next_since(found)
        assert all(is_time_for_kasts(action["timestamp"]) for action in found["actions"])
        return found["actions"]

    def all_actions(self, **query):
        return self.ask("GET", self.person.episodes, since=0, **query)["actions"]


def next_since(reply):
    """Return the next `since` of Kasts: the timestamp, read as 32 bits, plus one."""
    timestamp = reply["timestamp"]
    assert type(timestamp) is int
    assert 0 <= timestamp <= LAST_32_BIT_SECOND
    return timestamp + 1


def is_time_for_kasts(text):
    is_plain = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text) is not None
    return is_plain and datetime.fromisoformat(text) is not None
