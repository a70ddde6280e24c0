import pytest
from account import Account

from feedkeep.model import (
    Guid,
    Limits,
    OwnUpload,
    Snapshot,
    Stamp,
    Subscription,
    SyncProgress,
    replace,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import escaped_urls, url_changes, url_lists
from feedkeep.rules.app_urls import MAX_APP_URLS, UNKNOWN, AppUrls
from feedkeep.rules.echoes import Echoes
from feedkeep.rules.escaped_urls import EscapedUrls, without_escapes
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Added, Update, Wanted, add, update, want
from feedkeep.rules.url_changes import UrlChanges, changes_to_send, without_own
from feedkeep.rules.url_lists import differences, parse_added, parse_removed, whole_list

A, B, C, D = (f"https://{letter}.example" for letter in "abcd")


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


def account_with(*urls: str) -> Account:
    account = Account()
    for url in urls:
        account.add((url, None))
    return account


class App:
    """An app that knows URLs only, with what the account has learned of it."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.spellings = UNKNOWN
        self.first = 0

    def poll(self, *, is_from_nothing: bool = False) -> tuple[list[str], list[str]]:
        """Return what it has to add and to remove since it asked last."""
        found = changes_to_send(
            self.account.entries.values(),
            self.first,
            self.spellings,
            is_from_nothing=is_from_nothing,
        )
        self.spellings, self.first = found.app, self.account.last_stamp + 1
        return sorted(found.add), sorted(found.remove)

    def begin(self) -> tuple[list[str], list[str]]:
        self.first = 0
        return self.poll(is_from_nothing=True)

    def send(self, added: list[str], removed: list[str]) -> list[str]:
        """Upload changes; return the stored URL of each that was added, or why it was refused."""
        items, known = [parse_added(url) for url in added], escaped(self.account)
        urls, _ = parse_removed(removed, known)
        synced = self.account.decide(
            lambda snapshot: url_lists.upload(snapshot, items, urls, self.spellings, escaped=known)
        )
        self.spellings = synced.app
        return [
            item.subscription.feed_url if isinstance(item, Added) else item.message
            for item in synced.results
        ]

    def put(self, *urls: str) -> None:
        """Send the whole list."""
        wanted = whole_list(urls)
        synced = self.account.decide(
            lambda snapshot: url_lists.replace_list(
                snapshot, wanted, self.spellings, escaped=escaped(self.account)
            )
        )
        self.spellings = synced.app


def escaped(account: Account) -> EscapedUrls:
    """Return what a store finds among an account's URLs."""
    aliases = [entry.alias for entry in account.entries.values() if entry.alias]
    feeds = [entry for entry in account.entries.values() if isinstance(entry, Subscription)]
    urls = [*(feed.feed_url for feed in feeds), *(alias.url for alias in aliases)]
    return EscapedUrls(url for url in urls if "%" in url)


def move(account: Account, old: str, new: str, *, notify_apps: bool = False) -> None:
    change = Update(parse_feed_url(new), notify_apps=notify_apps)
    account.decide(lambda snapshot: update(snapshot, guid(old), change))


def merge(account: Account, into: str, other: str) -> None:
    account.update((guid(into), {"new_guid": guid(other)}))


def sync(account: Account, added: list[str], removed: list[str]) -> list[str]:
    return App(account).send(added, removed)


def whole(account: Account) -> Snapshot:
    state = (account.entries, account.last_stamp, 0, account.counts)
    return Snapshot(*state, limits=Limits(20, 100))


def changes(account: Account) -> tuple[list[str], list[str]]:
    return App(account).poll()


def subscribed(account: Account) -> list[str]:
    """Return the URLs that a new app is sent."""
    return App(account).begin()[0]


# What apps are sent


def test_subscribed_is_added_and_unsubscribed_and_deleted_are_removed():
    account = account_with(A, B, C)
    sync(account, [], [B])
    account.delete(guid(C))
    assert changes(account) == ([A], [B, C])


def test_what_is_added_is_not_removed_by_other_escapes():
    """Kasts decodes both, and would remove what it has just added."""
    decoded, escaped = "https://a.example/user:1", "http://a.example/user%3A1"
    account = account_with(decoded, B)
    sync(account, [], [decoded, B])
    sync(account, [escaped], [])
    assert changes(account) == ([escaped], [B])


def test_an_app_that_has_the_feed_is_not_told_of_a_move():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    move(account, A, C)
    assert phone.poll() == ([], [])


def test_an_app_that_starts_after_a_move_gets_the_present_url_and_goes_on_with_it():
    account = account_with(A)
    move(account, A, B)
    phone = App(account)
    assert phone.begin() == ([B], [])
    phone.first = 0  # nothing is believed of what it has heard
    assert phone.poll() == ([B], [])


def test_an_app_that_may_be_older_than_a_move_is_sent_the_url_from_before_it():
    account = account_with(A)
    move(account, A, B)
    move(account, B, C)
    assert changes(account) == ([A], [])


def test_a_feed_that_is_sent_again_after_its_move_was_undone_has_its_first_url():
    account = account_with(A)
    move(account, A, B)
    move(account, B, A)
    assert changes(account) == ([A], [])


def test_unsubscribing_removes_every_url_and_subscribing_again_adds_one():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    account.update((guid(A), {"is_subscribed": False}))
    assert phone.poll() == ([], [A, B])
    account.update((guid(A), {"is_subscribed": True}))
    assert phone.poll() == ([B], [])


def test_which_feeds_an_app_may_send_back_is_told_with_what_is_left_of_them_without_escapes():
    url = "https://a.example/x%3Ay"
    account = account_with(url, B)
    for gone in (url, B):
        account.update((guid(gone), {"is_subscribed": False}))
    found = changes_to_send(account.entries.values(), Stamp(0), UNKNOWN)
    assert found.removals == {guid(url), guid("https://a.example/x:y"), guid(B)}


def test_of_too_many_removals_it_is_not_told_which_they_are():
    entries = [
        Subscription(guid(url), url, False, Stamp(1), status_changed=Stamp(1))
        for url in (f"https://{number}.example" for number in range(MAX_APP_URLS + 1))
    ]
    assert changes_to_send(entries, Stamp(0), UNKNOWN).removals is None
    assert len(changes_to_send(entries[1:], Stamp(0), UNKNOWN).removals or ()) == MAX_APP_URLS


def test_a_deleted_feed_comes_back_by_its_own_url_once_a_former_one_is_another_feed():
    account, own = Account(), Guid("00000000-0000-4000-8000-000000000001")
    account.add((A, own))
    move(account, A, B)
    account.delete(own)
    sync(account, [A], [])
    sync(account, [B], [])
    assert changes(account) == ([A, B], [])


def test_an_app_that_may_have_missed_a_removal_is_told_it_once_more_with_the_url_to_add():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    account.update((guid(A), {"is_subscribed": False}))
    first = phone.first
    phone.poll()
    account.update((guid(A), {"is_subscribed": True}))
    knows = replace(phone.spellings, echoes=Echoes(Stamp(first), frozenset({guid(A)})))
    phone.spellings, phone.first = knows, first
    assert phone.poll() == ([A], [])
    later = Echoes(Stamp(first + 1_000_000), frozenset({guid(A)}))
    a_second_later = replace(knows, echoes=later)
    phone.spellings, phone.first = a_second_later, first
    assert phone.poll() == ([A], [B])


@pytest.mark.parametrize("moves_again", [False, True])
def test_an_app_that_missed_unsubscribing_and_subscribing_again_goes_on_with_the_url_it_has(
    moves_again,
):
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    account.update((guid(A), {"is_subscribed": False}))
    account.update((guid(A), {"is_subscribed": True}))
    if moves_again:
        move(account, B, C)
    assert phone.poll() == ([A], [])
    phone.send([], [A])
    assert subscribed(account) == []


@pytest.mark.parametrize("asks_before_the_second_move", [False, True])
def test_an_app_that_was_told_of_unsubscribing_goes_on_with_the_url_it_is_told_after_it(
    asks_before_the_second_move,
):
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    account.update((guid(A), {"is_subscribed": False}))
    assert phone.poll() == ([], [A, B])
    account.update((guid(A), {"is_subscribed": True}))
    if asks_before_the_second_move:
        assert phone.poll() == ([B], [])
    move(account, B, C)
    has = B if asks_before_the_second_move else C
    assert phone.poll() == ([] if asks_before_the_second_move else [C], [])
    phone.send([], [has])
    assert subscribed(account) == []


def test_deleting_a_feed_that_moved_removes_every_url():
    account = account_with("http://a.example")
    move(account, A, "https://a.example/")  # the same feed, but another text: apps compare these
    move(account, A, B)
    account.delete(guid(A))
    assert changes(account) == ([], ["http://a.example", "https://a.example/", B])


def test_a_move_that_apps_are_told_adds_the_new_url_and_removes_every_old_one():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    move(account, B, C, notify_apps=True)
    assert phone.poll() == ([C], [A, B])
    assert phone.poll() == ([], [])
    assert App(account).begin() == ([C], [])
    phone.send([], [A, B])  # AntennaPod sends back what it was sent
    assert subscribed(account) == [C]


def test_apps_can_be_told_of_a_move_that_was_made_before():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    assert phone.poll() == ([], [])
    move(account, A, B, notify_apps=True)
    assert phone.poll() == ([B], [A])


def test_no_app_is_told_of_a_merge():
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    merge(account, A, B)
    assert phone.poll() == ([], [])


@pytest.mark.parametrize(("removed", "known_as"), [(A, B), (B, A)])
def test_after_a_merge_with_an_unsubscribed_feed_apps_go_on_with_the_url_of_the_other(
    removed, known_as
):
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    phone.send([], [removed])
    phone.poll()
    merge(account, A, B)
    assert phone.poll() == ([], [])
    assert changes(account) == ([known_as], [])


def test_a_merge_of_two_unsubscribed_feeds_removes_both():
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    App(account).send([], [A])
    phone.poll()
    App(account).send([], [B])
    merge(account, A, B)
    assert phone.poll() == ([], [A, B])


def test_subscribing_to_a_subscribed_feed_is_not_a_change():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    account.add((A, None))
    assert phone.poll() == ([], [])


def test_an_app_that_starts_from_nothing_has_nothing_to_remove():
    account = account_with(A, B)
    sync(account, [], [B])
    assert App(account).begin() == ([A], [])


def test_an_app_is_not_sent_its_own_changes_unless_they_were_changed_again_since():
    account = account_with(A, B)
    began = account.last_stamp
    sync(account, [C], [B])
    app = SyncProgress(5, 5, [OwnUpload("", 5, began, account.last_stamp)], is_alone=True)

    def told_since(since):
        entries = without_own(account.entries.values(), app, "", since)
        found: UrlChanges = changes_to_send(entries, began + 1, UNKNOWN)
        return list(found.add), list(found.remove)

    assert told_since(5) == ([], [])
    assert told_since(4) == ([C], [B])  # a phone that was restored from a backup
    sync(account, [B], [])
    assert told_since(5) == ([B], [])


# What apps upload


def test_any_spelling_of_a_url_unsubscribes_from_its_feed():
    account = account_with("https://a.example/feed/")
    sync(account, [], ["http://A.example/feed#top"])
    assert changes(account) == ([], ["https://a.example/feed/"])


def test_an_app_that_knows_a_feed_by_its_former_url_only_unsubscribes_with_it():
    account = account_with(A)
    phone, tablet = App(account), App(account)
    phone.begin()
    tablet.begin()
    move(account, A, B)
    phone.send([], [A])
    assert subscribed(account) == []
    assert tablet.poll() == ([], [A, B])


@pytest.mark.parametrize("notify_apps", [False, True])
def test_an_app_that_began_after_a_move_adds_the_feed_by_its_present_url_and_unsubscribes_with_it(
    notify_apps,
):
    account = account_with(A)
    move(account, A, B, notify_apps=notify_apps)
    sync(account, [], [B])
    app = App(account)
    app.begin()
    app.send([B], [])
    app.send([], [B])
    assert subscribed(account) == []


def test_an_app_that_was_sent_the_present_url_and_removes_the_former_one_removes_a_duplicate():
    account = account_with(A)
    move(account, A, B)
    phone = App(account)
    phone.begin()
    phone.send([A], [])  # which it had before
    phone.send([], [A])
    assert subscribed(account) == [B]
    phone.send([], [B])
    assert subscribed(account) == []


@pytest.mark.parametrize("first", [A, B])
def test_an_app_that_has_both_urls_can_remove_either_and_unsubscribes_with_the_other(first):
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    phone.send([B], [])
    phone.send([], [first])
    assert subscribed(account) == [B]
    phone.send([], [B if first == A else A])
    assert subscribed(account) == []


def test_removing_both_urls_at_once_unsubscribes():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    phone.send([B], [])
    phone.send([], [A, B])
    assert subscribed(account) == []


def test_an_app_that_renames_a_feed_by_itself_and_uploads_that_stays_subscribed():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    phone.send([B], [A])
    assert (subscribed(account), phone.poll()) == ([B], ([], []))
    phone.send([], [B])
    assert subscribed(account) == []


def test_an_app_that_renamed_a_feed_by_itself_silently_unsubscribes_with_the_present_url():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    phone.send([], [B])
    assert subscribed(account) == []


def test_a_removal_that_an_app_was_sent_and_sends_back_unsubscribes_from_nothing():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    account.update((guid(A), {"is_subscribed": False}))
    phone.poll()
    account.update((guid(A), {"is_subscribed": True}))
    phone.send([], [A])
    assert subscribed(account) == [B]


@pytest.mark.parametrize("first", [A, B])
def test_after_a_merge_an_app_that_had_both_can_remove_either_and_unsubscribes_with_the_other(
    first,
):
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    merge(account, A, B)
    phone.send([], [first])
    assert subscribed(account) == [A]
    phone.send([], [A if first == B else B])
    assert subscribed(account) == []


def test_after_a_merge_a_new_app_unsubscribes_with_the_one_url_that_it_was_sent():
    account = account_with(A, B)
    merge(account, A, B)
    phone = App(account)
    phone.begin()
    phone.send([], [A])
    assert subscribed(account) == []


def move_and_merge(account: Account) -> None:
    move(account, A, C)
    merge(account, A, B)


def merge_and_go_on(account: Account) -> None:
    merge(account, A, B)
    move(account, A, C)


def merge_and_tell(account: Account) -> None:
    merge(account, A, B)
    move(account, A, C, notify_apps=True)


def merge_and_subscribe_again(account: Account) -> None:
    merge(account, A, B)
    sync(account, [], [A, B])
    sync(account, [A], [])


def merge_and_go_to_the_other(account: Account) -> None:
    merge(account, A, B)
    move(account, A, B)


def merge_and_go_to_the_other_and_back(account: Account) -> None:
    merge_and_go_to_the_other(account)
    move(account, B, A)


def delete_and_take_its_url(account: Account) -> None:
    account.delete(guid(A))
    move(account, B, A)


@pytest.mark.parametrize("removed", [A, B])
@pytest.mark.parametrize(
    "happens",
    [
        move_and_merge,
        merge_and_go_on,
        merge_and_go_to_the_other,
        merge_and_go_to_the_other_and_back,
        merge_and_tell,
        merge_and_subscribe_again,
        delete_and_take_its_url,
    ],
)
def test_an_app_that_had_both_feeds_of_a_merge_removes_a_duplicate_whatever_moved(happens, removed):
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    happens(account)
    phone.send([], [removed])
    assert len(subscribed(account)) == 1


def test_feeds_with_guids_of_their_own_that_were_merged_are_duplicates_on_apps():
    account = Account()
    first, second = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
    account.add((A, first))
    account.add((B, second))
    phone = App(account)
    phone.begin()
    account.update((first, {"new_guid": second}))
    phone.send([], [A])
    assert subscribed(account) == [A]


def test_an_app_that_may_have_had_both_is_told_to_add_the_other_and_can_remove_that():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    sync(account, [B], [])
    merge(account, A, B)
    phone.send([], [A])  # it had nothing else
    assert phone.poll() == ([B], [])
    phone.send([], [B])
    assert subscribed(account) == []


@pytest.mark.parametrize("takes_away", [lambda account: account.delete(guid(A)), None])
def test_who_adds_the_url_that_apps_are_told_may_have_the_first_one_whatever_came_between(
    takes_away,
):
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B, notify_apps=True)
    if takes_away:
        takes_away(account)
    else:
        move(account, B, A, notify_apps=True)
    phone.send([B], [])
    phone.send([], [B])  # it has A still, and has not asked
    assert len(subscribed(account)) == 1


