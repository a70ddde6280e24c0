"""Taking changes back, and restoring a list: what becomes of each feed."""

from collections.abc import Sequence

import pytest
from test_subscriptions import G1, G2, A, Account, B, C, guid

from feedkeep.model import Alias, Guid, History, Limits, Pointer, Stamp, Subscription, replace
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import ChangedSince, InvalidInput, UnknownChange
from feedkeep.rules import subscriptions, undo, url_lists
from feedkeep.rules.app_urls import UNKNOWN, AppUrls
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update
from feedkeep.rules.undo import ConflictPolicy, ListAt, ListRestored, Undo
from feedkeep.rules.url_changes import changes_to_send

URLS = [f"https://{number}.example/feed" for number in range(12)]


def account(*urls: str) -> Account:
    filled = Account()
    filled.add(*((url, None) for url in urls))
    return filled


def undo_changes(
    known: Account,
    *stamps: Stamp,
    guids: Sequence[Guid] | None = None,
    when: ConflictPolicy = ConflictPolicy.ASK,
) -> ListRestored:
    wanted = Undo(stamps or known.kept.stamps[-1:], guids, when)
    return known.keep(undo.undo(known.snapshot_with_history(), wanted))


def restore(known: Account, moment: Stamp, *, keep_added: bool = True) -> ListRestored:
    snapshot = known.snapshot_with_history()
    return known.keep(undo.restore(snapshot, moment, keep_added=keep_added))


def subscribed(known: Account) -> set[str]:
    return {
        entry.feed_url
        for entry in known.entries.values()
        if isinstance(entry, Subscription) and entry.is_subscribed
    }


def leave(known: Account, *urls: str) -> Stamp:
    guids = [guid(url) for url in urls]
    known.keep(subscriptions.set_subscribed(known.snapshot(), guids, False))
    return known.kept.stamps[-1]


def from_backup(
    known: Account, backup: Account, held: Sequence[Guid] = (), *, keep_added: bool = True
) -> None:
    wanted = ListAt(dict(backup.entries), backup.last_stamp)
    snapshot = known.snapshot_with_history()
    known.keep(undo.restore_from(snapshot, wanted, keep_added=keep_added, held=held))


def test_a_list_of_a_backup_comes_into_an_empty_one_with_all_that_leads_to_its_feeds():
    backup = account(A, B)
    backup.move(guid(A), C)
    backup.update(guid(B), Update(new_guid=G1))
    known = Account()
    from_backup(known, backup)
    assert subscribed(known) == {B, C}
    assert known.subscription(guid(A)).guid_changed is None  # it was never renamed
    assert known.pointer(guid(B)).guid_changed is not None
    stamps = [entry.revision for entry in known.entries.values() if entry.revision is not None]
    assert len(stamps) == len(set(stamps)) == 3
    before = dict(known.entries)
    from_backup(known, backup)
    assert known.entries == before


def test_a_list_of_a_backup_leaves_or_drops_what_was_added_since():
    backup = account(A, B)
    known = account(A, B)
    leave(known, A, B)
    known.add((C, None))
    from_backup(known, backup)
    assert subscribed(known) == {A, B, C}
    from_backup(known, backup, keep_added=False)
    assert subscribed(known) == {A, B}


def test_a_url_that_an_app_has_goes_on_leading_to_a_feed_that_a_backup_brings_back():
    for held in ((), (guid(C),)):
        backup, known = account(A), account(A)
        known.move(guid(A), C)
        from_backup(known, backup, held)
        assert (guid(C) in known.entries) == bool(held)


def test_a_wiped_list_comes_back_in_one_step_and_each_feed_with_a_new_stamp():
    known = account(*URLS)
    before = dict(known.entries)
    leave(known, *URLS)
    last = known.last_stamp
    done = undo_changes(known)
    assert told(done) == (last + 1, len(URLS), 0)
    assert done.podcasts == {guid(url) for url in URLS}, "what was played of them is told again"
    assert subscribed(known) == set(URLS)
    stamps = {entry.revision for entry in known.entries.values()}
    assert len(stamps) == len(URLS)
    assert all(stamp is not None and stamp > last for stamp in stamps)
    assert {g: e.feed_url for g, e in known.entries.items() if isinstance(e, Subscription)} == {
        g: e.feed_url for g, e in before.items() if isinstance(e, Subscription)
    }


