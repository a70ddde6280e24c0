"""What the owner of a list is told; as pure functions."""

from feedkeep.model import (
    AccountId,
    Alias,
    Author,
    Counts,
    CredentialKind,
    Entry,
    Guid,
    Pointer,
    Scope,
    Snapshot,
    Stamp,
    Subscription,
    TokenId,
    replace,
)
from feedkeep.rules.apps import SILENT_DAYS, AppKind, ConnectedApp
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_labels import NO_LABELS
from feedkeep.rules.feed_names import Headline
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange
from feedkeep.rules.mass_unsubscribes import MassUnsubscribe
from feedkeep.rules.notices import (
    MAX_GRANTS,
    MAX_NOTICES,
    TOLD_DAYS,
    UNREADABLE_DAYS,
    Notice,
    NoticeKind,
    app_key,
    granted_keys,
    may_have_moved,
    newest,
    of_changes,
    of_list,
    of_mass_unsubscribe,
    with_grant,
)
from feedkeep.rules.seconds import second_of

NOW = Stamp(1_000 * DAY_US)
A, OWN = "https://a.example/feed", "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"


def ago(days: int) -> Stamp:
    return Stamp(NOW - days * DAY_US)


def feed(url: str, *, is_subscribed: bool = True) -> Subscription:
    return Subscription(parse_feed_url(url).guid, url, is_subscribed, Stamp(1))


def whole(*entries: Entry) -> Snapshot:
    return Snapshot({entry.guid: entry for entry in entries}, Stamp(9), Stamp(9), Counts())


def app(number: int, used: int | None, created: int = 1, **fields: object) -> ConnectedApp:
    last_used = None if used is None else ago(used)
    one = ConnectedApp(
        [TokenId(number)], "phone", AppKind.TOKEN, ago(created), last_used, Scope.WRITE
    )
    return replace(one, **fields)


def told(*notices: Notice) -> list[tuple[NoticeKind, str]]:
    return [(notice.kind, notice.name) for notice in notices]


def test_an_app_is_news_once_it_was_used_and_when_it_falls_silent():
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
        marks = with_grant("", AccountId(account), label, second - seconds_before)
        return granted_keys(apps, AccountId(1), marks, 9)

    assert known(0) == known(9) == [app_key(own)]
    assert known(-1) == known(10) == known(0, account=2) == known(0, label="tablet") == []


def test_browser_remembers_a_few_grants_and_ignores_what_is_no_mark():
    one = app(1, 0, kind=AppKind.NEXTCLOUD)
    marks = "x.y-9" * 99
    for _ in range(MAX_GRANTS):
        marks = with_grant(marks, AccountId(1), "phone", second_of(one.created))
    assert len(marks.split("-")) == MAX_GRANTS
    assert set(granted_keys([one], AccountId(1), marks, 9)) == {app_key(one)}
    for odd in ("", "-", "x.y-9" * 99, "9" * 12 + "." + "0" * 32, "²." + "0" * 32):
        assert granted_keys([one], AccountId(1), odd, 9) == []


def test_an_app_with_the_account_s_password_is_known_by_its_name_alone():
    keys = {
        app_key(app(number, 0, kind=AppKind.PASSWORD, name=f"AntennaPod/3.{number}.0"))
        for number in range(3)
    }
    assert len(keys) == 1
    assert app_key(app(1, 0)) != app_key(app(2, 0))


def test_a_feed_is_news_that_was_not_readable_for_a_week_and_never_by_a_secret_address():
    guid = parse_feed_url(A).guid
    known = {
        url: Headline(guid, title, failing=ago(UNREADABLE_DAYS + 1))
        for url, title in ((A, "Night Radio"), (OWN, ""))
    }
    gone = feed("https://gone.example", is_subscribed=False)
    known[gone.feed_url] = Headline(gone.guid, failing=ago(9))
    known["https://well.example"] = Headline(guid)
    feeds = [feed(A), feed(OWN), gone, feed("https://well.example"), feed("https://new.example")]
    found = newest(of_list(whole(*feeds), known, NO_LABELS, [], NOW), NOW)
    assert sorted(told(*found)) == [
        (NoticeKind.UNREADABLE, "Night Radio"),
        (NoticeKind.UNREADABLE, "members.example"),
    ]
    recent = {A: Headline(guid, failing=ago(UNREADABLE_DAYS - 1))}
    assert newest(of_list(whole(feed(A)), recent, NO_LABELS, [], NOW), NOW) == []


def test_a_move_is_news_if_feedkeep_followed_it():
    authors = {
        "us": Author(CredentialKind.FEEDKEEP),
        "you": Author(CredentialKind.BROWSER, TokenId(1)),
    }
    moved = FeedChange(ChangeKind.MOVED, Guid("1"), A, "https://old.example")
    added = FeedChange(ChangeKind.ADDED, Guid("2"), A)
    changes = [
        ListChange(ago(1), "you", [moved]),
        ListChange(ago(2), "us", [moved, added]),
        ListChange(ago(3), "", [moved]),
    ]
    found = list(of_changes(changes, authors, {A: "Night Radio"}))
    assert told(*found) == [(NoticeKind.MOVED, "Night Radio")]
    assert found[0].at == ago(2)


def test_only_a_list_with_another_address_of_a_feed_may_have_one_that_moved():
    assert not may_have_moved(whole(feed(A), Pointer(Guid("1"), Guid("2"))))
    alias = Alias("https://old.example", moved_away=True)
    assert may_have_moved(whole(feed(A), Pointer(Guid("1"), Guid("2"), alias=alias)))


def test_news_is_what_came_since_it_was_seen_in_the_last_days_and_bounded():
    feeds = [FeedChange(ChangeKind.UNSUBSCRIBED, Guid(str(n)), A) for n in range(3)]
    wipes = [
        of_mass_unsubscribe(MassUnsubscribe([ago(days)], "", feeds), "Kasts")
        for days in range(TOLD_DAYS + 5)
    ]
    found = newest(wipes, NOW)
    assert [notice.at for notice in found] == [ago(days) for days in range(TOLD_DAYS)]
    assert (found[0].name, found[0].count) == ("Kasts", 3)
    assert newest(wipes, NOW, since=ago(2)) == found[:2]
    assert newest([replace(found[0], at=ago(-1))], NOW) == []
    assert len(newest([replace(found[0], key=str(n)) for n in range(99)], NOW)) == MAX_NOTICES
