"""Notices to the owner of a list, including silent apps; as pure functions."""

import pytest
from kept_account import A, guid

from feedkeep import model
from feedkeep.model import AccountId, Entry, Guid, Pointer, Stamp, Subscription, TokenId, replace
from feedkeep.rules import notices as rules
from feedkeep.rules.apps import SILENT_DAYS, AppKind, AppUse, ConnectedApp, fallen_silent
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_labels import NO_LABELS
from feedkeep.rules.feed_names import Headline
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange
from feedkeep.rules.mass_unsubscribes import MassUnsubscribe
from feedkeep.rules.notices import Notice, NoticeKind, app_key, granted_keys, newest, of_list
from feedkeep.rules.seconds import second_of
from feedkeep.service.history import ListedChanges
from feedkeep.web.apps import shown_app

KINDS = model.CredentialKind
NOW = Stamp(1_000 * DAY_US)
OWN = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"


def ago(days: int) -> Stamp:
    return Stamp(NOW - days * DAY_US)


def feed(url: str, *, is_subscribed: bool = True) -> Subscription:
    return Subscription(guid(url), url, is_subscribed, Stamp(1))


def whole(*entries: Entry) -> model.Snapshot:
    return model.Snapshot({entry.guid: entry for entry in entries}, 9, 9, model.Counts())


def app(number: int, used: int | None, created: int = 1, **fields: object) -> ConnectedApp:
    times = (ago(created), None if used is None else ago(used))
    one = ConnectedApp([TokenId(number)], "phone", AppKind.TOKEN, *times, model.Scope.WRITE)
    return replace(one, **fields)


def told(*notices: Notice) -> list[tuple[NoticeKind, str]]:
    return [(notice.kind, notice.name) for notice in notices]


def test_app_is_news_once_it_was_used_and_when_it_falls_silent():
    apps = [app(1, 0), app(2, None), app(3, SILENT_DAYS, 99, name="tablet")]
    found = newest(of_list(whole(), {}, NO_LABELS, apps, NOW), NOW)
    assert told(*found) == [(NoticeKind.SILENT, "tablet"), (NoticeKind.NEW_APP, "phone")]
    assert [notice.at for notice in found] == [NOW, ago(1)]
    known = [app_key(one) for one in apps]
    assert told(*newest(found, NOW, known=known)) == [(NoticeKind.SILENT, "tablet")]


def test_granted_app_is_known_to_the_browser_that_granted_it_in_time():
    apps = [app(number, 0, kind=kind) for number, kind in enumerate(AppKind)]
    [own] = [one for one in apps if one.kind is AppKind.NEXTCLOUD]
    second = second_of(own.created)

    def known(seconds_before, account=1, label="phone"):
        marks = rules.with_grant("", AccountId(account), label, second - seconds_before)
        return granted_keys(apps, AccountId(1), marks, 9)

    assert known(0) == known(9) == [app_key(own)]
    assert known(-1) == known(10) == known(0, account=2) == known(0, label="tablet") == []


def test_browser_remembers_a_few_grants_and_ignores_what_is_no_mark():
    one = app(1, 0, kind=AppKind.NEXTCLOUD)
    marks = "x.y-9" * 99
    for _ in range(rules.MAX_GRANTS):
        marks = rules.with_grant(marks, AccountId(1), "phone", second_of(one.created))
    assert len(marks.split("-")) == rules.MAX_GRANTS
    assert set(granted_keys([one], AccountId(1), marks, 9)) == {app_key(one)}
    for odd in ("", "-", "x.y-9" * 99, "9" * 12 + "." + "0" * 32, "²." + "0" * 32):
        assert granted_keys([one], AccountId(1), odd, 9) == []


def test_app_with_the_account_s_password_is_known_by_its_name_alone():
    names = [f"AntennaPod/3.{number}.0" for number in range(3)]
    assert len({app_key(app(1, 0, kind=AppKind.PASSWORD, name=name)) for name in names}) == 1
    assert app_key(app(1, 0)) != app_key(app(2, 0))


