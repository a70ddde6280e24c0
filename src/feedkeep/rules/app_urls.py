"""The recorded URLs that apps have for moved feeds, and apps' removals of them. Pure.

Apps with gpodder.net's API identify a feed by its URL. When they are sent a removal, they delete
the feed's downloads and play states. So they are never sent a move: an app keeps the URL that it
has (docs/gpodder.md). An app that has another URL of the feed removes a duplicate, and its owner
has not unsubscribed; `AppUrls.may_echo` recognizes echoes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from feedkeep.model import Alias, Guid, Stamp, Value, replace
from feedkeep.rules import echoes
from feedkeep.rules.echoes import Echoes
from feedkeep.rules.seconds import second_of

MAX_APP_URLS = 2_000
"""Maximum number of URLs recorded for an app: 50 KB. Beyond it, removals are in doubt."""


class AppUrls(Value, frozen=True):
    """The recorded URLs of moved feeds that an app has, as their derived guids.

    Any URL that is not recorded is unknown: the app may have it from before the move. `feed_guids`
    are always the derived guids of all URLs of a feed.

    Attributes:
        known: URLs that the app was sent, or has sent.
        gone: URLs whose removal it was sent, or has sent.
        is_full: Whether URLs are missing here since there were more than `MAX_APP_URLS`.
        echoes: Removals that it may echo; None if it echoes nothing.
        began: The account's clock at the first record of an app that had synced before: its URLs of
            feeds that had moved by that time are unknown. None if it started from nothing.
    """

    known: frozenset[Guid] = frozenset()
    gone: frozenset[Guid] = frozenset()
    is_full: bool = False
    echoes: Echoes | None = None
    began: Stamp | None = None

    def with_known(self, guids: Collection[Guid]) -> AppUrls:
        """Return a copy in which the app has these URLs."""
        return replace(self, known=self.known.union(guids), gone=self.gone.difference(guids))

    def with_gone(self, guids: Collection[Guid]) -> AppUrls:
        """Return a copy in which the app does not have these URLs."""
        return replace(self, known=self.known.difference(guids), gone=self.gone.union(guids))

    def anew(self) -> AppUrls:
        """Return the record after the app requests a full sync.

        "Force full synchronization" makes AntennaPod forget what it was sent, but not its pending
        uploads: so it may echo removals until its next upload.
        """
        return AppUrls(echoes=self.echoes)

    def may_predate(self, changed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Whether the app may have any URL of a feed that last changed at stamp `changed`."""
        if self.began is None or changed > self.began:
            return False
        return self.knows_nothing_of(feed_guids)

    def knows_nothing_of(self, feed_guids: Collection[Guid]) -> bool:
        """Whether no URL of a feed is known that the app has, or no longer has."""
        return self.known.isdisjoint(feed_guids) and self.gone.isdisjoint(feed_guids)

    def may_echo(self, removed: Guid, subscribed: Stamp, feed_guids: Collection[Guid]) -> bool:
        """Whether a removal by the app may echo a removal that it was sent.

        `removed` is the derived guid of the URL, `subscribed` the stamp of the last subscription to
        its feed.
        """
        return self.echoes is not None and self.echoes.may_have(removed, subscribed, feed_guids)

    def may_have_missed_removals(self, first: Stamp) -> bool:
        """Whether the app may not have received the reply with the last removals.

        `first` is the first stamp of the second since which it requests changes.
        """
        return self.echoes is not None and second_of(first) < second_of(self.echoes.sent)


UNKNOWN = AppUrls()
"""No record of the app, or no moved feeds in the account."""

NO_RECORD = AppUrls(began=Stamp(2**63 - 1))
"""The app was never recorded: it may have any URL of each moved feed."""


def in_doubt(stored: AppUrls, after: AppUrls) -> AppUrls:
    """Return the record to store if `after` does not fit; it is no larger than `stored`."""
    sent_back = after.echoes and replace(after.echoes, last=None, earlier=None)
    return replace(stored, is_full=True, echoes=sent_back)


def merged(stored: AppUrls, before: AppUrls, after: AppUrls) -> AppUrls:
    """Apply the changes from `before` to `after` to the stored record.

    Concurrent requests of an app must not undo each other's changes.
    """
    sent_back = echoes.merged(stored.echoes, before.echoes, after.echoes)
    polled = replace(stored, echoes=sent_back)
    if before.began != after.began:
        polled = replace(polled, began=after.began)
    known = stored.known - (before.known - after.known)
    gone = stored.gone - (before.gone - after.gone)
    changed = replace(polled, known=known, gone=gone)
    changed = changed.with_known(after.known - before.known).with_gone(after.gone - before.gone)
    if len(changed.known) + len(changed.gone) > MAX_APP_URLS:
        return replace(polled, is_full=True)
    return changed


class UrlGuids(Value, frozen=True):
    """The present URL of a feed and the former ones, as their derived guids."""

    present: Guid
    former: Mapping[Guid, Alias]

    @property
    def all(self) -> set[Guid]:
        """The present URL and the former ones."""
        return {self.present, *self.former}

    @property
    def merged(self) -> set[Guid]:
        """The former URLs that were feeds of their own."""
        return {guid for guid, alias in self.former.items() if alias.was_own}


def has_unsubscribed(removed: Guid, urls: UrlGuids, app: AppUrls, *, may_have_both: bool) -> bool:
    """Whether an app that removes a URL of a feed has unsubscribed from the feed; in doubt not.

    `may_have_both` is whether it may have the feed by several URLs, although that is not known: one
    of them was a feed of its own, or the app is older than what is known.
    """
    others = urls.all - {removed} - app.gone
    if app.known & others:
        return False  # it keeps another URL of the feed
    if may_have_both and others:
        return False  # it may remove a duplicate
    # AntennaPod follows a redirect and renames the feed by itself, without an upload. So it can
    # remove the present URL although it was never sent that.
    if removed == urls.present or removed in app.known:
        return True
    if removed in app.gone or app.is_full:
        return False  # AntennaPod sends back removals that it was sent
    # Before a move, every app had the feed by that URL only.
    alias = urls.former.get(removed)
    return not others or (alias is not None and alias.moved_away)


def is_in_doubt(removed: Guid, urls: UrlGuids, app: AppUrls) -> bool:
    """Whether the app may, or may not, have another URL of the feed than the one it removes."""
    others = urls.all - {removed} - app.gone
    return bool(others) and removed not in app.gone and app.known.isdisjoint(others)
