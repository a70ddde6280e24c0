"""Titles and folders that a list's owner gives feeds: imported, typed, and after a merge. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import FeedLabel, Guid, Labelled, Pointer, Snapshot, Stamp, Value, replace
from feedkeep.model.entry_index import EntryIndex
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.text_limits import MAX_TITLE, line_of

MAX_FOLDER = 200
"""Maximum number of characters of a folder with its outer folders."""

MAX_FOLDER_LEVELS = 8

_BETWEEN = " / "


class FiledFeed(Value, frozen=True):
    """A feed of a file, with its title and folder there.

    Attributes:
        feed_url: The URL as written.
        title: "" if missing.
        folder: As `folder_of` returns it; "" if missing.
    """

    feed_url: str
    title: str
    folder: str


class Labels(Value, frozen=True):
    """The labels of a list, by the present URLs of its feeds and by the URLs that apps have."""

    by_url: Mapping[str, FeedLabel] = {}

    def title(self, feed_url: str, own_title: str = "") -> str:
        """Return the title of a feed whose own title is `own_title`; "" if there is none at all.

        A typed title comes first, then the feed's own, then an imported one: a file may be years
        old.
        """
        label = self.by_url.get(feed_url)
        return _title(label, own_title) if label else own_title

    def folder(self, feed_url: str) -> str:
        label = self.by_url.get(feed_url)
        return label.folder if label else ""

    def cards(self, urls: Iterable[str], cards: Mapping[str, Card]) -> Mapping[str, Card]:
        """Return the cards of feeds in lists for apps, with their titles in this list."""
        if not self.by_url:
            return cards
        return {url: card for url in urls if (card := self.titled(url, cards.get(url)))}

    def titled(self, feed_url: str, card: Card | None) -> Card | None:
        """Return the card of a feed in lists for apps, with its title in this list."""
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
    """Return the label after its owner submitted a title and a folder; empty if unchanged.

    The owner was shown both, and only a changed one counts as edited: filing a feed does not rename
    it. `own_title` is the feed's own title.
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
    """Return the labels that change by importing a file with these feeds into a whole list.

    Typed labels stay, and what a file omits removes nothing. Feeds that are not in the list get no
    label, so there are never more labels than entries.
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


def filed(
    found: Iterable[Labelled], whole: Snapshot, guids: Iterable[str], folder: str
) -> Sequence[FeedLabel]:
    """Return the labels that change when their owner moves feeds into a folder; "" is no folder.

    Guids that are not in the list are skipped, so there are never more labels than entries.
    """
    index, known, folder = EntryIndex(whole.entries), _known(found), typed_folder(folder)
    changed: dict[Guid, FeedLabel] = {}
    for guid in guids:
        subscription = index.find(Guid(guid))
        if subscription is None or subscription.deleted is not None:
            continue
        before = known.get(subscription.guid, FeedLabel(subscription.guid))
        after = replace(before, folder=folder, is_folder_edited=True)
        if before.folder != folder:
            changed[subscription.guid] = after
    return list(changed.values())


def refiled(found: Iterable[Labelled], folder: str, name: str) -> Sequence[FeedLabel]:
    """Return the labels that change when their owner renames a folder, inner folders included.

    Without a name, the folder is removed: its feeds stay in the list, without a folder.

    Raises:
        InvalidInput: The name is too long, or too deep, for one of the inner folders.
    """
    folder, name = typed_folder(folder), typed_folder(name)
    changed = []
    for labelled in _shown(found).values():
        label = labelled.label
        if not folder or not is_within(label.folder, folder):
            continue
        new = name + label.folder.removeprefix(folder) if name else ""
        if new != typed_folder(new):
            raise InvalidInput("This name is too long for a folder with other folders inside it.")
        if new != label.folder:
            changed.append(replace(label, folder=new, is_folder_edited=True))
    return changed


def is_within(folder: str, outer: str) -> bool:
    """Whether a folder is `outer` or inside it."""
    return folder == outer or folder.startswith(outer + _BETWEEN)


def title_of(text: str, feed_url: str) -> str:
    """Return the title of a feed in a file; "" if that is only an address.

    Apps write an address where they know no title, and not always as the URL is spelled here.
    """
    title = line_of(text, MAX_TITLE)
    is_address = " " not in title and title.lower().startswith(("http://", "https://"))
    return "" if is_address or title == line_of(feed_url, MAX_TITLE) else title


def folder_of(names: Sequence[str]) -> str:
    """Return the folder with these names, outermost first; the innermost may be omitted.

    A name that contains " / " keeps the slash without the spaces, and so stays one name.
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
    """Return the names in a folder, outermost first; empty for ""."""
    return folder.split(_BETWEEN) if folder else []


def with_outer(folder: str) -> list[str]:
    """Return a folder's outer folders and itself, outermost first; empty for ""."""
    names = folder_names(folder)
    return [_BETWEEN.join(names[: level + 1]) for level in range(len(names))]


def typed_folder(text: str) -> str:
    """Return the folder that a person typed, with " / " as separator."""
    return folder_of(f" {line_of(text, 2 * MAX_FOLDER)} ".split(_BETWEEN))


def _title(label: FeedLabel, own_title: str) -> str:
    typed = label.title if label.is_title_edited else ""
    return typed or own_title or label.title


def _known(found: Iterable[Labelled]) -> dict[Guid, FeedLabel]:
    """Return the effective label of each subscription, by its present and former guids.

    The list may have been read earlier, and another device may have changed a guid since.
    """
    several = list(found)
    labels = {labelled.label.guid: labelled.label for labelled in several}
    return labels | {guid: labelled.label for guid, labelled in _shown(several).items()}


def _shown(found: Iterable[Labelled]) -> dict[Guid, Labelled]:
    """Return the effective label of each subscription, by its present guid.

    Several labels resolve to one subscription only after a merge, which keeps both. The survivor's
    label is used; its missing title or folder is taken from the other label, which the owner would
    miss.
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
    """Return the sort key of labels, the survivor's first: by URLs, then by stamps."""
    return _rank_by_url(labelled), *_rank_by_stamps(labelled)


def _rank_by_url(labelled: Labelled) -> int:
    """Rank a label by the URL from which its guid is derived, as almost all guids are.

    URLs from merges are marked as such, but so are URLs that a survivor left after a merge.
    """
    entry, subscription = labelled.view.entry, labelled.view.subscription
    if entry.guid == subscription.guid and subscription.guid_changed is None:
        return 0  # never renamed, so this has always been its own guid
    if entry.alias is None:  # the survivor's first URL, or a guid that an app chose
        return 2 if entry.guid == parse_feed_url(subscription.feed_url).guid else 3
    if entry.alias.moved_away:
        return 1
    return 4 if entry.alias.was_own else 3


def _rank_by_stamps(labelled: Labelled) -> tuple[int, Stamp, Guid]:
    """Rank a label by stamps where URLs do not decide, as for two guids that apps chose.

    A merge under a new guid gives the survivor the other's guid: the survivor is renamed after the
    other became a pointer, and before it is stamped itself. So the pointer announced last before
    that stamp was the survivor's guid. A merge that keeps the survivor's guid announces the other's
    after it.
    """
    entry, subscription = labelled.view.entry, labelled.view.subscription
    if not isinstance(entry, Pointer):
        return 1, Stamp(0), entry.guid
    renamed, announced = subscription.guid_changed, entry.guid_changed
    if renamed is not None and announced is not None and announced < renamed:
        return 0, Stamp(-announced), entry.guid
    return 2, Stamp(-(announced or 0)), entry.guid
