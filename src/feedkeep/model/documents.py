"""Small texts that are stored for apps.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from enum import StrEnum

from feedkeep.model.values import Value


class DocumentKind(StrEnum):
    """What a document is, as it is stored.

    Attributes:
        DEVICE: A device of an app, by its id.
        SETTINGS: What apps store under a scope.
        FAVORITE: Which episode the settings of the same name are of, if it is a favourite.
        APP_URLS: URLs that an app has for feeds that moved.
        COOKIELESS: How far an app knows what changed that sends a password with each request.
        MIGRATION: How far everything was copied from another server.
        PREFERENCES: How a person wants to see the pages.
        FOLLOWED_MOVES: Moves of feeds that feedkeep followed by itself.
        DIFFERENT_FEEDS: Possible duplicates that a person marked as different.
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


class DocumentName(Value, frozen=True):
    """What identifies a document of an account: its kind, and its name among those of its kind."""

    kind: DocumentKind
    name: str


class KnownDocument(Value, frozen=True):
    """A document as it is when a rule decides, or that there is no such document.

    Attributes:
        body: Its JSON; None if it does not exist.
        others: Sum of the weights of the other documents of its kind.
    """

    body: str | None = None
    others: int = 0


class Document(Value, frozen=True):
    """A small text that is stored for an app.

    Attributes:
        kind: What it is about.
        name: Its name among the documents of its kind in the account.
        body: JSON.
    """

    kind: DocumentKind
    name: str
    body: str