def test_an_app_that_has_the_first_url_is_not_told_one_of_the_moves_in_between():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B, notify_apps=True)
    move(account, B, A, notify_apps=True)
    move(account, A, B)
    assert phone.poll()[0] == [A]


def test_a_url_that_was_only_sent_beside_the_guid_of_a_feed_is_on_no_app():
    account = account_with(A)
    account.add((B, guid(A)))
    sync(account, [], [A])
    assert subscribed(account) == []


def test_an_app_older_than_two_moves_has_the_first_url_and_not_the_one_between():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B)
    move(account, B, C)
    phone.send([C], [])  # its owner finds the feed again
    phone.send([], [A])
    assert subscribed(account) == [C]
    phone.send([], [C])
    assert subscribed(account) == []


def test_who_adds_a_deleted_feed_by_its_first_url_again_unsubscribes_with_it():
    account = account_with(A)
    move(account, A, B)
    account.delete(guid(A))
    phone, older = App(account), App(account)
    phone.begin()
    phone.send([A], [])
    assert older.poll() == ([A], [])
    phone.send([], [A])
    assert subscribed(account) == []


@pytest.mark.parametrize("adds", [True, False], ids=["that it adds", "that it is told"])
def test_an_app_unsubscribes_with_a_url_that_it_had_not_of_the_feed_that_was_deleted(adds):
    account = account_with(A)
    move(account, A, B)
    move(account, B, C)
    phone, other = App(account), App(account)
    phone.begin()
    other.begin()
    account.delete(guid(A))
    (phone if adds else other).send([B], [])
    phone.poll()
    move(account, B, D)
    phone.send([], [B])
    assert subscribed(account) == []


