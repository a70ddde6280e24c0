"""Titles and folders of feeds that are their owner's: imported, typed, and after a merge. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import FeedLabel, Guid, Labelled, Pointer, Snapshot, Stamp, Value, replace
from feedkeep.model.entry_index import EntryIndex
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.text_limits import MAX_TITLE, line_of

MAX_FOLDER = 200
"""The most characters of a folder, with the folders around it."""

MAX_FOLDER_LEVELS = 8

_BETWEEN = " / "


class FiledFeed(Value, frozen=True):
    """A feed of a file with what its owner called it there.

    Attributes:
        feed_url: The text of its URL.
        title: "" if there is none.
        folder: As `folder_of` returns it; "" if there is none.
    """

    feed_url: str
    title: str
    folder: str


class Labels(Value, frozen=True):
    """The labels of a list, by all present URLs of its feeds, and by those that apps know.

    Attributes:
        by_url: The labels.
    """

    by_url: Mapping[str, FeedLabel] = {}

    def title(self, feed_url: str, own_title: str = "") -> str:
        """Return the title of a feed that says `own_title` of itself; "" if it has none at all.

        What the owner typed counts for more than what the feed says, and that for more than what
        an import brought: a file may be years old.
        """
        label = self.by_url.get(feed_url)
        return _title(label, own_title) if label else own_title

    def folder(self, feed_url: str) -> str:
        """Return the folder of a feed; "" if it is in none."""
        label = self.by_url.get(feed_url)
        return label.folder if label else ""

    def cards(self, urls: Iterable[str], cards: Mapping[str, Card]) -> Mapping[str, Card]:
        """Return what lists for apps tell of feeds, under the titles that they have here."""
        if not self.by_url:
            return cards
        return {url: card for url in urls if (card := self.titled(url, cards.get(url)))}

    def titled(self, feed_url: str, card: Card | None) -> Card | None:
        """Return what lists for apps tell of a feed, under the title that it has here."""
        own_title = card.title if card else ""
        title = self.title(feed_url, own_title)
        if title == own_title:
            return card
        return replace(card, title=title) if card else Card(title, "", "", "", "")


NO_LABELS = Labels()


def labels_of(found: Iterable[Labelled]) -> Labels:
    """Return the labels of a list by URL."""
    by_url: dict[str, FeedLabel] = {}
    for labelled in _shown(found).values():
        feed = labelled.view.subscription
        by_url[feed.feed_url] = labelled.label
        if feed.app_url:
            by_url.setdefault(feed.app_url, labelled.label)
    return Labels(by_url)


def edited(
    found: Iterable[Labelled], guid: Guid, title: str, folder: str, own_title: str = ""
) -> Sequence[FeedLabel]:
    """Return the label of a subscription whose owner typed a title and a folder, if it changes.

    The owner was shown both, and what is as it was is not edited: who sorts a feed into a folder
    has not renamed it. `own_title` is what the feed says of itself.
    """
    before = after = _known(found).get(guid, FeedLabel(guid))
    title, folder = line_of(title, MAX_TITLE), typed_folder(folder)
    if title != _title(before, own_title):
        after = replace(after, title=title, is_title_edited=True)
    if folder != before.folder:
        after = replace(after, folder=folder, is_folder_edited=True)
    return [after] if after != before else []


def imported(
    found: Iterable[Labelled], whole: Snapshot, feeds: Iterable[FiledFeed]
) -> Sequence[FeedLabel]:
    """Return the labels that change if a file with these feeds is imported into a whole list.

    What a person typed stays, and what a file leaves out takes nothing away. Feeds that are not in
    the list get no label, so there are never more of these than entries.
    """
    index, before = EntryIndex(whole.entries), _known(found)
    after: dict[Guid, FeedLabel] = {}
    for filed in feeds:
        try:
            subscription = index.find(parse_feed_url(filed.feed_url).guid)
        except InvalidFeedUrl:
            continue
        if subscription is None or subscription.deleted is not None:
            continue
        guid = subscription.guid
        label = after.get(guid) or before.get(guid) or FeedLabel(guid)
        title, folder = title_of(filed.title, filed.feed_url), typed_folder(filed.folder)
        if title and not label.is_title_edited:
            label = replace(label, title=title)
        if folder and not label.is_folder_edited:
            label = replace(label, folder=folder)
        after[guid] = label
    return [
        label for guid, label in after.items() if label != (before.get(guid) or FeedLabel(guid))
    ]


def title_of(text: str, feed_url: str) -> str:
    """Return the title that a file has for a feed; "" if that is nothing but an address.

    Apps write one where they know no title, and not always as the URL is spelled here.
    """
    title = line_of(text, MAX_TITLE)
    is_address = " " not in title and title.lower().startswith(("http://", "https://"))
    return "" if is_address or title == line_of(feed_url, MAX_TITLE) else title


def folder_of(names: Sequence[str]) -> str:
    """Return the folder with these names, the outermost first; the innermost may be left out.

    A name with " / " in it keeps its slash, without the spaces, and so stays one name.
    """
    folder = ""
    for name in names[:MAX_FOLDER_LEVELS]:
        line = line_of(name, MAX_FOLDER).replace(_BETWEEN, "/").strip(" /")
        longer = f"{folder}{_BETWEEN}{line}" if folder and line else folder or line
        if len(longer) > MAX_FOLDER:
            break
        folder = longer
    return folder


def folder_names(folder: str) -> list[str]:
    """Return the names of which a folder is made, the outermost first; none of ""."""
    return folder.split(_BETWEEN) if folder else []


def typed_folder(text: str) -> str:
    """Return the folder that a person typed, in which " / " leads from one to the next."""
    return folder_of(f" {line_of(text, 2 * MAX_FOLDER)} ".split(_BETWEEN))


def _title(label: FeedLabel, own_title: str) -> str:
    typed = label.title if label.is_title_edited else ""
    return typed or own_title or label.title


def _known(found: Iterable[Labelled]) -> dict[Guid, FeedLabel]:
    """Return the label that counts for each subscription, by its present guid and by former ones.

    The list may have been read before: meanwhile, another device may have changed a guid.
    """
    several = list(found)
    labels = {labelled.label.guid: labelled.label for labelled in several}
    return labels | {guid: labelled.label for guid, labelled in _shown(several).items()}


def _shown(found: Iterable[Labelled]) -> dict[Guid, Labelled]:
    """Return the label that counts for each subscription, by its present guid.

    Several labels lead to one only after a merge, which kept the labels of both. That of the
    survivor counts, and where it has no title or no folder, that of the other one: its owner has
    seen it and wants no address instead.
    """
    of_each: dict[Guid, list[Labelled]] = defaultdict(list)
    for labelled in found:
        of_each[labelled.view.subscription.guid].append(labelled)
    return {guid: _combined(several) for guid, several in of_each.items()}


def _combined(several: Sequence[Labelled]) -> Labelled:
    first, *others = sorted(several, key=_rank)
    label = first.label
    for other in (labelled.label for labelled in others):
        if not label.title and not label.is_title_edited:
            label = replace(label, title=other.title, is_title_edited=other.is_title_edited)
        if not label.folder and not label.is_folder_edited:
            label = replace(label, folder=other.folder, is_folder_edited=other.is_folder_edited)
    return Labelled(label, first.view)


def _rank(labelled: Labelled) -> tuple[int, int, Stamp, Guid]:
    """Return by what the label of a survivor comes first: by URLs, then by stamps."""
    return _rank_by_url(labelled), *_rank_by_stamps(labelled)


def _rank_by_url(labelled: Labelled) -> int:
    """Return by what a label comes first whose guid is derived from a URL, as almost all are.

    URLs that came from merges are marked as such, but so are those that a survivor left after one.
    """
    entry, subscription = labelled.view.entry, labelled.view.subscription
    if entry.guid == subscription.guid and subscription.guid_changed is None:
        return 0  # it was never renamed, so this has always been its own
    if entry.alias is None:  # where the survivor began, or a guid that an app chose
        return 2 if entry.guid == parse_feed_url(subscription.feed_url).guid else 3
    if entry.alias.moved_away:
        return 1
    return 4 if entry.alias.was_own else 3


def _rank_by_stamps(labelled: Labelled) -> tuple[int, Stamp, Guid]:
    """Return by what a label comes first if URLs cannot tell, as with two guids that apps chose.

    A merge by a new guid gives the survivor the guid of the other one: it is renamed after the
    other one became a pointer, and before it is stamped itself. So the pointer that was announced
    last before that stamp has been its own guid. A merge that keeps the survivor's guid announces
    the other's after it.
    """
    entry, subscription = labelled.view.entry, labelled.view.subscription
    if not isinstance(entry, Pointer):
        return 1, Stamp(0), entry.guid
    renamed, announced = subscription.guid_changed, entry.guid_changed
    if renamed is not None and announced is not None and announced < renamed:
        return 0, Stamp(-announced), entry.guid
    return 2, Stamp(-(announced or 0)), entry.guid
