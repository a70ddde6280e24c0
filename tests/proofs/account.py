"""An account that the rules keep in memory, to say what the service should have answered.

And random requests, of few guids and feeds, so that they meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from kept_states import KeptStates

from feedkeep.model import Counts, Decision, Entry, Guid, Pointer, Snapshot, Subscription, View
from feedkeep.model.errors import (
    ChangedSince,
    DeletedSubscription,
    InvalidInput,
    UnknownChange,
    UnknownSubscription,
)
from feedkeep.rules import subscriptions, undo, url_changes, url_lists
from feedkeep.rules.app_urls import UNKNOWN
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.subscriptions import Added, Update, want
from feedkeep.rules.undo import ConflictPolicy, Undo

URLS = [f"https://{letter}.example" for letter in "abcd"]
GUIDS = [f"00000000-0000-4000-8000-00000000000{digit}" for digit in "12"]
KINDS = ["add", "add", "update", "update", "delete", "read", "read", "read"]
KINDS_OF_APPS = ["put", "upload", "poll"]
KINDS_OF_HISTORY = ["undo", "restore"]
KNOWN = GUIDS + [parse_feed_url(url).guid for url in URLS]


BEFOREHAND: list[tuple[str, Any]] = [
    ("add", (URLS[0], GUIDS[0])),
    ("add", (URLS[1], None)),
    ("update", (GUIDS[0], {"is_subscribed": False})),
    ("update", (parse_feed_url(URLS[1]).guid, {"new_feed_url": URLS[2]})),
]
"""Requests to begin with, one after the other: these are undone, and what they made is restored."""


def random_request(chance: random.Random, kinds: Sequence[str] = KINDS) -> tuple[str, Any]:
    kind = chance.choice(kinds)
    if kind == "add":
        return kind, (chance.choice(URLS), chance.choice([None, None, *GUIDS]))
    if kind == "put":
        return kind, chance.sample(URLS, chance.randrange(1, 3))
    if kind == "upload":
        return kind, (chance.sample(URLS, chance.randrange(2)), [chance.choice(URLS)])
    if kind == "poll":
        return kind, None
    if kind == "undo":
        return kind, (chance.randrange(len(BEFOREHAND)), str(chance.choice([*ConflictPolicy])))
    if kind == "restore":
        return kind, chance.random() < 0.5
    guid = chance.choice(KNOWN)
    if kind == "update":
        change = chance.choice(
            [
                {"is_subscribed": chance.random() < 0.5},
                {"new_guid": chance.choice(KNOWN)},
                {"new_feed_url": chance.choice(URLS)},
            ]
        )
        return kind, (guid, change)
    return kind, guid


class Account:
    """An account that the rules keep in memory; it answers as the service should."""

    def __init__(self) -> None:
        self.entries: dict[Guid, Entry] = {}
        self.last_stamp = 0
        self.counts = Counts()
        self.kept = KeptStates()

    def answer(self, request: tuple[str, Any]) -> tuple[int, object]:
        """Carry a request out; return the status, and all of the answer but its stamps."""
        kind, what = request
        try:
            answer: tuple[int, object] = getattr(self, kind)(what)
        except (UnknownSubscription, UnknownChange):
            return 404, None
        except ChangedSince:
            return 409, None
        except DeletedSubscription:
            return 410, None
        except InvalidInput:
            return 405, None
        return answer

    def add(self, what: tuple[str, str | None]) -> tuple[int, object]:
        item = want(*what)
        (result,) = self.decide(lambda snapshot: subscriptions.add(snapshot, [item]))
        assert isinstance(result, Added)
        return 200, result.subscription.guid

    def update(self, what: tuple[str, dict[str, Any]]) -> tuple[int, object]:
        guid, sent = what
        change = Update(
            parse_feed_url(sent["new_feed_url"]) if "new_feed_url" in sent else None,
            Guid(sent["new_guid"]) if "new_guid" in sent else None,
            sent.get("is_subscribed"),
        )
        done = self.decide(lambda snapshot: subscriptions.update(snapshot, Guid(guid), change))
        told = (done.new_feed_url, done.is_subscribed, done.new_guid)
        return 200, tuple(value for value in told if value is not None)

    def delete(self, guid: str) -> tuple[int, object]:
        self.decide(lambda snapshot: subscriptions.delete(snapshot, Guid(guid)))
        return 202, None

    def put(self, urls: list[str]) -> tuple[int, object]:
        wanted = url_lists.whole_list(urls)
        self.decide(lambda snapshot: url_lists.replace_list(snapshot, wanted))
        return 200, None

    def upload(self, what: tuple[list[str], list[str]]) -> tuple[int, object]:
        added, removed = what
        items, left = (
            [url_lists.parse_added(url) for url in added],
            url_lists.parse_removed(removed)[0],
        )
        synced = self.decide(lambda snapshot: url_lists.upload(snapshot, items, left))
        kept = map(url_lists.kept_as, items, synced.results)
        return 200, [[sent, url] for sent, url in kept if sent != url]

    def undo(self, what: tuple[int, str]) -> tuple[int, object]:
        number, when_changed = what
        wanted = Undo([self.kept.stamps[number]], None, ConflictPolicy(when_changed))
        done = self.decide(lambda snapshot: undo.undo(snapshot, wanted))
        return 200, (done.stamp is not None, done.feeds, done.left)

    def restore(self, keep_added: bool) -> tuple[int, object]:
        """Restore what was there after the requests to begin with."""
        moment = self.kept.stamps[len(BEFOREHAND) - 1]
        done = self.decide(lambda snapshot: undo.restore(snapshot, moment, keep_added=keep_added))
        return 200, (done.stamp is not None, done.feeds, done.left)

    def poll(self, _: None) -> tuple[int, object]:
        changes = url_changes.changes_to_send(self.entries.values(), 0, UNKNOWN)
        return 200, (sorted(changes.add), sorted(changes.removed_texts))

    def read(self, guid: str) -> tuple[int, object]:
        entry = self.entries.get(Guid(guid))
        view = None
        if entry is not None:
            target = self.entries[entry.new_guid] if isinstance(entry, Pointer) else entry
            assert isinstance(target, Subscription)
            view = View(entry, target)
        found = subscriptions.read(view)
        new_guid = found.entry.new_guid if isinstance(found.entry, Pointer) else None
        target = found.subscription
        return 200, (target.feed_url, target.is_subscribed, new_guid)

    def decide(self, decide: Callable[[Snapshot], Decision[Any]]) -> Any:
        known = self.kept.history()
        state = (dict(self.entries), self.last_stamp, 0, self.counts)
        decision = decide(Snapshot(*state, history=known, limits=limits_for(MAX_SUBSCRIPTIONS)))
        if decision.saved or decision.forgotten:
            self.kept.keep(decision)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for guid in decision.forgotten:
            del self.entries[guid]
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome
