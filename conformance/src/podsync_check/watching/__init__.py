"""A server with eyes: faults to order, what was wrong with each request, and hard cases in turn.

`podsync-check client` watches an app in front of the reference server; `feedkeep try` does so in
front of feedkeep.
"""