def test_an_app_that_does_not_know_of_the_end_of_a_feed_goes_on_with_the_url_that_it_was_sent():
    account = account_with(A)
    move(account, A, B)
    phone = App(account)
    phone.begin()
    account.delete(guid(A))
    sync(account, [A], [])
    assert phone.poll() == ([B], [])


def test_an_app_that_was_told_of_a_move_can_unsubscribe_though_the_move_was_undone():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B, notify_apps=True)
    assert phone.poll() == ([B], [A])
    move(account, B, A)
    phone.send([], [B])
    assert subscribed(account) == []


def test_who_adds_the_url_that_apps_are_being_told_may_have_the_one_from_before():
    account = account_with(A)
    phone = App(account)
    phone.begin()
    move(account, A, B, notify_apps=True)
    phone.send([B], [])
    phone.send([], [B])  # it has A still, and has not asked
    assert subscribed(account) == [B]


def test_a_url_whose_derived_guid_is_a_pointer_by_chance_unsubscribes_from_nothing():
    account = account_with(A)
    account.update((guid(A), {"new_guid": guid(B)}))
    account.update((guid(B), {"new_guid": guid(C)}))
    sync(account, [], [B])
    assert subscribed(account) == [A]


def test_removing_what_is_not_subscribed_or_not_known_changes_nothing():
    account = account_with(A)
    sync(account, [], [A])
    before = account.last_stamp
    sync(account, [], [A, B])
    assert account.last_stamp == before


