"""Fetches follow each other without a pause, and no feed waits long for what others add."""

from feedkeep.feeds import scheduler

scheduler.FETCHES_PER_SECOND = 1_000.0
scheduler._LONGEST_WAIT_SECONDS = 0.1
