"""The meaning of an app's removal of a URL, or a former URL, of a moved feed. Pure.

An app that has another URL of the feed removes a duplicate, and its owner has not unsubscribed.
`AppUrls.may_echo` recognizes echoes.
"""

from __future__ import annotations

from collections.abc import Mapping

from feedkeep.model import Alias, Guid, Value
from feedkeep.rules.app_urls import AppUrls


class FeedUrls(Value, frozen=True):
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


def has_unsubscribed(removed: Guid, urls: FeedUrls, app: AppUrls, *, may_have_both: bool) -> bool:
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


def is_in_doubt(removed: Guid, urls: FeedUrls, app: AppUrls) -> bool:
    """Whether the app may, or may not, have another URL of the feed than the one it removes."""
    others = urls.all - {removed} - app.gone
    return bool(others) and removed not in app.gone and app.known.isdisjoint(others)
