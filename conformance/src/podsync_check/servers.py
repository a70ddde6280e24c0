"""The tested server as seen by checks: one class for each protocol."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from podsync_check.connection import Connection, Credential, Session
from podsync_check.messages import Reply, Request, Wrong, expect_status, json_request
from podsync_check.protocols.openpodcast import OpenPodcastCalls
from podsync_check.protocols.url_lists import (
    Action,
    Actions,
    Changes,
    GpodderCalls,
    NextcloudCalls,
    Uploaded,
    UrlListCalls,
)
from podsync_check.simulated.apps import KASTS, ON_GPODDER_NET, ON_NEXTCLOUD, Habits, SimulatedApp
from podsync_check.simulated.scripts import Device
from podsync_check.simulated.strict import StrictApp

MARK = "podsync-check-"
"""Prefix of the suite's devices, and of the hosts in its feed URLs."""

DEVICES = ("podsync-check-1", "podsync-check-2", "podsync-check-3", "podsync-check-4")
"""Devices that the suite creates and leaves: gpodder.net's API cannot delete them."""

AGENTS = ("Phone", "Laptop", "Tablet", "Player")
"""Names of the suite's apps; servers may ignore digits, as parts of versions."""

SYNC = "/api/v1/sync"
"""Path of draft C below the server's address."""

MAX_PAGES = 1_000
SECONDS_OF_NOW = 10

_PLAYED_FROM = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Server:
    """The server in one protocol, for one run of a check.

    Attributes:
        mark: Unique part of all feed URLs of this run of the check.
        notes: Remarks for the report.
        sessions: Sessions of the devices, shared by all checks.
        spoken: All protocols of the server.
        seed: Seed of all random choices.
        is_thorough: Whether random interleavings are played for long.
    """

    connection: Connection
    credential: Credential
    mark: str
    notes: list[str] = field(default_factory=list)
    sessions: dict[int, Session] = field(default_factory=dict)
    spoken: Sequence[type[Server]] = ()
    seed: int = 0
    is_thorough: bool = False
    protocol: ClassVar[str]

    def feed(self, name: str = "feed") -> str:
        """Return a feed URL that is unique to this run of the check; its host does not exist."""
        return f"https://{self.mark}.example/{name}"

    def feeds(self, count: int) -> list[str]:
        return [self.feed(f"feed-{number}") for number in range(count)]

    def mine(self, urls: Iterable[str]) -> list[str]:
        """Return the URLs of this run of the check, sorted."""
        return sorted(url for url in urls if f"{self.mark}.example" in url)

    def note(self, text: str) -> None:
        """Add a remark to the report, whatever the outcome."""
        if text not in self.notes:
            self.notes.append(text)

    def stranger(self) -> Session:
        """Return a session without credentials."""
        return Session(self.connection)

    def session(self, agent: str = "") -> Session:
        """Return a session that sends the credential with each request, like Kasts."""
        return Session(self.connection, self.credential, agent=agent)

    def clear_away(self) -> None:
        """Remove the feeds of all checks whose mark begins with this server's."""
        raise NotImplementedError


@dataclass
class UrlLists(Server):
    """A server of URL lists: gpodder.net's API or Nextcloud's gpoddersync.

    Attributes:
        played: Number of episodes played in this run of the check.
    """

    played: int = 0

    def app(self, number: int = 0) -> App:
        """Return an app on a device of its own; `number` is from 0 to 3."""
        raise NotImplementedError

    def apps(self, count: int) -> list[App]:
        return [self.app(number) for number in range(count)]

    def simulated(self, chance: random.Random) -> Sequence[Device]:
        """Return devices with apps of different kinds."""
        raise NotImplementedError

    def device(self, habits: Habits, calls: UrlListCalls, session: Session) -> Device:
        return Device(habits.name, partial(SimulatedApp, habits, calls), session)

    def logged_in_apps(self, count: int) -> list[App]:
        """Return apps on `count` devices, each of which has sent a request before."""
        apps = self.apps(count)
        for app in apps:
            app.changes()
        return apps

    def play(self, feed: str, episode: int = 1, **more: Any) -> dict[str, Any]:
        """Return an action that plays an episode up to its second minute.

        Each action gets a second of its own, unless `more` has one: people play one episode at a
        time.
        """
        self.played += 1
        at = _PLAYED_FROM + timedelta(seconds=self.played)
        played = {
            "podcast": feed,
            "episode": f"{feed}/{episode}.mp3",
            "action": "play",
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S"),
            "started": 0,
            "position": 120,
            "total": 3600,
        }
        return {**played, **more}

    def clear_away(self) -> None:
        for app in self.apps(len(DEVICES)):
            if added := [url for url in app.changes().add if self.mark in url]:
                app.upload(remove=added)

    def wait_for_the_next_second(self) -> None:
        """Wait for a second: timestamps of these protocols are whole seconds."""
        self.connection.sleep(1.05)