def test_what_was_the_last_to_remove_a_feed_brings_it_back_and_nothing_else_changes():
    known = account(*URLS)
    first = leave(known, *URLS[:8])
    known.add(*((url, None) for url in URLS[:6]))
    second = leave(known, *URLS[:4])
    known.move(guid(URLS[0]), "https://moved.example")
    known.delete(guid(URLS[1]))
    snapshot = known.snapshot_with_history()
    done = known.keep(undo.restore_removed(snapshot, [first, second]))
    assert done.feeds == 5  # its owner has deleted the second one, which no app had removed last
    assert subscribed(known) == {"https://moved.example", *URLS[2:]}
    again = known.keep(undo.restore_removed(known.snapshot_with_history(), [first, second]))
    assert told(again) == (None, 0, 0)


def test_feeds_that_were_deleted_by_what_is_brought_back_are_there_again():
    known = account(A, B)
    known.delete(guid(A))
    stamp = known.kept.stamps[-1]
    known.add((C, None))
    done = known.keep(undo.restore_removed(known.snapshot_with_history(), [stamp]))
    assert done.podcasts == {guid(A)}
    assert subscribed(known) == {A, B, C}


def test_what_was_unsubscribed_and_then_deleted_comes_back_as_it_was_and_stays_so():
    known = account(A, B, C)
    on_purpose = leave(known, C)
    stamps = [leave(known, A, B)]
    for url in (A, C):
        known.delete(guid(url))
        stamps.append(known.kept.stamps[-1])
    for count in (3, 0):
        snapshot = known.snapshot_with_history()
        done = known.keep(undo.restore_removed(snapshot, stamps))
        assert done.feeds == count
        assert subscribed(known) == {A, B}
        assert known.subscription(guid(C)).deleted is None
    assert on_purpose not in stamps


def test_a_list_without_room_brings_nothing_back_that_was_removed():
    known = account(A, B)
    gone = leave(known, A)
    known.add((C, None))
    known.limits = Limits(2, 10)
    before = dict(known.entries)
    with pytest.raises(InvalidInput, match="maximum"):
        undo.restore_removed(known.snapshot_with_history(), [gone])
    assert known.entries == before


def test_what_was_changed_again_is_told_and_comes_back_only_if_that_is_chosen():
    known = account(A, B)
    gone = leave(known, A, B)
    known.add((A, None))
    since = known.kept.stamps[-1]
    left_again = leave(known, A)
    with pytest.raises(ChangedSince) as raised:
        undo_changes(known, gone)
    assert (raised.value.stamps, raised.value.feeds) == ([left_again, since], 1)
    assert subscribed(known) == set()
    done = undo_changes(known, gone, when=ConflictPolicy.LEAVE)
    assert told(done) == (known.kept.stamps[-1], 1, 1)
    assert subscribed(known) == {B}
    assert undo_changes(known, gone, when=ConflictPolicy.OVERWRITE).feeds == 1
    assert subscribed(known) == {A, B}


def test_what_is_back_already_is_nothing_to_ask_about():
    known = account(A, B)
    gone = leave(known, A, B)
    known.add((A, None))
    assert told(undo_changes(known, gone)) == (known.kept.stamps[-1], 1, 0)
    assert told(undo_changes(known, gone)) == (None, 0, 0)


def test_one_feed_of_a_change_comes_back_alone():
    known = account(A, B)
    gone = leave(known, A, B)
    undo_changes(known, gone, guids=[guid(B)])
    assert subscribed(known) == {B}
    with pytest.raises(UnknownChange):
        undo_changes(known, gone, guids=[guid(C)])


