"""Sync of apps that know feeds by URL only: their downloads and their uploads."""

import re
from collections import defaultdict
from unittest.mock import Mock
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kept_account import G1, G2, A, Account, B, C, D, guid

from feedkeep.model import Limits, OwnUpload, Snapshot, Stamp, Subscription, SyncProgress, replace
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput
from feedkeep.rules import escaped_urls, subscriptions, url_changes, url_lists
from feedkeep.rules.app_urls import MAX_APP_URLS, UNKNOWN, AppUrls
from feedkeep.rules.echoes import Echoes
from feedkeep.rules.escaped_urls import EscapedUrls, without_escapes
from feedkeep.rules.feed_urls import parse_feed_url, trimmed
from feedkeep.rules.subscriptions import Added, Wanted
from feedkeep.rules.url_changes import changes_to_send, without_own
from feedkeep.rules.url_lists import differences, parse_added, parse_removed, whole_list

ESCAPED = "https://a.example/users%3A1/x%20y.xml"
DECODED = "https://a.example/users:1/x y.xml"
COLONS = "https://b.example/users%3A1/sounds.rss"
NO_COLONS = COLONS.replace("%3A", ":")
IMPOSSIBLE = "https://feeds..example.org/feed"
NAMES = {"a": A, "b": B, "c": C, "d": D, "1": G1, "2": G2, "escaped": ESCAPED, "decoded": DECODED}
NAMES |= {"colons": COLONS, "plain": NO_COLONS, "impossible": IMPOSSIBLE}
"""URLs and guids of the stories, which may also name a URL by itself."""


def account_with(*feeds: str) -> Account:
    """Return an account with feeds, such as `a`, or `a@1` with a guid of its own.

    Lists from before may have URLs that are refused now.
    """
    pairs = [feed.partition("@") for feed in feeds]
    urls = [(NAMES.get(name, name), NAMES.get(number)) for name, _, number in pairs]
    account = Account(now=0)
    wanted = [Wanted(url, parse_feed_url(url), own) for url, own in urls]
    account.do(subscriptions.add, wanted)
    return account


class App:
    """An app that knows URLs only, with what the account has learned of it."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.spellings = UNKNOWN
        self.first = 0

    def polls(self, *, is_from_nothing: bool = False) -> tuple[list[str], list[str]]:
        """Return the feeds to add and to remove since the app's last poll."""
        entries, first = self.account.entries.values(), self.first
        found = changes_to_send(entries, first, self.spellings, is_from_nothing=is_from_nothing)
        self.spellings, self.first = found.app, self.account.last_stamp + 1
        return sorted(found.add), sorted(found.remove)

    def begins(self) -> tuple[list[str], list[str]]:
        self.first = 0
        return self.polls(is_from_nothing=True)

    def sends(self, added: list[str], removed: list[str]) -> list[str]:
        """Upload changes; return the stored URL of each that was added, or why it was refused."""
        items, known = [parse_added(url) for url in added], escaped(self.account)
        urls, _ = parse_removed(removed, known)
        synced = self.account.do(url_lists.upload, items, urls, self.spellings, escaped=known)
        self.spellings = synced.app
        return [
            item.subscription.feed_url if isinstance(item, Added) else item.message
            for item in synced.results
        ]

    def puts(self, *urls: str) -> None:
        """Send the whole list."""
        known, wanted = escaped(self.account), whole_list(urls)
        synced = self.account.do(url_lists.replace_list, wanted, self.spellings, escaped=known)
        self.spellings = synced.app

    def does(self, verb: str, *words: str) -> None:
        """Go through a step of a story: +a is added, -a removed."""
        signed = [(word[0], NAMES.get(word[1:], word[1:])) for word in words]
        changes = tuple(sorted(url for sign, url in signed if sign == one) for one in "+-")
        match verb:
            case "sends":
                self.sends(*changes)
            case "puts":
                self.puts(*(NAMES.get(word, word) for word in words))
            case "restarts":
                self.first = 0
            case "polls":
                assert self.polls() == changes, words
            case "begins":
                found = self.begins()
                assert not words or found == changes, words


