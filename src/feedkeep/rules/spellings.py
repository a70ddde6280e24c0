"""What apps call feeds that moved, and what it means when one removes such a URL. Pure.

Apps of gpodder.net's kind know a feed by a URL alone, and delete what they have of it, play states
too, when they are told to remove that URL. So a move is never told to them: an app goes on with the
URL that it has (docs/gpodder.md). What its removal of a URL means depends on what else it has: with
another URL of the same feed it clears away a double, and its owner has unsubscribed from nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from feedkeep.model import Alias, Guid, Value, replace

MAX_SPELLINGS = 2_000
"""How many spellings are remembered of one app: 50 KB. After that, what it means is in doubt."""


class Spellings(Value, frozen=True):
    """Which URLs of moved feeds an app has, as far as that is known; by the guids they derive.

    Of a URL that is in neither, nothing is known: the app may have it from before the move.

    Attributes:
        known: Those that it was told, or has sent.
        gone: Those that it was told to remove, or has removed.
        is_full: Whether there was more to remember; then of none of them enough is known.
    """

    known: frozenset[Guid] = frozenset()
    gone: frozenset[Guid] = frozenset()
    is_full: bool = False

    def with_known(self, guids: Collection[Guid]) -> Spellings:
        """Return the same, where the app has these."""
        return Spellings(self.known.union(guids), self.gone.difference(guids), self.is_full)

    def with_gone(self, guids: Collection[Guid]) -> Spellings:
        """Return the same, where the app does not have these."""
        return Spellings(self.known.difference(guids), self.gone.union(guids), self.is_full)


UNKNOWN = Spellings()
"""Of an app of which nothing is known, or where no feed moved."""


def is_left(removed: Guid, present: Guid, former: Mapping[Guid, Alias], app: Spellings) -> bool:
    """Say whether an app that removes a URL of a feed has unsubscribed from it.

    In doubt nobody is unsubscribed.

    Args:
        removed: What the URL derives.
        present: What the feed's present URL derives.
        former: The feed's other URLs, by what they derive.
        app: What is known of the app.
    """
    if app.known & ({present, *former} - {removed}):
        return False  # it has the feed by another URL still, and clears away a double
    # AntennaPod follows a redirect and renames the feed by itself, without an upload. So it can
    # remove the present URL although it was never sent that.
    if removed == present or removed in app.known:
        return True
    if removed in app.gone or app.is_full:
        return False  # AntennaPod sends back what it was told to remove
    # Before a move everybody had the feed by that URL alone. One that came by a merge was a feed
    # of its own, and an app may have both.
    alias = former.get(removed)
    return alias is not None and alias.moved_away


def after_adding(
    added: Guid, present: Guid, former: Mapping[Guid, Alias], app: Spellings
) -> Spellings:
    """Return what is known of an app once it has sent a URL of a feed that moved.

    If nothing was known of it and this feed, it may have begun before the move, and have the feed
    by one of its former URLs, too.
    """
    # Without this, an app that has both URLs and removes the new one would unsubscribe its owner.
    is_new_here = app.known.isdisjoint({present, *former}) and app.gone.isdisjoint(former)
    if is_new_here:
        app = app.with_known([guid for guid, alias in former.items() if alias.moved_away])
    return app.with_known([added])


def merged(kept: Spellings, before: Spellings, after: Spellings) -> Spellings:
    """Return what is kept of an app, with the changes from `before` to `after` made to it.

    Two requests of one app can come at the same time; neither forgets what the other one learned.
    """
    known = kept.known - (before.known - after.known)
    gone = kept.gone - (before.gone - after.gone)
    changed = Spellings(known, gone, kept.is_full)
    changed = changed.with_known(after.known - before.known).with_gone(after.gone - before.gone)
    if len(changed.known) + len(changed.gone) > MAX_SPELLINGS:
        return replace(kept, is_full=True)
    return changed
