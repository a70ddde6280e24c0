"""A lease of a feed is over after five seconds, where others have ten minutes."""

from feedkeep.feeds import scheduler

scheduler.LEASE_US = 5_000_000
scheduler._NEEDED_US = 1_000_000