def test_a_url_that_was_led_to_a_feed_is_taken_back_by_the_guid_of_that_feed():
    known = account(B)
    known.add((A, G1))
    known.add((C, G1))
    undo_changes(known, guids=[G1])
    assert guid(C) not in known.entries
    assert subscribed(known) == {A, B}


def test_several_changes_are_taken_back_as_one():
    known = account(A, B, C)
    gone = [leave(known, A), leave(known, B)]
    known.move(guid(C), "https://moved.example")
    undo_changes(known, *gone)
    assert subscribed(known) == {A, B, "https://moved.example"}


def test_a_feed_and_a_url_that_was_led_to_it_come_back_together():
    known = Account()
    known.add((A, G1))
    gone = leave(known, A)
    known.add((B, G1))
    led = known.kept.stamps[-1]
    assert subscribed(known) == {A}
    assert known.pointer(guid(B)).new_guid == G1
    undo_changes(known, gone, led)
    assert subscribed(known) == {A}
    assert guid(B) not in known.entries


@pytest.mark.parametrize("stamps", [[], [Stamp(7)]])
def test_an_unknown_change_is_refused(stamps):
    known = account(A)
    with pytest.raises(UnknownChange):
        undo.undo(known.snapshot_with_history(), Undo(stamps))


# C9.13
def test_a_feed_that_was_added_is_deleted_and_an_undo_of_that_adds_it():
    known = account(A)
    known.add((B, G1))
    undo_changes(known)
    feed = known.subscription(G1)
    assert not feed.is_subscribed
    assert feed.deleted == feed.revision
    undo_changes(known)
    feed = known.subscription(G1)
    assert (feed.is_subscribed, feed.deleted) == (True, None)


def test_a_deleted_feed_comes_back():
    known = account(A)
    known.delete(guid(A))
    undo_changes(known)
    assert known.subscription(guid(A)).deleted is None
    assert subscribed(known) == {A}


def test_a_move_is_taken_back_and_the_url_that_was_wrong_leads_nowhere():
    known = account(A)
    known.move(guid(A), B)
    undo_changes(known)
    feed = known.subscription(guid(A))
    assert (feed.feed_url, feed.app_url, feed.alias) == (A, None, None)
    assert guid(B) not in known.entries
    undo_changes(known)
    feed = known.subscription(guid(A))
    assert (feed.feed_url, feed.app_url, feed.alias) == (
        B,
        A,
        Alias(A, moved_away=True, first_had=1_000),
    )
    assert known.entries[guid(B)] == Pointer(guid(B), guid(A))


def test_apps_that_were_told_of_a_move_are_told_when_it_is_taken_back():
    known = account(A)
    old, new = parse_feed_url(A), parse_feed_url(B)
    known.keep(url_lists.move(known.snapshot(), old, new, notify_apps=True))
    first = Stamp(known.last_stamp + 1)
    done = undo_changes(known)
    feed = known.subscription(guid(A))
    assert (feed.feed_url, feed.app_url) == (A, None)
    pointer = known.entries[guid(B)]
    assert isinstance(pointer, Pointer)
    alias = Alias(B, moved_away=False, first_had=1_000, retired=feed.status_changed)
    assert (pointer.new_guid, pointer.alias) == (guid(A), alias)
    assert polled(known, first) == ([A], [B])
    assert done.podcasts == {guid(A), guid(B)}


def test_apps_are_told_once_more_when_undoing_a_move_that_they_were_told_of_is_undone():
    known = account(A)
    before = Stamp(known.last_stamp + 1)
    old, new = parse_feed_url(A), parse_feed_url(B)
    known.keep(url_lists.move(known.snapshot(), old, new, notify_apps=True))
    undo_changes(known)
    since = Stamp(known.last_stamp + 1)
    undo_changes(known)
    assert polled(known, since) == polled(known, before) == ([B], [A])
    alias = known.subscription(guid(A)).alias
    assert alias is not None
    assert (alias.url, alias.moved_away) == (A, True)


