"""A watching proxy for apps: injected faults, objections to requests, and hard cases.

`podsync-check client` runs it in front of the reference server, `feedkeep try` in front of
feedkeep.
"""
