"""Random scripts of people's actions on their devices, and detection of losses.

A step that makes no sense in its place has no effect, so that scripts stay valid when steps are
removed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Protocol

from podsync_check.connection import Connection, Session
from podsync_check.messages import Wrong
from podsync_check.simulated.apps import Dialogue, Position

FEEDS = ("a", "b", "c")
_BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_ROUNDS_TO_SETTLE = 3
_LOSSES = 0.12
_RUNS = 8
_SHRINKING_TRIES = 40


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
    what = chance.choices(["add", "remove", "play", "sync"], [3, 1, 2, 4])[0]
    if what != "sync":
        return Step(what, one, chance.choice(FEEDS))
    some = tuple(sorted(chance.sample(range(devices), chance.choice([1, 1, 2, 3]))))
    return Step("sync", some, "", chance.randrange(10**6), chance.random() < _LOSSES * 3)


class App(Protocol):
    """An app that syncs, and its owner's actions."""

    positions: dict[str, Position]

    @property
    def feeds(self) -> set[str]:
        """Feeds that the owner sees."""

    def add(self, url: str) -> bool:
        """Subscribe; return whether that changed anything."""

    def remove(self, url: str) -> bool:
        """Unsubscribe; return whether that changed anything."""

    def play(self, feed: str, timestamp: str, seconds: int) -> bool:
        """Play the episode of a feed up to a position; return whether the app syncs positions."""

    def dialogue(self) -> Dialogue:
        """Upload changes, and get those of other devices."""


@dataclass
class Device:
    """A device of a world: its app and its session.

    Attributes:
        new_app: Creates the app from the prefix of the world's URLs and a clock.
    """

    name: str
    new_app: Callable[[str, Callable[[], float]], App]
    session: Session


@dataclass
class World:
    """Devices and feeds for playing one script.

    Attributes:
        prefix: Prefix of the feed URLs.
        devices: Devices, each with a new app.
    """

    prefix: str
    devices: Sequence[Device]
    clock: Callable[[], float] = time.time
    _left: set[str] = field(default_factory=set)
    _newest: dict[str, tuple[str, int]] = field(default_factory=dict)

    def play(self, script: Iterable[Step]) -> str:
        """Play a script; return a description of the loss at its end, "" for none.

        Raises:
            Wrong: A request failed.
        """
        apps = [device.new_app(self.prefix, self.clock) for device in self.devices]
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
                    together(some, random.Random(step.chance), _LOSSES * step.is_lossy)
        self._settle(apps)
        return (
            self._lost(apps, added - self._left)
            or self._differing(apps)
            or self._not_followed(apps)
        )

    def _play(self, app: App, feed: str, number: int) -> None:
        timestamp = (_BEGAN + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S")
        if app.play(feed, timestamp, 100 + number):
            self._newest[f"{feed}/1.mp3"] = (timestamp, 100 + number)

    def _settle(self, apps: Sequence[App]) -> None:
        for _ in range(_ROUNDS_TO_SETTLE):
            for app, device in zip(apps, self.devices, strict=True):
                together([(app, device.session)], random.Random(0), 0.0)

    def _lost(self, apps: Sequence[App], stay: set[str]) -> str:
        for number, app in enumerate(apps):
            if missing := sorted(stay - app.feeds):
                return f"{self._name(number)} lacks {missing}, which no device removed."
            for episode, (_, seconds) in sorted(self._newest.items()):
                got = app.positions.get(episode)
                if got is None or got.seconds != seconds:
                    where = "nowhere" if got is None else f"at {got.seconds}"
                    name = self._name(number)
                    return f"{name} is {where} in {episode}, which was last played to {seconds}."
        return ""

    def _differing(self, apps: Sequence[App]) -> str:
        first = apps[0].feeds
        for number, app in enumerate(apps):
            if app.feeds != first:
                ours, theirs = sorted(app.feeds), sorted(first)
                return f"{self._name(number)} ends with {ours}, {self._name(0)} with {theirs}."
        return ""

    def _not_followed(self, apps: Sequence[App]) -> str:
        """Add a feed to the settled world, then remove it; all apps must follow both changes."""
        feed = f"{self.prefix}last"
        apps[0].add(feed)
        self._settle(apps)
        if lacking := [n for n, app in enumerate(apps) if feed not in app.feeds]:
            return f"{self._name(lacking[0])} never receives a feed that {self._name(0)} adds."
        apps[-1].remove(feed)
        self._settle(apps)
        if keeping := [n for n, app in enumerate(apps) if feed in app.feeds]:
            last = self._name(len(apps) - 1)
            return f"{self._name(keeping[0])} keeps a feed that {last} removed."
        return ""

    def _name(self, number: int) -> str:
        return f"Device {number + 1} ({self.devices[number].name})"


def together(syncing: Sequence[tuple[App, Session]], chance: random.Random, losses: float) -> None:
    """Sync apps concurrently: their requests are interleaved at random, and replies can be lost.

    An app whose reply is lost stops until its next sync, as real apps do.

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


class InOneWorld(Protocol):
    """A server for random scripts."""

    connection: Connection
    seed: int

    def feed(self, name: str) -> str:
        """Return a feed URL that is unique to this run of the check."""

    def simulated(self) -> Sequence[Device]:
        pass


def expect_no_loss(server: InOneWorld) -> None:
    """Play random scripts, each in a world of its own.

    Raises:
        Wrong: Something is lost; the text has the shortest script found that loses something.
    """
    worlds = count()

    def lost(steps: Sequence[Step]) -> str:
        server.connection.begin_again()
        prefix = server.feed(f"world-{next(worlds)}/")
        return World(prefix, server.simulated(), server.connection.clock).play(steps)

    for run in range(_RUNS):
        chance = random.Random(f"{server.seed} {run}")
        script: Sequence[Step] = random_script(chance, len(server.simulated()))
        if not lost(script):
            continue
        script = shortest(script, lambda part: bool(lost(part)), _SHRINKING_TRIES)
        said = lost(script) or "This time, nothing is lost: it depends on timing."
        told = "; ".join(f"{number}. {step}" for number, step in enumerate(script, 1))
        raise Wrong(f"{said} Seed {server.seed}, run {run}: {told or 'nothing before that'}.")
