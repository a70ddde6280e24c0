"""A person with an account, and what they and their apps ask for."""

from __future__ import annotations

import base64
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
from feedkeep_process import FeedkeepProcess, from_elsewhere

from feedkeep.rules.feed_urls import parse_feed_url

A = "https://a.example/feed"
B = "https://b.example/feed"
C = "https://c.example/feed"
HTTP_A = "http://a.example/feed"
EPISODE = "https://cdn.example/1.mp3"
LOGIN = "/api/2/auth/{}/login.json"
LOGOUT = "/api/2/auth/{}/logout.json"
LAST_32_BIT_SECOND = 2**31 - 1


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def ok(reply: httpx.Response) -> Any:
    """Return the JSON of a reply that has to be 200 exactly."""
    assert reply.status_code == 200, reply.text
    return reply.json()


def log_in(person: Person, **headers: str) -> httpx.Client:
    """Return a client that shows a new session and nothing else."""
    client = person.client(**headers)
    reply = client.post(
        LOGIN.format(person.name), content=b"", headers={"Authorization": person.basic}
    )
    assert (reply.status_code, reply.content) == (200, b"")
    person.kept_session(client)
    return client


def add(person: Person, *urls: str) -> None:
    """Subscribe to feeds as an app does."""
    ok(person.app().post(person.changes(), json={"add": urls, "remove": []}))


def move(person: Person, old: str, new: str) -> None:
    """Give a feed another URL over the interface."""
    path = f"/subscriptions/{parse_feed_url(old).guid}"
    ok(person.interface().patch(path, json={"new_feed_url": new}))


def play(podcast: str, episode: str, position: int, **fields: object) -> dict[str, object]:
    numbers = {"started": 0, "position": position, "total": 3600}
    return {"podcast": podcast, "episode": episode, "action": "play", **numbers, **fields}


@dataclass
class Person:
    """A person with an account; `secret` is what their apps use as the password."""

    process: FeedkeepProcess
    name: str
    secret: str
    stack: ExitStack
    elsewhere: dict[str, str] = field(default_factory=from_elsewhere)

    @classmethod
    def new(cls, process: FeedkeepProcess, stack: ExitStack, password: str | None = None) -> Person:
        name = process.new_account(password)
        return cls(process, name, password or process.new_token(name), stack)

    @property
    def basic(self) -> str:
        return basic(self.name, self.secret)

    def client(self, **headers: str) -> httpx.Client:
        """Return a client that keeps cookies and shows nothing else by itself."""
        url = self.process.base_url
        headers = {**self.elsewhere, **headers}
        client = httpx.Client(base_url=url, headers=headers, timeout=30)
        return self.stack.enter_context(client)

    def app(self) -> httpx.Client:
        """Return a client that shows name and password with each request."""
        return self.client(Authorization=self.basic)

    def interface(self) -> httpx.Client:
        """Return a client of the Open Podcast API."""
        is_token = self.secret.startswith("fk_")
        token = self.secret if is_token else self.process.new_token(self.name)
        return self.client(Authorization=f"Bearer {token}")

    def changes(self, device: str = "phone") -> str:
        return f"/api/2/subscriptions/{self.name}/{device}.json"

    @property
    def episodes(self) -> str:
        return f"/api/2/episodes/{self.name}.json"

    def kept_session(self, client: httpx.Client) -> str:
        """Return the session that a client was given; it must be found in no log and database."""
        text = client.cookies["sessionid"]
        self.process.tokens.append(text)
        return text

    def subscribed(self) -> set[str]:
        """Return what the account is subscribed to, as the Open Podcast API tells it."""
        listed = ok(self.interface().get("/subscriptions", params={"per_page": 1000}))
        return {
            entry["feed_url"]
            for entry in listed["subscriptions"]
            if entry["is_subscribed"] and "new_guid" not in entry
        }