def escaped(account: Account) -> EscapedUrls:
    """Return an account's URLs with escapes, like a store."""
    aliases = [entry.alias for entry in account.entries.values() if entry.alias]
    feeds = [entry for entry in account.entries.values() if isinstance(entry, Subscription)]
    urls = [*(feed.feed_url for feed in feeds), *(alias.url for alias in aliases)]
    return EscapedUrls(url for url in urls if "%" in url)


def sync(account: Account, added: list[str], removed: list[str]) -> list[str]:
    return App(account).sends(added, removed)


def whole(account: Account) -> Snapshot:
    return replace(account.snapshot(), limits=Limits(20, 100))


def changes(account: Account) -> tuple[list[str], list[str]]:
    return App(account).polls()


def subscribed(account: Account) -> list[str]:
    """Return the URLs that a new app is sent."""
    return App(account).begins()[0]


STORIES = """
What is subscribed is added; what is unsubscribed or deleted is removed
    a b c: new sends -b, delete c, new polls +a -b -c
What is added is not removed by other escapes: Kasts decodes both, and would remove it again
    https://a.example/user:1 b: new sends -https://a.example/user:1 -b,
    new sends +http://a.example/user%3A1, new polls +http://a.example/user%3A1 -b
App that has the feed is sent no move
    a: phone begins, move a b, move a c, phone polls
App that begins after a move is sent the present URL and goes on with it, whatever it has heard
    a: move a b, phone begins +b, phone restarts, phone polls +b
App that may be older than a move is sent the URL from before it
    a: move a b, move b c, new polls +a
    a: move a b, move b a, new polls +a
App that missed an unsubscription and a subscription goes on with the URL that it has
    a: phone begins, move a b, off a, on a, phone polls +a, phone sends -a, has
    a: phone begins, move a b, off a, on a, move b c, phone polls +a, phone sends -a, has
App that was sent the removal of every URL goes on with the one that it is sent then
    a: phone begins, move a b, off a, phone polls -a -b, on a, phone polls +b, move b c,
    phone polls, phone sends -b, has
    a: phone begins, move a b, off a, phone polls -a -b, on a, move b c, phone polls +c,
    phone sends -c, has
Deleting a feed removes all its URLs, also other texts of one: apps compare these
    http://a.example: move http://a.example https://a.example/, move http://a.example b,
    delete http://a.example, new polls -http://a.example -https://a.example/ -b
Move that apps are notified of adds a URL and removes all old ones, which AntennaPod sends back
    a: phone begins, move a b, notify b c, phone polls +c -a -b, phone polls, new begins +c,
    phone sends -a -b, has c
    a: phone begins, move a b, phone polls, notify a b, phone polls +b -a
Merge is sent to no app
    a b: phone begins, merge a b, phone polls
After a merge with an unsubscribed feed, apps go on with the URL of the other one
    a b: phone begins, phone sends -a, phone polls -a, merge a b, phone polls, new polls +b
    a b: phone begins, phone sends -b, phone polls -b, merge a b, phone polls, new polls +a
Merge of two unsubscribed feeds removes both
    a b: phone begins, new sends -a, phone polls -a, new sends -b, merge a b, phone polls -a -b
Subscribing to a subscribed feed is no change
    a: phone begins, add a, phone polls
App that begins with nothing has nothing to remove
    a b: new sends -b, new begins +a
Deleted feed comes back by its own URL once a former one is another feed
    a@1: move a b, delete 1, new sends +a, new sends +b, new polls +a +b
Any spelling of a URL unsubscribes from its feed
    https://a.example/feed/: new sends -http://A.example/feed#top,
    new polls -https://a.example/feed/
App that knows only the former URL unsubscribes with it
    a: phone begins, tablet begins, move a b, phone sends -a, has, tablet polls -a -b
App that began after a move adds the feed by its present URL and unsubscribes with it
    a: move a b, new sends -b, phone begins, phone sends +b, phone sends -b, has
    a: notify a b, new sends -b, phone begins, phone sends +b, phone sends -b, has
App that was sent the present URL and has the former one, too, can remove that as a duplicate
    a: move a b, phone begins +b, phone sends +a, phone sends -a, has b, phone sends -b, has
App that has both URLs can remove either, and unsubscribes with the other one
    a: phone begins, move a b, phone sends +b, phone sends -a, has b, phone sends -b, has
    a: phone begins, move a b, phone sends +b, phone sends -b, has b, phone sends -a, has
    a: phone begins, move a b, phone sends +b, phone sends -a -b, has
App that follows a move by itself stays subscribed, whether it uploads that or not
    a: phone begins, move a b, phone sends +b -a, has b, phone polls, phone sends -b, has
    a: phone begins, move a b, phone sends -b, has
Removal that an app was sent and sends back unsubscribes from nothing
    a: phone begins, move a b, off a, phone polls -a -b, on a, phone sends -a, has b
App that had both feeds of a merge can remove either, and unsubscribes with the other one
    a b: phone begins, merge a b, phone sends -a, has a, phone sends -b, has
    a b: phone begins, merge a b, phone sends -b, has a, phone sends -a, has
    a@1 b@2: phone begins, merge 1 2, phone sends -a, has a
App that begins after a merge unsubscribes with the one URL that it was sent
    a b: merge a b, phone begins +a, phone sends -a, has
App that may have had both feeds of a merge is sent the other one, and can remove that
    a: phone begins, new sends +b, merge a b, phone sends -a, phone polls +b, phone sends -b, has
App that adds the URL that apps are notified of may still have the one from before
    a: phone begins, notify a b, phone sends +b, phone sends -b, has b
    a: phone begins, notify a b, delete a, phone sends +b, phone sends -b, has b
    a: phone begins, notify a b, notify b a, phone sends +b, phone sends -b, has a
App that has the first URL is sent none of the moves in between
    a: phone begins, notify a b, notify b a, move a b, phone polls +a
URL that was only sent beside the guid of a feed is on no app
    a: beside a b, new sends -a, has
App older than two moves has the first URL and not the one between, also if it adds the last one
    a: phone begins, move a b, move b c, phone sends +c, phone sends -a, has c, phone sends -c, has
App that adds a deleted feed by its first URL unsubscribes with it
    a: move a b, delete a, phone begins, phone sends +a, new polls +a, phone sends -a, has
App unsubscribes with a URL that it adds or is sent, though the deleted feed had another one
    a: move a b, move b c, phone begins, other begins, delete a, phone sends +b,
    phone polls +b -a -c, move b d, phone sends -b, has
    a: move a b, move b c, phone begins, other begins, delete a, other sends +b,
    phone polls +b -a -c, move b d, phone sends -b, has
App that does not know of the end of a feed goes on with the URL that it was sent
    a: move a b, phone begins, delete a, new sends +a, phone polls +b
App that was notified of a move can unsubscribe though the move was undone
    a: phone begins, notify a b, phone polls +b -a, move b a, phone sends -b, has
URL whose derived guid is a pointer by chance unsubscribes from nothing
    a: merge a b, merge b c, new sends -b, has a
URL that is both added and removed is added
    a: new sends +a +b -a -b, new polls +a +b
Refused URL of a whole list may mean any feed, so nothing is unsubscribed
    a b: phone puts c b.example, has a b c
    escaped c: phone puts decoded a, has escaped c a
Text without its one protocol in a whole list is not understood
    a b: phone puts a feeds.opml, has a b
    a b: phone puts a //b.example/feed, has a b
    a b: phone puts a http://https://b.example, has a b
Folder on the phone in a whole list is no feed
    a b: phone puts a antennapod_local:content://music, has a
Removal without the escapes of a feed unsubscribes from it
    escaped colons c: new sends -decoded -plain, has c
    colons c: phone begins, move colons a, phone sends -plain, has c
App that decodes escapes can remove a feed that moved to the URL that it decodes
    colons c: phone begins, move colons plain, off colons, on colons, phone polls +colons,
    phone sends -plain, has c
App that decodes escapes removes a feed from a merge on the second try
    colons plain c: phone begins, merge colons plain, phone sends -plain, phone polls +colons,
    phone sends -plain, has c
Addition without escapes is a feed of its own where the other one is not subscribed
    colons: new sends -colons, new sends +plain, has plain
Escapes say nothing where the URL itself is known, or two feeds fit
    colons plain: new sends -plain, has colons
    colons https://b.example/users%3a1/sounds.rss: new sends -plain,
    has colons https://b.example/users%3a1/sounds.rss
Whole list without escapes keeps the feeds that have them
    colons c: phone puts plain c, has colons c
App keeps the URL that it has of a feed that leaves an impossible host
    a: phone polls +a, move a impossible, move impossible b, phone polls
Feed that leaves an impossible host is sent to apps as new, and from there on as ever
    impossible a: phone polls +a, move impossible b, phone polls +b -impossible, move b c,
    phone polls, has a c
"""


