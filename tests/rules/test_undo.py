"""Taking changes back, and restoring a list: what becomes of each feed."""

import pytest
from kept_account import G1, G2, URLS, A, Account, B, C, guid

from feedkeep.model import Alias, Guid, History, Limits, Pointer, Stamp, replace
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import ChangedSince, InvalidInput, UnknownChange
from feedkeep.rules import undo, url_lists
from feedkeep.rules.app_urls import UNKNOWN, AppUrls
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.undo import ConflictPolicy, ListAt, ListRestored, Undo, restore_removed

OFF = {"is_subscribed": False}
LEAVE, OVERWRITE = ConflictPolicy.LEAVE, ConflictPolicy.OVERWRITE


@pytest.fixture
def known():
    return Account(A)


def from_backup(known: Account, backup: Account, **said: object) -> None:
    wanted = ListAt(dict(backup.entries), backup.last_stamp)
    known.bring_back(undo.restore_from, wanted, **{"keep_added": True, **said})


def remove(known: Account, url: str, app: AppUrls = UNKNOWN) -> None:
    known.do(url_lists.upload, [], [parse_feed_url(url)], app)


def told(done: ListRestored) -> tuple[Stamp | None, int, int]:
    return done.stamp, done.feeds, done.left


def alias(url: str, **said: object) -> Alias:
    return Alias(url, **{"moved_away": False, "first_had": 1_000, **said})


def pointers(known: Account) -> dict[Guid, Guid]:
    return {g: e.new_guid for g, e in known.entries.items() if isinstance(e, Pointer)}


def test_list_of_a_backup_comes_into_an_empty_one_with_all_that_leads_to_its_feeds():
    backup = Account(A, B)
    backup.move(A, C)
    backup.merge(B, G1)
    known = Account()
    from_backup(known, backup)
    assert known.subscribed() == {B, C}
    assert known.subscription(A).guid_changed is None  # it was never renamed
    assert known.pointer(B).guid_changed is not None
    stamps = [entry.revision for entry in known.entries.values() if entry.revision is not None]
    assert len(stamps) == len(set(stamps)) == 3
    before = dict(known.entries)
    from_backup(known, backup)
    assert known.entries == before


def test_list_of_a_backup_leaves_or_drops_what_was_added_since():
    backup, known = Account(A, B), Account(A, B)
    known.leave(A, B)
    known.add(C)
    from_backup(known, backup)
    assert known.subscribed() == {A, B, C}
    from_backup(known, backup, keep_added=False)
    assert known.subscribed() == {A, B}


@pytest.mark.parametrize("held", [(), (guid(C),)])
def test_url_that_an_app_has_leads_to_a_feed_that_a_backup_brings_back(held):
    backup, known = Account(A), Account(A)
    known.move(A, C)
    from_backup(known, backup, held=held)
    assert (guid(C) in known.entries) == bool(held)


def test_wiped_list_comes_back_in_one_step_and_each_feed_with_a_new_stamp():
    known = Account(*URLS)
    known.leave(*URLS)
    last = known.last_stamp
    done = known.undo()
    assert told(done) == (last + 1, len(URLS), 0)
    assert done.podcasts == {guid(url) for url in URLS}, "what was played of them is told again"
    assert {url: known.subscription(url).feed_url for url in URLS} == {url: url for url in URLS}
    assert known.subscribed() == set(URLS)
    stamps = {entry.revision for entry in known.entries.values()}
    assert len(stamps) == len(URLS)
    assert all(stamp > last for stamp in stamps)


def test_restore_removed_brings_back_only_feeds_that_these_changes_removed_last():
    known = Account(*URLS)
    first = known.leave(*URLS[:8])
    known.add(*URLS[:6])
    second = known.leave(*URLS[:4])
    known.move(URLS[0], "https://moved.example")
    known.delete(URLS[1])
    done = known.bring_back(restore_removed, [first, second])
    assert done.feeds == 5  # its owner has deleted the second one, which no app had removed last
    assert known.subscribed() == {"https://moved.example", *URLS[2:]}
    assert told(known.bring_back(restore_removed, [first, second])) == (None, 0, 0)


