"""Sweeps of all lists follow each other at once, where others leave an hour between them."""

from feedkeep.feeds import sweep

sweep._SECONDS_BETWEEN_ROUNDS = 0.1
sweep._SECONDS_BETWEEN_STEPS = 0.02