def told(text: str) -> list[object]:
    """Return the stories of a text: each line is one, unless it goes on after a comma."""
    titled = re.findall(r"^(\S.*)\n((?: .*\n)+)", text, re.MULTILINE)
    return [
        pytest.param(story, id=title)
        for title, lines in titled
        for story in re.sub(r",\n +", ", ", lines).strip().split("\n    ")
    ]


def play(story: str) -> Account:
    """Go through a story: the feeds of a list, then what is done and seen, step by step.

    `phone polls` says all that the app is sent; `new` is another app each time. A feed is named by
    its URL or guid; its new URL or guid follows.
    """
    feeds, steps = story.split(": ", 1)
    account = account_with(*feeds.split())
    apps = defaultdict(lambda: App(account))
    for step in steps.split(", "):
        verb, *words = step.split()
        urls = [NAMES.get(word, word) for word in words]
        match verb:
            case "has":
                assert subscribed(account) == sorted(urls), step
            case "move" | "notify":
                account.move(*urls, notify_apps=verb == "notify")
            case "on" | "off":
                account.update(*urls, is_subscribed=verb == "on")
            case "merge" | "delete" | "add":
                getattr(account, verb)(*urls)
            case "beside":
                account.add((urls[1], guid(urls[0])))
            case "new":
                App(account).does(*words)
            case app:
                apps[app].does(*words)
    return account