def test_apps_give_up_every_url_from_between_when_a_move_that_they_were_told_of_is_taken_back():
    known = account(A)
    told = known.snapshot()
    known.keep(url_lists.move(told, parse_feed_url(A), parse_feed_url(B), notify_apps=True))
    known.move(guid(A), C)
    first = Stamp(known.last_stamp + 1)
    undo_changes(known, known.kept.stamps[-2], when=ConflictPolicy.OVERWRITE)
    assert polled(known, first) == ([A], [B, C])


def test_apps_that_missed_a_move_they_were_told_of_hear_of_all_urls_when_it_is_taken_back():
    known = account(A)
    first = Stamp(known.last_stamp + 1)
    known.move(guid(A), B)  # no app is told: all have A
    moment = known.last_stamp
    known.keep(
        url_lists.move(known.snapshot(), parse_feed_url(B), parse_feed_url(C), notify_apps=True)
    )
    restore(known, moment)
    assert polled(known, first) == ([B], [A, C])


def test_a_url_that_an_app_has_leads_to_its_feed_also_when_the_move_is_taken_back():
    known = account(A)
    known.move(guid(A), B)
    snapshot = known.snapshot_with_history()
    known.keep(undo.undo(snapshot, Undo(known.kept.stamps[-1:]), held={guid(B)}))
    pointer = known.entries[guid(B)]
    assert isinstance(pointer, Pointer)
    assert (pointer.new_guid, pointer.alias) == (
        guid(A),
        Alias(B, moved_away=False, first_had=1_000),
    )


# C9.13
def test_a_guid_that_devices_were_told_leads_to_its_feed_when_the_renaming_is_taken_back():
    known = account(A)
    known.update(guid(A), Update(new_guid=G1))
    undo_changes(known)
    feed, pointer = known.subscription(guid(A)), known.entries[G1]
    assert isinstance(pointer, Pointer)
    assert pointer.new_guid == guid(A)
    assert pointer.guid_changed is not None
    assert pointer.guid_changed < feed.revision
    assert feed.guid_changed == feed.revision
    assert feed.status_changed < pointer.guid_changed, "apps are told nothing of guids"


# C9.12
def test_a_merge_that_is_taken_back_gives_two_feeds_with_all_that_led_to_each():
    known = Account()
    known.add((A, G1), (B, G2))
    leave(known, A)
    known.add((C, G2))  # a further URL of the second
    before = dict(known.entries)
    known.update(G1, Update(new_guid=G2))
    assert subscribed(known) == {A}
    undo_changes(known)
    assert subscribed(known) == {B}
    first, second = known.subscription(G1), known.subscription(G2)
    assert (first.feed_url, first.is_subscribed) == (A, False)
    assert (second.feed_url, second.is_subscribed) == (B, True)
    leads = {g: e.new_guid for g, e in known.entries.items() if isinstance(e, Pointer)}
    assert leads == {g: e.new_guid for g, e in before.items() if isinstance(e, Pointer)}
    undo_changes(known)
    assert subscribed(known) == {A}
    assert known.entries[G1] == replace(known.entries[G1], new_guid=G2)


@pytest.mark.parametrize("own", [guid(A), G1], ids=["derived guid", "guid of its own"])
def test_an_app_that_has_both_of_two_feeds_that_become_one_again_may_clear_one_away(own):
    known = Account()
    known.add((A, own))
    known.move(own, B)
    moment = known.last_stamp
    undo_changes(known)
    known.add((B, None))
    restore(known, moment)
    assert subscribed(known) == {B}
    remove(known, A, UNKNOWN)  # of feeds that never moved, nothing is remembered
    assert subscribed(known) == {B}
    entries = dict(known.entries)
    restore(known, moment)
    assert known.entries == entries, "what is known of the two is not forgotten"


def test_who_has_both_urls_of_a_merge_may_clear_one_away_after_a_restore_to_before_it():
    known = account(A)
    moment = known.last_stamp
    known.add((B, None))
    known.update(guid(B), Update(new_guid=guid(A)))
    known.move(guid(A), C)
    restore(known, moment)
    assert subscribed(known) == {A}
    remove(known, B, UNKNOWN.with_known([guid(B)]))
    assert subscribed(known) == {A}


