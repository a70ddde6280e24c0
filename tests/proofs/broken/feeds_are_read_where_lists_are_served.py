"""The process that serves looks at feeds itself."""

from feedkeep.feeds.door import Door
from feedkeep.feeds.door_policy import policy_of
from feedkeep.feeds.looker import Looker
from feedkeep.feeds.looking import Looking
from feedkeep.model import Feed, Looked, Stamp


async def _look(looker: Looker, feed: Feed, now: Stamp) -> Looked:
    async with Door(policy_of(looker._chosen)) as door:
        return await Looking(door).look(feed, now)


Looker.look = _look