def test_restore_removed_brings_back_feeds_whose_guid_changed_since():
    known = Account(A, B)
    stamp = known.leave(A, B)
    known.update(A, new_guid=G1)
    assert known.bring_back(restore_removed, [stamp]).feeds == 2
    assert known.subscribed() == {A, B}


def test_restore_removed_brings_back_deleted_feeds():
    known = Account(A, B)
    known.delete(A)
    stamp = known.last_change
    known.add(C)
    assert known.bring_back(restore_removed, [stamp]).podcasts == {guid(A)}
    assert known.subscribed() == {A, B, C}


def test_restore_removed_brings_back_feeds_as_they_were_before_they_were_deleted():
    known = Account(A, B, C)
    on_purpose = known.leave(C)
    stamps = [known.leave(A, B)]
    for url in (A, C):
        known.delete(url)
        stamps.append(known.last_change)
    for count in (3, 0):
        assert known.bring_back(restore_removed, stamps).feeds == count
        assert known.subscribed() == {A, B}
        assert known.subscription(C).deleted is None
    assert on_purpose not in stamps


# C9.8
def test_list_without_room_comes_back_as_a_whole_or_not_at_all():
    known = Account(A, B)
    gone = known.leave(A, B)
    known.add(C)
    known.limits = Limits(2, 10)
    for rule, wanted in ((restore_removed, [gone]), (undo.undo, Undo([gone]))):
        with pytest.raises(InvalidInput, match="the maximum"):
            rule(known.snapshot_with_history(), wanted)


def test_feeds_that_changed_again_come_back_only_if_that_is_chosen():
    known = Account(A, B)
    gone = known.leave(A, B)
    known.add(A)
    since = known.last_change
    left_again = known.leave(A)
    with pytest.raises(ChangedSince) as raised:
        known.undo(gone)
    assert (raised.value.stamps, raised.value.feeds) == ([left_again, since], 1)
    assert known.subscribed() == set()
    assert told(known.undo(gone, when=LEAVE)) == (known.last_change, 1, 1)
    assert known.subscribed() == {B}
    assert known.undo(gone, when=OVERWRITE).feeds == 1
    assert known.subscribed() == {A, B}


def test_feeds_that_are_back_already_are_nothing_to_ask_about():
    known = Account(A, B)
    gone = known.leave(A, B)
    known.add(A)
    assert told(known.undo(gone)) == (known.last_change, 1, 0)
    assert told(known.undo(gone)) == (None, 0, 0)


def test_one_feed_of_a_change_comes_back_alone():
    known = Account(A, B)
    gone = known.leave(A, B)
    known.undo(gone, guids=[guid(B)])
    assert known.subscribed() == {B}
    with pytest.raises(UnknownChange):
        known.undo(gone, guids=[guid(C)])


def test_url_that_was_led_to_a_feed_is_taken_back_by_the_guid_of_that_feed():
    known = Account(B)
    known.add((A, G1))
    known.add((C, G1))
    known.undo(guids=[G1])
    assert guid(C) not in known.entries
    assert known.subscribed() == {A, B}


def test_several_changes_are_taken_back_as_one():
    known = Account(A, B, C)
    gone = [known.leave(A), known.leave(B)]
    known.move(C, "https://moved.example")
    known.undo(*gone)
    assert known.subscribed() == {A, B, "https://moved.example"}


def test_feed_and_a_url_that_was_led_to_it_come_back_together():
    known = Account((A, G1))
    gone = known.leave(A)
    known.add((B, G1))
    assert known.subscribed() == {A}
    assert known.pointer(B).new_guid == G1
    known.undo(gone, known.last_change)
    assert known.subscribed() == {A}
    assert guid(B) not in known.entries


@pytest.mark.parametrize("stamps", [[], [Stamp(7)]])
def test_unknown_change_is_refused(stamps):
    with pytest.raises(UnknownChange):
        undo.undo(Account(A).snapshot_with_history(), Undo(stamps))
    with pytest.raises(LookupError):  # a history that was not loaded is a defect
        undo.undo(Account(A).snapshot(), Undo(stamps or [Stamp(1_000)]))