def test_a_feed_that_loses_the_url_by_which_apps_have_it_is_sent_by_its_own():
    known = account(A)
    moment = known.last_stamp
    known.move(guid(A), C)
    known.add((B, None))
    known.update(guid(A), Update(new_guid=guid(B)))
    merged = known.entries[guid(B)]
    assert isinstance(merged, Subscription)
    assert (merged.feed_url, merged.app_url) == (C, A)
    restored = known.last_stamp + 1
    restore(known, moment)
    assert subscribed(known) == {A, C}
    told = changes_to_send(known.entries.values(), restored, UNKNOWN)
    assert sorted(told.add) == [A, C]


def test_each_url_that_apps_may_have_beside_another_is_known_as_one():
    known = account(A)
    known.move(guid(A), B)
    moment = known.last_stamp
    undo_changes(known)
    known.add((B, None))
    known.move(guid(B), C)
    known.move(guid(B), URLS[0])
    snapshot = known.snapshot_with_history()
    known.keep(undo.restore(snapshot, moment, keep_added=True, held={guid(URLS[0])}))
    assert known.subscription(guid(A)).alias == Alias(
        A, moved_away=False, was_own=True, first_had=1_000
    )
    for url in (C, URLS[0]):
        assert known.pointer(guid(url)).alias == Alias(
            url, moved_away=False, was_own=True, first_had=1_000
        )


def test_a_url_that_apps_are_told_to_give_up_is_known_as_one_that_they_may_have_beside():
    known = account(A)
    known.move(guid(A), B)
    moment = known.last_stamp
    undo_changes(known)
    known.add((B, None))
    known.keep(
        url_lists.move(known.snapshot(), parse_feed_url(B), parse_feed_url(C), notify_apps=True)
    )
    restore(known, moment)
    feed = known.subscription(guid(A))
    given_up = Alias(
        A, moved_away=False, was_own=True, first_had=1_000, retired=feed.status_changed
    )
    assert (feed.feed_url, feed.alias) == (B, given_up)


def test_a_former_url_is_none_of_a_merge_once_the_merge_is_taken_back():
    known = account(A, C)
    known.move(guid(A), B)
    former = known.subscription(guid(A)).alias
    known.update(guid(C), Update(new_guid=guid(A)))
    undo_changes(known)
    assert known.subscription(guid(A)).alias == former == Alias(A, moved_away=True, first_had=1_000)


def test_a_restored_list_is_the_one_of_that_moment_with_or_without_what_was_added_since():
    for keep_added in (True, False):
        known = account(A, B)
        moment = known.last_stamp
        leave(known, A)
        known.move(guid(B), "https://moved.example")
        known.add((C, None))
        restore(known, moment, keep_added=keep_added)
        assert subscribed(known) == ({A, B, C} if keep_added else {A, B})
        assert (known.subscription(guid(C)).deleted is None) == keep_added


# C9.16, C9.17
@pytest.mark.parametrize("was", ["deleted", "unsubscribed"])
@pytest.mark.parametrize("keep_added", [True, False])
def test_a_feed_that_was_added_again_since_stays_like_any_other_that_was_added(was, keep_added):
    known = Account()
    known.add((A, None), (B, None))
    if was == "deleted":
        known.delete(guid(A))
    else:
        known.update(guid(A), Update(is_subscribed=False))
    moment = known.last_stamp
    known.update(guid(B), Update(is_subscribed=False))
    known.add((A, None))
    first = Stamp(known.last_stamp + 1)
    restore(known, moment, keep_added=keep_added)
    assert subscribed(known) == ({A, B} if keep_added else {B})
    assert polled(known, first) == ([B], [] if keep_added else [A])
    assert (known.subscription(guid(A)).deleted is None) == (keep_added or was != "deleted")
    assert restore(known, moment, keep_added=keep_added).stamp is None


