"""Changes as a page shows them: a line for each request, and who sent it."""

import pytest

from feedkeep.model import Author, CredentialKind, Guid, Stamp, replace
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange
from feedkeep.service.history import ListedChanges
from feedkeep.web import changes
from feedkeep.web.changes import Actor, ChangeRow, change_of, lines_of

GUID = Guid("9b024349-ccf0-5f69-a609-6b82873eab3c")
APP = CredentialKind.SESSION


def feeds(count: int, what: ChangeKind = ChangeKind.ADDED) -> list[FeedChange]:
    return [FeedChange(what, Guid(f"{n}"), f"https://{n}.example/feed") for n in range(count)]


def listed(*known: tuple[int, str, int], has_more: bool = False) -> ListedChanges:
    """Return changes with their stamps, requests and numbers of feeds."""
    made = [ListChange(Stamp(stamp), request, feeds(count)) for stamp, request, count in known]
    authors = {request: Author(APP, request=request) for _, request, _ in known if request}
    return ListedChanges(made, authors, Stamp(0), has_more)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("", ("AntennaPod", "")),
        ("pixel", ("AntennaPod", "Pixel")),
        ("tablet", ("AntennaPod", "tablet")),
        ("old", ("antennapod on Nexus", "")),
        ("bare", ("AntennaPod", "bare")),
    ],
)
def test_a_device_is_called_as_its_owner_calls_it(device, expected):
    devices = {"pixel": "Pixel", "old": "antennapod on Nexus", "bare": ""}
    author = Author(APP, name="AntennaPod/3.4.0", device=device)
    assert changes.who_of(author, devices) == Actor(APP, *expected)
    assert changes.who_of(None, devices) == Actor(None)


def test_the_steps_of_a_request_are_one_line_and_others_are_not():
    lines = lines_of(
        listed((6, "a", 1), (5, "b", 2), (4, "b", 3), (3, "a", 1), (2, "", 1), (1, "", 1)), {}, {}
    )
    assert [list(line.stamps) for line in lines] == [[6], [5, 4], [3], [2], [1]]
    assert [line.total for line in lines] == [1, 5, 1, 1, 1]
    assert lines[1].before == 3
    assert lines[1].counts == [(ChangeKind.ADDED, 5)]
    unnamed = replace(listed((2, "a", 1), (1, "a", 1)), authors={"a": Author(APP)})
    assert len(lines_of(unnamed, {}, {})) == 2  # no request of theirs is known


def test_a_request_that_may_go_on_is_left_to_the_next_page_unless_it_is_the_only_one():
    for request, stamps in (("b", [[2]]), ("a", [[2, 1]])):
        known = listed((2, "a", 1), (1, request, 1), has_more=True)
        assert [line.stamps for line in lines_of(known, {}, {})] == stamps


def test_a_page_of_long_changes_is_bounded():
    lines = lines_of(listed(*((100 - n, f"{n}", 300) for n in range(10)), (1, "x", 1)), {}, {})
    assert [len(line.feeds) for line in lines] == [200] * 5 + [0] * 5 + [1]
    assert {line.total for line in lines} == {300, 1}


def test_a_move_between_two_spellings_of_an_address_shows_all_of_both():
    moved = FeedChange(ChangeKind.MOVED, GUID, "https://a.example/feed", "http://a.example/feed")
    expected = ChangeRow(ChangeKind.MOVED, GUID, "https://a.example/feed", "http://a.example/feed")
    assert change_of(moved, {}) == expected
    long = FeedChange(ChangeKind.ADDED, GUID, "https://a.example/" + "x" * 200)
    assert len(change_of(long, {}).name) == 101


A, B = "https://a.example/feed", "https://b.example/feed"


@pytest.mark.parametrize(
    ("what", "titles", "name", "other"),
    [
        (ChangeKind.ADDED, {A: "Radio"}, "Radio", ""),
        (ChangeKind.ADDED, {B: "Radio"}, "a.example/feed", ""),
        (ChangeKind.RENAMED, {A: "Radio", B: "No"}, "Radio", ""),
        (ChangeKind.MOVED, {A: "Radio"}, "a.example/feed", "Radio"),
        (ChangeKind.MOVED, {B: "Radio"}, "a.example/feed", "Radio"),
        (ChangeKind.MOVED, {}, "a.example/feed", "b.example/feed"),
        (ChangeKind.MERGED, {A: "Radio", B: "News"}, "Radio", "News"),
        (ChangeKind.MERGED, {A: "Radio", B: "Radio"}, "Radio", "b.example/feed"),
    ],
)
def test_feeds_are_called_by_their_titles_and_a_moved_one_tells_where_it_is(
    what, titles, name, other
):
    assert change_of(FeedChange(what, GUID, A, B), titles) == ChangeRow(what, GUID, name, other)


def test_only_addresses_that_a_page_names_are_looked_up():
    told = [
        FeedChange(ChangeKind.MOVED, GUID, "https://new.example", "https://old.example"),
        FeedChange(ChangeKind.RENAMED, GUID, A, "a former guid"),
    ]
    assert changes.urls_of(told) == {"https://new.example", "https://old.example", A}
    assert len(changes.shown_urls(listed((1, "a", 300)))) == changes.FEEDS_OF_A_CHANGE
