"""Fetches follow each other without a pause, and no feed waits long for what others add."""

from feedkeep.feeds import scheduler as keeper

keeper.LOOKS_A_SECOND = 1_000.0
keeper._LONGEST_WAIT_SECONDS = 0.1
