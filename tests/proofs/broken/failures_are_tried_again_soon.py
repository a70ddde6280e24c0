"""A feed that could not be read is asked again after a second, where others wait for an hour."""

from feedkeep.rules import feed_schedule

feed_schedule._FIRST_RETRY_US = 1_000_000
