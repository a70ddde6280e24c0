"""What can go wrong with another server; apart from asking it, since aiohttp imports slowly."""

from __future__ import annotations

from feedkeep.model.errors import FeedkeepError


class RemoteError(FeedkeepError):
    """A request to the other server failed or was refused; `str()` of it says what to do.

    It can contain text from that server, so it has to be shown as untrusted text.
    """


class NotThere(RemoteError):
    """The other server has no such path."""


class TooLong(RemoteError):
    """The other server sends more than was asked for."""
