"""Titles and folders of an owner: what counts, what imports change, and what merges keep."""

from collections.abc import Sequence

import kept_account
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, G2, A, B, C, guid

from feedkeep.model import FeedLabel, Labelled, Limits, Pointer, Snapshot, View, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import feed_labels as rules
from feedkeep.rules import url_lists
from feedkeep.rules.feed_labels import FiledFeed, Labels, edited, filed, folder_of, imported
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.text_limits import MAX_TITLE

CARD = Card("Of the feed", "About", "https://web.example", "", "Anna")


class Account(kept_account.Account):
    """A list with the labels of its feeds, as a service keeps them."""

    def __init__(self, *items: str | tuple[str, str]) -> None:
        super().__init__(*items)
        self.labels: dict[str, FeedLabel] = {}

    @property
    def whole(self) -> Snapshot:
        return replace(self.snapshot(), limits=Limits(20, 100))

    @property
    def found(self) -> list[Labelled]:
        return [Labelled(label, self._view(guid)) for guid, label in self.labels.items()]

    def _view(self, guid: str) -> View:
        entry = self.entries[guid]
        target = self.entries[entry.new_guid] if isinstance(entry, Pointer) else entry
        return View(entry, target)

    def label(self, labels: Sequence[FeedLabel]) -> None:
        self.labels |= {label.guid: label for label in labels}

    def take(self, *feeds: tuple[str, str, str]) -> None:
        """Import the titles and folders of feeds."""
        self.label(imported(self.found, self.whole, [FiledFeed(*feed) for feed in feeds]))

    def type(self, sent: str, title: str, folder: str = "") -> None:
        self.label(edited(self.found, guid(sent), title, folder))

    def shown(self, url: str, own_title: str = "") -> tuple[str, str]:
        labels = rules.labels_of(self.found)
        return labels.title(url, own_title), labels.folder(url)


@pytest.fixture
def account():
    return Account(A, B, C)


def test_imported_title_stands_in_for_the_feeds_and_a_typed_one_goes_before_it(account):
    assert account.shown(A) == ("", "")
    account.take((A, "From a file", "News"))
    assert account.shown(A) == ("From a file", "News")
    same = ("From a file", "News")
    assert imported(account.found, account.whole, [FiledFeed(A, *same)]) == []
    assert edited(account.found, guid(A), *same) == []
    assert account.shown(A, "Of the feed") == ("Of the feed", "News")
    account.type(A, "Typed", "News")
    assert account.shown(A, "Of the feed") == ("Typed", "News")
    account.type(A, "", "News")  # so it is called what the feed says again
    assert account.shown(A, "Of the feed") == ("Of the feed", "News")


def test_import_leaves_what_was_typed_and_takes_nothing_away(account):
    account.take((A, "Old", "Old"), (B, "Old", "Old"))
    account.type(A, "Typed", "Old")
    account.type(B, "Old", "")
    account.take((A, "New", "New"), (B, "New", "New"))
    assert account.shown(A) == ("Typed", "New")
    assert account.shown(B) == ("New", "")
    account.take((A, "", ""), (A, A, ""), (B, f" {B} ", ""))
    assert account.shown(A) == ("Typed", "New")
    assert account.shown(B) == ("New", "")


def test_only_feeds_of_the_list_get_labels():
    account = Account(A, B)
    account.delete(B)
    account.take(*((url, "Title", "") for url in (A, B, C, "nonsense")))
    assert list(account.labels) == [guid(A)]
    account.take((A, "First", "Folder"), (f"{A}#x", "Last", ""))
    assert account.shown(A) == ("Last", "Folder")


def test_label_follows_its_feed_when_that_moves_and_is_renamed():
    account = Account(A)
    account.take((A, "Title", "Folder"))
    account.move(A, B, new_guid=G1)
    assert account.shown(B) == ("Title", "Folder")
    assert account.shown(A) == ("Title", "Folder")  # by which apps go on to know it
    account.type(G1, "Typed", "Folder")
    assert account.shown(B) == ("Typed", "Folder")
    account.label(filed(account.found, account.whole, [guid(A)], "Music"))
    assert account.shown(B) == ("Typed", "Music")
    assert list(account.labels) == [guid(A)]  # where it was kept before