# C3.18
@pytest.mark.parametrize("story", told(STORIES))
def test_story_of_lists_and_apps(story):
    play(story)


@pytest.mark.parametrize(
    "happens",
    [
        "move a c, merge a b",
        "merge a b, move a c",
        "merge a b, move a b",
        "merge a b, move a b, move b a",
        "merge a b, notify a c",
        "merge a b, new sends -a -b, new sends +a",
        "delete a, move b a",
    ],
)
def test_app_that_had_both_feeds_of_a_merge_removes_a_duplicate_whatever_moved(happens):
    for removed in "ab":
        account = play(f"a b: phone begins, {happens}, phone sends -{removed}")
        assert len(subscribed(account)) == 1


def test_removals_that_an_app_may_send_back_include_those_without_escapes():
    url = "https://a.example/x%3Ay"
    account = account_with(url, "b")
    account.leave(url, B)
    found = changes_to_send(account.entries.values(), Stamp(0), UNKNOWN)
    assert found.removals == {guid(url), guid("https://a.example/x:y"), guid(B)}


def test_too_many_removals_are_not_remembered_one_by_one():
    entries = [
        Subscription(guid(url), url, False, Stamp(1), status_changed=Stamp(1))
        for url in (f"https://{number}.example" for number in range(MAX_APP_URLS + 1))
    ]
    assert changes_to_send(entries, Stamp(0), UNKNOWN).removals is None
    assert len(changes_to_send(entries[1:], Stamp(0), UNKNOWN).removals) == MAX_APP_URLS