def test_a_url_that_is_both_added_and_removed_is_added():
    account = account_with(A)
    sync(account, [A, B], [A, B])
    assert changes(account) == ([A, B], [])


def test_a_bad_url_does_not_affect_the_others_of_a_batch():
    account = account_with()
    stored = sync(account, ["antennapod_local:1", A], [])
    assert stored[1] == A
    assert changes(account) == ([A], [])


def test_nothing_is_remembered_of_an_app_where_no_feed_moved():
    account = account_with(A, B)
    phone = App(account)
    phone.begin()
    phone.send([C], [A])
    phone.put(B, D)
    assert phone.spellings == UNKNOWN


# Whole lists


def test_replacing_a_list_changes_only_what_differs():
    account = account_with(A, B)
    move(account, B, C)
    wanted = [parse_feed_url(url) for url in ("http://a.example", D)]
    added, removed = differences(whole(account), wanted)
    assert [url.text for url in added] == [D]
    assert [url.text for url in removed] == [C]


@pytest.mark.parametrize(
    ("stored", "sent", "told"),
    [
        ("http://a.example", "https://a.example", "https://a.example"),
        ("http://a.example", " https://A.example/ ", "https://A.example/"),
        ("https://a.example", "http://a.example", "https://a.example"),
        ("http://a.example/feed/", "http://a.example/feed", "http://a.example/feed/"),
        ("https://a.example/feed/", "https://a.example/feed", "https://a.example/feed/"),
    ],
)
def test_an_app_is_told_the_stored_spelling_but_never_http_for_https(stored, sent, told):
    account, item = account_with(stored), want(sent, None)
    synced = account.decide(lambda snapshot: url_lists.upload(snapshot, [item], []))
    assert url_lists.kept_as(item, synced.results[0]) == (sent, told)


