"""The process that serves looks at feeds itself."""

from feedkeep.feeds.fetcher import Fetcher
from feedkeep.feeds.fetcher_process import FetcherProcess
from feedkeep.model import Feed, FetchResult, Stamp
from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.policy import policy_of


async def _look(process: FetcherProcess, feed: Feed, now: Stamp) -> FetchResult:
    async with GuardedClient(policy_of(process._chosen)) as client:
        return await Fetcher(client).look(feed, now)


FetcherProcess.look = _look
