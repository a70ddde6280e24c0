"""What can go wrong while a person signs in with a provider; `str()` is for that person."""

from __future__ import annotations

from feedkeep.model.errors import FeedkeepError


class SignInFailed(FeedkeepError):
    """The provider did not say who the person is, or what it said cannot be believed.

    Attributes:
        reason: Why, for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("Signing in did not work. Please try again.")
        self.reason = reason


class ProviderAway(FeedkeepError):
    """The provider does not answer, or not as a provider does.

    Attributes:
        reason: Why, for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("The sign-in provider cannot be reached at the moment. Please try again.")
        self.reason = reason
