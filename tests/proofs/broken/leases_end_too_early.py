"""A lease of a feed is over after a twentieth of a second, and its holder fetches all the same."""

from feedkeep.feeds import scheduler

scheduler.LEASE_US = 50_000
scheduler._NEEDED_US = -60_000_000
