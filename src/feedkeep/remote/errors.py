"""Errors of other servers; a separate module, since aiohttp imports slowly."""

from __future__ import annotations

from feedkeep.model import Failure
from feedkeep.model.errors import FeedkeepError


class RemoteError(FeedkeepError):
    """A request to the other server failed or was refused; `str()` says what to do.

    It can contain untrusted text from that server.
    """


class NotAccepted(RemoteError):
    """The other server rejects the name or the password."""


class InvalidAddress(RemoteError):
    """The input is not the address of a server."""


class ServerMoved(RemoteError):
    """The other server redirects to a different one.

    Attributes:
        origin: Origin of that server.
    """

    def __init__(self, origin: str) -> None:
        super().__init__(f"The other server redirects to {origin}; use that address.")
        self.origin = origin


class Refused(RemoteError):
    """The policy of this service does not permit requests to that server."""


class NeverAnswers(RemoteError):
    """Nothing answers at the address, and a retry does not help.

    Attributes:
        kind: The reason.
    """

    def __init__(self, kind: Failure, reason: str) -> None:
        super().__init__(f"The request to the other server failed: {reason} Check its address.")
        self.kind = kind


class NotThere(RemoteError):
    """The other server has no such path."""


class TooLong(RemoteError):
    """The reply is larger than the limit."""
