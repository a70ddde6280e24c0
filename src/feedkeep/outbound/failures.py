"""Why another host was not asked, or gave no answer that can be used.

RequestError
├── RequestRefused the client asks no such URL or address; asking again does not help
├── Unreachable    nothing came back: no such host, no connection, no trust, no patience left
├── Unusable       something came back that is no answer, too large, or a chain of redirects
└── Exhausted      this machine had no memory, file or thread left to ask with

MachineFailed      this machine could not look at a feed, whatever the feed is like
"""

from __future__ import annotations

from feedkeep.model import Failure
from feedkeep.model.errors import FeedkeepError


class RequestError(FeedkeepError):
    """Another host was not asked or gave no answer; `str()` of it is a sentence for people.

    The sentence names the host of the URL at most. It says nothing of numeric addresses: the
    account that chose a URL does not learn what a name means in the network of this machine.

    Attributes:
        kind: What went wrong, for programs.
    """

    def __init__(self, kind: Failure, text: str, **values: int | str) -> None:
        super().__init__(text, **values)
        self.kind = kind


class RequestRefused(RequestError):
    """The client does not ask that; nothing was sent."""

    def __init__(self, text: str, **values: int | str) -> None:
        super().__init__(Failure.REFUSED, text, **values)


class Unreachable(RequestError):
    """No answer came from the host."""


class Unusable(RequestError):
    """What came from the host is no answer that can be used."""


class Exhausted(RequestError):
    """This machine had no memory, file or thread left to ask with: the host is not to blame."""

    def __init__(self) -> None:
        super().__init__(Failure.NO_CONNECTION, "This machine has nothing left to ask others with.")


class MachineFailed(FeedkeepError):
    """This machine could not look at a feed, which is not to blame."""