@dataclass
class App:
    """An app on a device.

    Attributes:
        login: Request that starts a session; None if the protocol has no sessions.
    """

    session: Session
    calls: UrlListCalls
    login: Request | None = None

    def changes(self, since: int = 0) -> Changes:
        """Get the changes. Like all of these methods, raises `Wrong`."""
        return self.session.ask(self.calls.changes(since))

    def upload(self, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Uploaded:
        return self.session.ask(self.calls.upload(add, remove))

    def actions(self, since: int = 0, **more: str) -> Actions:
        """Get all episode actions, in several requests if necessary.

        `more` holds parameters of gpodder.net's API. mygpo sends a thousand at once, with the
        timestamp of the last one: Kasts repeats the request until the timestamp is recent.
        """
        told = self.session.ask(self.calls.actions(since, **more))
        found = list(told.actions)
        for _ in range(MAX_PAGES):
            is_old = told.timestamp < self.session.connection.clock() - SECONDS_OF_NOW
            if not (told.actions and is_old and told.timestamp > since):
                break
            since = told.timestamp
            told = self.session.ask(self.calls.actions(since, **more))
            found += [action for action in told.actions if action not in found[-1_000:]]
        return Actions(found, told.timestamp)

    def upload_actions(self, *actions: Action) -> Uploaded:
        return self.session.ask(self.calls.upload_actions(actions))

    def played(self, feed: str, since: int = 0, **more: str) -> list[Action]:
        """Return the actions of a feed, in the order of the replies; see `actions`."""
        told = self.actions(since, **more).actions
        if not (found := [one for one in told if one.get("podcast") == feed]):
            self.expect_any_action()
        return found

    def expect_any_action(self) -> None:
        """Fail the check if the server never returns what was uploaded, whatever is asked."""
        call = self.calls.actions(0)
        if not any(MARK in str(one.get("podcast")) for one in self.session.ask(call).actions):
            path = str(call.request).partition("?")[0]
            cause = f"{path} returns no action that was uploaded."
            raise Wrong(f"{cause} The upload had been acknowledged.", cause=cause)


@dataclass
class GpodderApp(App):
    """An app of gpodder.net's API."""

    calls: GpodderCalls


@dataclass
class Gpodder(UrlLists):
    """A server of gpodder.net's API.

    Attributes:
        devices: Device of each app.
        takes_passwords: Whether requests with the password need no session.
    """

    devices: Sequence[str] = DEVICES
    takes_passwords: bool = True
    protocol = "gpodder.net"

    @property
    def user(self) -> str:
        return self.credential.name

    def app(self, number: int = 0) -> GpodderApp:
        """Return an app on a device of its own; `number` is from 0 to 3."""
        calls = GpodderCalls(self.user, self.devices[number])
        if number not in self.sessions:
            self.sessions[number] = self.logged_in()
        return GpodderApp(self.sessions[number], calls, calls.log_in().request)

    def simulated(self, chance: random.Random) -> Sequence[Device]:
        """Return devices with apps of different kinds, some of them Nextcloud's if available."""
        kinds = ON_GPODDER_NET + (ON_NEXTCLOUD if Nextcloud in self.spoken else [])
        return [self._device(*one) for one in enumerate(chance.sample(kinds, len(DEVICES)))]

    def _device(self, number: int, habits: Habits) -> Device:
        if habits in ON_NEXTCLOUD:
            return self.device(habits, NextcloudCalls(), self.session(habits.agent))
        calls = GpodderCalls(self.user, self.devices[number])
        if habits.shows_password and self.takes_passwords:
            return self.device(habits, calls, self.session(habits.agent))
        session = self.logged_in(habits.agent)
        session.jar = f"cookies-{number + 1}.txt"
        return self.device(habits, calls, session)

    def logged_in(self, agent: str = "") -> Session:
        """Return a session that logs in, then sends only its cookie, like AntennaPod."""
        login = GpodderCalls(self.user, DEVICES[0]).log_in().request
        return Session(self.connection, self.credential, login, agent)


@dataclass
class Nextcloud(UrlLists):
    """A server of Nextcloud's gpoddersync."""

    protocol = "nextcloud"

    def app(self, number: int = 0) -> App:
        """Return an app with a name of its own: the protocol has no devices to tell apps apart."""
        return App(self.session(AGENTS[number]), NextcloudCalls())

    def simulated(self, chance: random.Random) -> Sequence[Device]:
        kinds = chance.sample([*ON_NEXTCLOUD, KASTS], len(DEVICES))
        return [self.device(one, NextcloudCalls(), self.session(one.agent)) for one in kinds]


@dataclass
class OpenPodcast(Server):
    """A server of the Open Podcast API's subscriptions.

    Attributes:
        prefix: Prefix of its paths: "" or "/v1".
    """

    prefix: str = ""
    protocol = "openpodcast"

    def send(self, method: str, path: str, body: Any = None, base: str = "/subscriptions") -> Reply:
        """Send a request to `base` with `path` appended."""
        target = f"{self.prefix}{base}{path}"
        request = Request(method, target) if body is None else json_request(method, target, body)
        return self.session().send(request)

    def simulated(self, _: random.Random) -> Sequence[Device]:
        calls = OpenPodcastCalls(self.prefix)
        agents = [f"strict-{number}/1.0" for number in range(3)]
        return [
            Device(agent, lambda world, _: StrictApp(calls, world), self.session(agent))
            for agent in agents
        ]

    def add(self, *items: Mapping[str, Any]) -> Added:
        """Add subscriptions. Like all of these methods, raises `Wrong`."""
        reply = self.send("POST", "", {"subscriptions": list(items)})
        expect_status(reply, 200)
        found = reply.json()
        return Added(found.get("success") or [], found.get("failure") or [])

    def add_one(self, url: str) -> Mapping[str, Any]:
        """Add one feed; return its item of the reply."""
        added = self.add({"feed_url": url})
        if len(added.success) != 1:
            raise Wrong(f"POST of {url} is refused: {added.failure!r:.200}.")
        return added.success[0]

    def get(self, guid: str) -> Mapping[str, Any]:
        return self._one("GET", guid)

    def patch(self, guid: str, **change: Any) -> Mapping[str, Any]:
        return self._one("PATCH", guid, change)

    def delete(self, guid: str) -> Mapping[str, Any]:
        return self._one("DELETE", guid, status=202)

    def _one(self, method: str, guid: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        reply = self.send(method, f"/{guid}", body)
        expect_status(reply, status)
        return dict(reply.json())

    def clear_away(self) -> None:
        for entry in self.entries(per_page=1_000):
            if self.mark in str(entry.get("feed_url")) and entry.get("is_subscribed"):
                self.delete(entry["guid"])

    def entries(self, since: str = "", per_page: int = 100) -> list[Mapping[str, Any]]:
        """Return all entries of the list, page by page, including other checks'."""
        call = OpenPodcastCalls(self.prefix).changes(since, per_page)
        found = list[Mapping[str, Any]]()
        for _ in range(MAX_PAGES):
            page = self.session().ask(call)
            found += page.entries
            if not page.next:
                return found
            call = OpenPodcastCalls(self.prefix).page(page.next)
        raise Wrong(f"The list does not end after {MAX_PAGES} pages.")

    def listed(self, since: str = "", per_page: int = 100) -> list[Mapping[str, Any]]:
        """Return the entries of this run of the check."""
        return [
            entry
            for entry in self.entries(since, per_page)
            if f"{self.mark}.example" in str(entry.get("feed_url"))
        ]


class DraftC(Server):
    """A server of `/sync` in draft C of the Open Podcast API."""

    protocol = "draft-c"

    def clear_away(self) -> None:
        client = self.client()
        for one in client.told(self.mark):
            if not one["data"].get("unsubscribed_at"):
                client.act(client.unsubscribe(one["data"]["sync_id"]))

    def client(self) -> DraftClient:
        self.note("Draft C may still change: see OpenPodcastAPI/api-specs#171.")
        return DraftClient(self, str(uuid.uuid4()))


@dataclass
class DraftClient:
    """A client of `/sync` with its own Client-ID."""

    server: DraftC
    client_id: str
    since: str = ""

    def subscribe(self, url: str) -> dict[str, Any]:
        """Return the action of subscribing to a feed now."""
        return self._action("subscribe", {"guid": str(uuid.uuid4()), "feed_url": url})

    def unsubscribe(self, sync_id: str) -> dict[str, Any]:
        """Return the action of unsubscribing now."""
        return self._action("unsubscribe", {"sync_id": sync_id})

    def _action(self, action: str, data: Mapping[str, str]) -> dict[str, Any]:
        now = datetime.fromtimestamp(self.server.connection.clock(), UTC)
        return {
            "type": "subscription",
            "action": action,
            "action_id": str(uuid.uuid4()),
            "occurred_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "data": data,
        }

    def act(self, action: Mapping[str, Any]) -> Mapping[str, Any]:
        (result,) = self.act_all([action])
        return result

    def act_all(self, actions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        return list(self._send("POST", SYNC, {"requests": actions})["results"])

    def told(self, mark: str = "") -> list[Mapping[str, Any]]:
        """Return the changes since this client's last request of the check, or of a mark."""
        found = list[Mapping[str, Any]]()
        for _ in range(MAX_PAGES):
            query = {"limit": 50, "since": self.since} if self.since else {"limit": 50}
            page = self._send("GET", f"{SYNC}?{urlencode(query)}")
            found += page["results"]
            following = parse_qs(urlsplit(page.get("next_since") or "").query)
            self.since = following.get("since", [self.since])[0]
            if not (page.get("has_more") or page.get("has_next")):
                break
        mark = mark or f"{self.server.mark}.example"
        return [one for one in found if mark in str(one["data"].get("feed_url"))]

    def _send(self, method: str, target: str, body: Any = None) -> Mapping[str, Any]:
        headers = {"Client-ID": self.client_id, "Content-Type": "application/json"}
        sent = b"" if body is None else json.dumps(body).encode()
        reply = self.server.session().send(Request(method, target, sent, headers))
        expect_status(reply, 200)
        return dict(reply.json())


@dataclass(frozen=True)
class Added:
    """The two lists of the reply to an addition."""

    success: Sequence[Mapping[str, Any]]
    failure: Sequence[Mapping[str, Any]]


def failures(shares: Iterable[Sequence[Callable[[], object]]]) -> list[str]:
    """Run the shares of all devices concurrently; return descriptions of the failures.

    Each device does its share step by step.
    """

    def run(share: Sequence[Callable[[], object]]) -> list[str]:
        failed = []
        for act in share:
            try:
                act()
            except Wrong as wrong:
                failed.append(str(wrong))
        return failed

    with ThreadPoolExecutor(len(DEVICES)) as pool:
        return [failure for failed in pool.map(run, shares) for failure in failed]


PROTOCOLS = tuple(one.protocol for one in (Gpodder, Nextcloud, OpenPodcast, DraftC))
"""Names of the protocols, as reports and `--protocol` have them."""
