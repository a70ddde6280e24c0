"""What it means when an app removes a URL, or a former URL, of a feed that moved. Pure.

That depends on what else the app has: if it also has another URL of the same feed, it removes a
duplicate, and its owner has not unsubscribed. `AppUrls.may_echo` says whether the app only sends
back a removal that it was sent.
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
    """Say whether an app that removes a URL of a feed has unsubscribed from the feed.

    In doubt it has not.

    Args:
        removed: The derived guid of the URL.
        present: The derived guid of the feed's present URL.
        former: The feed's former URLs, by their derived guids.
        app: What is known of the app.
        may_have_both: Whether the app may have the feed by several URLs, although that is not
            known: one of them was a feed of its own, or the app may be older than what is known.
    """
    others = {present, *former} - {removed} - app.gone
    if app.known & others:
        return False  # it still has the feed by another URL, and removes a duplicate
    if may_have_both and others:
        return False  # it may remove a duplicate
    # AntennaPod follows a redirect and renames the feed by itself, without an upload. So it can
    # remove the present URL although it was never sent that.
    if removed == present or removed in app.known:
        return True
    if removed in app.gone or app.is_full:
        return False  # AntennaPod sends back removals that it was sent
    # Before a move, every app had the feed by that URL only.
    alias = former.get(removed)
    return not others or (alias is not None and alias.moved_away)


def is_in_doubt(removed: Guid, present: Guid, former: Mapping[Guid, Alias], app: AppUrls) -> bool:
    """Say whether it is unknown if an app has another URL of a feed than the one that it removes.

    Takes what `has_unsubscribed` takes.
    """
    others = {present, *former} - {removed} - app.gone
    return bool(others) and removed not in app.gone and app.known.isdisjoint(others)