def merge(account: Account, how: str, own: str, other: str) -> None:
    """Merge two feeds as pages do, by the other's guid, or as apps, by the other's URL."""
    if how == "page":
        account.merge(own, other)
    else:
        account.add((other, guid(own)))


@pytest.mark.parametrize("guids", [(None, None), (G1, G2), (G2, G1)])
@pytest.mark.parametrize("how", ["page", "api"])
@pytest.mark.parametrize("whose", ["both", "other"])
def test_merge_keeps_the_survivors_label_or_else_the_other_ones(guids, how, whose):
    account = Account((A, guids[0]), (B, guids[1]))
    survivors = [(A, "Survivor", "One")] if whose == "both" else []
    account.take(*survivors, (B, "Other", "Two"))
    kept, before = dict(account.labels), dict(account.entries)
    merge(account, how, guids[0] or A, B if how == "api" else guids[1] or B)
    assert account.shown(A) == (("Survivor", "One") if survivors else ("Other", "Two"))
    assert account.labels == kept  # a merge writes none, so taking it back brings back both
    account.entries = before
    assert account.shown(B) == ("Other", "Two")


def test_what_was_typed_stays_if_the_guid_changes_after_the_list_was_read():
    account = Account((A, G1))
    account.type(G1, "Typed", "Own folder")
    read_before = account.whole
    account.merge(G1, G2)
    account.label(imported(account.found, read_before, [FiledFeed(A, "Of a file", "File")]))
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
def test_address_is_no_title(account, text, title):
    account.take((A, text, ""))
    assert account.shown(A) == (title, "")


def test_merge_keeps_what_the_survivor_has_and_of_the_other_one_what_that_lacks(account):
    account.take((A, "", "One"), (B, "Other", "Two"))
    account.type(C, "Typed", "")
    account.merge(A, B)
    assert account.shown(A) == ("Other", "One")
    account.take((A, "", "New"))
    assert account.shown(A) == ("Other", "New")
    account.type(B, "", "")
    account.merge(B, C)
    assert account.shown(A) == ("", "")  # both were emptied by hand


def test_what_was_typed_for_the_other_one_no_import_replaces(account):
    account.type(B, "Typed", "Typed")
    account.type(A, "", "")
    account.take((C, "Of C", ""))
    account.merge(A, B)
    account.take((A, "From a file", "From a file"))
    assert account.shown(A, "Of the feed") == ("Typed", "Typed")
    merge(account, "api", C, A)
    account.take((C, "New", "New"))
    assert account.shown(C) == ("New", "Typed")


THREE = [A, B, C]


@pytest.mark.parametrize(
    ("items", "changes", "url"),
    [
        (THREE, [("page", A, B), ("page", B, C)], A),
        (THREE, [("api", A, B), ("api", A, C)], A),
        (THREE, [("api", A, B), ("page", A, C)], A),
        (THREE, [("page", A, B), ("page", B, G1)], A),
        (THREE, [("api", A, B), ("page", A, G1)], A),
        (THREE, [("page", A, G1), ("api", G1, B), ("page", G1, G2)], A),
        (THREE, [("page", A, G1), ("page", G1, B), ("page", B, G2)], A),
        ([A, (B, G1)], [("page", A, G1), ("page", G1, G2)], A),  # an app chose a guid
        ([(A, G1), B], [("page", G1, B), ("page", B, G2)], A),
        ([A, B], [("page", A, B), ("move", B, C), ("page", B, G1)], C),
    ],
)
def test_survivors_label_counts_after_whatever_follows_a_merge(items, changes, url):
    account = Account(*items)
    account.take(*((url, url[8], "") for url in (A, B, C)))
    for how, own, other in changes:
        if how == "move":
            account.move(own, other)
        else:
            merge(account, how, own, other)
    assert account.shown(url) == ("a", "")


def test_moving_to_the_address_of_a_deleted_feed_brings_back_no_title_of_that(account):
    account.take((A, "Mine", ""), (B, "Deleted", ""))
    account.delete(B)
    account.do(url_lists.move, parse_feed_url(A), parse_feed_url(B), notify_apps=False)
    assert account.shown(B) == ("Mine", "")


