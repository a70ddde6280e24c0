"""A lease of a feed is over after half a second, and its holder fetches all the same."""

from feedkeep.feeds import scheduler

scheduler.LEASE_US = 500_000
scheduler._NEEDED_US = -60_000_000
