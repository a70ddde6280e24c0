"""The meaning of an app's removal of a URL, or a former URL, of a moved feed. Pure.

An app that has another URL of the feed removes a duplicate, and its owner has not unsubscribed.
`AppUrls.may_echo` recognizes echoes.
"""

from __future__ import annotations

from collections.abc import Mapping

from feedkeep.model import Alias, Guid
from feedkeep.rules.app_urls import AppUrls


def has_unsubscribed(
    removed: Guid,
    present: Guid,
    former: Mapping[Guid, Alias],
    app: AppUrls,
    *,
    may_have_both: bool,
) -> bool:
    """Whether an app that removes a URL of a feed has unsubscribed from the feed; False in doubt.

    Args:
        removed: Derived guid of the removed URL.
        present: Derived guid of the feed's present URL.
        former: The feed's former URLs, by their derived guids.
        app: The URLs that the app has.
        may_have_both: Whether the app may have the feed by several URLs, although none is recorded:
            one of them was a separate feed, or the app may be older than the record.
    """
    others = {present, *former} - {removed} - app.gone
    if app.known & others:
        return False  # it keeps another URL of the feed
    if may_have_both and others:
        return False  # it may remove a duplicate
    # AntennaPod follows a redirect and renames the feed without an upload. So it can remove the
    # present URL although it was never sent it.
    if removed == present or removed in app.known:
        return True
    if removed in app.gone or app.is_full:
        return False  # AntennaPod echoes removals that it was sent
    # Before a move, every app had only that URL of the feed.
    alias = former.get(removed)
    return not others or (alias is not None and alias.moved_away)


def is_in_doubt(removed: Guid, present: Guid, former: Mapping[Guid, Alias], app: AppUrls) -> bool:
    """Whether an app may or may not have another URL of the feed whose URL it removes.

    The arguments are those of `has_unsubscribed`.
    """
    others = {present, *former} - {removed} - app.gone
    return bool(others) and removed not in app.gone and app.known.isdisjoint(others)