def test_a_whole_list_needs_a_valid_url_unless_it_is_empty():
    assert [url.text for url in whole_list([A, "nonsense"]).urls] == [A]
    assert whole_list([]).urls == []
    with pytest.raises(InvalidInput, match="nothing was changed"):
        whole_list(["nonsense", ""])


def test_a_refused_url_in_a_whole_list_may_have_meant_any_feed_so_nothing_is_unsubscribed():
    account = account_with(A, B)
    App(account).put(C, "b.example")
    assert subscribed(account) == [A, B, C]


@pytest.mark.parametrize("text", ["feeds.opml", "//b.example/feed", "http://https://b.example"])
def test_a_text_without_its_one_protocol_in_a_whole_list_is_not_understood(text):
    account = account_with(A, B)
    App(account).put(A, text)
    assert subscribed(account) == [A, B]
    with pytest.raises(InvalidInput, match="nothing was changed"):
        whole_list([text])


def test_an_app_may_name_a_feed_by_a_link_to_subscribe_in_every_upload():
    account = account_with(A, B)
    App(account).put(f"feed:{A}", C.replace("https:", "pcast:"))
    assert subscribed(account) == [A, C]
    assert sync(account, [], [f"itpc://{A}", "feeds.opml"]) == []
    assert subscribed(account) == [C]
    item = parse_added(f"antennapod-subscribe://{B}")
    synced = account.decide(lambda snapshot: url_lists.upload(snapshot, [item], []))
    assert url_lists.kept_as(item, synced.results[0]) == (f"antennapod-subscribe://{B}", B)
    assert subscribed(account) == [B, C]