# C9.13
def test_added_feed_is_deleted_and_an_undo_of_that_or_of_a_deletion_adds_it(known):
    known.add((B, G1))
    known.undo()
    feed = known.subscription(G1)
    assert not feed.is_subscribed
    assert feed.deleted == feed.revision
    known.undo()
    feed = known.subscription(G1)
    assert (feed.is_subscribed, feed.deleted) == (True, None)
    known.delete(A)
    known.undo()
    assert known.subscription(A).deleted is None
    assert known.subscribed() == {A, B}


def test_move_is_taken_back_and_the_wrong_url_leads_nowhere_and_apps_are_told_nothing(known):
    known.move(A, B)
    first = known.last_stamp + 1
    known.undo()
    assert known.polled(first) == ([], [])
    feed = known.subscription(A)
    assert (feed.feed_url, feed.app_url, feed.alias) == (A, None, None)
    assert guid(B) not in known.entries
    known.undo()
    feed = known.subscription(A)
    assert (feed.feed_url, feed.app_url, feed.alias) == (B, A, alias(A, moved_away=True))
    assert known.entries[guid(B)] == Pointer(guid(B), guid(A))


def test_apps_that_were_notified_of_a_move_are_told_when_it_is_taken_back_and_when_that_is(known):
    before = known.last_stamp + 1
    known.move(A, B, notify_apps=True)
    first = known.last_stamp + 1
    done = known.undo()
    feed = known.subscription(A)
    assert (feed.feed_url, feed.app_url) == (A, None)
    pointer = known.pointer(B)
    assert (pointer.new_guid, pointer.alias) == (guid(A), alias(B, retired=feed.status_changed))
    assert known.polled(first) == ([A], [B])
    assert done.podcasts == {guid(A), guid(B)}
    since = known.last_stamp + 1
    known.undo()
    assert known.polled(since) == known.polled(before) == ([B], [A])
    moved = known.subscription(A).alias
    assert (moved.url, moved.moved_away) == (A, True)


def test_apps_give_up_every_url_in_between_when_a_move_they_were_notified_of_is_taken_back(known):
    known.move(A, B, notify_apps=True)
    known.move(A, C)
    first = known.last_stamp + 1
    known.undo(known.kept.stamps[-2], when=OVERWRITE)
    assert known.polled(first) == ([A], [B, C])


def test_apps_that_missed_a_move_they_were_notified_of_are_told_all_urls(known):
    first = known.last_stamp + 1
    known.move(A, B)  # no app is told: all have A
    moment = known.last_stamp
    known.move(B, C, notify_apps=True)
    known.restore(moment)
    assert known.polled(first) == ([B], [A, C])


def test_url_that_an_app_has_leads_to_its_feed_also_when_the_move_is_taken_back(known):
    known.move(A, B)
    known.undo(held={guid(B)})
    assert (known.pointer(B).new_guid, known.pointer(B).alias) == (guid(A), alias(B))


# C9.13
def test_guid_that_devices_were_told_leads_to_its_feed_when_the_renaming_is_taken_back(known):
    known.merge(A, G1)
    known.undo()
    feed, pointer = known.subscription(A), known.pointer(G1)
    assert pointer.new_guid == guid(A)
    assert pointer.guid_changed < feed.revision == feed.guid_changed
    assert feed.status_changed < pointer.guid_changed, "apps are told nothing of guids"


# C9.12
def test_merge_that_is_taken_back_gives_two_feeds_with_all_that_led_to_each():
    known = Account((A, G1), (B, G2))
    known.leave(A)
    known.add((C, G2))  # a further URL of the second
    before = pointers(known)
    known.merge(G1, G2)
    assert known.subscribed() == {A}
    known.undo()
    assert known.subscribed() == {B}
    first, second = known.subscription(G1), known.subscription(G2)
    assert (first.feed_url, first.is_subscribed) == (A, False)
    assert (second.feed_url, second.is_subscribed) == (B, True)
    assert pointers(known) == before
    known.undo()
    assert known.subscribed() == {A}
    assert known.pointer(G1).new_guid == G2


