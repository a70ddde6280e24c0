"""Echoes: removals that an app was sent, and uploads as if its owner had made them. Pure.

AntennaPod uploads them with the sync after the one that sent them, all in one request. If another
device has restored a feed by that time, the echo would remove it again from all devices. An app
that did not receive the reply to its upload repeats the sync.
"""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import Guid, Second, Stamp, Value, replace

MAX_REMOVALS = 2_000
"""Maximum number of recorded URLs. Beyond it, each removal may be an echo."""

MAX_REPEATS = 16
"""Maximum number of lost replies to an upload that are recorded in one sync."""

NO_FEEDS: frozenset[Guid] = frozenset()


class Echoes(Value, frozen=True):
    """Feeds whose removal by the app may be an echo.

    Attributes:
        sent: The account's clock when the app was last sent a removal.
        last: Feeds whose removal it was sent in its last sync, as the derived guids of all their
            URLs; None if there were too many.
        earlier: Feeds of the sync before, until it uploads; after the upload, the echoed ones.
        repeats: Seconds since which it asks if it did not receive the last reply.
    """

    sent: Stamp
    last: frozenset[Guid] | None
    earlier: frozenset[Guid] | None = NO_FEEDS
    repeats: frozenset[Second] = frozenset()

    def may_have(self, removed: Guid, subscribed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Whether a removal by the app may be an echo; arguments as of `AppUrls.may_echo`."""
        known = self.last, self.earlier
        if subscribed <= self.sent:
            # The feed itself was not removed: an app that decodes escapes means another feed.
            return any(one is not None and removed in one for one in known)
        return any(one is None or not one.isdisjoint(feed_guids) for one in known)


def after_poll(
    known: Echoes | None, since: Second, clock: Stamp, removals: frozenset[Guid] | None
) -> Echoes | None:
    """Return the expected echoes after a reply with the changes from `since` to `clock`.

    `removals` are the feeds whose removal was sent, as `Echoes.last`.
    """
    if known is None:
        return _unless_none(Echoes(clock, removals, repeats=frozenset({since})))
    sent = clock if removals != NO_FEEDS else known.sent
    if since in known.repeats:
        return replace(known, sent=sent, last=_union(known.last, removals))
    return _unless_none(Echoes(sent, removals, known.last, frozenset({since})))


def after_upload(
    known: Echoes | None, removed: Collection[Guid], last_sent: Second | None
) -> Echoes | None:
    """Return the expected echoes after an upload with these removals.

    `last_sent` is the second of the reply that the app received before; None if unknown. Removals
    of the sync before that are not echoed now are never echoed.
    """
    if known is None:
        return None
    if last_sent is None:
        return _unless_none(replace(known, earlier=NO_FEEDS))
    groups = known.last, known.earlier
    echoes = frozenset(
        guid for guid in removed if any(one is None or guid in one for one in groups)
    )
    may_repeat = echoes and len(known.repeats) < MAX_REPEATS
    repeats = known.repeats | {last_sent} if may_repeat else known.repeats
    last = known.last and known.last - echoes
    return _unless_none(replace(known, last=last, earlier=echoes, repeats=repeats))


def after_adding(known: Echoes | None, feed_guids: Collection[Guid]) -> Echoes | None:
    """Return the expected echoes after the app has added a feed, without this feed."""
    if known is None:
        return None
    last = known.last and known.last.difference(feed_guids)
    earlier = known.earlier and known.earlier.difference(feed_guids)
    return _unless_none(replace(known, last=last, earlier=earlier))


def merged(stored: Echoes | None, before: Echoes | None, after: Echoes | None) -> Echoes | None:
    """Apply the change from `before` to `after` to the stored echoes.

    If a concurrent request of the app has changed them, both results are kept.
    """
    if before in (stored, after):
        return after if stored == before else stored
    if stored is None or after is None:
        return stored or after
    return Echoes(
        max(stored.sent, after.sent),
        _union(stored.last, after.last),
        _union(stored.earlier, after.earlier),
        stored.repeats | after.repeats,
    )


def _unless_none(echoes: Echoes) -> Echoes | None:
    return None if echoes.last == echoes.earlier == NO_FEEDS else echoes


def _union(one: frozenset[Guid] | None, other: frozenset[Guid] | None) -> frozenset[Guid] | None:
    if one is None or other is None or len(one | other) > MAX_REMOVALS:
        return None
    return one | other
