"""Errors of signing in with a provider; `str()` is for the person."""

from __future__ import annotations

from feedkeep.model.errors import FeedkeepError


class SignInFailed(FeedkeepError):
    """The provider did not identify the person, or its reply is not valid.

    Attributes:
        reason: Reason for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("Signing in did not work. Please try again.")
        self.reason = reason


class ProviderAway(FeedkeepError):
    """The provider does not reply, or not as a provider does.

    Attributes:
        reason: Reason for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("The sign-in provider cannot be reached at the moment. Please try again.")
        self.reason = reason