@pytest.mark.parametrize("own", [guid(A), G1], ids=["derived guid", "guid of its own"])
def test_app_that_has_both_of_two_feeds_that_are_one_again_may_clear_one_away(own):
    known = Account((A, own))
    known.move(own, B)
    moment = known.last_stamp
    known.undo()
    known.add(B)
    known.restore(moment)
    assert known.subscribed() == {B}
    remove(known, A)  # of feeds that never moved, nothing is remembered
    assert known.subscribed() == {B}
    entries = dict(known.entries)
    known.restore(moment)
    assert known.entries == entries, "what is known of the two is not forgotten"


def test_app_that_has_both_urls_of_a_merge_may_clear_one_away_after_a_restore_to_before_it(known):
    moment = known.last_stamp
    known.add(B)
    known.merge(B, A)
    known.move(A, C)
    known.restore(moment)
    assert known.subscribed() == {A}
    remove(known, B, UNKNOWN.with_known([guid(B)]))
    assert known.subscribed() == {A}


def test_feed_that_loses_the_url_by_which_apps_have_it_is_sent_by_its_own(known):
    moment = known.last_stamp
    known.move(A, C)
    known.add(B)
    known.merge(A, B)
    merged = known.subscription(B)
    assert (merged.feed_url, merged.app_url) == (C, A)
    restored = known.last_stamp + 1
    known.restore(moment)
    assert known.subscribed() == {A, C}
    assert known.polled(restored)[0] == [A, C]


def test_each_url_that_apps_may_have_beside_another_is_known_as_one(known):
    known.move(A, B)
    moment = known.last_stamp
    known.undo()
    known.add(B)
    known.move(B, C)
    known.move(B, URLS[0])
    known.restore(moment, held={guid(URLS[0])})
    assert known.subscription(A).alias == alias(A, was_own=True)
    for url in (C, URLS[0]):
        assert known.pointer(url).alias == alias(url, was_own=True)


def test_url_that_apps_are_told_to_give_up_is_known_as_one_that_they_may_have_beside(known):
    known.move(A, B)
    moment = known.last_stamp
    known.undo()
    known.add(B)
    known.move(B, C, notify_apps=True)
    known.restore(moment)
    feed = known.subscription(A)
    assert feed.feed_url == B
    assert feed.alias == alias(A, was_own=True, retired=feed.status_changed)


def test_former_url_is_none_of_a_merge_once_the_merge_is_taken_back():
    known = Account(A, C)
    known.move(A, B)
    former = known.subscription(A).alias
    known.merge(C, A)
    known.undo()
    assert known.subscription(A).alias == former == alias(A, moved_away=True)


@pytest.mark.parametrize("keep_added", [True, False])
def test_restored_list_is_that_of_its_moment_with_or_without_what_was_added_since(keep_added):
    known = Account(A, B)
    moment = known.last_stamp
    assert told(known.restore(moment, keep_added=keep_added)) == (None, 0, 0)
    assert known.last_stamp == moment
    known.leave(A)
    known.move(B, "https://moved.example")
    known.add(C)
    known.restore(moment, keep_added=keep_added)
    assert known.subscribed() == ({A, B, C} if keep_added else {A, B})
    assert (known.subscription(C).deleted is None) == keep_added


# C9.16, C9.17
@pytest.mark.parametrize("was", ["deleted", "unsubscribed"])
@pytest.mark.parametrize("keep_added", [True, False])
def test_feed_that_was_added_again_since_stays_like_any_other_that_was_added(was, keep_added):
    known = Account(A, B)
    if was == "deleted":
        known.delete(A)
    else:
        known.update(A, **OFF)
    moment = known.last_stamp
    known.update(B, **OFF)
    known.add(A)
    first = known.last_stamp + 1
    known.restore(moment, keep_added=keep_added)
    assert known.subscribed() == ({A, B} if keep_added else {B})
    assert known.polled(first) == ([B], [] if keep_added else [A])
    assert (known.subscription(A).deleted is None) == (keep_added or was != "deleted")
    assert known.restore(moment, keep_added=keep_added).stamp is None


def deleted_and_added_by_a_former_url(own_guid: str | None) -> tuple[Account, Stamp, int]:
    """Return a list, the moment when its feed was deleted, and the stamp before it was added."""
    known = Account(A, (B, G1))
    known.add((A, G1))  # one feed, with two URLs
    known.delete(G1)
    moment = known.last_stamp
    known.add(C)
    between = known.last_stamp
    known.add((A, own_guid))
    return known, moment, between


