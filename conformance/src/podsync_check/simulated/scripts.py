"""Random scripts of people's actions on their devices, and detection of losses.

A step that makes no sense in its place has no effect, so that scripts stay valid when steps are
removed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from podsync_check.connection import Connection, Exchange, Session
from podsync_check.simulated.apps import SimulatedApp
from podsync_check.simulated.strict import StrictApp

FEEDS = "abcdefgh"
_BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_ROUNDS_TO_SETTLE = 3
_LOSSES = 0.12
MAX_PAUSE_SECONDS, PAUSED_SECONDS = 0.9, 15.0
"""Maximum pause before a request, and the maximum sum of all pauses in a world."""


@dataclass(frozen=True)
class Step:
    """Step of a script.

    Attributes:
        what: "add", "remove" or "play" on one device, or "sync" of several.
        devices: Indexes of the devices.
        feed: Name of the feed; "" for a sync.
        chance: Seed of the order of requests and of lost replies.
        is_lossy: Whether replies can be lost.
    """

    what: str
    devices: tuple[int, ...]
    feed: str = ""
    chance: int = 0
    is_lossy: bool = False

    def __str__(self) -> str:
        names = " and ".join(str(number + 1) for number in self.devices)
        if self.what == "sync":
            return f"device {names}: sync" + (", with lost replies" if self.is_lossy else "")
        return f"device {names}: {self.what} feed {self.feed}"


def random_script(chance: random.Random, devices: int, length: int = 18) -> list[Step]:
    return [_random_step(chance, devices) for _ in range(length)]


def _random_step(chance: random.Random, devices: int) -> Step:
    one = (chance.randrange(devices),)
    what = chance.choices(["add", "remove", "play", "sync"], [4, 1, 2, 3])[0]
    if what != "sync":
        return Step(what, one, chance.choice(FEEDS))
    some = tuple(sorted(chance.sample(range(devices), chance.randint(1, devices))))
    return Step("sync", some, "", chance.randrange(10**6), chance.random() < _LOSSES * 3)


App: TypeAlias = SimulatedApp | StrictApp


@dataclass
class Device:
    """A device of a world: its app and its session.

    Attributes:
        new_app: Creates the app from the prefix of the world's URLs and a clock.
    """

    name: str
    new_app: Callable[[str, Callable[[], float]], App]
    session: Session


@dataclass(frozen=True)
class Loss:
    """A missing or wrong value on a device at the end of a script.

    Attributes:
        said: Description.
        session: Session of the device.
        url: Feed or episode that it is about.
        script: Script that led to it.
        exchanges: Requests of that script.
    """

    said: str
    session: Session
    url: str
    script: Sequence[Step] = ()
    exchanges: Sequence[Exchange] = ()


@dataclass
class World:
    """Devices and feeds for playing one script.

    Attributes:
        prefix: Prefix of the feed URLs.
        devices: Devices, each with a new app.
        paused_seconds: Time left for pauses between requests.
    """

    prefix: str
    devices: Sequence[Device]
    connection: Connection
    paused_seconds: float
    _left: set[str] = field(default_factory=set)
    _newest: dict[str, tuple[str, int]] = field(default_factory=dict)

    def play(self, script: Iterable[Step]) -> Loss | None:
        """Play a script; return the loss at its end, None for none.

        Raises:
            Wrong: A request failed.
        """
        apps = [device.new_app(self.prefix, self.connection.clock) for device in self.devices]
        added = set[str]()
        for number, step in enumerate(script):
            feed, app = f"{self.prefix}{step.feed}", apps[step.devices[0]]
            match step.what:
                case "add" if app.add(feed):
                    added.add(feed)
                case "remove" if app.remove(feed):
                    self._left.add(feed)
                case "play":
                    self._play(app, feed, number)
                case "sync":
                    some = [(apps[one], self.devices[one].session) for one in step.devices]
                    chance = random.Random(step.chance)
                    together(some, chance, _LOSSES * step.is_lossy, self._pause)
        self._settle(apps)
        return (
            self._lost(apps, added - self._left)
            or self._differing(apps)
            or self._not_followed(apps)
        )

    def _pause(self, chance: random.Random) -> None:
        """Wait before a request: what it misses may depend on the second in which it comes."""
        seconds = min(chance.uniform(0.0, MAX_PAUSE_SECONDS), self.paused_seconds)
        self.paused_seconds -= seconds
        self.connection.sleep(seconds)

    def _play(self, app: App, feed: str, number: int) -> None:
        timestamp = (_BEGAN + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S")
        if app.play(feed, timestamp, 100 + number):
            self._newest[f"{feed}/1.mp3"] = (timestamp, 100 + number)

    def _settle(self, apps: Sequence[App]) -> None:
        for _ in range(_ROUNDS_TO_SETTLE):
            for app, device in zip(apps, self.devices, strict=True):
                together([(app, device.session)], random.Random(0), 0.0)

    def _lost(self, apps: Sequence[App], stay: set[str]) -> Loss | None:
        for number, app in enumerate(apps):
            if missing := sorted(stay - app.feeds):
                return self._loss(number, missing[0], "is missing, though no device removed it")
            for episode, (_, seconds) in sorted(self._newest.items()):
                got = app.positions.get(episode)
                if got is None or got.seconds != seconds:
                    where = "no position" if got is None else f"position {got.seconds}"
                    told = f"has {where}, but was last played to {seconds}"
                    return self._loss(number, episode, told)
        return None

    def _differing(self, apps: Sequence[App]) -> Loss | None:
        for number, app in enumerate(apps):
            if more := sorted(app.feeds - apps[0].feeds):
                return self._loss(number, more[0], f"is listed, but not on {self._name(0)}")
            if less := sorted(apps[0].feeds - app.feeds):
                return self._loss(number, less[0], f"is missing, but listed on {self._name(0)}")
        return None

    def _not_followed(self, apps: Sequence[App]) -> Loss | None:
        """Add a feed to the settled world, then remove it; all apps must follow both changes."""
        feed = f"{self.prefix}last"
        apps[0].add(feed)
        self._settle(apps)
        if lacking := [n for n, app in enumerate(apps) if feed not in app.feeds]:
            return self._loss(lacking[0], feed, f"never arrives, added on {self._name(0)}")
        apps[-1].remove(feed)
        self._settle(apps)
        if keeping := [n for n, app in enumerate(apps) if feed in app.feeds]:
            last = self._name(len(apps) - 1)
            return self._loss(keeping[0], feed, f"stays, though removed on {last}")
        return None

    def _loss(self, number: int, url: str, what: str) -> Loss:
        said = f"On {self._name(number)}, {url} {what}."
        return Loss(said, self.devices[number].session, url)

    def _name(self, number: int) -> str:
        return f"device {number + 1} ({self.devices[number].name})"


def together(
    syncing: Sequence[tuple[App, Session]],
    chance: random.Random,
    losses: float,
    pause: Callable[[random.Random], None] = lambda _: None,
) -> None:
    """Sync apps concurrently: their requests are interleaved at random, and replies can be lost.

    An app whose reply is lost stops until its next sync, as real apps do. `pause` is called before
    each request.

    Raises:
        Wrong: A request failed.
    """
    waiting: list[tuple[Any, Session, Any]] = [
        (app.dialogue(), session, None) for app, session in syncing
    ]
    while waiting:
        sync, session, answer = waiting.pop(chance.randrange(len(waiting)))
        try:
            call = sync.send(answer)
        except StopIteration:
            continue
        pause(chance)
        answer = session.ask(call)
        if chance.random() >= losses:
            waiting.append((sync, session, answer))


def shortest(
    script: Sequence[Step], loses: Callable[[Sequence[Step]], bool], tries: int
) -> Sequence[Step]:
    """Return a smaller script that still loses something, by removing ever smaller parts."""
    size = len(script) // 2
    while size:
        at = 0
        while at < len(script):
            if tries <= 0:
                return script
            tries -= 1
            shorter = [*script[:at], *script[at + size :]]
            if loses(shorter):
                script = shorter
            else:
                at += size
        size //= 2
    return script
