"""A lease of a feed is over after five seconds, where others have ten minutes."""

from feedkeep.feeds import scheduler as keeper

keeper.LEASE_US = 5_000_000
keeper._NEEDED_US = 1_000_000