@pytest.mark.parametrize("own_guid", [None, G2])
def test_feed_that_was_added_since_stays_as_the_deleted_one_that_its_url_led_to(own_guid):
    known, moment, between = deleted_and_added_by_a_former_url(own_guid)
    assert known.subscribed() == {A, C}
    first = known.last_stamp + 1
    known.restore(moment)
    assert known.subscribed() == {B, C}
    assert target_guid(known.entries[own_guid or guid(A)]) == G1
    if own_guid is None:
        assert known.polled(first) == ([], [])  # apps with the former URL go on with it
        assert known.polled(between + 1) == ([B], [])


def test_without_what_was_added_apps_are_told_to_remove_a_feed_that_is_deleted_again():
    known, moment, _ = deleted_and_added_by_a_former_url(None)
    first = known.last_stamp + 1
    known.restore(moment, keep_added=False)
    assert known.subscribed() == set()
    assert set(known.polled(first)[1]) >= {A, C}


# C9.18
def test_of_two_feeds_that_were_deleted_then_and_are_one_now_one_stays():
    known = Account((A, G1), (B, G2))
    known.delete(G1)
    known.delete(G2)
    moment = known.last_stamp
    known.add((A, G1), (B, G2))
    known.merge(G1, G2)
    known.restore(moment)
    assert known.subscribed() == {B}
    known.restore(moment, keep_added=False)
    assert known.subscribed() == set()


# C9.18
@pytest.mark.parametrize("unsubscribed", [A, B])
def test_merged_feeds_are_restored_each_with_its_own_status(unsubscribed):
    known = Account((A, G1), (B, G2))
    known.leave(unsubscribed)
    moment = known.last_stamp
    known.merge(G1, G2)
    known.restore(moment)
    assert known.subscribed() == {A, B} - {unsubscribed}


def test_feed_renamed_twice_and_moved_is_restored_as_the_same_feed(known):
    moment = known.last_stamp
    known.merge(A, G1)
    known.merge(A, G2)
    known.move(G2, B)
    known.restore(moment)
    assert known.subscribed() == {A}
    assert known.subscription(A).status_changed == moment


def test_apps_are_not_sent_a_restored_feed_that_they_have_by_its_former_urls(known):
    for url in (*URLS[:3], C):
        known.move(A, url)
    moment = known.last_stamp
    known.delete(A)
    known.add(*URLS[:3])
    known.leave(URLS[2])
    has_it_since = known.subscription(URLS[1]).status_changed
    known.restore(moment)
    assert known.subscription(A).status_changed == has_it_since


def test_added_feed_that_absorbed_an_older_one_stays_when_that_one_comes_back(known):
    moment = known.last_stamp
    known.add((C, G1))
    known.add((A, G1))
    assert known.pointer(A)
    known.restore(moment)
    assert known.subscribed() == {A, C}


def test_changes_before_the_moment_do_not_affect_what_comes_back(known):
    known.move(A, B)
    known.undo()  # B's guid leads nowhere again
    moment = known.last_stamp
    known.merge(A, B)
    states = [s for s in known.kept.states if s.ended is None or s.ended > moment]
    assert len(states) < len(known.kept.states)
    short = replace(known.snapshot(), history=History(states, Stamp(0)))
    saved = [
        undo.restore(one, moment, keep_added=False).saved
        for one in (short, known.snapshot_with_history())
    ]
    assert saved[0] == saved[1]


def test_forgotten_history_cannot_be_restored(known):
    last = known.leave(A)
    snapshot = replace(known.snapshot(), history=replace(known.kept.history(), known_from=last))
    with pytest.raises(InvalidInput, match="does not go back that far"):
        undo.restore(snapshot, Stamp(last - 1), keep_added=True)
    with pytest.raises(InvalidInput, match="does not go back that far"):
        undo.undo(snapshot, Undo([last]))
    assert undo.restore(snapshot, last, keep_added=True).outcome.stamp is None