def test_feed_that_is_deleted_and_added_again_has_its_label_again(account):
    account.take((A, "Title", "Folder"))
    account.delete(A)
    account.add(A)
    assert account.shown(A) == ("Title", "Folder")


def test_apps_are_told_the_title_with_all_else_that_is_known():
    typed = Labels({A: FeedLabel(guid(A), "Typed", "", True)})
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
        (["x"] * 20, " / ".join(["x"] * rules.MAX_FOLDER_LEVELS)),
        (["y" * 150, "z" * 150, "x"], "y" * 150),
        (["y" * 999], f"{'y' * (rules.MAX_FOLDER - 1)}…"),
    ],
)
def test_folder_has_the_names_of_its_levels(names, folder):
    assert folder_of(names) == folder
    assert " / ".join(rules.folder_names(folder)) == folder


@pytest.mark.parametrize(
    ("typed", "folder"),
    [("", ""), (" / ", ""), ("News", "News"), (" a  /  b / ", "a / b"), ("a/b", "a/b")],
)
def test_folder_may_be_typed(typed, folder):
    assert rules.typed_folder(typed) == folder


@given(st.lists(st.text(max_size=90), max_size=12), st.text(max_size=2_000))
def test_titles_and_folders_are_bounded_lines_that_are_read_as_they_were_written(names, title):
    folder = folder_of(names)
    assert folder_of(rules.folder_names(folder)) == folder == rules.typed_folder(folder)
    account = Account(A)
    account.take((A, title, folder))
    account.type(A, title, folder)
    shown, filed = account.shown(A)
    assert len(shown) <= MAX_TITLE
    assert len(filed) <= rules.MAX_FOLDER
    assert len(rules.folder_names(filed)) <= rules.MAX_FOLDER_LEVELS
    assert "\n" not in shown + filed


def test_filed_feeds_of_the_list_stay_there_after_an_import(account):
    account.take((A, "", "News"), (B, "", "News"))
    account.delete(C)
    guids = [guid(A), guid(B), guid(C), G1, "x"]
    changed = filed(account.found, account.whole, guids, " Music /  Live ")
    assert {one.guid: one.folder for one in changed} == dict.fromkeys(guids[:2], "Music / Live")
    account.label(changed)
    assert filed(account.found, account.whole, [guid(A)], "Music / Live") == []
    account.take((A, "", "News"))
    assert account.shown(A) == ("", "Music / Live")
    account.label(filed(account.found, account.whole, [guid(A)], ""))
    account.take((A, "", "News"))
    assert account.shown(A) == ("", "")


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
    account.take(*((url, "Title", folder) for url, folder in before.items()))
    changed = rules.refiled(account.found, folder, name)
    assert all(label.is_folder_edited and label.title == "Title" for label in changed)
    account.label(changed)
    assert [account.shown(url)[1] for url in before] == (after or list(before.values()))
    assert len(changed) == sum(one != before[url] for url, one in zip(before, after, strict=False))


@pytest.mark.parametrize(
    "name", ["x" * (rules.MAX_FOLDER - 5), " / ".join("x" * rules.MAX_FOLDER_LEVELS)]
)
def test_refiled_folder_refuses_a_name_that_would_cut_inner_folders(account, name):
    account.take((A, "", "News / Daily"))
    with pytest.raises(InvalidInput):
        rules.refiled(account.found, "News", name)
    account.take((A, "", "News"))
    assert rules.refiled(account.found, "News", name)[0].folder == name


@given(st.lists(st.text(st.sampled_from("ab/ "), max_size=12), max_size=8))
def test_outer_folders_contain_a_folder_and_no_other_does(names):
    folder = folder_of(names)
    outer = rules.with_outer(folder)
    assert outer[-1:] == ([folder] if folder else [])
    assert [rules.is_within(folder, one) for one in outer] == [True] * len(outer)
    assert not rules.is_within(f"{folder}x", folder)
    assert not folder or rules.is_within(f"{folder} / x", folder)
