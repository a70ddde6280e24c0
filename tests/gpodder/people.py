"""A person with an account, and what they and their apps ask for."""

import base64
from dataclasses import dataclass, field
from typing import Any

import httpx
from feedkeep_process import from_elsewhere

from feedkeep.rules.feed_urls import parse_feed_url

A = "https://a.example/feed"
B = "https://b.example/feed"
C = "https://c.example/feed"
HTTP_A = "http://a.example/feed"
EPISODE = "https://cdn.example/1.mp3"
LOGIN = "/api/2/auth/{}/login.json"
LOGOUT = "/api/2/auth/{}/logout.json"
NEXTCLOUD = "/index.php/apps/gpoddersync"
LAST_32_BIT_SECOND = 2**31 - 1


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def ok(reply):
    """Return the JSON of a reply that has to be 200 exactly."""
    assert reply.status_code == 200, reply.text
    return reply.json()


def assert_empty(reply):
    assert (reply.status_code, reply.content) == (200, b"")


def log_in(person, **headers):
    """Return a client that shows a new session and nothing else."""
    client = person.client(**headers)
    shown = {"Authorization": person.basic}
    assert_empty(client.post(LOGIN.format(person.name), content=b"", headers=shown))
    person.kept_session(client)
    return client


def add(person, *urls):
    """Subscribe to feeds as an app does."""
    person.push(add=urls)


def change(person, url, **fields):
    """Change a feed over the interface."""
    ok(person.interface().patch(f"/subscriptions/{parse_feed_url(url).guid}", json=fields))


def move(person, old, new):
    change(person, old, new_feed_url=new)


def play(podcast, episode, position, **fields):
    numbers = {"started": 0, "position": position, "total": 3600}
    return {"podcast": podcast, "episode": episode, "action": "play", **numbers, **fields}


@dataclass
class Person:
    """A person with an account; `secret` is what their apps use as the password."""

    process: Any
    name: str
    secret: str
    stack: Any
    elsewhere: dict = field(default_factory=from_elsewhere)

    @classmethod
    def new(cls, process, stack, password=None):
        name = process.new_account(password)
        return cls(process, name, password or process.new_token(name), stack)

    @property
    def basic(self):
        return basic(self.name, self.secret)

    def client(self, **headers):
        """Return a client that keeps cookies and shows nothing else by itself."""
        url, headers = self.process.base_url, {**self.elsewhere, **headers}
        return self.stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=30))

    def app(self):
        """Return a client that shows name and password with each request."""
        return self.client(Authorization=self.basic)

    def interface(self):
        """Return a client of the Open Podcast API."""
        is_token = self.secret.startswith("fk_")
        token = self.secret if is_token else self.process.new_token(self.name)
        return self.client(Authorization=f"Bearer {token}")

    def changes(self, device="phone"):
        return f"/api/2/subscriptions/{self.name}/{device}.json"

    @property
    def episodes(self):
        return f"/api/2/episodes/{self.name}.json"

    def settings(self, scope="account"):
        return f"/api/2/settings/{self.name}/{scope}.json"

    def pull(self, device="phone", app=None, **query):
        """Return the changes of the list that an app receives."""
        return ok((app or self.app()).get(self.changes(device), params=query))

    def push(self, device="phone", app=None, add=(), remove=()):
        """Upload changes of the list; return the reply."""
        body = {"add": add, "remove": remove}
        return ok((app or self.app()).post(self.changes(device), json=body))

    def put(self, urls, device="phone", app=None):
        """Put a whole list."""
        path = f"/subscriptions/{self.name}/{device}.json"
        assert_empty((app or self.app()).put(path, json=urls))

    def played(self, *actions, app=None):
        """Upload episode actions; return the reply."""
        return ok((app or self.app()).post(self.episodes, json=actions))

    def actions(self, app=None, **query):
        """Return the episode actions that an app is told."""
        return ok((app or self.app()).get(self.episodes, params=query))["actions"]

    def kept_session(self, client):
        """Return the session that a client was given; it must be found in no log and database."""
        text = client.cookies["sessionid"]
        self.process.tokens.append(text)
        return text

    def subscribed(self):
        """Return the URLs of the account's subscriptions, by the Open Podcast API."""
        listed = ok(self.interface().get("/subscriptions", params={"per_page": 1000}))
        return {
            entry["feed_url"]
            for entry in listed["subscriptions"]
            if entry["is_subscribed"] and "new_guid" not in entry
        }