def test_feed_is_news_that_was_not_readable_for_a_week_and_never_by_a_secret_address():
    failing = Headline(guid(A), failing=ago(rules.UNREADABLE_DAYS + 1))
    gone = feed("https://gone.example", is_subscribed=False)
    known = {A: replace(failing, title="Night Radio"), OWN: failing, gone.feed_url: failing}
    known["https://well.example"] = Headline(guid(A))
    feeds = [feed(A), feed(OWN), gone, feed("https://well.example"), feed("https://new.example")]
    found = newest(of_list(whole(*feeds), known, NO_LABELS, [], NOW), NOW)
    names = ("Night Radio", "members.example")
    assert sorted(told(*found)) == [(NoticeKind.UNREADABLE, name) for name in names]
    recent = {A: Headline(guid(A), failing=ago(rules.UNREADABLE_DAYS - 1))}
    assert newest(of_list(whole(feed(A)), recent, NO_LABELS, [], NOW), NOW) == []


def test_move_is_news_if_feedkeep_followed_it():
    authors = {"us": model.Author(KINDS.FEEDKEEP), "you": model.Author(KINDS.BROWSER, TokenId(1))}
    moved = FeedChange(ChangeKind.MOVED, Guid("1"), A, "https://old.example")
    added = FeedChange(ChangeKind.ADDED, Guid("2"), A)
    changes = [
        ListChange(ago(1), "you", [moved]),
        ListChange(ago(2), "us", [moved, added]),
        ListChange(ago(3), "", [moved]),
    ]
    found = list(rules.of_changes(changes, authors, {A: "Night Radio"}))
    assert told(*found) == [(NoticeKind.MOVED, "Night Radio")]
    assert found[0].at == ago(2)


def test_only_a_list_with_another_address_of_a_feed_may_have_one_that_moved():
    pointer = Pointer(Guid("1"), Guid("2"))
    assert not rules.may_have_moved(whole(feed(A), pointer))
    former = replace(pointer, alias=model.Alias("https://old.example", moved_away=True))
    assert rules.may_have_moved(whole(feed(A), former))


def test_news_is_what_came_since_it_was_seen_in_the_last_days_and_bounded():
    feeds = [FeedChange(ChangeKind.UNSUBSCRIBED, Guid(str(n)), A) for n in range(3)]
    wipes = [
        rules.of_mass_unsubscribe(MassUnsubscribe([ago(days)], "", feeds), "Kasts")
        for days in range(rules.TOLD_DAYS + 5)
    ]
    found = newest(wipes, NOW)
    assert [notice.at for notice in found] == [ago(days) for days in range(rules.TOLD_DAYS)]
    assert (found[0].name, found[0].count) == ("Kasts", 3)
    assert newest(wipes, NOW, since=ago(2)) == found[:2]
    assert newest([replace(found[0], at=ago(-1))], NOW) == []
    assert len(newest([replace(found[0], key=str(n)) for n in range(99)], NOW)) == rules.MAX_NOTICES


@pytest.mark.parametrize(
    ("days_ago", "silent"),
    [
        ([0, SILENT_DAYS], [2]),
        ([0, SILENT_DAYS - 1], []),
        ([0, None], []),
        ([SILENT_DAYS, SILENT_DAYS + 9], []),
        ([99, 1, 99], [1, 3]),
        ([], []),
    ],
)
def test_app_is_silent_that_was_not_used_for_weeks_while_another_one_was(days_ago, silent):
    apps = [app(number, days) for number, days in enumerate(days_ago, 1)]
    assert [one.ids[0] for one in fallen_silent(apps, NOW)] == silent


def changed(stamp: int, author: str, count: int) -> ListChange:
    feeds = [
        FeedChange(ChangeKind.ADDED, Guid(str(number)), f"https://{number}.example")
        for number in range(count)
    ]
    return ListChange(Stamp(stamp), author, feeds)


def test_card_tells_the_last_change_that_an_app_has_sent_and_its_name_without_a_version():
    authors = {
        "browser": model.Author(KINDS.BROWSER, TokenId(1)),
        "phone": model.Author(KINDS.TOKEN, TokenId(1)),
        "other": model.Author(KINDS.SESSION, TokenId(2)),
    }
    changes = [changed(9, "browser", 1), changed(8, "other", 2), changed(7, "phone", 3)]
    changes += [changed(6, "phone", 4), changed(5, "", 1)]
    listed = ListedChanges(changes, authors, Stamp(0), has_more=False)
    named = {"name": "AntennaPod/3.9.0", "used_by": [AppUse("Kasts/24.02", None)]}
    shown = shown_app(app(1, None, kind=AppKind.NEXTCLOUD, **named), listed)
    assert (shown.name, shown.sent, shown.sent_at) == ("AntennaPod", 3, 7)
    assert shown.uses == [AppUse("Kasts", None)]
    assert shown_app(app(3, 0), listed).sent_at is None
