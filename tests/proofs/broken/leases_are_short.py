"""A lease of a feed is over after five seconds, where others have ten minutes."""

from feedkeep.feeds import scheduler
from feedkeep.rules import seen_feeds

scheduler.LEASE_US = 5_000_000
scheduler._NEEDED_US = 1_000_000
vars(seen_feeds)["LEASE_US"] = 5_000_000  # by which a sweep tells when a look began