def test_app_that_may_have_missed_a_removal_is_sent_it_again_with_the_url_to_add():
    account = account_with("a")
    phone = App(account)
    phone.begins()
    account.move(A, B)
    account.update(A, is_subscribed=False)
    first = phone.first
    phone.polls()
    account.update(A, is_subscribed=True)
    known = phone.spellings
    for later, removed in ((0, []), (1_000_000, [B])):
        echoes = Echoes(Stamp(first + later), frozenset({guid(A)}))
        phone.spellings, phone.first = replace(known, echoes=echoes), first
        assert phone.polls() == ([A], removed)


def test_app_is_not_sent_its_own_changes_unless_they_changed_again():
    account = account_with("a", "b")
    began = account.last_stamp
    sync(account, [C], [B])
    app = SyncProgress(5, 5, [OwnUpload("", 5, began, account.last_stamp)], is_alone=True)

    def told_since(since):
        entries = without_own(account.entries.values(), app, "", since)
        found = changes_to_send(entries, began + 1, UNKNOWN)
        return list(found.add), list(found.remove)

    assert told_since(5) == ([], [])
    assert told_since(4) == ([C], [B])  # a phone that was restored from a backup
    sync(account, [B], [])
    assert told_since(5) == ([B], [])


def test_removing_what_is_not_subscribed_or_not_known_changes_nothing():
    account = account_with("a")
    sync(account, [], [A])
    before = account.last_stamp
    sync(account, [], [A, B])
    assert account.last_stamp == before


def test_invalid_url_does_not_affect_the_others_of_an_upload():
    account = account_with()
    assert sync(account, ["antennapod_local:1", A], [])[1:] == [A]
    assert changes(account) == ([A], [])


def test_nothing_is_remembered_of_an_app_where_no_feed_moved():
    phone = App(account_with("a", "b"))
    phone.begins()
    phone.sends([C], [A])
    phone.puts(B, D)
    assert phone.spellings == UNKNOWN


def test_replacing_a_list_changes_only_what_differs():
    account = account_with("a", "b")
    account.move(B, C)
    wanted = [parse_feed_url(url) for url in (A.replace("https", "http"), D)]
    assert differences(whole(account), wanted) == ([parse_feed_url(D)], [parse_feed_url(C)])
    account.move(B, D)
    account.merge(B, G1)
    assert differences(whole(account), [parse_feed_url(url) for url in (A, B)]) == ([], [])


def kept_as(account: Account, sent: str) -> tuple[str, str]:
    """Add a URL; return it, and the URL that the app is told."""
    item = parse_added(sent)
    [result] = account.do(url_lists.upload, [item], [], escaped=escaped(account)).results
    return url_lists.kept_as(item, result)


@pytest.mark.parametrize(
    ("stored", "sent", "told"),
    [
        ("http://a.example", "https://a.example", "https://a.example"),
        ("http://a.example", " https://A.example/ ", "https://A.example/"),
        ("https://a.example", "http://a.example", "https://a.example"),
        ("http://a.example/feed/", "http://a.example/feed", "http://a.example/feed/"),
        ("https://a.example/feed/", "https://a.example/feed", "https://a.example/feed/"),
        (B, f"antennapod-subscribe://{B}", B),
        (COLONS, NO_COLONS, COLONS),
    ],
)
def test_app_is_told_the_stored_spelling_but_never_http_for_https(stored, sent, told):
    account = account_with(stored)
    assert kept_as(account, sent) == (sent, told)
    assert subscribed(account) == [stored]


def test_whole_list_needs_a_valid_url_unless_it_is_empty():
    assert [url.text for url in whole_list([A, "nonsense"]).urls] == [A]
    assert whole_list([]).urls == []
    for refused in (["nonsense", ""], ["//b.example/feed"], ["http://https://b.example"]):
        with pytest.raises(InvalidInput, match="nothing was changed"):
            whole_list(refused)


