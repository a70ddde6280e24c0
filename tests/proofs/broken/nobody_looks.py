"""Nobody looks at feeds, although they are to be looked at: for pages that tell of it."""

from feedkeep.feeds.keeper import Keeper


async def _begin(keeper: Keeper) -> Keeper:
    return keeper


Keeper.__aenter__ = _begin