def test_a_url_that_no_list_takes_any_more_can_still_be_removed():
    account, odd = account_with(A), "http://https://b.example"
    known = parse_feed_url(odd)
    account.decide(lambda snapshot: add(snapshot, [Wanted(odd, known, None)]))
    assert sync(account, [odd], []) == ["Two protocols present: remove the first one."]
    assert changes(account) == ([odd, A], [])
    sync(account, [], [odd])
    assert subscribed(account) == [A]


IMPOSSIBLE = "https://feeds..example.org/feed"


def account_with_impossible(*urls: str) -> Account:
    """Return an account that has an impossible URL from before, and others."""
    account = Account()
    wanted = [Wanted(url, parse_feed_url(url), None) for url in (IMPOSSIBLE, *urls)]
    account.decide(lambda snapshot: add(snapshot, wanted))
    return account


# C3.18
def test_feed_with_an_impossible_host_is_added_to_no_app():
    account = account_with_impossible(A)
    assert changes(account) == ([A], [])
    assert subscribed(account) == [A]
    listed = url_lists.subscribed_for_apps(whole(account))
    assert [feed.feed_url for feed in listed] == [A]


# C3.18
def test_whole_list_of_an_app_keeps_a_feed_with_an_impossible_host():
    account = account_with_impossible(A, B)
    before = account.entries[guid(IMPOSSIBLE)]
    App(account).put(A)
    assert subscribed(account) == [A]
    assert account.entries[guid(IMPOSSIBLE)] == before
    assert differences(whole(account), []) == ([], [parse_feed_url(A)])


