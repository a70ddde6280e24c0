"""Data of feeds: fetched, shared by all accounts; titles and folders, given by each owner."""

from __future__ import annotations

from enum import StrEnum

from feedkeep.model.entries import View
from feedkeep.model.values import Guid, Stamp, Value


class Fetch(StrEnum):
    """Policy for fetching feeds.

    Attributes:
        PUBLIC: All feeds except those whose URL looks personal.
        OFF: No feed: no connection to another host is ever opened.
    """

    PUBLIC = "public"
    ALL = "all"
    OFF = "off"


class FeedHealth(StrEnum):
    """The result of the last fetch of a feed.

    Attributes:
        NEW: It was never fetched.
        READ: It was read.
        FAILING: It could not be read.
    """

    NEW = "new"
    READ = "read"
    FAILING = "failing"


class FeedContent(Value, frozen=True):
    """A feed's own data, as plain text without markup (C10.5); "" where it is missing.

    Attributes:
        title: At most 200 characters.
        description: At most 2,000 characters.
        site_url: URL of its web site.
        picture_url: URL of its picture.
        language: Language tag, such as "de-AT".
        author: At most 200 characters.
        podcast_guid: The `podcast:guid` in the form of a guid. It is information, never an
            instruction (C10.12): too many feeds carry a copied one.
        is_locked: Whether `podcast:locked` forbids importing it elsewhere.
        new_feed_url: The new URL from `itunes:new-feed-url`.
        items: Hashes of the ids of its newest items, at most 50.
        newest: Publication time of the newest of these; None if no item has a date.
        newest_title: Title of that item, at most 200 characters.
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
    newest_title: str = ""


class Episode(Value, frozen=True, array_like=True):
    """One of the newest items of a feed.

    Guids and URLs of files can be secrets, and are only compared; so their hashes are stored. It is
    encoded as an array: names of fields would double its size.

    Attributes:
        title: One line of at most 200 characters; never "".
        published: Publication time; None if unknown.
        duration_seconds: Length; None if unknown.
        link: URL of its web page; "" if missing.
        guid_hash: `digest_of_guid` of its guid (`rules/episodes.py`); "" if missing.
        file_hash: `digest_of_file` of its file's URL; "" if it has no file.
    """

    title: str
    published: Stamp | None = None
    duration_seconds: int | None = None
    link: str = ""
    guid_hash: str = ""
    file_hash: str = ""


class NewestEpisodes(Value, frozen=True):
    """The newest episodes of a feed.

    Attributes:
        validator: Identifies them, and the number that was requested.
        episodes: The newest first.
    """

    validator: str
    episodes: tuple[Episode, ...] = ()


class Failure(StrEnum):
    """The reason why a host was not requested, gave no usable response, or no feed."""

    REFUSED = "refused"
    """The scheme, the spelling of the host, the port or the address is never requested."""
    NO_SUCH_HOST = "no-such-host"
    """The resolver answered that the name has no address."""
    NAME_UNANSWERED = "name-unanswered"
    """The resolver gave no answer, so the name may have an address."""
    NO_CONNECTION = "no-connection"
    TLS_FAULT = "tls-fault"
    """Its certificate cannot be trusted, or there is no common way to encrypt."""
    TOO_SLOW = "too-slow"
    TOO_LARGE = "too-large"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BROKEN_ANSWER = "broken-answer"
    NOT_FOUND = "not-found"
    GONE = "gone"
    """It is permanently removed: status 410."""
    ERROR_STATUS = "error-status"
    NOT_A_FEED = "not-a-feed"
    ANOTHER_FEED = "another-feed"
    """It redirects permanently to a different feed."""
    CRASHED = "crashed"
    """The response crashed the process that reads feeds, or kept it busy for too long."""


class MovedFeed(Value, frozen=True):
    """A feed that was found at the new URL of another feed.

    Attributes:
        content: Its parsed content.
    """

    url: str
    content: FeedContent


class Picture(Value, frozen=True):
    """A small picture of a feed.

    Attributes:
        media_type: Such as "image/webp".
        data: The picture, 300 x 300.
        digest: Identifies the picture in the URLs of pages.
    """

    media_type: str
    data: bytes
    digest: str


class FetchResult(Value, frozen=True):
    """The result of a fetch of a feed.

    Attributes:
        content: Parsed content; None if unchanged or unreadable.
        failure: Reason of the failure; None on success.
        reason: The failure as a sentence, which may contain text of the host.
        is_moved: Whether there were redirects, all of them permanent.
        is_redirected: Whether any redirect was permanent.
        elsewhere: The feed at the new URL; None if it did not move.
        etag: The response's `ETag`, for conditional requests.
        last_modified: The response's `Last-Modified`, for conditional requests.
        retry_after_seconds: Value of `Retry-After`; 0 if missing.
        picture: Its picture; None if there is no new one.
        picture_tried: URL of the requested picture; "" if none was requested.
        episodes: Its newest episodes; None if they are unchanged, or unknown.
        page_feeds: The feeds that the web page at the URL names as its own.
        seconds: Duration of the fetch.
        received_bytes: Size of all response bodies on the network.
        has_enclosures: Whether its items have media files; only brief fetches tell.
    """

    content: FeedContent | None = None
    failure: Failure | None = None
    reason: str = ""
    is_moved: bool = False
    is_redirected: bool = False
    moved_feed: MovedFeed | None = None
    etag: str = ""
    last_modified: str = ""
    retry_after_seconds: int = 0
    picture: Picture | None = None
    picture_tried: str = ""
    episodes: NewestEpisodes | None = None
    page_feeds: tuple[str, ...] = ()
    seconds: float = 0.0
    received_bytes: int = 0
    has_enclosures: bool = False


class Sighting(Value, frozen=True):
    """An observed move of a feed: evidence, but not yet proof.

    Attributes:
        url: The new URL.
        first: Time of the first observation.
        last: Time of the last observation.
        days: Number of days on which it was observed.
    """

    url: str
    first: Stamp
    last: Stamp
    days: int = 1


class NewSubscriber(Value, frozen=True):
    """An account that has newly subscribed to a stored feed, and is shown nothing of it yet.

    Attributes:
        guid: The guid derived from the feed's URL.
        due: The scheduled time of the feed's next fetch.
        moment: The time of the fetch for the new subscriber.
        began_before: The end of a lease that began when the account subscribed.
    """

    guid: Guid
    due: Stamp
    moment: Stamp
    began_before: Stamp


class Feed(Value, frozen=True):
    """The stored data of a feed. Its key is the guid derived from its URL.

    Attributes:
        url: The URL to fetch.
        wanted: Time at which it was last known to have a subscriber.
        next_fetch: Time of the next fetch; a turn (`rules/fetch_order.py`) for a newly added feed.
        content: The content that was read last; None if it was never read.
        is_own: Whether that content came from this URL itself, and not only from a redirect's
            target.
        looked: Time of the last fetch.
        answered: Time of the last successful fetch (C10.8).
        changed: Time of the last change of its content.
        failing: Time of the first failed fetch since the last success; None if it could be read.
        failure: Reason of the last failure; None after a success.
        reason: The failure as a sentence.
        failures: Number of consecutive failed fetches.
        dead: Time since which it answers that it is gone, or its host does not exist; None
            otherwise.
        etag: Its `ETag`, for the next request.
        last_modified: Its `Last-Modified`, for the next request.
        sighting: The observed move; None if it was not seen to move.
        picture: Digest of its picture; "" if there is none.
        picture_url: URL of the last requested picture.
        picture_looked: Time of that request.
        episodes: Digest of its stored episodes; "" if none were read.
        page_feeds: The feeds that a web page at this URL names as its own.
        is_permitted: Whether a subscriber permitted fetching it although its URL looks personal.
        is_slow: Whether the last fetch was slow.
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
    episodes: str = ""
    page_feeds: tuple[str, ...] = ()
    is_permitted: bool = False
    is_slow: bool = False


class FeedLabel(Value, frozen=True):
    """The title and the folder of a feed in one list, imported or edited by its owner.

    Attributes:
        guid: The subscription's guid when it got the label; it still resolves to it.
        title: One line; "" if there is no title.
        folder: Names of folders, outermost first, joined by " / "; "" if there is no folder.
        is_title_edited: Whether the owner typed the title, so that no import replaces it.
        is_folder_edited: Whether the owner typed the folder, so that no import replaces it.
    """

    guid: Guid
    title: str = ""
    folder: str = ""
    is_title_edited: bool = False
    is_folder_edited: bool = False


class Labelled(Value, frozen=True):
    """A label with the entry of its guid, and the subscription that this is or resolves to."""

    label: FeedLabel
    view: View
