"""Effects of importing a list."""

from dataclasses import replace

from feedkeep.formats.listed_feed import INSIDE, LEFT, TWICE, ListedFeed, plan_import
from feedkeep.model import Counts, Guid, Limits, Pointer, Snapshot, Stamp, Subscription
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import add


def feed(url: str, is_subscribed: bool = True) -> Subscription:
    stamp = Stamp(1)
    return Subscription(parse_feed_url(url).guid, url, is_subscribed, stamp, status_changed=stamp)


def test_plan_sorts_feeds_and_uses_each_once():
    old = Guid("00000000-0000-4000-8000-000000000001")
    known, gone = feed("https://known.example"), feed("https://gone.example", is_subscribed=False)
    entries = {one.guid: one for one in (known, gone, Pointer(old, known.guid, Stamp(1)))}
    whole = Snapshot(entries, Stamp(9), Stamp(9), Counts(), limits=Limits(9, 99))
    feeds = [
        ListedFeed(0, "https://known.example/", None),  # the same feed
        ListedFeed(1, "https://gone.example", None),
        ListedFeed(2, "https://new.example", None, doubt=LEFT),
        ListedFeed(3, "http://new.example#x", None),
        ListedFeed(4, "https://known.example", old),
        ListedFeed(5, "ftp://x", None),
        ListedFeed(6, "", None, title="Some words"),
    ]
    plan = plan_import(feeds, add(whole, [one.wanted() for one in feeds]).outcome)
    assert [one.number for one in plan.new] == [1, 2]
    assert [one.number for one in plan.sure] == [1]
    assert [one.number for one in plan.known] == [0]
    assert [one.number for one, _ in plan.refused] == [5, 6]
    assert [(one.seen, why) for one, why in plan.dropped[2:]] == [
        ("http://new.example#x", TWICE), ("https://known.example", TWICE),
    ]  # fmt: skip


def test_plan_does_not_doubt_a_feed_inside_another_that_is_also_elsewhere():
    whole = Snapshot({}, Stamp(9), Stamp(9), Counts(), limits=Limits(9, 99))
    inside = ListedFeed(1, "https://new.example", None, doubt=INSIDE)
    feeds = [inside, replace(inside, number=2, doubt=None)]
    plan = plan_import(feeds, add(whole, [one.wanted() for one in feeds]).outcome)
    assert ([one.number for one in plan.sure], [one.number for one in plan.twice]) == ([1], [2])
