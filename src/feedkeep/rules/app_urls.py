"""Which URLs apps have for feeds that moved, as far as that is known. Pure.

Apps that use gpodder.net's API know a feed by its URL only. When they are sent a removal, they
delete the feed's downloads and play states. So they are never sent a move: an app goes on
with the URL that it has (docs/gpodder.md). `app_removals` has what it means when it removes one.
"""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import Guid, Stamp, Value, replace
from feedkeep.rules import echoes
from feedkeep.rules.echoes import Echoes
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
        echoes: Which removals it may only send back; None if it sends none back.
        began: The account's clock when the first of this was stored of an app that had a past
            already: what it had of feeds that moved before is not known. None if it started from
            nothing.
    """

    known: frozenset[Guid] = frozenset()
    gone: frozenset[Guid] = frozenset()
    is_full: bool = False
    echoes: Echoes | None = None
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
        return AppUrls(echoes=self.echoes)

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
        to, and `feed_guids` are the derived guids of all the feed's URLs.
        """
        return self.echoes is not None and self.echoes.may_have(removed, subscribed, feed_guids)

    def may_have_missed_removals(self, first: Stamp) -> bool:
        """Say whether the reply may be lost that sent the app removals.

        `first` is the first stamp of the second that it asks since now.
        """
        return self.echoes is not None and second_of(first) < second_of(self.echoes.sent)


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


def in_doubt(stored: AppUrls, after: AppUrls) -> AppUrls:
    """Return what is stored of an app where there is no room for `after`: no more than before."""
    sent_back = after.echoes and replace(after.echoes, last=None, earlier=None)
    return replace(stored, is_full=True, echoes=sent_back)


def merged(stored: AppUrls, before: AppUrls, after: AppUrls) -> AppUrls:
    """Return what is stored of an app, with the changes from `before` to `after` made to it.

    Two requests of an app can run at the same time, and neither may undo the changes of the other.
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
