"""Feed lists as JSON: our own exports, and other lists of addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from feedkeep.formats.feed_table import only_address
from feedkeep.formats.json_bounds import check_json
from feedkeep.formats.listed_feed import (
    INSIDE,
    LEFT,
    LINK,
    ListedFeed,
    check_count,
    has_feed_sign,
    not_a_list,
)
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import folder_names, folder_of, typed_folder
from feedkeep.rules.feed_urls import as_typed

_LISTS = ("subscriptions", "feeds", "add", "podcasts")
"""Lists in exports and downloads of feedkeep, NewPipe and others, and in gpodder.net's replies."""

_ADDRESSES = ("feedurl", "xmlurl", "rssurl", "rss", "feed", "url")
_TITLES = ("title", "name", "text", "collectionname")  # NewPipe has `name`, iTunes the last one
_SUBSCRIBED = ("subscribed", "issubscribed")
_NO = (False, "0", "false", "no")
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
    for item in _filed(items, ""):
        check_count(len(feeds) + 1, max_items)
        feed = _feed(len(feeds) + 1, item, labels)
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


def _named_list(value: object) -> list[Any] | None:
    """Return an array, or the first one in an object with a known name."""
    lists = map(value.get, _LISTS) if isinstance(value, dict) else iter([value])
    return next((found for found in lists if isinstance(found, list)), None)


def _list_of(value: object) -> list[Any] | None:
    """Return the list with a known name, or else the only one with addresses."""
    if (named := _named_list(value)) is not None:
        return named
    of_feeds = list(islice(_lists_in(value), 2))
    return of_feeds[0] if len(of_feeds) == 1 else None


def _lists_in(value: object) -> Iterator[list[Any]]:
    """Yield each list with addresses; in objects with a list of a known name, only that one."""
    found = _named_list(value)
    if found is None and isinstance(value, dict):
        for inner in value.values():
            yield from _lists_in(inner)
        found = _by_name(value)
    if found and any("://" in _address(item)[0] for item in found):
        yield found


def _by_name(items: Mapping[str, Any]) -> list[Any]:
    """Return the values if all are objects, with names that are addresses."""
    if not all(isinstance(item, dict) for item in items.values()):
        return []
    return [{"feed": name, **item} if "://" in name else item for name, item in items.items()]


def _labels(parts: Mapping[str, bytes | msgspec.Raw]) -> Mapping[str, Mapping[str, Any]]:
    """Return the titles and folders in an account's download, by the present guids of feeds."""
    labels = {_text(label, "guid"): label for label in _objects(parts, "titles_and_folders")}
    former = {_text(one, "guid"): _text(one, "new_guid") for one in _objects(parts, "former_guids")}
    return {former.get(guid, guid): label for guid, label in labels.items()}


def _objects(parts: Mapping[str, bytes | msgspec.Raw], name: str) -> Iterable[Mapping[str, Any]]:
    found = _decoded(parts.get(name))
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


class _Item(NamedTuple):
    """Item of a list, with its address and the folder that the items around it give it."""

    value: Any
    address: str
    folder: str
    doubt: Sentence | None


def _filed(items: Iterable[Any], folder: str, doubt: Sentence | None = None) -> Iterator[_Item]:
    """Yield the items that are not folders.

    A folder has a list instead of an address of a feed; its address may be of a web site.
    """
    for item in items:
        address, name = _address(item)
        is_link = address != "" and name == "" and not has_feed_sign(address)
        is_site = name in ("", "url") and not has_feed_sign(address)
        inner = _named_list(item) or (None if address else _list_of(item))
        if not inner or not is_site:
            yield _Item(item, address, folder, doubt or (LINK if is_link else None))
        if inner:
            title = _text(_plain(item), *_TITLES, "folder") if isinstance(item, dict) else ""
            within = folder_of([*folder_names(folder), title])
            yield from _filed(inner, within, doubt if is_site else INSIDE)


def _feed(number: int, item: _Item, labels: Mapping[str, Mapping[str, Any]]) -> ListedFeed:
    fields = item.value if isinstance(item.value, dict) else {}
    plain, guid = _plain(fields), _text(fields, "guid")
    label = labels.get(guid, {})
    title = _text(label, "title") or _text(plain, *_TITLES)
    if not item.address:
        title = title or msgspec.json.encode(item.value).decode()[:_MAX_SEEN_CHARACTERS]
    is_left = any(plain.get(name) in _NO for name in _SUBSCRIBED)
    return ListedFeed(
        number,
        item.address,
        guid or None,
        is_item=True,
        title=title,
        folder=typed_folder(_text(label, "folder") or _text(fields, "folder")) or item.folder,
        doubt=LEFT if is_left else item.doubt,
    )


def _address(item: object, is_inner: bool = False) -> tuple[str, str]:
    """Return the first address of an item, or a text in its place, and the name of its field.

    The name is "" if the address was found only because the item has no other.
    """
    if not isinstance(item, dict):
        return (item, "feed") if item and isinstance(item, str) else ("", "")
    fields = _plain(item)
    named = [(text, name) for name in _ADDRESSES if (text := _text(fields, name))]
    for text, name in named:
        if "://" in as_typed(text):
            return text, name
    if only := only_address(fields):
        return only, ""
    if named or is_inner:
        return named[0] if named else ("", "")
    return _address(fields.get("feed"), is_inner=True)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Spell the names of an object in one way: `feed_url`, `feedUrl` and `FeedURL`."""
    return {name.replace("_", "").lower(): value for name, value in fields.items()}


def _text(fields: Mapping[str, Any], *names: str) -> str:
    texts: Sequence[object] = [fields.get(name) for name in names]
    return next((text for text in texts if isinstance(text, str) and text), "")