def deleted_and_added_by_a_former_url(own_guid: str | None = None) -> tuple[Account, Stamp, Stamp]:
    """Return a list, the moment when its feed was deleted, and the stamp before it was added."""
    known = Account()
    known.add((A, None), (B, G1))
    known.add((A, G1))  # one feed, with two URLs
    known.delete(G1)
    moment = known.last_stamp
    known.add((C, None))
    between = known.last_stamp
    known.add((A, own_guid))
    return known, moment, between


def test_a_feed_that_was_added_since_stays_as_the_deleted_one_that_its_url_led_to():
    known, moment, between = deleted_and_added_by_a_former_url()
    first = Stamp(known.last_stamp + 1)
    restore(known, moment)
    assert subscribed(known) == {B, C}
    assert target_guid(known.entries[guid(A)]) == G1
    assert polled(known, first) == ([], [])  # apps with the former URL go on with it
    assert polled(known, Stamp(between + 1)) == ([B], [])


def test_so_does_one_that_has_a_guid_of_its_own():
    known, moment, _ = deleted_and_added_by_a_former_url(G2)
    assert subscribed(known) == {A, C}
    restore(known, moment)
    assert subscribed(known) == {B, C}
    assert target_guid(known.entries[G2]) == G1


def test_without_what_was_added_apps_are_told_to_remove_what_is_a_deleted_feed_again():
    known, moment, _ = deleted_and_added_by_a_former_url()
    first = Stamp(known.last_stamp + 1)
    restore(known, moment, keep_added=False)
    assert subscribed(known) == set()
    assert set(polled(known, first)[1]) >= {A, C}


# C9.18
def test_of_two_feeds_that_were_deleted_then_and_are_one_now_one_stays():
    known = Account()
    known.add((A, G1), (B, G2))
    known.delete(G1)
    known.delete(G2)
    moment = known.last_stamp
    known.add((A, G1), (B, G2))
    known.update(G1, Update(new_guid=G2))
    restore(known, moment)
    assert subscribed(known) == {B}
    restore(known, moment, keep_added=False)
    assert subscribed(known) == set()


# C9.18
@pytest.mark.parametrize("unsubscribed", [A, B])
def test_merged_feeds_are_restored_each_with_its_own_status(unsubscribed):
    known = Account()
    known.add((A, G1), (B, G2))
    leave(known, unsubscribed)
    moment = known.last_stamp
    known.update(G1, Update(new_guid=G2))
    restore(known, moment)
    assert subscribed(known) == {A, B} - {unsubscribed}


def test_feed_renamed_twice_and_moved_is_restored_as_the_same_feed():
    known = account(A)
    moment = known.last_stamp
    for new_guid in (G1, G2):
        known.update(guid(A), Update(new_guid=new_guid))
    known.move(G2, B)
    restore(known, moment)
    assert subscribed(known) == {A}
    assert known.subscription(guid(A)).status_changed == moment


def test_apps_are_not_sent_a_restored_feed_that_they_have_by_its_former_urls():
    known = account(A)
    for url in (*URLS[:3], C):
        known.move(guid(A), url)
    moment = known.last_stamp
    known.delete(guid(A))
    known.add(*((url, None) for url in URLS[:3]))
    leave(known, URLS[2])
    has_it_since = known.subscription(guid(URLS[1])).status_changed
    restore(known, moment)
    assert known.subscription(guid(A)).status_changed == has_it_since


def test_restoring_what_is_there_already_changes_nothing():
    known = account(A, B)
    last = known.last_stamp
    assert told(restore(known, last)) == (None, 0, 0)
    assert known.last_stamp == last


def test_an_added_feed_that_absorbed_an_older_one_stays_when_that_one_comes_back():
    known = account(A)
    moment = known.last_stamp
    known.add((C, G1))
    known.add((A, G1))
    assert isinstance(known.entries[guid(A)], Pointer)
    restore(known, moment)
    assert subscribed(known) == {A, C}