def test_app_can_remove_a_feed_with_an_impossible_host_but_not_add_it():
    account = account_with_impossible(A)
    assert sync(account, [IMPOSSIBLE], [])[0].startswith("Invalid host")
    app = App(account)
    app.poll()
    app.send([], [IMPOSSIBLE])
    feed = account.entries[guid(IMPOSSIBLE)]
    assert isinstance(feed, Subscription)
    assert not feed.is_subscribed
    removed = changes_to_send(account.entries.values(), 0, UNKNOWN).removed_texts
    assert IMPOSSIBLE in removed
    # It would delete some other feed.
    assert not changes_to_send(account.entries.values(), 0, UNKNOWN, by_count=True).removed_texts


# C3.18
def test_feed_that_leaves_an_impossible_host_is_sent_to_apps_as_new():
    account = account_with_impossible(A)
    app = App(account)
    app.poll()
    move(account, IMPOSSIBLE, B)
    assert app.poll() == ([B], [IMPOSSIBLE])
    move(account, B, C)  # from there on, as ever
    assert app.poll() == ([], [])
    assert subscribed(account) == [A, C]


def test_app_keeps_the_url_that_it_has_of_a_feed_that_leaves_an_impossible_host():
    account = account_with(A)
    app = App(account)
    app.poll()
    move(account, A, IMPOSSIBLE)
    move(account, IMPOSSIBLE, B)
    assert app.poll() == ([], [])


def test_a_folder_on_the_phone_in_a_whole_list_is_not_a_feed():
    account = account_with(A, B)
    App(account).put(A, "antennapod_local:content://music")
    assert subscribed(account) == [A]


def test_a_former_url_in_a_whole_list_stands_for_the_feed():
    account = account_with(A)
    move(account, A, B)
    account.update((guid(A), {"new_guid": "00000000-0000-4000-8000-000000000001"}))
    assert differences(whole(account), [parse_feed_url(A)]) == ([], [])


def test_a_whole_list_shows_by_which_urls_an_app_has_the_feeds_that_moved():
    account = account_with(A, C)
    move(account, A, B)
    phone = App(account)
    phone.put(A, B, C)
    assert phone.spellings == AppUrls(frozenset({guid(A), guid(B)}))
    phone.put(B, C)
    assert phone.spellings == AppUrls(frozenset({guid(B)}), frozenset({guid(A)}))
    assert subscribed(account) == [B, C]
    phone.put(C)
    assert subscribed(account) == [C]


PODCINI = "Mozilla/5.0 (compatible; Podcini/11.2.2.7; Android)"


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        (PODCINI, True),
        ("AntennaPod/3.9.0", False),
        ("Mozilla/5.0 (X11; Linux)", False),
        ("", False),
    ],
)
def test_podcini_is_told_by_what_it_calls_itself(user_agent, expected):
    assert url_changes.removes_by_count(user_agent) is expected


def test_an_app_that_removes_by_count_is_told_one_text_for_each_feed_that_goes():
    account = account_with(A, B, C)
    move(account, A, "https://a.example/new")
    sync(account, [], [A, B])
    entries = account.entries.values()
    usual = changes_to_send(entries, 0, UNKNOWN)
    found = changes_to_send(entries, 0, UNKNOWN, by_count=True)
    assert len(usual.removed_texts) > 4
    assert list(found.removed_texts) == ["https://a.example/new", B]
    assert (found.add, found.remove, found.app) == (usual.add, usual.remove, usual.app)


ESCAPED = "https://a.example/users%3A1/x%20y.xml"
DECODED = "https://a.example/users:1/x y.xml"
COLONS = "https://b.example/users%3A1/sounds.rss"
NO_COLONS = COLONS.replace("%3A", ":")


def test_a_removal_without_the_escapes_of_a_feed_unsubscribes_from_it():
    account = account_with(ESCAPED, COLONS, C)
    sync(account, [], [DECODED, NO_COLONS])
    assert subscribed(account) == [C]