def test_app_may_name_a_feed_by_a_link_to_subscribe_in_every_upload():
    account = account_with("a", "b")
    App(account).puts(f"feed:{A}", C.replace("https:", "pcast:"))
    assert subscribed(account) == [A, C]
    assert sync(account, [], [f"itpc://{A}", "feeds.opml"]) == []
    assert subscribed(account) == [C]


def test_url_that_no_list_takes_any_more_can_still_be_removed():
    odd = "http://https://b.example"
    account = account_with("a", odd)
    assert sync(account, [odd], []) == ["Two protocols present: remove the first one."]
    assert changes(account) == ([odd, A], [])
    sync(account, [], [odd])
    assert subscribed(account) == [A]


# C3.18
def test_feed_with_an_impossible_host_is_added_to_no_app_and_stays_until_one_removes_it():
    account = account_with("impossible", "a", "b")
    before = account.subscription(IMPOSSIBLE)
    assert changes(account) == ([A, B], [])
    listed = url_lists.subscribed_for_apps(whole(account))
    assert subscribed(account) == [feed.feed_url for feed in listed] == [A, B]
    App(account).puts(A)
    assert subscribed(account) == [A]
    assert account.subscription(IMPOSSIBLE) == before
    assert differences(whole(account), []) == ([], [parse_feed_url(A)])
    assert sync(account, [IMPOSSIBLE], [])[0].startswith("Invalid host")
    sync(account, [], [IMPOSSIBLE])
    assert not account.subscription(IMPOSSIBLE).is_subscribed
    entries = account.entries.values()
    assert IMPOSSIBLE in changes_to_send(entries, 0, UNKNOWN).removed_texts
    # It would delete some other feed.
    assert IMPOSSIBLE not in changes_to_send(entries, 0, UNKNOWN, by_count=True).removed_texts


@pytest.mark.parametrize(("listed", "then"), [([C, B], {C}), ([B, C], {B, C})])
def test_whole_list_brings_back_a_deleted_feed_that_it_also_names_by_a_former_url(listed, then):
    account = Account(A)
    account.move(A, B)
    account.move(B, C)
    account.do(subscriptions.delete, guid(C))
    account.do(url_lists.replace_list, whole_list(listed))
    assert account.subscribed() == then


def test_whole_list_shows_by_which_urls_an_app_has_the_feeds_that_moved():
    account = account_with("a", "c")
    account.move(A, B)
    phone = App(account)
    phone.puts(A, B, C)
    assert phone.spellings == AppUrls(frozenset({guid(A), guid(B)}))
    phone.puts(B, C)
    assert phone.spellings == AppUrls(frozenset({guid(B)}), frozenset({guid(A)}))
    assert subscribed(account) == [B, C]
    phone.puts(C)
    assert subscribed(account) == [C]


def test_podcini_is_told_by_its_user_agent():
    podcini = "Mozilla/5.0 (compatible; Podcini/11.2.2.7; Android)"
    others = ["AntennaPod/3.9.0", "Mozilla/5.0 (X11; Linux)", ""]
    assert [one for one in [podcini, *others] if url_changes.removes_by_count(one)] == [podcini]


def test_app_that_removes_by_count_is_sent_one_text_for_each_removed_feed():
    account = account_with("a", "b", "c")
    account.move(A, "https://a.example/new")
    sync(account, [], [A, B])
    entries = account.entries.values()
    usual = changes_to_send(entries, 0, UNKNOWN)
    found = changes_to_send(entries, 0, UNKNOWN, by_count=True)
    assert len(usual.removed_texts) > 4
    assert list(found.removed_texts) == ["https://a.example/new", B]
    assert (found.add, found.remove, found.app) == (usual.add, usual.remove, usual.app)


