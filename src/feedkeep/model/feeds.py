"""What the service finds out about feeds by itself, shared by all accounts that have them.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from enum import StrEnum

from feedkeep.model.values import Guid, Stamp, Value


class Fetch(StrEnum):
    """Which feeds the service looks at by itself.

    Attributes:
        PUBLIC: All but those whose URL looks like one person's own.
        ALL: All.
        OFF: None: no connection to another host is ever opened.
    """

    PUBLIC = "public"
    ALL = "all"
    OFF = "off"


class FeedHealth(StrEnum):
    """Whether a feed could be read with the last look at it.

    Attributes:
        NEW: It was never fetched.
        READ: It could.
        FAILING: It could not.
    """

    NEW = "new"
    READ = "read"
    FAILING = "failing"


class FeedContent(Value, frozen=True):
    """What a feed says of itself, as plain text without markup (C10.5); what it does not say is "".

    Attributes:
        title: At most 200 characters.
        description: At most 2,000 characters.
        site_url: The address of its web site.
        picture_url: The address of its picture.
        language: Such as "de-AT".
        author: At most 200 characters.
        podcast_guid: The `podcast:guid` in the form of a guid. It is knowledge, never an order
            (C10.12): too many feeds carry a copied one.
        is_locked: Whether `podcast:locked` says that it may not be imported elsewhere.
        new_feed_url: Where `itunes:new-feed-url` says that it moved to.
        items: Hashes of the ids of its newest items, at most 50.
        newest: When the newest of these was published; None if none of them has a date.
    """

    title: str = ""
    description: str = ""
    site_url: str = ""
    picture_url: str = ""
    language: str = ""
    author: str = ""
    podcast_guid: str = ""
    is_locked: bool = False
    new_feed_url: str = ""
    items: tuple[str, ...] = ()
    newest: Stamp | None = None


class Failure(StrEnum):
    """Why a host was not asked, gave no answer that can be used, or answered with no feed."""

    REFUSED = "refused"
    """The scheme, the host's spelling, the port or the address is one that is never asked."""
    NO_SUCH_HOST = "no-such-host"
    """The resolver says for certain that the name has no address."""
    NAME_UNANSWERED = "name-unanswered"
    """The resolver could not say, so the name may well have one."""
    NO_CONNECTION = "no-connection"
    TLS_FAULT = "tls-fault"
    """Its certificate cannot be trusted, or there is no common way to encrypt."""
    TOO_SLOW = "too-slow"
    TOO_LARGE = "too-large"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BROKEN_ANSWER = "broken-answer"
    NOT_FOUND = "not-found"
    GONE = "gone"
    """It is not there, and will not come back: status 410."""
    ERROR_STATUS = "error-status"
    NOT_A_FEED = "not-a-feed"
    ANOTHER_FEED = "another-feed"
    """It redirects for good to a feed that is not this one."""
    CRASHED = "crashed"
    """What came took the program down that reads feeds, or kept it for too long."""


class Elsewhere(Value, frozen=True):
    """A feed that was found where another one says that it moved to.

    Attributes:
        url: Its address.
        content: What it says of itself.
    """

    url: str
    content: FeedContent


class Picture(Value, frozen=True):
    """A small picture of a feed.

    Attributes:
        media_type: Such as "image/webp".
        data: The picture, 300 x 300.
        digest: What tells it from others, for the addresses of pages.
    """

    media_type: str
    data: bytes
    digest: str


class FetchResult(Value, frozen=True):
    """What a look at a feed has found.

    Attributes:
        content: What it said of itself; None if it did not change, or could not be read.
        failure: Why it could not be read; None if it could.
        reason: The same as a sentence, which may hold words of a stranger.
        is_moved: Whether every redirect on the way was permanent, and there was one.
        is_redirected: Whether a permanent redirect was among those on the way.
        elsewhere: The feed that was found where it moved to, if it did.
        etag: What a request can name to ask whether it has changed.
        last_modified: As `etag`.
        retry_after_seconds: For how long it asks to be left alone.
        picture: Its picture, if there is a new one.
        picture_tried: Where a picture was looked for; "" if none was.
        page_feeds: The feeds that the web page there names as its own.
        seconds: How long it took.
        received_bytes: Size of all bodies that came from the network.
    """

    content: FeedContent | None = None
    failure: Failure | None = None
    reason: str = ""
    is_moved: bool = False
    is_redirected: bool = False
    elsewhere: Elsewhere | None = None
    etag: str = ""
    last_modified: str = ""
    retry_after_seconds: int = 0
    picture: Picture | None = None
    picture_tried: str = ""
    page_feeds: tuple[str, ...] = ()
    seconds: float = 0.0
    received_bytes: int = 0


class Sighting(Value, frozen=True):
    """That a feed was seen to have moved: the evidence for a move, which is not proof yet.

    Attributes:
        url: Where to.
        first: When that was seen first.
        last: When that was seen last.
        days: On how many days it was seen.
    """

    url: str
    first: Stamp
    last: Stamp
    days: int = 1


class Newcomer(Value, frozen=True):
    """An account that has come to have a known feed, and is shown nothing of it yet.

    Attributes:
        guid: The guid derived from the feed's URL.
        due: When the feed was to be asked next.
        moment: When it is to be asked for the newcomer.
        began_before: When a lease ends that began when the newcomer came.
    """

    guid: Guid
    due: Stamp
    moment: Stamp
    began_before: Stamp


class Feed(Value, frozen=True):
    """All that is known of a feed. Its key is the guid derived from its URL.

    Attributes:
        guid: That guid.
        url: The URL that is asked.
        wanted: When it was last known to have a subscriber.
        next_fetch: When it is to be asked next; a turn (`rules/fetch_order.py`) if it was just
            added.
        content: What it last said of itself; None if it was never read.
        is_own: Whether it has said that at this URL itself, and not only where that redirects to.
        looked: When it was last asked.
        answered: When it was last read (C10.8).
        changed: When what it says last changed.
        failing: Since when it could not be read; None if it could.
        failure: Why it could not be read.
        reason: The same as a sentence.
        failures: How many looks have failed in a row.
        dead: Since when it answers that it is gone, or there is no such host; None if it does not.
        etag: What it gave for the next request.
        last_modified: As `etag`.
        sighting: That it was seen to have moved.
        picture: The digest of its picture; "" if there is none.
        picture_url: Where a picture was last looked for.
        picture_looked: When that was.
        page_feeds: The feeds that a web page at this URL names as its own.
        is_permitted: Whether a subscriber has it looked at although its URL looks personal.
        is_slow: Whether the last look at it took long.
    """

    guid: Guid
    url: str
    wanted: Stamp
    next_fetch: Stamp
    content: FeedContent | None = None
    is_own: bool = False
    looked: Stamp | None = None
    answered: Stamp | None = None
    changed: Stamp | None = None
    failing: Stamp | None = None
    failure: Failure | None = None
    reason: str = ""
    failures: int = 0
    dead: Stamp | None = None
    etag: str = ""
    last_modified: str = ""
    sighting: Sighting | None = None
    picture: str = ""
    picture_url: str = ""
    picture_looked: Stamp | None = None
    page_feeds: tuple[str, ...] = ()
    is_permitted: bool = False
    is_slow: bool = False
