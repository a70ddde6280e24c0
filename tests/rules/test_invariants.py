"""Every kind of wrong entry is told; a test that looks for violations depends on it."""

import pytest

from feedkeep.model import Alias, Counts, Entry, Guid, Pointer, Snapshot, Subscription, replace
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.invariants import violations
from feedkeep.rules.list_limits import count

URL = "https://a.example/feed"
DERIVED = parse_feed_url(URL).guid
OTHER = Guid("00000000-0000-4000-8000-000000000001")
MANY = range(1_001)
SOUND = Subscription(OTHER, URL, True, 5)


def whole(entries: list[Entry], last_stamp: int) -> Snapshot:
    return Snapshot({entry.guid: entry for entry in entries}, last_stamp, 0, count(entries))


@pytest.mark.parametrize(
    ("entries", "violation"),
    [
        ([SOUND, Pointer(DERIVED, OTHER, 5)], "stamp 5 is used 2 times"),
        ([SOUND, Pointer(DERIVED, OTHER, 99)], "stamp 99 is after the clock"),
        ([SOUND], f"the feed URL of {OTHER} does not lead to it"),
        ([Subscription(OTHER, "\0", True, 5)], f"the feed URL of {OTHER} is not valid"),
        ([Pointer(DERIVED, OTHER)], f"pointer {DERIVED} does not lead to a subscription"),
        (
            [SOUND, Pointer(DERIVED, OTHER, alias=Alias(URL, True))],
            f"the present feed URL of {OTHER} is stored as a former one, too",
        ),
        (
            [Subscription(DERIVED, URL, True, 5, deleted=6)],
            f"{DERIVED} is deleted and subscribed",
        ),
        (
            [Subscription(DERIVED, URL, True, 5, status_changed=6)],
            f"apps are sent {DERIVED} later than it changed",
        ),
        (
            [Subscription(DERIVED, URL, True, 5, app_url=URL)],
            f"apps have {DERIVED} by its present URL, and by another one",
        ),
        (
            [
                Subscription(DERIVED, URL, True, 5),
                *(Pointer(Guid(f"{i:08x}-0000-4000-8000-000000000001"), DERIVED) for i in MANY),
            ],
            f"1001 pointers lead to {DERIVED}",
        ),
    ],
)  # fmt: skip
def test_each_violation_is_reported(entries, violation):
    assert violation in list(violations(whole(entries, last_stamp=50)))


def test_sound_entries_have_no_violations():
    assert list(violations(whole([SOUND, Pointer(DERIVED, OTHER, 6)], last_stamp=6))) == []


def test_wrong_counts_are_reported():
    miscounted = replace(whole([SOUND, Pointer(DERIVED, OTHER)], 5), counts=Counts(1, 2, 2))
    assert list(violations(miscounted)) == [
        "the stored counts of the list are Counts(subscribed=1, announced=2, entries=2),"
        " but it has Counts(subscribed=1, announced=1, entries=2)"
    ]