def test_apps_that_know_urls_only_are_told_once_of_each_feed_that_is_back():
    known = Account(A, B)
    first = known.last_stamp + 1
    known.do(url_lists.upload, [], [parse_feed_url(A), parse_feed_url(B)], UNKNOWN)
    assert known.polled(first) == ([], [A, B])
    first = known.last_stamp + 1
    known.undo()
    assert known.polled(first) == ([A, B], [])
    assert known.polled(known.last_stamp + 1) == ([], [])


def test_apps_are_told_of_both_feeds_when_a_merge_is_taken_back():
    known = Account(A, B)
    known.merge(A, B)
    first = known.last_stamp + 1
    known.undo()
    # Some had both, and have removed one as a duplicate since.
    assert known.polled(first) == ([A, B], [])


def test_move_whose_way_back_forgot_its_pointer_is_taken_back_without_one(known):
    known.move(A, B)
    moved = known.last_change
    known.move(A, A)
    assert guid(B) not in known.entries  # its guid was never sent to any client
    known.undo(moved, when=OVERWRITE)
    assert guid(B) not in known.entries
    assert known.subscription(A).feed_url == A


def test_feeds_that_are_brought_back_were_had_as_long_as_before():
    known = Account(A, B)
    moment = known.last_stamp
    known.now = 2_000
    known.move(A, C)
    known.merge(B, A)
    known.now = 3_000
    known.restore(moment)
    assert known.subscribed() == {A, B}
    assert [known.subscription(url).first_had for url in (A, B)] == [1_000, 1_000]
    known = Account(now=9_000)
    from_backup(known, Account(A))
    assert known.subscription(A).first_had == 1_000
    known.leave(A)
    known.undo()
    assert known.subscription(A).first_had == 1_000
    known = Account(A)
    known.now = 2_000
    known.move(A, C)
    moment = known.last_stamp
    known.now = 3_000
    known.move(A, B)
    known.restore(moment)
    assert known.subscription(A).first_had == 2_000
    assert known.subscription(A).alias == alias(A, moved_away=True)


UNDONE_TWICE = {
    "add": ([], lambda known: known.add(A)),
    "add with a guid": ([], lambda known: known.add((A, G1))),
    "unsubscribe": ([A], lambda known: known.update(A, **OFF)),
    "delete": ([A], lambda known: known.delete(A)),
    "move": ([A], lambda known: known.move(A, C)),
    "rename": ([A], lambda known: known.merge(A, G1)),
    "merge": ([A, B], lambda known: known.merge(A, B)),
    "add of a pointer": ([A], lambda known: known.add((B, guid(A)))),
}


def assert_undone_once(known: Account, *stamps: Stamp) -> None:
    assert known.undo(*stamps).stamp is not None
    before = dict(known.entries)
    for when in ConflictPolicy:
        assert told(known.undo(*stamps, when=when)) == (None, 0, 0)
    assert known.entries == before


# C9.11, C9.20
@pytest.mark.parametrize("what", UNDONE_TWICE)
def test_undo_sent_again_changes_nothing(what):
    urls, change = UNDONE_TWICE[what]
    known = Account(*urls)
    change(known)
    assert_undone_once(known, known.last_change)


# C9.20
def test_undo_of_an_undone_merge_sent_again_changes_nothing():
    known = Account((C, G1))
    known.add((A, G2), (B, G1))
    adding = known.last_change
    known.update(G1, new_feed_url=parse_feed_url(A), new_guid=G2)
    known.undo(adding, known.last_change)
    assert_undone_once(known, known.last_change)


# C9.20
def test_undo_of_a_restore_and_an_add_sent_again_changes_nothing(known):
    known.add((B, G2), (C, guid(A)))
    before_merging = known.last_change
    known.merge(A, G2)
    known.restore(Stamp(before_merging - 1), keep_added=False)
    restoring = known.last_change
    known.add(B)
    assert_undone_once(known, restoring, known.last_change)


# C9.11
def test_undo_of_an_add_conflicts_again_once_the_feed_was_added_again():
    known = Account(A, B)
    adding = known.last_change
    known.undo(adding)
    known.add(A)
    with pytest.raises(ChangedSince) as found:
        known.undo(adding)
    assert (found.value.stamps[0], found.value.feeds) == (known.last_change, 1)
    assert told(known.undo(adding, when=LEAVE)) == (None, 0, 1)
