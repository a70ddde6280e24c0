"""Content of the rows of a list, as pure functions."""

import pytest
from hypothesis import given
from hypothesis.strategies import text

from feedkeep import model
from feedkeep.model import Stamp, Subscription, replace
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Headline
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.web import rows
from feedkeep.web.rows import Checking, Filter, Order, checking, folded, row_of

NOW = Stamp(100 * DAY_US)
A, B, C = "https://a.example/feed", "https://b.example/feed", "https://c.example/feed"
NAME = "a.example/feed"


def headline(url, title="", **fields):
    return Headline(parse_feed_url(url).guid, title, **fields)


def feed(url, is_subscribed=True, stamp=1):
    guid, changed = parse_feed_url(url).guid, Stamp(stamp)
    return Subscription(guid, url, is_subscribed, changed, status_changed=changed)


def snapshot(*entries):
    by_guid = {entry.guid: entry for entry in entries}
    return model.Snapshot(by_guid, Stamp(9), Stamp(9), model.Counts(), limits=model.Limits(9, 99))


def row(url, known=None):
    return row_of(feed(url), known, NOW)


def labels(folders):
    guids = {url: parse_feed_url(url).guid for url in folders}
    return Labels({url: model.FeedLabel(guids[url], "", one) for url, one in folders.items()})


def listed(whole, known=None, page=1, **options):
    asked = {"show": Filter.SUBSCRIBED, "order": Order.TITLE, "words": "", **options}
    return rows.listing(whole, known or {}, NOW, apart=(), page=page, **asked)


def rows_of(found):
    return [row for group in found.groups for row in group.rows]


# C3.18
def test_row_of_a_feed_with_an_impossible_host_is_withheld_while_subscribed():
    impossible = "https://feeds..example.org/feed"
    assert row(impossible).is_withheld
    assert not row_of(feed(impossible, is_subscribed=False), None, NOW).is_withheld
    assert not row(A).is_withheld


@pytest.mark.parametrize(
    ("url", "title", "host", "letter"),
    [
        ("https://www.a.example/feed/", "a.example/feed", "a.example", "A"),
        ("HTTP://B.example:8080/x?y", "B.example:8080/x?y", "b.example", "B"),
        ("https://user@c.example", "c.example", "c.example", "C"),
        ("https://[::1]/feed", "[::1]/feed", "::1", "1"),
        ("https://ünï.example", "ünï.example", "ünï.example", "Ü"),
        ("https://ß.example", "ß.example", "ß.example", "S"),
        ("https://...", "...", "...", "?"),
    ],
)
def test_a_row_is_called_by_its_address_and_has_the_first_letter(url, title, host, letter):
    found = row(url)
    assert (found.title, found.host, found.letter) == (title, "", letter)
    assert row(url, headline(url, "Zebras")).host == host


def test_all_feeds_of_a_host_have_one_colour():
    urls = [f"https://{www}a.example/{n}" for www in ("", "www.") for n in range(5)]
    assert len({row(url).colour for url in urls}) == 1
    assert len({row(f"https://{n}.example").colour for n in range(50)}) > 4


def test_a_long_list_has_pages_and_the_last_one_is_the_last():
    feeds = [feed(f"https://{n:05}.example", stamp=n) for n in range(rows.ROWS_ON_A_PAGE + 1)]
    whole = snapshot(*feeds)

    def page(number):
        found = listed(whole, page=number)
        return len(rows_of(found)), found.page, found.pages

    assert page(0) == page(1) == (rows.ROWS_ON_A_PAGE, 1, 2)
    assert page(2) == page(7) == (1, 2, 2)
    newest = listed(whole, order=Order.ADDED)
    assert rows_of(newest)[0].since == rows.ROWS_ON_A_PAGE


def test_feeds_are_sorted_by_their_newest_episode_and_those_without_one_come_last():
    known = {B: headline(B, "B", newest=Stamp(NOW - DAY_US)), C: headline(C, "C", newest=Stamp(1))}
    whole = snapshot(*map(feed, (A, B, C)))
    for order, titles in ((Order.EPISODE, ["B", "C", NAME]), (Order.SILENT, ["C", "B", NAME])):
        assert [row.title for row in rows_of(listed(whole, known, order=order))] == titles


def test_a_feed_without_an_episode_for_a_year_is_silent():
    for days in (rows.SILENT_DAYS, rows.SILENT_DAYS + 1):
        known = headline(A, newest=Stamp(NOW - days * DAY_US))
        assert row(A, known).is_silent is (days > rows.SILENT_DAYS)
    assert not row(A, headline(A)).is_silent


def test_feeds_are_sorted_by_title_whatever_its_capitals_and_accents():
    titles = {A: "Émile", B: "zebra", C: "Über uns"}
    known = {url: headline(url, title) for url, title in titles.items()}
    found = rows_of(listed(snapshot(*map(feed, titles)), known))
    assert [row.title for row in found] == ["Émile", "Über uns", "zebra"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("radio", [A]),
        ("RADIO Night", [A]),
        ("nîght", [A]),
        ("a.example", [A]),
        ("gesprach", [A]),
        ("b.example feed", [B]),
        ("nowhere", []),
    ],
)
def test_feeds_are_found_by_words_of_title_latest_episode_and_host(words, found):
    known = headline(A, "The Night Radio", newest=NOW, newest_title="Ein Gespräch")
    rows = rows_of(listed(snapshot(feed(A), feed(B)), {A: known}, words=words))
    assert [row.guid for row in rows] == [parse_feed_url(url).guid for url in found]
    assert row(A, known).episode == "Ein Gespräch"
    assert row_of(feed(A, is_subscribed=False), known, NOW).episode == ""