def test_a_removal_by_a_former_url_without_its_escapes_is_one_by_that_url():
    account = account_with(COLONS, C)
    app = App(account)
    app.begin()
    move(account, COLONS, A)
    app.send([], [NO_COLONS])
    assert subscribed(account) == [C]


def test_an_app_that_decodes_escapes_can_remove_a_feed_that_moved_to_the_url_it_decodes():
    account = account_with(COLONS, C)
    app = App(account)
    app.begin()
    move(account, COLONS, NO_COLONS)
    account.update((guid(COLONS), {"is_subscribed": False}))
    account.update((guid(COLONS), {"is_subscribed": True}))
    assert app.poll() == ([COLONS], [])
    app.send([], [NO_COLONS])
    assert subscribed(account) == [C]


def test_an_app_that_decodes_escapes_removes_a_feed_from_a_merge_on_the_second_try():
    account = account_with(COLONS, NO_COLONS, C)
    app = App(account)
    app.begin()
    merge(account, COLONS, NO_COLONS)
    app.send([], [NO_COLONS])
    added, removed = app.poll()
    assert (len(added), removed) == (1, [])
    app.send([], [NO_COLONS])
    assert subscribed(account) == [C]


def test_a_removal_decodes_no_more_urls_than_it_names_however_many_the_feed_has_had(monkeypatch):
    account = account_with(A)
    urls = [f"https://b.example/{number}%3A" for number in range(50)]
    for url in urls:
        account.add((url, guid(A)))
    known, removed = escaped(account), [parse_feed_url(url) for url in urls]
    decoded: list[str] = []

    def noted(url):
        decoded.append(url)
        return without_escapes(url)

    for module in (url_changes, escaped_urls):
        monkeypatch.setattr(module, "without_escapes", noted)
    account.decide(lambda snapshot: url_lists.upload(snapshot, [], removed, UNKNOWN, escaped=known))
    assert 0 < len(decoded) <= 2 * len(urls)


def test_an_addition_without_the_escapes_of_a_feed_is_that_feed_and_answers_how_it_is_kept():
    account = account_with(COLONS)
    assert sync(account, [NO_COLONS], []) == [COLONS]
    assert subscribed(account) == [COLONS]
    item = parse_added(NO_COLONS)
    [result] = account.decide(
        lambda snapshot: url_lists.upload(snapshot, [item], [], escaped=escaped(account))
    ).results
    assert url_lists.kept_as(item, result) == (NO_COLONS, COLONS)


def test_an_addition_is_a_feed_of_its_own_where_the_other_one_is_not_subscribed_to():
    account = account_with(COLONS)
    sync(account, [], [COLONS])
    sync(account, [NO_COLONS], [])
    assert subscribed(account) == [NO_COLONS]


@pytest.mark.parametrize("known", [NO_COLONS, COLONS.lower()])
def test_escapes_say_nothing_where_the_url_itself_is_known_or_two_feeds_fit(known):
    account = account_with(COLONS, known)
    sync(account, [], [NO_COLONS])
    assert subscribed(account) == sorted({COLONS, known} - {NO_COLONS})


def test_a_whole_list_without_escapes_keeps_the_feeds_that_have_them():
    account = account_with(COLONS, C)
    App(account).put(NO_COLONS, C)
    assert subscribed(account) == [COLONS, C]


def test_a_whole_list_with_a_text_that_is_no_url_unsubscribes_from_nothing():
    account = account_with(ESCAPED, C)
    App(account).put(DECODED, A)
    assert subscribed(account) == sorted([ESCAPED, C, A])


def test_an_upload_reads_what_its_urls_may_mean_and_no_more():
    known = EscapedUrls([COLONS])
    removed, _ = parse_removed([NO_COLONS], known)
    assert url_lists.guids_named([], removed, known) == [guid(NO_COLONS), guid(COLONS)]
    assert url_lists.guids_named([parse_added(A)], [], known) == [guid(A)]


def test_a_url_that_a_feed_has_only_its_guid_of_is_no_echo_once_it_was_added():
    account = Account()
    account.add((A, guid(B)))
    app = AppUrls(echoes=Echoes(Stamp(1), frozenset({guid(B)})))
    assert url_lists.upload(whole(account), [parse_added(B)], [], app).outcome.app.echoes is None
