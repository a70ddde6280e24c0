"""Which URLs apps have for feeds that moved, as far as that is known. Pure.

Apps that use gpodder.net's API know a feed by its URL only. When they are sent a removal, they
delete the feed's downloads and play states. So they are never sent a move: an app goes on
with the URL that it has (docs/gpodder.md). `app_removals` has what it means when it removes one.
"""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import Guid, Second, Stamp, Value, replace
from feedkeep.rules.seconds import second_of

MAX_APP_URLS = 2_000
"""The maximum number of URLs remembered of an app: 50 KB. Beyond it, removals are in doubt."""


class AppUrls(Value, frozen=True):
    """Which URLs of moved feeds an app has, as far as that is known, as their derived guids.

    Nothing is known of any other URL: the app may have it from before the move.

    Attributes:
        known: The URLs that the app was sent, or has sent.
        gone: The URLs whose removal it was sent, or has sent.
        is_full: Whether there were more than `MAX_APP_URLS`, so that some are missing here.
        removals_sent: The account's clock when the app was last sent removals of feeds, of any
            kind; None once it cannot send one back any longer.
        removals: The feeds of these removals, as the derived guids of all their URLs; None while
            there are none, or if there were too many to remember.
        pending_until: It can send these removals back until it asks since a later second; None as
            long as it was sent nothing else, and has sent none of them back.
        began: The account's clock when the first of this was stored of an app that had a past
            already: what it had of feeds that moved before is not known. None if it started from
            nothing.
    """

    known: frozenset[Guid] = frozenset()
    gone: frozenset[Guid] = frozenset()
    is_full: bool = False
    removals_sent: Stamp | None = None
    removals: frozenset[Guid] | None = None
    pending_until: Second | None = None
    began: Stamp | None = None

    def with_known(self, guids: Collection[Guid]) -> AppUrls:
        """Return the same, except that the app has these URLs."""
        return replace(self, known=self.known.union(guids), gone=self.gone.difference(guids))

    def with_gone(self, guids: Collection[Guid]) -> AppUrls:
        """Return the same, except that the app does not have these URLs."""
        return replace(self, known=self.known.difference(guids), gone=self.gone.union(guids))

    def anew(self) -> AppUrls:
        """Return what is known of the app once it asks for everything, as if it had nothing.

        "Force full synchronization" makes AntennaPod forget what it was sent, but not what it has
        still to send: so removals that it was sent may be echoed until its next upload.
        """
        return replace(
            AppUrls(),
            removals_sent=self.removals_sent,
            removals=self.removals,
            pending_until=self.pending_until,
        )

    def after_poll(self, first: Second, clock: Stamp, removals: frozenset[Guid] | None) -> AppUrls:
        """Return the record of the app after a reply with the changes from `first` to `clock`.

        `removals` are the feeds whose removal it was sent, as `AppUrls.removals`; empty if none.
        An app that asks since the same second again has lost a reply, and may repeat what it sent.
        """
        if self.pending_until is not None and first > self.pending_until:
            return self.without_removals().after_poll(first, clock, removals)
        if removals is None or removals:
            both = self.with_removals(removals)
            return replace(self, removals_sent=clock, removals=both, pending_until=None)
        if self.removals_sent is None or self.pending_until is not None:
            return self
        return replace(self, pending_until=first)

    def with_removals(self, more: frozenset[Guid] | None) -> frozenset[Guid] | None:
        """Return all feeds whose removal it may send back, with some more."""
        if self.removals_sent is None:
            return more
        if self.removals is None or more is None:
            return None
        both = self.removals | more
        return both if len(both) <= MAX_APP_URLS else None

    def after_upload(self, removed: Collection[Guid], last_sent: Second | None) -> AppUrls:
        """Return the record of the app after an upload with these removals.

        `last_sent` is the second of the reply that it received before; None if that is not known.
        AntennaPod sends all that it has to send back with one upload, and that in the sync after
        the one in which it was sent the removals. If the reply to it is lost, it asks since an
        earlier second once more, and repeats the upload.
        """
        if self.removals_sent is None:
            return self
        sends_back = (
            bool(removed) if self.removals is None else not self.removals.isdisjoint(removed)
        )
        if last_sent is None or not (sends_back or self.pending_until is None):
            return self.without_removals()
        return replace(self, pending_until=last_sent) if sends_back else self

    def without_removals(self) -> AppUrls:
        """Return the same, except that the app has no removal to send back."""
        return replace(self, removals_sent=None, removals=None, pending_until=None)

    def may_predate(self, changed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Say whether the app may have any URL of a feed that was last changed at a stamp.

        `feed_guids` are the derived guids of all the feed's URLs.
        """
        if self.began is None or changed > self.began:
            return False
        return self.known.isdisjoint(feed_guids) and self.gone.isdisjoint(feed_guids)

    def may_echo(self, removed: Guid, subscribed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Say whether a removal by the app may echo one that it was sent.

        `removed` is the derived guid of the URL, `subscribed` is when its feed was last subscribed
        to, and `feed_guids` are the derived guids of all the feed's URLs. AntennaPod takes a
        removal that it is sent for its owner's wish, and sends it back with its next sync. If
        another device has brought the feed back by then, it would be gone for all devices once
        more.
        """
        if self.removals_sent is None:
            return False
        if subscribed <= self.removals_sent:
            # It was not removed itself, so an app that decodes escapes names another feed so.
            return self.removals is not None and removed in self.removals
        return self.removals is None or not self.removals.isdisjoint(feed_guids)

    def may_have_missed_removals(self, first: Stamp) -> bool:
        """Say whether the reply may be lost that sent the app removals.

        `first` is the first stamp of the second that it asks since now.
        """
        return self.removals_sent is not None and second_of(first) < second_of(self.removals_sent)


UNKNOWN = AppUrls()
"""Nothing is known of the app, or no feed of the account moved."""

NO_RECORD = AppUrls(began=Stamp(2**63 - 1))
"""Nothing was ever stored of the app: it may have any URL of each feed that moved."""


def after_adding(
    added: Guid, feed_guids: Collection[Guid], older: Collection[Guid], app: AppUrls
) -> AppUrls:
    """Return what is known of an app after it has added a URL of a feed that moved.

    `feed_guids` are the derived guids of all the feed's URLs; `older` are those of them that an app
    may have of which nothing is known, since it may be older than the moves. What apps have of the
    others is known, since they were sent each.
    """
    # Without this, an app that has both URLs and removes the new one would unsubscribe its owner.
    is_new_here = app.known.isdisjoint(feed_guids) and app.gone.isdisjoint(feed_guids)
    return (app.with_known(older) if is_new_here else app).with_known([added])


def merged(stored: AppUrls, before: AppUrls, after: AppUrls) -> AppUrls:
    """Return what is stored of an app, with the changes from `before` to `after` made to it.

    Two requests of an app can run at the same time, and neither may undo the changes of the other.
    """
    polled = stored
    if after.removals_sent is None:
        polled = stored.without_removals() if before.removals_sent is not None else stored
    elif _pending(before) != _pending(after):
        polled = replace(
            stored,
            removals_sent=after.removals_sent,
            removals=stored.with_removals(after.removals),
            pending_until=after.pending_until,
        )
    if before.began != after.began:
        polled = replace(polled, began=after.began)
    known = stored.known - (before.known - after.known)
    gone = stored.gone - (before.gone - after.gone)
    changed = replace(polled, known=known, gone=gone)
    changed = changed.with_known(after.known - before.known).with_gone(after.gone - before.gone)
    if len(changed.known) + len(changed.gone) > MAX_APP_URLS:
        return replace(polled, is_full=True)
    return changed


def _pending(app: AppUrls) -> tuple[Stamp | None, frozenset[Guid] | None, Second | None]:
    """Return what is known of removals that the app may still send back."""
    return app.removals_sent, app.removals, app.pending_until