def test_what_came_before_the_moment_changes_nothing_of_what_comes_back():
    known = account(A)
    known.move(guid(A), B)
    undo_changes(known)  # B's guid leads nowhere again
    moment = known.last_stamp
    known.update(guid(A), Update(new_guid=guid(B)))
    states = [s for s in known.kept.states if s.ended is None or s.ended > moment]
    assert len(states) < len(known.kept.states)
    short = replace(known.snapshot(), history=History(states, Stamp(0)))
    whole = known.snapshot_with_history()
    assert (
        undo.restore(short, moment, keep_added=False).saved
        == undo.restore(whole, moment, keep_added=False).saved
    )


def test_what_was_forgotten_cannot_be_restored():
    known = account(A)
    leave(known, A)
    shown = replace(known.kept.history(), known_from=known.last_stamp)
    snapshot = replace(known.snapshot(), history=shown)
    with pytest.raises(InvalidInput, match="does not go back that far"):
        undo.restore(snapshot, Stamp(known.last_stamp - 1), keep_added=True)
    with pytest.raises(InvalidInput, match="does not go back that far"):
        undo.undo(snapshot, Undo([known.last_stamp]))
    assert undo.restore(snapshot, known.last_stamp, keep_added=True).outcome.stamp is None


# C9.8
def test_a_list_without_room_comes_back_as_a_whole_or_not_at_all():
    known = account(A, B)
    gone = leave(known, A, B)
    known.add((C, None))
    known.limits = Limits(2, 10)
    with pytest.raises(InvalidInput, match="the maximum"):
        undo.undo(known.snapshot_with_history(), Undo([gone]))


def test_apps_that_know_urls_only_are_told_of_each_feed_that_is_back_once():
    known = account(A, B)
    first = Stamp(known.last_stamp + 1)
    gone = url_lists.upload(known.snapshot(), [], [parse_feed_url(A), parse_feed_url(B)], UNKNOWN)
    known.keep(gone)
    assert polled(known, first) == ([], [A, B])
    first = Stamp(known.last_stamp + 1)
    undo_changes(known)
    assert polled(known, first) == ([A, B], [])
    assert polled(known, Stamp(known.last_stamp + 1)) == ([], [])


def test_apps_are_told_of_both_feeds_when_a_merge_is_taken_back():
    known = Account()
    known.add((A, None), (B, None))
    known.update(guid(A), Update(new_guid=guid(B)))
    first = Stamp(known.last_stamp + 1)
    undo_changes(known)
    # Some had both, and have removed one as a duplicate since.
    assert polled(known, first) == ([A, B], [])


def test_apps_are_told_nothing_when_a_move_that_they_were_not_told_of_is_taken_back():
    known = account(A)
    known.move(guid(A), B)
    first = Stamp(known.last_stamp + 1)
    undo_changes(known)
    assert polled(known, first) == ([], [])


def remove(known: Account, url: str, app: AppUrls) -> None:
    known.keep(url_lists.upload(known.snapshot(), [], [parse_feed_url(url)], app))


def told(done: ListRestored) -> tuple[Stamp | None, int, int]:
    return done.stamp, done.feeds, done.left


def polled(known: Account, first: Stamp, app: AppUrls = UNKNOWN) -> tuple[list[str], list[str]]:
    changes = changes_to_send(known.entries.values(), first, app)
    return sorted(changes.add), sorted(changes.remove)


def test_a_history_that_was_not_loaded_is_a_defect():
    known = account(A)
    with pytest.raises(LookupError):
        undo.undo(known.snapshot(), Undo(known.kept.stamps))


def test_a_move_whose_way_back_forgot_its_pointer_is_taken_back_without_one():
    known = account(A)
    known.move(guid(A), B)
    moved = known.kept.stamps[-1]
    known.move(guid(A), A)
    assert guid(B) not in known.entries  # its guid was never sent to any client
    undo_changes(known, moved, when=ConflictPolicy.OVERWRITE)
    assert guid(B) not in known.entries
    assert known.subscription(guid(A)).feed_url == A