def test_groups_follow_their_outer_folder_and_no_folder_is_last():
    folders = {A: "News / Daily", B: "Newspapers", C: "news"}
    whole = snapshot(*map(feed, (*folders, "https://d.example/feed")))
    found = listed(whole, labels=labels(folders), order=None)
    assert found.order is Order.FOLDER
    assert [group.folder for group in found.groups] == ["news", "News / Daily", "Newspapers", ""]
    assert found.folders == ["News", "news", "News / Daily", "Newspapers"]


def test_group_that_continues_on_the_next_page_counts_all_its_rows():
    urls = [f"https://{number:05}.example" for number in range(rows.ROWS_ON_A_PAGE + 2)]
    given = labels({urls[0]: "A", **dict.fromkeys(urls[1:-1], "B")})
    whole = snapshot(*map(feed, urls))

    def page(number, folder=""):
        found = listed(whole, page=number, labels=given, order=None, folder=folder)
        return [
            (group.folder, group.total, len(group.rows), [at for at, _ in group.numbered()][:1])
            for group in found.groups
        ]

    most = rows.ROWS_ON_A_PAGE - 1
    assert page(1) == [("A", 1, 1, [0]), ("B", most + 1, most, [1])]
    assert page(2) == [("B", most + 1, 1, [0]), ("", 1, 1, [1])]
    assert page(1, rows.NO_FOLDER) == [(None, 1, 1, [0])]


def test_folders_of_a_form_are_bounded_and_have_the_shown_one():
    urls = [f"https://{number}.example" for number in range(rows.FOLDERS_SHOWN + 9)]
    given = labels({url: f"Folder {number:04}" for number, url in enumerate(urls)})
    whole = snapshot(*map(feed, urls))
    found = listed(whole, labels=given, order=None, folder="Folder 0208")
    assert len(found.folders) == rows.FOLDERS_SHOWN + 1
    assert found.folders[0] == found.groups[0].folder == "Folder 0208"


def test_listing_folds_each_folder_once(monkeypatch):
    urls = [f"https://{number}.example" for number in range(9)]
    given = labels({url: f"Ä / B / C / {number // 2}" for number, url in enumerate(urls)})
    texts: list[str] = []

    def noted(text):
        texts.append(text)
        return folded(text)

    monkeypatch.setattr(rows, "folded", noted)
    found = listed(snapshot(*map(feed, urls)), labels=given, order=None)
    assert found.folders[:4] == ["Ä", "Ä / B", "Ä / B / C", "Ä / B / C / 0"]
    folders = [text for text in texts if "Ä" in text]
    assert len(folders) == len(set(folders)) == 5


@given(text())
def test_what_was_folded_stays_as_it_is_and_has_no_capitals(title):
    assert folded(folded(title)) == folded(title)
    assert folded(title).lower() == folded(title)


def test_accents_and_sharp_s_do_not_matter():
    words = [folded(word) for word in ("Übermedien", "Straße", "ﬁn", "İ")]
    assert words == ["ubermedien", "strasse", "fin", "i"]


def test_a_row_has_the_picture_of_its_feed_under_an_address_that_changes_with_it():
    guid = parse_feed_url(A).guid
    assert row(A, headline(A, picture="0123456789")).picture == f"/pictures/{guid}?01234567"
    assert row(A, headline(A)).picture == row(A).picture == ""
    assert row(A, headline(A, picture="x onerror=alert(1)")).picture == ""


def test_feeds_that_fail_and_those_that_may_be_there_twice_are_counted_and_listed():
    fails = {"failing": Stamp(NOW - 2 * DAY_US), "failure": model.Failure.GONE}
    gone = "https://gone.example"
    known = {url: headline(url, podcast_guid="1") for url in (B, C)}
    known |= {url: headline(url, **fails) for url in (A, gone)}
    whole = snapshot(feed(A), feed(B), feed(C), feed(gone, is_subscribed=False))
    for show, urls in (
        (Filter.FAILING, [A]),
        (Filter.TWICE, [B, C]),
        (Filter.SUBSCRIBED, [A, B, C]),
        (Filter.UNSUBSCRIBED, [gone]),
    ):
        found = listed(whole, known, show=show)
        assert (found.failing, found.twice) == (1, 2)
        assert [row.guid for row in rows_of(found)] == [parse_feed_url(url).guid for url in urls]


def test_the_first_look_is_awaited_at_feeds_that_were_added_since_yesterday():
    personal = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
    news = [replace(feed(url), first_had=NOW) for url in (A, B, personal)]
    gone = replace(feed(C, is_subscribed=False), first_had=NOW)
    old = [replace(feed(f"{A}/{had}"), first_had=had) for had in (Stamp(0), Stamp(NOW - DAY_US))]
    feeds, known = [*news, gone, *old], {A: headline(A, is_looked_at=True), B: headline(B)}
    assert checking(feeds, known, model.Fetch.PUBLIC, NOW) == Checking(1, 2)
    assert checking(feeds, known, model.Fetch.ALL, NOW) == Checking(1, 3)
    assert checking(feeds, known, model.Fetch.OFF, NOW) is None
    assert checking([news[0], gone, *old], known, model.Fetch.PUBLIC, NOW) is None
