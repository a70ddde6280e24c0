"""What can go wrong with another server; apart from asking it, since aiohttp imports slowly."""

from __future__ import annotations

from feedkeep.model.errors import FeedkeepError


class RemoteError(FeedkeepError):
    """A request to the other server failed or was refused; `str()` of it says what to do.

    It can contain text from that server, so it has to be shown as untrusted text.
    """


class NotAccepted(RemoteError):
    """The other server does not accept the name with the password."""


class InvalidAddress(RemoteError):
    """What was given is not the address of a server."""


class Elsewhere(RemoteError):
    """The other server redirects to another one.

    Attributes:
        origin: That one.
    """

    def __init__(self, origin: str) -> None:
        super().__init__(f"The other server redirects to {origin}; use that address.")
        self.origin = origin


class Refused(RemoteError):
    """The policy of this service does not let it ask that server."""


class NotThere(RemoteError):
    """The other server has no such path."""


class TooLong(RemoteError):
    """The other server sends more than was asked for."""
