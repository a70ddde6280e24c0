"""Three apps as far as a server sees them: what each sends, keeps and takes for a failure."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import Any

import httpx
from people import LAST_32_BIT_SECOND, Person
from podsync_check.messages import Call, Reply
from podsync_check.protocols.url_lists import GpodderCalls
from podsync_check.simulated.apps import ANTENNAPOD, SimulatedApp


class AntennaPod(SimulatedApp):
    """The gpodder.net provider: logs in, then shows the cookie only; any status but 200 fails."""

    calls: GpodderCalls

    def __init__(self, person: Person, device: str = "phone_1") -> None:
        super().__init__(ANTENNAPOD, GpodderCalls(person.name, device), "http", time.time)
        self.person = person
        self.device = device
        self.client = person.client(**{"User-Agent": "AntennaPod/3.8.0"})

    def set_up(self) -> None:
        self.log_in()
        self.ask("GET", f"/api/2/devices/{self.person.name}.json")
        path = f"/api/2/devices/{self.person.name}/{self.device}.json"
        assert self.send(path, {"caption": "My phone", "type": "mobile"}).content == b""

    def log_in(self) -> None:
        """Begin anew: cookies are not kept from one sync to the next."""
        self.client.cookies.clear()
        reply = self.client.post(
            f"/api/2/auth/{self.person.name}/login.json",
            content=b"",
            headers={"Authorization": self.person.basic, "Content-Type": "text/plain"},
        )
        assert reply.status_code == 200, reply.text
        self.person.kept_session(self.client)

    def ask(self, method: str, path: str, **query: str | int) -> Any:
        reply = self.client.request(method, path, params=dict(query))
        assert "Authorization" not in reply.request.headers
        assert reply.status_code == 200, reply.text
        return reply.json()

    def send(self, path: str, body: object) -> httpx.Response:
        reply = self.client.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return reply

    def force_full_synchronization(self) -> None:
        """Forget what was told, as the button of that name does; what is to be sent stays."""
        self.since = self.actions_since = 0

    def sync(self) -> None:
        """Log in; then the list, then the actions: first what came, then what there is to tell."""
        self.log_in()
        dialogue, answer = self.dialogue(), None
        while True:
            try:
                call: Call[Any] = dialogue.send(answer)
            except StopIteration:
                return
            one = call.request
            got = self.client.request(one.method, one.target, content=one.body, headers=one.headers)
            assert "Authorization" not in got.request.headers
            answer = call.read(Reply(got.status_code, dict(got.headers), got.content))


class Kasts:
    """Basic with every request, no cookies, no content type; 32-bit seconds, and then one more."""

    def __init__(self, person: Person, device: str = "desktop-1") -> None:
        self.person = person
        self.device = device
        user_agent = "Mozilla/5.0 (X11; Linux x86_64) Kasts/24.02"
        self.client = person.client(**{"Authorization": person.basic, "User-Agent": user_agent})
        self.since = 0
        self.actions_since = 0

    def ask(self, method: str, path: str, body: object = None, **query: str | int) -> Any:
        self.client.cookies.clear()
        content = None if body is None else json.dumps(body).encode()
        reply = self.client.request(method, path, params=dict(query), content=content)
        assert "Content-Type" not in reply.request.headers
        assert reply.status_code == 200, reply.text
        return reply.json() if reply.content else None

    def log_in(self) -> list[dict[str, object]]:
        devices: list[dict[str, object]] = self.ask(
            "GET", f"/api/2/devices/{self.person.name}.json"
        )
        return devices

    def describe(self) -> None:
        path = f"/api/2/devices/{self.person.name}/{self.device}.json"
        assert self.ask("POST", path, {"caption": "Desk", "type": "desktop"}) is None

    def changes(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", self.person.changes(self.device), since=self.since)
        self.since = next_since(found)
        return found

    def sync_all_devices(self) -> None:
        """Let each device of the account have what all of them have, as that switch does."""
        devices = [str(device["id"]) for device in self.log_in()]
        paths = [self.person.changes(device) for device in devices]
        union = {url for path in paths for url in self.ask("GET", path, since=0)["add"]}
        for path in paths:
            self.ask("POST", path, {"add": sorted(union), "remove": []})

    def upload(self, add: list[str], remove: list[str]) -> dict[str, Any]:
        body = {"add": add, "remove": remove}
        told: dict[str, Any] = self.ask("POST", self.person.changes(self.device), body)
        self.since = next_since(told)
        return told

    def actions(self, aggregated: str = "true") -> list[dict[str, Any]]:
        found = self.ask(
            "GET", self.person.episodes, since=self.actions_since, aggregated=aggregated
        )
        self.actions_since = next_since(found)
        for action in found["actions"]:
            assert is_time_for_kasts(action["timestamp"]), action
        listed: list[dict[str, Any]] = found["actions"]
        return listed


def next_since(reply: dict[str, Any]) -> int:
    """Return what Kasts asks for next: a second, read as 32 bits, and one more."""
    timestamp = reply["timestamp"]
    assert type(timestamp) is int
    assert 0 <= timestamp <= LAST_32_BIT_SECOND
    return timestamp + 1


def is_time_for_kasts(text: str) -> bool:
    is_plain = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text) is not None
    return is_plain and datetime.fromisoformat(text) is not None
