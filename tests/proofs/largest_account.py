"""An account that is at every limit at once, or as close to it as leaves room for a few changes."""

import hashlib
from itertools import islice

from msgspec import json

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.weights import weight_of_document
from feedkeep.rules.accounts import MAX_INVITATIONS
from feedkeep.rules.apps import MAX_TOKENS
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.devices import MAX_DOCUMENTS, Device
from feedkeep.rules.duplicates import MAX_PAIRS, pair_of
from feedkeep.rules.episode_actions import MAX_STORED
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, count, limits_for
from feedkeep.rules.subscriptions import MAX_POINTERS
from feedkeep.runtime import wall_clock
from feedkeep.service.devices import MAX_SETTINGS_BYTES
from feedkeep.service.documents import as_json, short_name
from feedkeep.service.list_changes import write_author
from feedkeep.service.logins import MAX_SESSIONS
from feedkeep.store.base import MAX_DELETIONS, MAX_FORMER_STATES

NAME = "Largest"
ID = 7
ROOM = 3  # how many more fit of what has a limit, so that what is asked is done and not refused
_AT_ONCE = 1_000
_AUTHOR = write_author(model.Author(model.CredentialKind.TOKEN, 1, "app 1", "device0"))


class LargestAccount:
    """Records of the largest account; `subscriptions` is the setting, which scales other limits.

    The first ones of its feeds have as many pointers as one may have. The newest change has changed
    all feeds. What was played is of a feed that no request merges or renames.
    """

    def __init__(self, subscriptions):
        self.subscriptions = subscriptions
        self._part = subscriptions / MAX_SUBSCRIPTIONS
        self._pointers = max(100, self._of(MAX_POINTERS))
        self._now = wall_clock.now()
        self._limits = limits_for(subscriptions)
        rounds = self._of(MAX_FORMER_STATES) // (subscriptions - ROOM)
        self._stamps = [self._now - DAY_US + MAX_SUBSCRIPTIONS * n for n in range(rounds + 1)]
        self.feeds = [self._feed(number) for number in range(subscriptions - ROOM)]
        self.guids = [feed.guid for feed in self.feeds]
        self.urls = [feed.feed_url for feed in self.feeds]
        self.played = f"{self.guids[5]}.{_digest(5)[: model.EPISODE_KEY_BYTES].hex()}"
        self.newest = self._stamps[-1]
        self.last = self.newest + len(self.feeds)

    async def records(self):
        for kind in (self._owner, self._tokens, self._deletions, self._entries, self._former,
                     self._labels, self._actions, self._documents):  # fmt: skip
            rows = ((ID, record) for record in kind())
            while chunk := list(islice(rows, _AT_ONCE)):
                yield chunk

    def _of(self, limit):
        return int(limit * self._part) - ROOM

    def _feed(self, number):
        url = f"https://{number}.example/feed"
        changed = self._stamps[-1] + number + 1
        guid = parse_feed_url(url).guid
        return model.Subscription(guid, url, True, changed, status_changed=changed)

    def _aliases(self):
        """Former URLs: of the first feed as many as one may have, then of the next."""
        for number in range(self._limits.entries - self._limits.subscriptions - ROOM):
            target_guid = self.feeds[number // self._pointers].guid
            url = f"https://{number}.example/former"
            alias = model.Alias(url, moved_away=True)
            yield model.Pointer(parse_feed_url(url).guid, target_guid, None, alias)

    def _owner(self):
        counts = count([*self.feeds, *self._aliases()])
        last = self._now - DAY_US // 2
        counted = {"action_count": self._of(MAX_STORED), "counts": counts}
        account = model.Account(ID, NAME, None, False, 1, last, last, True, **counted)
        former = sum(1 for _ in self._former())
        yield model.AccountRecord(account, NAME.lower(), 2_000, 0, former)

    def _tokens(self):
        for number in range(1, MAX_TOKENS - ROOM + MAX_SESSIONS - ROOM):
            is_session = number > MAX_TOKENS - ROOM
            yield model.Token(number, _digest(number), f"app {number}", 1, is_session=is_session)
        for number in range(1_001, 1_001 + MAX_INVITATIONS - ROOM):
            invites = {"expires": shift(self._now, DAY_US), "purpose": model.Purpose.INVITATION}
            yield model.Token(number, _digest(number), "", 1, **invites)

    def _deletions(self):
        for number in range(self._of(MAX_DELETIONS)):
            yield model.Deletion(number + 1, self.guids[number % len(self.guids)])

    def _entries(self):
        for feed in sorted(self.feeds, key=lambda feed: feed.guid):
            yield model.EntryState(feed, self._stamps[-1], _AUTHOR)
        for pointer in sorted(self._aliases(), key=lambda pointer: pointer.guid):
            yield model.EntryState(pointer)

    def _former(self):
        """Rounds in which all feeds were unsubscribed, or subscribed to again."""
        for number, (began, ended) in enumerate(zip(self._stamps, self._stamps[1:], strict=False)):
            is_subscribed = (len(self._stamps) - number) % 2 == 1
            for place, _guid in sorted(enumerate(self.guids, 1), key=lambda feed: feed[1]):
                then = began + place
                stamps = {"subscription_changed": then, "status_changed": then}
                feed = replace(self.feeds[place - 1], is_subscribed=is_subscribed, **stamps)
                yield model.EntryState(feed, began, _AUTHOR, ended)

    def _labels(self):
        for guid in sorted(self.guids):
            yield model.FeedLabel(guid, f"Title {guid}", "News / Daily", False, False)

    def _actions(self):
        rows = []
        for number in range(self._of(MAX_STORED)):
            podcast, key = self.feeds[number % len(self.feeds)], _digest(number)[:16]
            episode = (podcast.guid, podcast.feed_url, f"https://{number}.example/episode")
            revision = self._now - DAY_US + number
            given = {"revision": revision, "received": revision, "app": "app 1", "file": key[6:]}
            played = ("phone", "play", 10**9, 0, 60, 3_600)
            rows.append(model.EpisodeAction(key, *episode, *played, **given))
        yield from sorted(rows, key=lambda action: (action.podcast_guid, action.key))

    def _documents(self):
        kinds, count = model.DocumentKind, MAX_DOCUMENTS - ROOM
        pairs = [pair_of(self.guids[0], guid) for guid in self.guids[1:MAX_PAIRS]]
        yield model.Document(kinds.DIFFERENT_FEEDS, "", as_json(pairs))
        for name in (f"device{number}" for number in range(count)):
            yield model.Document(kinds.DEVICE, name, as_json(Device(name, "", "other")))
        long = json.encode({"a": "x" * (MAX_SETTINGS_BYTES - 100)}).decode()
        yield model.Document(kinds.SETTINGS, short_name("account"), long)
        for number in range(count - weight_of_document(long)):
            yield model.Document(kinds.SETTINGS, short_name(f"device{number}"), '{"a":"x"}')


def _digest(number):
    return hashlib.sha256(f"{number}".encode()).digest()