def test_removal_decodes_few_urls_however_many_the_feed_has_had(monkeypatch):
    account = account_with("a")
    urls = [f"https://b.example/{number}%3A" for number in range(50)]
    for url in urls:
        account.add((url, guid(A)))
    known, removed = escaped(account), [parse_feed_url(url) for url in urls]
    decode = Mock(wraps=without_escapes)
    for module in (url_changes, escaped_urls):
        monkeypatch.setattr(module, "without_escapes", decode)
    account.do(url_lists.upload, [], removed, UNKNOWN, escaped=known)
    assert 0 < decode.call_count <= 2 * len(urls)


def test_upload_reads_what_its_urls_may_mean_and_no_more():
    known = EscapedUrls([COLONS])
    removed, _ = parse_removed([NO_COLONS], known)
    assert url_lists.guids_named([], removed, known) == [guid(NO_COLONS), guid(COLONS)]
    assert url_lists.guids_named([parse_added(A)], [], known) == [guid(A)]


def test_url_of_which_a_feed_has_only_the_guid_is_no_echo_once_it_was_added():
    account = account_with()
    account.add((A, guid(B)))
    app = AppUrls(echoes=Echoes(Stamp(1), frozenset({guid(B)})))
    assert url_lists.upload(whole(account), [parse_added(B)], [], app).outcome.app.echoes is None


# URLs without their escapes


HOST = "https://a.example/"


def others(sent: str, *stored: str) -> list[str]:
    return [url.text for url in EscapedUrls(stored).others(sent)]


@given(st.text(alphabet="aé:/?&=#~@ ", min_size=1, max_size=12), st.data())
def test_url_is_found_however_it_was_escaped(path, data):
    """Each character may have been escaped or not, as the author of the URL did it."""
    may_be_left = [character not in "# é" and data.draw(st.booleans()) for character in path]
    stored = HOST + "".join(
        character if is_left else quote(character, safe="")
        for character, is_left in zip(path, may_be_left, strict=True)
    )
    sent = HOST + path.replace("#", "%23")
    assume(sent == trimmed(sent) and parse_feed_url(stored).guid != guid_of(sent))
    assert stored in others(sent, stored)


def guid_of(text: str) -> str:
    try:
        return parse_feed_url(text).guid
    except InvalidFeedUrl:
        return ""


SPELLINGS = ["https://a.example/users%3A1", "https://a.example/users%3a1/"]
SPELLINGS += ["http://a.example/users%3A1#top", "https://a.example/%75sers:1"]


@pytest.mark.parametrize("stored", SPELLINGS)
def test_url_is_found_by_any_usual_spelling_without_its_escapes(stored):
    assert others("feed:https://a.example/users:1", stored) == [stored]
    assert others("\ufeffhttps://a.example/users:1\ufeff", stored) == [stored]
    assert others("https://a.example/users%3A1") == ["https://a.example/users:1"]


@pytest.mark.parametrize(
    "sent",
    ["https://a.example", "https://a.example/b:c", "a.example/b c", "https://a.example/%C3", ""],
)
def test_what_no_url_is_once_decoded_has_no_others(sent):
    too_long = f"https://a.example/{'%41' * escaped_urls.MAX_CHARACTERS}"
    stored = [sent, "https://a.example/%62%63", too_long]
    assert [url for url in others(sent, *stored) if "\ufffd" not in url] == []


def test_of_many_urls_that_are_the_same_once_decoded_none_is_meant():
    stored = [HOST + "".join(("a", "%61")[n >> bit & 1] for bit in range(4)) for n in range(1, 10)]
    assert len(others(HOST + "aaaa", *stored[:8])) == 8
    assert others(HOST + "aaaa", *stored) == []


def test_text_with_white_space_is_the_only_url_that_it_can_be():
    spaces, tabs = HOST + "a%20b", HOST + "%61%20b"
    assert EscapedUrls([spaces]).parsed(HOST + "a b").text == spaces
    for known in ([], [spaces, tabs]):
        with pytest.raises(InvalidFeedUrl):
            EscapedUrls(known).parsed(HOST + "a b")


def test_what_is_left_without_escapes_has_no_protocol_fragment_or_slash_at_its_end():
    assert without_escapes("https://a.example/%7Ex/%2F#b") == "a.example/~x"
