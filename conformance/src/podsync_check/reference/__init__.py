"""A small correct server for tests, with one account, in memory.

`podsync-check`'s own tests break it in various ways, to see that a check notices.
"""
