"""A small server that is right: in memory, for one account, and for nothing but tests.

`podsync-check`'s own tests break it in one way at a time, to see that a check notices.
"""
