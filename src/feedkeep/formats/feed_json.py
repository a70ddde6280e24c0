"""Feed lists as JSON: our own exports, and other lists of addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from feedkeep.formats.feed_table import only_address
from feedkeep.formats.json_bounds import check_json
from feedkeep.formats.listed_feed import (
    LEFT,
    LINK,
    ListedFeed,
    check_count,
    has_feed_sign,
    not_a_list,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.feed_labels import folder_names, folder_of
from feedkeep.rules.feed_urls import as_typed

_LISTS = ("subscriptions", "feeds", "add", "podcasts")
"""Lists in exports and downloads of feedkeep, NewPipe and others, and in gpodder.net's replies."""

_ADDRESSES = ("feedurl", "xmlurl", "rssurl", "rss", "feed", "url")
_TITLES = ("title", "name", "text", "collectionname")  # NewPipe has `name`, iTunes the last one
_MAX_SEEN_CHARACTERS = 200
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(text: str, max_items: int) -> list[ListedFeed]:
    """Read a list of addresses, or of objects with an address.

    Raises:
        InvalidInput: The JSON is not valid, or has no such list, several, or too many feeds.
    """
    data = text.encode()
    try:
        # The history in an account's download may exceed the bounds of `check_json`.
        parts = _PARTS.decode(data) if text.startswith("{") else {"": data}
        if b"jsonfeed.org/" in bytes(parts.get("version", b"")):
            raise not_a_list()
        items = known = _known_list(parts)
        if known is None:
            items = _list_of({name: _decoded(part) for name, part in parts.items()})
        labels = _labels(parts)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput("The JSON cannot be read: {reason}.", reason=str(error)) from error
    if items is None:
        raise InvalidInput("The JSON has no list of feeds.")
    feeds: list[ListedFeed] = []
    for item, folder in _filed(items, ""):
        check_count(len(feeds) + 1, max_items)
        feed = _feed(len(feeds) + 1, item, folder, labels)
        is_unsure = known is None and not has_feed_sign(feed.feed_url)
        feeds.append(replace(feed, doubt=feed.doubt or LINK) if is_unsure else feed)
    return feeds


def _decoded(part: bytes | msgspec.Raw | None) -> Any:
    if part is None:
        return None
    check_json(bytes(part))
    return msgspec.json.decode(part)


def _known_list(parts: Mapping[str, bytes | msgspec.Raw]) -> list[Any] | None:
    lists = (_decoded(parts.get(name)) for name in ("", *_LISTS))
    return next((known for known in lists if isinstance(known, list)), None)


def _list_of(value: object) -> list[Any] | None:
    """Return the list with a known name, or else the only one with addresses."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    for name in _LISTS:
        if isinstance(known := value.get(name), list):
            return known
    if value and all(isinstance(item, dict) for item in value.values()):
        items = [{"feed": name, **item} if "://" in name else item for name, item in value.items()]
    else:
        items = []
    lists = [found for found in (items, *map(_list_of, value.values())) if found]
    of_feeds = [found for found in lists if any("://" in _address(item) for item in found)]
    return of_feeds[0] if len(of_feeds) == 1 else None


def _labels(parts: Mapping[str, bytes | msgspec.Raw]) -> Mapping[str, Mapping[str, Any]]:
    """Return the titles and folders in an account's download, by the present guids of feeds."""
    labels = {_text(label, "guid"): label for label in _objects(parts, "titles_and_folders")}
    former = {_text(one, "guid"): _text(one, "new_guid") for one in _objects(parts, "former_guids")}
    return {former.get(guid, guid): label for guid, label in labels.items()}


def _objects(parts: Mapping[str, bytes | msgspec.Raw], name: str) -> Iterable[Mapping[str, Any]]:
    found = _decoded(parts.get(name))
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


def _filed(items: Iterable[Any], folder: str) -> Iterator[tuple[Any, str]]:
    """Yield each item with its folder: the item around it that has a list instead of an address."""
    for item in items:
        inner = None if _address(item) else _list_of(item)
        if inner:
            name = _text(_plain(item), *_TITLES, "folder")
            yield from _filed(inner, folder_of([*folder_names(folder), name]))
        else:
            yield item, folder


def _feed(
    number: int, item: object, folder: str, labels: Mapping[str, Mapping[str, Any]]
) -> ListedFeed:
    fields = item if isinstance(item, dict) else {}
    guid, address = _text(fields, "guid"), _address(item)
    label = labels.get(guid, {})
    title = _text(label, "title") or _text(_plain(fields), *_TITLES)
    if not address:
        title = title or msgspec.json.encode(item).decode()[:_MAX_SEEN_CHARACTERS]
    return ListedFeed(
        number,
        address,
        guid or None,
        is_item=True,
        title=title,
        folder=_text(label, "folder") or _text(fields, "folder") or folder,
        doubt=LEFT if fields.get("is_subscribed") is False else None,
    )


def _address(item: object) -> str:
    """Return the first address of an item, or a text in its place."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else ""
    fields = _plain(item)
    texts = [text for name in _ADDRESSES if (text := _text(fields, name))]
    found = next((text for text in texts if "://" in as_typed(text)), "")
    return found or only_address(fields) or "".join(texts[:1]) or _address(fields.get("feed", ""))


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Spell the names of an object in one way: `feed_url`, `feedUrl` and `FeedURL`."""
    return {name.replace("_", "").lower(): value for name, value in fields.items()}


def _text(fields: Mapping[str, Any], *names: str) -> str:
    texts: Sequence[object] = [fields.get(name) for name in names]
    return next((text for text in texts if isinstance(text, str) and text), "")
