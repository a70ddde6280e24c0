"""Titles and folders of an owner: what counts, what imports change, and what merges keep."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import (
    Counts,
    Decision,
    Entry,
    FeedLabel,
    Guid,
    Labelled,
    Limits,
    Pointer,
    Snapshot,
    Stamp,
    View,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import subscriptions, url_lists
from feedkeep.rules.feed_labels import (
    MAX_FOLDER,
    MAX_FOLDER_LEVELS,
    FiledFeed,
    Labels,
    edited,
    filed,
    folder_names,
    folder_of,
    imported,
    is_within,
    labels_of,
    refiled,
    typed_folder,
    with_outer,
)
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.text_limits import MAX_TITLE

A, B, C = (f"https://{letter}.example/feed" for letter in "abc")
G1, G2 = (Guid(f"00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
CARD = Card("Of the feed", "About", "https://web.example", "", "Anna")


def derived(url: str) -> Guid:
    return parse_feed_url(url).guid


class Account:
    """A list with the labels of its feeds, as a service keeps them."""

    def __init__(self, *items: tuple[str, str | None]) -> None:
        self.entries: dict[Guid, Entry] = {}
        self.labels: dict[Guid, FeedLabel] = {}
        self._clock = Stamp(0)
        self.do(subscriptions.add, [want(url, guid) for url, guid in items])

    @property
    def whole(self) -> Snapshot:
        state = (self.entries, self._clock, Stamp(self._clock + 1), Counts())
        return Snapshot(*state, limits=Limits(20, 100))

    def do(self, rule: Callable[..., Decision], *arguments: object) -> None:
        decision = rule(self.whole, *arguments)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for guid in decision.forgotten:
            del self.entries[guid]
        self._clock = decision.last_stamp

    @property
    def found(self) -> list[Labelled]:
        return [Labelled(label, self._view(guid)) for guid, label in self.labels.items()]

    def _view(self, guid: Guid) -> View:
        entry = self.entries[guid]
        target = self.entries[entry.new_guid] if isinstance(entry, Pointer) else entry
        return View(entry, target)

    def keep(self, labels: Sequence[FeedLabel]) -> None:
        self.labels |= {label.guid: label for label in labels}

    def take(self, *feeds: FiledFeed) -> None:
        self.keep(imported(self.found, self.whole, feeds))

    def type(self, guid: Guid, title: str, folder: str = "") -> None:
        self.keep(edited(self.found, guid, title, folder))

    def shown(self, url: str, own_title: str = "") -> tuple[str, str]:
        labels = labels_of(self.found)
        return labels.title(url, own_title), labels.folder(url)


def test_an_imported_title_stands_in_for_the_feeds_and_a_typed_one_goes_before_it():
    account = Account((A, None))
    assert account.shown(A) == ("", "")
    account.take(FiledFeed(A, "From a file", "News"))
    assert account.shown(A) == ("From a file", "News")
    assert account.shown(A, "Of the feed") == ("Of the feed", "News")
    account.type(derived(A), "Typed", "News")
    assert account.shown(A, "Of the feed") == ("Typed", "News")
    account.type(derived(A), "", "News")  # so it is called what the feed says again
    assert account.shown(A, "Of the feed") == ("Of the feed", "News")


def test_an_import_leaves_what_was_typed_and_takes_nothing_away():
    account = Account((A, None), (B, None))
    account.take(FiledFeed(A, "Old", "Old"), FiledFeed(B, "Old", "Old"))
    account.type(derived(A), "Typed", "Old")
    account.type(derived(B), "Old", "")
    account.take(FiledFeed(A, "New", "New"), FiledFeed(B, "New", "New"))
    assert account.shown(A) == ("Typed", "New")
    assert account.shown(B) == ("New", "")
    account.take(FiledFeed(A, "", ""), FiledFeed(A, A, ""), FiledFeed(B, f" {B} ", ""))
    assert account.shown(A) == ("Typed", "New")
    assert account.shown(B) == ("New", "")


def test_what_changes_nothing_saves_nothing():
    account = Account((A, None))
    account.take(FiledFeed(A, "Title", "Folder"))
    assert imported(account.found, account.whole, [FiledFeed(A, "Title", "Folder")]) == []
    assert edited(account.found, derived(A), "Title", "Folder") == []


def test_only_feeds_of_the_list_get_labels():
    account = Account((A, None), (B, None))
    account.do(subscriptions.delete, derived(B))
    account.take(*(FiledFeed(url, "Title", "") for url in (A, B, C, "nonsense")))
    assert list(account.labels) == [derived(A)]


def test_of_two_lines_for_a_feed_the_last_one_counts():
    account = Account((A, None))
    account.take(FiledFeed(A, "First", "Folder"), FiledFeed(f"{A}#x", "Last", ""))
    assert account.shown(A) == ("Last", "Folder")


def test_a_label_follows_its_feed_when_that_moves_and_is_renamed():
    account = Account((A, None))
    account.take(FiledFeed(A, "Title", "Folder"))
    account.do(subscriptions.update, derived(A), Update(parse_feed_url(B), G1))
    assert account.shown(B) == ("Title", "Folder")
    assert account.shown(A) == ("Title", "Folder")  # by which apps go on to know it
    account.type(G1, "Typed", "Folder")
    assert account.shown(B) == ("Typed", "Folder")
    assert list(account.labels) == [derived(A)]  # where it was kept before


MERGES = {
    "by the other's guid, as pages merge": (
        A, lambda one, two: (subscriptions.update, one, Update(new_guid=two))
    ),
    "by its own guid with the other's address": (
        A, lambda one, _: (subscriptions.add, [want(B, one)])
    ),
}  # fmt: skip


@pytest.mark.parametrize("guids", [(None, None), (G1, G2), (G2, G1)])
@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("whose", ["both", "other"])
def test_a_merge_keeps_the_survivors_label_or_else_the_other_ones(guids, merge, whose):
    account = Account((A, guids[0]), (B, guids[1]))
    survivors = [FiledFeed(A, "Survivor", "One")] if whose == "both" else []
    account.take(*survivors, FiledFeed(B, "Other", "Two"))
    kept, before = dict(account.labels), dict(account.entries)
    url, rule = MERGES[merge]
    account.do(*rule(guids[0] or derived(A), guids[1] or derived(B)))
    shown = ("Survivor", "One") if survivors else ("Other", "Two")
    assert account.shown(url) == shown
    assert account.labels == kept  # a merge writes none, so taking it back brings back both
    account.entries = before
    assert account.shown(B) == ("Other", "Two")


def test_what_was_typed_stays_if_the_guid_changes_after_the_list_was_read():
    account = Account((A, G1))
    account.type(G1, "Typed", "Own folder")
    read_before = account.whole
    account.do(subscriptions.update, G1, Update(new_guid=G2))
    account.keep(imported(account.found, read_before, [FiledFeed(A, "Of a file", "File")]))
    assert account.shown(A) == ("Typed", "Own folder")
    account.type(G1, "Typed anew", "Own folder")  # on a page that was shown before
    assert account.shown(A) == ("Typed anew", "Own folder")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (A, ""),
        (f" {A.upper()}\n", ""),
        ("https://a.example/as%3Aelsewhere", ""),
        (f"https://a.example/{'long/' * 99}", ""),
        ("https://a.example and friends", "https://a.example and friends"),
        ("httpcast", "httpcast"),
    ],
)
def test_an_address_is_no_title(text, title):
    account = Account((A, None))
    account.take(FiledFeed(A, text, ""))
    assert account.shown(A) == (title, "")


def test_a_merge_keeps_what_the_survivor_has_and_of_the_other_one_what_that_lacks():
    account = Account((A, None), (B, None), (C, None))
    account.take(FiledFeed(A, "", "One"), FiledFeed(B, "Other", "Two"))
    account.type(derived(C), "Typed", "")
    account.do(*page_merge(derived(A), derived(B)))
    assert account.shown(A) == ("Other", "One")
    account.take(FiledFeed(A, "", "New"))
    assert account.shown(A) == ("Other", "New")
    account.type(derived(B), "", "")
    account.do(*page_merge(derived(B), derived(C)))
    assert account.shown(A) == ("", "")  # both were emptied by hand


def test_what_was_typed_for_the_other_one_no_import_replaces():
    account = Account((A, None), (B, None), (C, None))
    account.type(derived(B), "Typed", "Typed")
    account.type(derived(A), "", "")
    account.take(FiledFeed(C, "Of C", ""))
    account.do(*page_merge(derived(A), derived(B)))
    account.take(FiledFeed(A, "From a file", "From a file"))
    assert account.shown(A, "Of the feed") == ("Typed", "Typed")
    account.do(*api_merge(derived(C), A))
    account.take(FiledFeed(C, "New", "New"))
    assert account.shown(C) == ("New", "Typed")


def page_merge(own: Guid, other: Guid) -> tuple[Any, ...]:
    return subscriptions.update, own, Update(new_guid=other)


def api_merge(own: Guid, url: str) -> tuple[Any, ...]:
    return subscriptions.add, [want(url, own)]


AFTERWARDS = {
    "a second merge on pages": [
        page_merge(derived(A), derived(B)), page_merge(derived(B), derived(C))
    ],
    "a second merge by its own guid": [api_merge(derived(A), B), api_merge(derived(A), C)],
    "a merge of the other kind": [
        api_merge(derived(A), B), page_merge(derived(A), derived(C))
    ],
    "a rename after a merge on pages": [
        page_merge(derived(A), derived(B)), page_merge(derived(B), G1)
    ],
    "a rename after a merge by its own guid": [
        api_merge(derived(A), B), page_merge(derived(A), G1)
    ],
    "a rename before and after": [
        page_merge(derived(A), G1), api_merge(G1, B), page_merge(G1, G2)
    ],
    "a rename before and after a merge on pages": [
        page_merge(derived(A), G1), page_merge(G1, derived(B)), page_merge(derived(B), G2)
    ],
}  # fmt: skip


@pytest.mark.parametrize("changes", AFTERWARDS.values(), ids=AFTERWARDS)
def test_the_survivors_label_counts_after_whatever_follows_a_merge(changes):
    account = Account((A, None), (B, None), (C, None))
    account.take(*(FiledFeed(url, url[8], "") for url in (A, B, C)))
    for change in changes:
        account.do(*change)
    assert account.shown(A) == ("a", "")


@pytest.mark.parametrize(("own", "other"), [(None, G1), (G1, None)])
def test_the_survivors_label_counts_if_an_app_chose_one_of_the_guids(own, other):
    account = Account((A, own), (B, other))
    account.take(FiledFeed(A, "Survivor", ""), FiledFeed(B, "Other", ""))
    account.do(*page_merge(own or derived(A), other or derived(B)))
    account.do(*page_merge(other or derived(B), G2))
    assert account.shown(A) == ("Survivor", "")


def test_the_survivors_label_counts_after_it_moved_away():
    account = Account((A, None), (B, None))
    account.take(FiledFeed(A, "Survivor", ""), FiledFeed(B, "Other", ""))
    account.do(*page_merge(derived(A), derived(B)))
    account.do(subscriptions.update, derived(B), Update(parse_feed_url(C)))
    account.do(*page_merge(derived(B), G1))
    assert account.shown(C) == ("Survivor", "")


def test_moving_to_the_address_of_a_deleted_feed_brings_back_no_title_of_that():
    account = Account((A, None), (B, None))
    account.take(FiledFeed(A, "Mine", ""), FiledFeed(B, "Deleted", ""))
    account.do(subscriptions.delete, derived(B))
    account.do(
        lambda snapshot: url_lists.move(
            snapshot, parse_feed_url(A), parse_feed_url(B), notify_apps=False
        )
    )
    assert account.shown(B) == ("Mine", "")


def test_a_feed_that_is_deleted_and_added_again_has_its_label_again():
    account = Account((A, None))
    account.take(FiledFeed(A, "Title", "Folder"))
    account.do(subscriptions.delete, derived(A))
    account.do(subscriptions.add, [want(A, None)])
    assert account.shown(A) == ("Title", "Folder")


def test_apps_are_told_the_title_with_all_else_that_is_known():
    guid = derived(A)
    typed = Labels({A: FeedLabel(guid, "Typed", "", True)})
    assert typed.titled(A, CARD) == Card("Typed", *(CARD.description, CARD.site_url, "", "Anna"))
    assert typed.titled(A, None) == Card("Typed", "", "", "", "")
    assert typed.titled(B, CARD) is CARD
    assert Labels().titled(A, None) is None
    assert typed.cards([A, B, C], {B: CARD}) == {A: typed.titled(A, None), B: CARD}
    cards = {B: CARD}
    assert Labels().cards([A, B], cards) is cards


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        ([], ""),
        (["News"], "News"),
        (["News", "Daily"], "News / Daily"),
        (["TV/Radio", "TV / Radio"], "TV/Radio / TV/Radio"),
        (["", " \t", "\u202enews\n"], "news"),
        (["/", "a /", "/ b"], "a / b"),
        (["x"] * 20, " / ".join(["x"] * MAX_FOLDER_LEVELS)),
        (["y" * 150, "z" * 150, "x"], "y" * 150),
        (["y" * 999], f"{'y' * (MAX_FOLDER - 1)}…"),
    ],
)
def test_a_folder_has_the_names_of_its_levels(names, folder):
    assert folder_of(names) == folder
    assert " / ".join(folder_names(folder)) == folder


@pytest.mark.parametrize(
    ("typed", "folder"),
    [("", ""), (" / ", ""), ("News", "News"), (" a  /  b / ", "a / b"), ("a/b", "a/b")],
)
def test_a_folder_may_be_typed(typed, folder):
    assert typed_folder(typed) == folder


@given(st.lists(st.text(max_size=90), max_size=12), st.text(max_size=2_000))
def test_titles_and_folders_are_bounded_lines_that_are_read_as_they_were_written(names, title):
    folder = folder_of(names)
    assert folder_of(folder_names(folder)) == folder == typed_folder(folder)
    account = Account((A, None))
    account.take(FiledFeed(A, title, folder))
    account.type(derived(A), title, folder)
    shown, filed = account.shown(A)
    assert len(shown) <= MAX_TITLE
    assert len(filed) <= MAX_FOLDER
    assert len(folder_names(filed)) <= MAX_FOLDER_LEVELS
    assert "\n" not in shown + filed


def test_filed_feeds_of_the_list_stay_there_after_an_import():
    account = Account((A, None), (B, None), (C, None))
    account.take(FiledFeed(A, "", "News"), FiledFeed(B, "", "News"))
    account.do(subscriptions.delete, derived(C))
    changed = filed(
        account.found,
        account.whole,
        [derived(A), derived(B), derived(C), G1, "x"],
        " Music /  Live ",
    )
    assert [(one.guid, one.folder) for one in changed] == [
        (derived(A), "Music / Live"),
        (derived(B), "Music / Live"),
    ]
    account.keep(changed)
    assert filed(account.found, account.whole, [derived(A)], "Music / Live") == []
    account.take(FiledFeed(A, "", "News"))
    assert account.shown(A) == ("", "Music / Live")
    account.keep(filed(account.found, account.whole, [derived(A)], ""))
    account.take(FiledFeed(A, "", "News"))
    assert account.shown(A) == ("", "")


def test_filed_feed_that_was_renamed_is_found_by_its_former_guid():
    account = Account((A, None))
    account.type(derived(A), "Mine", "News")
    account.do(subscriptions.update, derived(A), Update(new_guid=G1))
    account.keep(filed(account.found, account.whole, [derived(A)], "Music"))
    assert account.shown(A) == ("Mine", "Music")


@pytest.mark.parametrize(
    ("folder", "name", "after"),
    [
        ("News", "Press", ["Press", "Press / Daily", "Newspapers"]),
        ("News", "News / Old", ["News / Old", "News / Old / Daily", "Newspapers"]),
        ("News / Daily", "Daily", ["News", "Daily", "Newspapers"]),
        ("News", "Newspapers", ["Newspapers", "Newspapers / Daily", "Newspapers"]),
        ("News", "", ["", "", "Newspapers"]),
        ("News", "News", []),
        ("", "Press", []),
        ("Music", "Press", []),
    ],
)
def test_refiled_folder_takes_inner_folders_along(folder, name, after):
    before = {A: "News", B: "News / Daily", C: "Newspapers"}
    account = Account(*((url, None) for url in before))
    account.take(*(FiledFeed(url, "Title", folder) for url, folder in before.items()))
    changed = refiled(account.found, folder, name)
    assert all(label.is_folder_edited and label.title == "Title" for label in changed)
    account.keep(changed)
    assert [account.shown(url)[1] for url in before] == (after or list(before.values()))
    assert len(changed) == sum(one != before[url] for url, one in zip(before, after, strict=False))


@pytest.mark.parametrize("name", ["x" * (MAX_FOLDER - 5), " / ".join("x" * MAX_FOLDER_LEVELS)])
def test_refiled_folder_refuses_a_name_that_would_cut_inner_folders(name):
    account = Account((A, None))
    account.take(FiledFeed(A, "", "News / Daily"))
    with pytest.raises(InvalidInput):
        refiled(account.found, "News", name)
    account.take(FiledFeed(A, "", "News"))
    assert refiled(account.found, "News", name)[0].folder == name


@given(st.lists(st.text(st.sampled_from("ab/ "), max_size=12), max_size=8))
def test_outer_folders_contain_a_folder_and_no_other_does(names):
    folder = folder_of(names)
    outer = with_outer(folder)
    assert outer[-1:] == ([folder] if folder else [])
    assert [is_within(folder, one) for one in outer] == [True] * len(outer)
    assert not is_within(f"{folder}x", folder)
    assert not folder or is_within(f"{folder} / x", folder)
