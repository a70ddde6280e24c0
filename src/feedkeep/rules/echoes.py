"""Removals that an app only sends back: it was sent them, and takes them for its owner's. Pure.

AntennaPod does so with the sync after the one in which it was sent the removal, and with one upload
for all of them. If another device has brought a feed back by then, it would be gone for all devices
once more. An app that did not receive the reply to its upload repeats the sync.
"""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import Guid, Second, Stamp, Value, replace

MAX_REMOVALS = 2_000
"""The maximum number of URLs that are remembered. Beyond it, each removal may be an echo."""

MAX_REPEATS = 16
"""How many lost replies to an upload are remembered in one sync."""

NO_FEEDS: frozenset[Guid] = frozenset()


class Echoes(Value, frozen=True):
    """Which feeds an app may remove only since it was sent their removal.

    Attributes:
        sent: The account's clock when it was last sent a removal.
        last: The feeds whose removal it was sent in its last sync, as the derived guids of all
            their URLs; None if there were too many.
        earlier: Those of the sync before, until it uploads; after it, those that it has sent back.
        repeats: What it asks since if it did not receive the last reply.
    """

    sent: Stamp
    last: frozenset[Guid] | None
    earlier: frozenset[Guid] | None = NO_FEEDS
    repeats: frozenset[Second] = frozenset()

    def may_have(self, removed: Guid, subscribed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Whether a removal by the app may be an echo; takes what `AppUrls.may_echo` takes."""
        known = self.last, self.earlier
        if subscribed <= self.sent:
            # It was not removed itself, so an app that decodes escapes names another feed so.
            return any(one is not None and removed in one for one in known)
        return any(one is None or not one.isdisjoint(feed_guids) for one in known)


def after_poll(
    known: Echoes | None, since: Second, clock: Stamp, removals: frozenset[Guid] | None
) -> Echoes | None:
    """Return the echoes to expect after a reply with the changes from `since` to `clock`.

    `removals` are the feeds whose removal it was sent, as `Echoes.last`.
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
    """Return the echoes to expect after an upload with these removals.

    `last_sent` is the second of the reply that it received before; None if that is not known. What
    it was sent in the sync before, and does not send back now, it never sends back.
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
    """Return the echoes to expect once the app has added a feed: none of that one.

    `feed_guids` are the derived guids of all the feed's URLs.
    """
    if known is None:
        return None
    last = known.last and known.last.difference(feed_guids)
    earlier = known.earlier and known.earlier.difference(feed_guids)
    return _unless_none(replace(known, last=last, earlier=earlier))


def merged(stored: Echoes | None, before: Echoes | None, after: Echoes | None) -> Echoes | None:
    """Return the stored echoes with the change from `before` to `after` made to it.

    If another request of the app has changed it meanwhile, both may be right.
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