def test_what_is_brought_back_was_had_as_long_as_before():
    known = account(A, B)
    moment = known.last_stamp
    known.now = 2_000
    known.move(guid(A), C)
    known.update(guid(B), Update(new_guid=guid(A)))
    known.now = 3_000
    restore(known, moment)
    assert subscribed(known) == {A, B}
    for url in (A, B):
        assert known.subscription(guid(url)).first_had == 1_000
    backup, known = account(A), Account(now=9_000)
    from_backup(known, backup)
    assert known.subscription(guid(A)).first_had == 1_000
    leave(known, A)
    undo_changes(known)
    assert known.subscription(guid(A)).first_had == 1_000
    known = account(A)
    known.now = 2_000
    known.move(guid(A), C)
    moment = known.last_stamp
    known.now = 3_000
    known.move(guid(A), B)
    restore(known, moment)
    assert known.subscription(guid(A)).first_had == 2_000
    assert known.subscription(guid(A)).alias == Alias(A, moved_away=True, first_had=1_000)


OFF, ON = Update(is_subscribed=False), Update(is_subscribed=True)
UNDONE_TWICE = {
    "add": ([], lambda known: known.add((A, None))),
    "add with a guid": ([], lambda known: known.add((A, G1))),
    "unsubscribe": ([A], lambda known: known.update(guid(A), OFF)),
    "delete": ([A], lambda known: known.delete(guid(A))),
    "move": ([A], lambda known: known.move(guid(A), C)),
    "rename": ([A], lambda known: known.update(guid(A), Update(new_guid=G1))),
    "merge": ([A, B], lambda known: known.update(guid(A), Update(new_guid=guid(B)))),
    "add of a pointer": ([A], lambda known: known.add((B, guid(A)))),
}


# C9.11, C9.20
@pytest.mark.parametrize("what", UNDONE_TWICE)
def test_undo_sent_again_changes_nothing(what):
    urls, change = UNDONE_TWICE[what]
    known = account(*urls)
    change(known)
    stamp = known.kept.stamps[-1]
    assert undo_changes(known, stamp).stamp is not None
    before = dict(known.entries)
    for when in ConflictPolicy:
        assert told(undo_changes(known, stamp, when=when)) == (None, 0, 0)
    assert known.entries == before


# C9.20
def test_undo_of_an_undone_merge_sent_again_changes_nothing():
    known = account()
    known.add((C, G1))
    known.add((A, G2), (B, G1))
    adding = known.kept.stamps[-1]
    known.update(G1, Update(parse_feed_url(A), G2))
    merging = known.kept.stamps[-1]
    undo_changes(known, adding, merging)
    stamp = known.kept.stamps[-1]
    assert undo_changes(known, stamp).stamp is not None
    before = dict(known.entries)
    assert told(undo_changes(known, stamp)) == (None, 0, 0)
    assert known.entries == before


# C9.20
def test_undo_of_a_restore_and_an_add_sent_again_changes_nothing():
    known = account(A)
    known.add((B, G2), (C, guid(A)))
    before_merging = known.kept.stamps[-1]
    known.update(guid(A), Update(new_guid=G2))
    restore(known, Stamp(before_merging - 1), keep_added=False)
    restoring = known.kept.stamps[-1]
    known.add((B, None))
    stamps = restoring, known.kept.stamps[-1]
    assert undo_changes(known, *stamps).stamp is not None
    before = dict(known.entries)
    assert told(undo_changes(known, *stamps)) == (None, 0, 0)
    assert known.entries == before


# C9.11
def test_undo_of_an_add_conflicts_again_once_the_feed_was_added_again():
    known = account(A, B)
    adding = known.kept.stamps[-1]
    undo_changes(known, adding)
    known.add((A, None))
    with pytest.raises(ChangedSince) as found:
        undo_changes(known, adding)
    assert (found.value.stamps[0], found.value.feeds) == (known.kept.stamps[-1], 1)
    assert told(undo_changes(known, adding, when=ConflictPolicy.LEAVE)) == (None, 0, 1)
