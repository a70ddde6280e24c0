"""Small texts stored for apps and pages."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from feedkeep.model.values import Value


class DocumentKind(StrEnum):
    """The content of a document; its value is stored.

    Attributes:
        DEVICE: A device of an app; the name is its id.
        SETTINGS: Settings that apps store; the name is their scope.
        FAVORITE: The episode of the settings of the same name, if it is a favourite.
        APP_URLS: URLs that an app has for moved feeds.
        COOKIELESS: Sync progress of an app that sends a password with each request.
        MIGRATION: Progress of copying an account from another server.
        PREFERENCES: A person's preferences for the pages.
        FOLLOWED_MOVES: Moves of feeds that feedkeep made by itself.
        DIFFERENT_FEEDS: Possible duplicates that a person marked as different.
        LOGOUTS: Logout tokens of the provider that were received and are still valid.
    """

    DEVICE = "device"
    SETTINGS = "settings"
    FAVORITE = "favorite"
    APP_URLS = "app-urls"
    COOKIELESS = "cookieless"
    MIGRATION = "migration"
    PREFERENCES = "preferences"
    FOLLOWED_MOVES = "followed-moves"
    DIFFERENT_FEEDS = "different-feeds"
    LOGOUTS = "logouts"


class DocumentName(Value, frozen=True):
    """The key of a document within an account; the name is unique within the kind."""

    kind: DocumentKind
    name: str


DocumentSelector: TypeAlias = DocumentName | DocumentKind
"""One document, which may not exist, or all documents of a kind."""


class KnownDocument(Value, frozen=True):
    """A document when a rule decides; it may be missing.

    Attributes:
        body: Its JSON; None if it does not exist.
        others: Sum of the weights of the other documents of its kind.
    """

    body: str | None = None
    others: int = 0


class Document(Value, frozen=True):
    """A small text stored for an app or for the pages.

    Attributes:
        name: Its name, unique within its kind and account.
        body: JSON.
    """

    kind: DocumentKind
    name: str
    body: str
