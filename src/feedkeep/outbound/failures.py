"""Errors of requests to other hosts.

RequestError
├── RequestRefused the URL or address is not permitted; a retry does not help
├── Unreachable    no response: unknown host, no connection, invalid certificate, timeout
├── Unusable       an invalid or oversized response, or too many redirects
└── Exhausted      this machine lacks memory, files or threads for requests

MachineFailed      this machine could not fetch a feed, whatever the feed is like
"""

from __future__ import annotations

from feedkeep.model import Failure
from feedkeep.model.errors import FeedkeepError


class RequestError(FeedkeepError):
    """A request was not sent or got no usable response; `str()` is a sentence for people.

    The sentence names the URL's host at most, and no numeric address: the account that chose a URL
    must not learn what a name resolves to in this machine's network.

    Attributes:
        kind: Failure for programs.
    """

    def __init__(self, kind: Failure, text: str, **values: int | str) -> None:
        super().__init__(text, **values)
        self.kind = kind


class RequestRefused(RequestError):
    """The client refused the request; nothing was sent."""

    def __init__(self, text: str, **values: int | str) -> None:
        super().__init__(Failure.REFUSED, text, **values)


class Unreachable(RequestError):
    """No response came from the host."""


class Unusable(RequestError):
    """The host's response is not usable."""


class Exhausted(RequestError):
    """This machine lacks memory, files or threads for requests; the host is not to blame."""

    def __init__(self) -> None:
        super().__init__(Failure.NO_CONNECTION, "This machine has nothing left to ask others with.")


class MachineFailed(FeedkeepError):
    """This machine could not fetch a feed; the feed is not to blame."""
