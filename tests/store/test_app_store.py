"""App data in every store: changes by stamp, clocks, sessions, actions, documents.

Method by method, like `test_store.py`.
"""

import asyncio
from functools import partial

import pytest
from list_values import ALICE, BOB, G1, G2, G3, A, B, account, derived, guid_of
from small_lists import add, answers, delete, look, subscribe, update
from whole_store import all_accounts

from feedkeep.model import (
    ActionDecision,
    ActionRequest,
    Alias,
    Clock,
    Document,
    DocumentKind,
    DocumentName,
    EpisodeAction,
    FeedLabel,
    Grant,
    KnownDocument,
    PlayRequest,
    Pointer,
    Recorded,
    Restored,
    SyncProgress,
    Token,
    TokenProgress,
    replace,
)
from feedkeep.model.errors import AccountError, InvalidInput, NotAuthorized
from feedkeep.rules.database_restores import restamped
from feedkeep.rules.episode_actions import sent_second
from feedkeep.rules.episodes import is_finished
from feedkeep.rules.invariants import history_violations, violations
from feedkeep.store.portable.episode_actions import MAX_OF_AN_EPISODE
from feedkeep.store.postgres.runner import PostgresDriver
from feedkeep.store.sqlite.driver import SqliteDriver

ACCOUNTS = [account(), account(BOB, "Bob")]
PODCASTS = [derived(url) for url in (A, B)]
KEY, HASH = b"\1" * 32, b"\2" * 32


async def clocks(store, account_id=ALICE):
    """Return an account's two clocks."""
    (found,) = [one for one in await all_accounts(store) if one.id == account_id]
    return found.last_stamp, found.last_action_stamp


def refuse(*_):
    raise InvalidInput("no")


async def test_changes_since_a_stamp_are_listed_with_the_former_urls_of_their_feeds(store):
    first, second = await add(store, (A, G1), (B, G2))
    await add(store, (A, None), to=BOB)
    everything = set(await store.entries.changed(ALICE, 0))
    assert everything == {first, second}  # no pointer from a present URL
    assert list(await store.entries.changed(ALICE, second.revision)) == [second]
    assert list(await store.entries.changed(ALICE, second.revision + 1)) == []

    await update(store, G1, "https://moved.example")
    had = first.first_had
    former = Pointer(derived(A), G1, None, Alias(A, moved_away=True, first_had=had))
    moved = (await store.entries.whole(ALICE)).entries[G1]
    assert set(await store.entries.changed(ALICE, second.revision + 1)) == {moved, former}
    assert set(await store.entries.changed(ALICE, 0)) == {second, moved, former}

    await update(store, G1, new_guid=G3)
    await delete(store, G2)
    told = {entry.guid: entry for entry in await store.entries.changed(ALICE, 0)}
    assert set(told) == {G1, G2, G3, derived(A)}
    assert isinstance(told[G1], Pointer)
    assert told[G2].deleted is not None


@pytest.mark.parametrize("others", [0, 300])
async def test_urls_with_escapes_are_those_of_present_and_former_feeds(others, store):
    many = [(f"https://{number}.example", None) for number in range(others)]
    more = [f"https://{number}.example/%41" for number in range(others)]
    old, new = "https://a.example/%3A", "https://a.example/%C3%A9"
    await add(store, (old, G1), (B, G2), *many)
    await add(store, ("https://bob.example/%3A", None), to=BOB)
    assert await store.entries.escaped(ALICE) == [old]
    await update(store, G1, new)
    assert sorted(await store.entries.escaped(ALICE)) == [old, new]
    await add(store, *((url, None) for url in more))
    assert sorted(await store.entries.escaped(ALICE)) == sorted([old, new, *more])


async def test_each_clock_of_an_account_is_set_alone_and_later_changes_continue_it(store):
    far = 2**53
    assert await store.accounts.advance(ALICE, Clock.SUBSCRIPTIONS, lambda _: far) == far
    assert await store.accounts.advance(ALICE, Clock.ACTIONS, lambda _: far + 10) == far + 10
    assert await clocks(store) == (far, far + 10)
    assert await clocks(store, BOB) == (0, 0)
    found = await store.accounts.find("alice")
    assert found == replace(account(), last_stamp=far, last_action_stamp=far + 10)
    (added,) = await add(store, (A, None))
    assert added.revision == far + 1
    assert await record(store, action(1)) == [far + 11]
    assert await store.accounts.advance(ALICE, Clock.ACTIONS, lambda last: last) == far + 11


async def test_restore_is_stored_in_an_account_and_restamps_only_its_newest_entry(store):
    at = 10**17
    await add(store, (A, G1), (B, G2))
    await update(store, G1, new_guid=G3)
    given = []

    def decide(known, newest):
        given.append((known, newest))
        clocks = {"last_stamp": at, "last_action_stamp": at + 1}
        lost = {"epoch": 2**63 - 1, "lost_after": known.last_stamp, "lost_until": at - 1}
        return Restored(replace(known, **clocks, **lost), newest and restamped(newest, at))

    before = (await store.entries.whole(ALICE)).entries
    for account_id in (ALICE, BOB, 99):
        await store.accounts.note_restored(account_id, decide)
    (alice, newest), (bob, none) = given
    assert (alice.id, newest, bob.id, none) == (ALICE, before[G3], BOB, None)
    whole = await store.entries.whole(ALICE, 0)
    assert whole.entries == before | {G3: replace(before[G3], subscription_changed=at)}
    assert list(violations(whole)) + list(history_violations(whole)) == []
    assert await store.accounts.find("alice") == decide(alice, None).account
    pointer = Pointer(G1, G3, at + 5)
    await store.accounts.note_restored(ALICE, lambda known, _: Restored(known, pointer))
    assert (await store.entries.whole(ALICE)).entries[G1] == pointer


async def test_change_after_the_clock_was_set_has_a_later_stamp_also_at_the_same_time(store):
    promised = 0

    async def advance():
        nonlocal promised
        stamp = await store.accounts.advance(ALICE, Clock.SUBSCRIPTIONS, lambda last: last + 10**6)
        promised = max(promised, stamp)

    async def change(number):
        before = promised
        (added,) = await add(store, (f"https://{number}.example", None))
        assert added.revision > before

    for start in range(0, 60, 10):
        await asyncio.gather(
            *(change(number) if number % 2 else advance() for number in range(start, start + 10))
        )
    revisions = [entry.revision for entry in (await store.entries.whole(ALICE)).entries.values()]
    assert len(set(revisions)) == len(revisions) == 30
    assert (await clocks(store))[0] >= promised > 30 * 10**6


async def test_progress_of_a_token_is_stored_by_clock_and_acknowledgements_only_grow(store):
    first = await store.tokens.add(ALICE, Token(0, KEY, "", 0))
    other = await store.tokens.add(ALICE, Token(0, HASH, "", 0))
    theirs = await store.tokens.add(BOB, Token(0, KEY, "", 0))
    assert first.last_sent_actions is None
    expected, lists = first, Clock.SUBSCRIPTIONS
    for clock, sent, acknowledged, stored in (
        (lists, 7, None, {"last_sent_subscriptions": 7}),
        (lists, 5, 6, {"last_sent_subscriptions": 5, "acknowledged_subscriptions": 6}),
        (lists, 7, 4, {"last_sent_subscriptions": 7}),
        (lists, 7, None, {}),
        (Clock.ACTIONS, 2, 1, {"last_sent_actions": 2, "acknowledged_actions": 1}),
    ):
        progress = TokenProgress(first.id, clock, SyncProgress(sent, acknowledged))
        await store.tokens.save_progress(ALICE, progress)
        expected = replace(expected, **stored)
        assert (await store.tokens.find(ALICE, KEY)).token == expected
    gone = TokenProgress(99, Clock.ACTIONS, SyncProgress(9, 9))  # which was revoked, say
    await store.tokens.save_progress(ALICE, gone)
    assert await store.tokens.of(ALICE) == [expected, other]
    assert await store.tokens.of(BOB) == [theirs]


def action(number, podcast=0, **more):
    """Return an action whose key is a number's, of one of the podcasts."""
    key = number.to_bytes(16, "big")
    url = (A, B)[podcast]
    played = ("phone", "play", 5, 0, 10, 60)
    made = EpisodeAction(key, PODCASTS[podcast], url, f"{url}/{number}.mp3", *played)
    return replace(made, **{"received": 10**10, "file": key[6:], **more})


def stamped(snapshot, some):
    """Save actions with the account's next stamps."""
    stamps = range(snapshot.last_stamp + 1, snapshot.last_stamp + 1 + len(some))
    saved = [replace(one, revision=stamp) for one, stamp in zip(some, stamps, strict=True)]
    return ActionDecision(saved, stamps[-1])


async def record(store, *actions, to=ALICE):
    """Save actions, each with the account's next stamp; return the stamps."""
    recorded = await store.episode_actions.record(to, actions, stamped, max)
    return list(range(recorded.began + 1, recorded.ended + 1))


async def listed(store, first=0, podcast=None, most=100, **more):
    request = ActionRequest(first, podcast, most, **more)
    return await store.episode_actions.page(ALICE, request)


def revisions(actions):
    return [one.revision for one in actions]


async def last_of_each(store, first, to, podcast=None):
    request = ActionRequest(first, podcast, 1, to)
    return list(await store.episode_actions.last_of_each(ALICE, request))


async def test_action_is_stored_to_the_last_field_and_replaced_by_a_later_one_of_its_key(store):
    numbers = {"started": 0, "position": 2**53 - 1, "total": 7}
    whole = action(1, episode_guid="é\u2028", done=0, app="Zoë's phone", **numbers)
    assert await record(store, whole, action(2)) == [1, 2]
    first, second = replace(whole, revision=1), action(2, revision=2)
    assert await listed(store) == [first, second]
    changed = action(1, device="", kind="new", podcast=0, done=9)
    assert await record(store, changed) == [3]
    assert await listed(store) == [second, replace(changed, revision=3)]
    assert await clocks(store) == (0, 3)


async def test_actions_are_listed_in_the_order_they_came_from_a_stamp_on(store):
    await record(store, *(action(9 - number, number % 2) for number in range(6)))
    await record(store, action(1), to=BOB)
    assert [one.key[-1] for one in await listed(store, 4)] == [6, 5, 4]
    for first, podcast, most, found in (
        (0, None, 100, [1, 2, 3, 4, 5, 6]),
        (2, PODCASTS[1], 100, [2, 4, 6]),
        (3, PODCASTS[1], 1, [4]),
        (2, None, 2, [2, 3]),
        (7, None, 100, []),
        (0, G1, 100, []),
    ):
        assert revisions(await listed(store, first, podcast, most)) == found
    # Superseded actions are listed only if they are requested.
    url = {"podcast": 1, "is_superseded": True}
    await record(store, action(11, **url), action(12, 1), action(13, **url))
    for podcast in (None, PODCASTS[1]):
        assert revisions(await listed(store, 7, podcast, 2)) == [8]
        for first, found in ((7, [7, 8]), (8, [8, 9])):
            page = await listed(store, first, podcast, 2, with_superseded=True)
            assert revisions(page) == found
    assert await last_of_each(store, 7, 99) == [8]


async def test_rule_about_actions_is_given_the_named_ones_and_the_clocks(store):
    await record(store, action(1), action(2), action(3, 1))
    await record(store, action(4), to=BOB)
    seen = []

    def decide(snapshot, _):
        seen.append(snapshot)
        return ActionDecision([], 99)

    wanted = [action(1), action(3, 1), action(4), action(2, 1)]
    await store.episode_actions.record(ALICE, wanted, decide, max)
    known = {one.key: one for one in (action(1, revision=1), action(3, 1, revision=3))}
    assert (seen[0].known, seen[0].last_stamp) == (known, 3)
    assert seen[0].now > 10**15
    assert await clocks(store) == (0, 3)  # nothing was saved, so it stands still


async def test_upload_of_actions_saves_a_document_about_its_app(store):
    name = DocumentName(DocumentKind.COOKIELESS, "app")
    seen = []

    def learn(recorded, documents):
        seen.append(documents[name])
        return Document(name.kind, name.name, f"{recorded.ended}") if len(seen) < 3 else None

    for number in range(3):
        sent = [action(number)]
        await store.episode_actions.record(ALICE, sent, stamped, max, learn, [name])
    assert seen == [KnownDocument(None, 0), KnownDocument("1"), KnownDocument("2")]
    assert await store.documents.body(ALICE, name.kind, name.name) == "2"


async def test_rule_about_actions_that_refuses_changes_nothing(store):
    def refuse_the_last(snapshot, some):
        return refuse() if action(999) in some else stamped(snapshot, some)

    await record(store, action(1))
    others = [action(number) for number in range(2, 1_000)]
    refused, *_ = await answers(
        store.episode_actions.record(ALICE, others, refuse_the_last, max),
        record(store, action(2_000), to=BOB),
        store.accounts.create(account(3, "Carl"), "carl"),
    )
    assert refused is InvalidInput
    assert await listed(store) == [action(1, revision=1)]
    assert await clocks(store) == await clocks(store, BOB) == (0, 1)
    assert await store.accounts.find("carl") is not None


async def test_last_action_of_each_kind_and_episode_is_found_by_its_time(store):
    same = f"{A}/same.mp3"
    await record(
        store,
        action(1, episode=same, done=5),  # 1
        action(2, episode=same, done=9),  # 2: done last, though it came before the next
        action(3, episode=same, done=7),  # 3
        action(4, 1, episode=same),  # 4: of another podcast
        action(5, done=5),  # 5
        action(6, episode=f"{A}/5.mp3", done=5),  # 6: done in the same second, and came later
        action(8, episode=same, kind="delete", done=20),  # 7: another kind hides no play
        action(9, episode=same, done=30, position=None),  # 8: not told, so it hides none
        action(10, episode=same, done=30, total=None),  # 9: neither
    )
    await record(store, action(7, episode=same, done=99), to=BOB)
    assert await last_of_each(store, 0, 99) == [2, 4, 6, 7]
    assert await last_of_each(store, 0, 99, PODCASTS[0]) == [2, 6, 7]
    assert await last_of_each(store, 3, 5) == [3, 4, 5]
    assert await last_of_each(store, 8, 99) == []
    assert revisions(await listed(store, 2, None, 99, last=4)) == [2, 3, 4]
    assert revisions(await listed(store, 2, PODCASTS[0], 99, last=4)) == [2, 3]


async def played(store, is_finished=None, before=None, most=9):
    start = (sent_second(before), before.revision) if before else None
    return await store.episode_actions.newest_plays(ALICE, PlayRequest(is_finished, start, most))


async def test_newest_plays_are_listed_by_time_finished_or_not_in_pages(store):
    second = 10**10 // 10**6
    await record(
        store,
        action(1, done=20),
        action(2, done=40, position=60),
        action(3, done=30, total=None),
        action(4, done=10**9, position=30),  # from a clock ahead, so received at last
        action(5, done=30, position=29),
        action(6, done=30, position=1_000),
        action(7, done=second, position=99),
        action(8, done=99, is_superseded=True),
        action(9, done=99, kind="download", position=None, total=None),
    )
    await record(store, action(1, done=25), to=BOB)
    listed = await played(store)
    assert revisions(listed) == [7, 4, 2, 6, 5, 3, 1]
    for state in (True, False):
        some = [one for one in listed if is_finished(one.position, one.total) is state]
        assert await played(store, state) == some, "as the rule decides"
        assert len(some) > 2
    for state in (None, True, False):
        rest = await played(store, state)
        last = None
        for one in list(rest):
            assert await played(store, state, last, most=1) == [one]
            assert await played(store, state, last) == rest
            last = rest.pop(0)
        assert await played(store, state, last) == []


async def test_all_actions_of_an_episode_are_found_by_their_keys(store):
    episode = bytes(9) + b"\1"
    of_it = [action(1, key=episode + bytes([n] * 6), is_superseded=n > 1) for n in (0, 1, 255)]
    others = [bytes(10), bytes(9) + b"\2"]
    await record(store, *of_it, *(action(2, key=key + bytes(6)) for key in others))
    await record(store, action(3, 1, key=episode + b"\2" * 6))
    await record(store, action(4, key=episode + b"\2" * 6), to=BOB)
    found = await store.episode_actions.of_episode(ALICE, PODCASTS[0], episode)
    assert sorted(one.key for one in found) == [one.key for one in of_it]
    many = [action(5, 1, key=b"\5" * 12 + n.to_bytes(4, "big")) for n in range(150)]
    await record(store, *many)
    assert len(await store.episode_actions.of_episode(ALICE, PODCASTS[1], b"\5" * 10)) == 100


async def test_last_of_each_goes_by_guids_and_by_the_time_that_apps_are_sent(store):
    one, two, three = (f"{A}/{name}.mp3" for name in ("one", "two", "three"))
    await record(
        store,
        action(1, episode=one, episode_guid="G", done=500),  # 1
        action(2, episode=two, episode_guid="G", done=600),  # 2: its URL has changed
        action(3, episode=one, done=550),  # 3: with the only guid that has this URL
        action(4, episode=three, episode_guid="H", done=500),  # 4
        action(5, episode=three, episode_guid="I", done=501),  # 5: another episode
        action(6, episode=three, done=502),  # 6: it may be either of them
        action(7, 1, episode=one, done=10**9, received=700 * 10**6),  # 7: a clock ahead
        action(8, 1, episode=one, done=699, received=10**6),  # 8: a clock ahead, received early
        action(9, 1, episode=one, done=699, received=10**10),  # 9
    )
    for first, to, found in (
        (0, 99, [2, 4, 5, 6, 7]), (0, 6, [2, 4, 5, 6]), (3, 4, [3, 4]), (8, 9, [9])
    ):  # fmt: skip
        assert await last_of_each(store, first, to) == found


async def test_rule_is_given_the_actions_of_the_same_episodes(store):
    def keyed(*numbers):
        return bytes(numbers) + bytes(16 - len(numbers))

    def filed(number):
        return bytes([number]) * 10

    itself = action(1, key=keyed(1), file=filed(1), is_superseded=True)
    stored = [
        itself,
        action(2, key=keyed(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7), file=filed(2)),
        action(3, key=keyed(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8), file=filed(1), is_superseded=True),
        action(4, key=keyed(2), file=filed(1)),
        action(5, key=keyed(3), file=filed(1), kind="delete"),
        action(6, key=keyed(4), file=filed(1), kind="download"),
        action(7, key=keyed(5), file=filed(1), is_superseded=True),
        action(8, 1, key=keyed(6), file=filed(1)),
    ]
    await record(store, *stored)
    for sent, found in ((itself, [0, 3, 4]), (replace(itself, episode_guid="G"), [0, 1, 3, 4])):
        given = []

        def decide(snapshot, _, given=given):
            given += snapshot.known
            return ActionDecision([], snapshot.last_stamp)

        done = await store.episode_actions.record(ALICE, [sent], decide, max)
        assert (done.began, done.ended, done.added) == (8, 8, 0)
        assert sorted(given) == sorted(stored[number].key for number in found)
    # The actions of episodes, by the key of a guid or of a file.
    for keys, found in (
        ([filed(1)], [3, 4]),
        ([keyed(1)[:10]], [1]),
        ([filed(1), keyed(1)[:10], filed(9)], [1, 3, 4]),
        ([], []),
    ):
        given = await store.episode_actions.of_episodes(ALICE, itself.podcast_guid, keys)
        assert sorted(one.key for one in given) == [stored[number].key for number in found]
    assert await store.episode_actions.of_episodes(BOB, itself.podcast_guid, [filed(1)]) == []


async def test_upload_of_actions_reports_up_to_where_nothing_else_changed(monkeypatch, store):
    for driver in (SqliteDriver, PostgresDriver):
        monkeypatch.setattr(driver, "rows_at_once", 1)

    def decide(snapshot, some):
        """Give the second action and those after it two stamps."""
        stamp = snapshot.last_stamp + 1
        saved = [replace(some[0], revision=stamp)]
        others = [] if stamp == 1 else [action(100 + stamp, revision=stamp + 1)]
        until = stamp if others else None
        return ActionDecision([*saved, *others], stamp + len(others), until)

    sent = [action(number) for number in range(3)]
    for account_id, some, recorded in (
        (BOB, sent[:1], Recorded(0, 1)),
        (ALICE, sent, Recorded(0, 5, sent_until=2)),
    ):
        assert await store.episode_actions.record(account_id, some, decide, max) == recorded


async def test_rule_is_given_a_bounded_number_of_actions_of_an_episode(store):
    many = range(1, MAX_OF_AN_EPISODE + 6)
    counts = []

    def count(snapshot, _):
        counts.append(len(snapshot.known))
        return ActionDecision([], snapshot.last_stamp)

    # They share the beginnings of their keys, and those of the other podcast share their file.
    await record(store, *(action(number) for number in many))
    await record(store, *(action(number + 10**5, 1, file=bytes(10)) for number in many))
    for sent in (
        action(10**6, episode_guid="G", file=b"\1" * 10),
        action(10**6, 1, file=bytes(10)),
    ):
        await store.episode_actions.record(ALICE, [sent], count, max)
    assert counts == [MAX_OF_AN_EPISODE] * 2


async def test_all_actions_of_one_upload_are_stored_in_order_and_see_those_before(store):
    def count(snapshot, some):
        kept, clock = dict(snapshot.known), snapshot.last_stamp
        for one in some:
            clock += 1
            done = kept[one.key].done + 1 if one.key in kept else 1
            kept[one.key] = replace(one, done=done, revision=clock)
        added = len({one.key for one in some} - snapshot.known.keys())
        saved = [kept[key] for key in {one.key: 0 for one in some}]
        return ActionDecision(saved, clock, added=added)

    sent = [action(number % 700) for number in range(1_000)]
    recorded = await store.episode_actions.record(ALICE, sent, count, max)
    found = await listed(store, most=2_000)
    assert [one.key for one in found] == [action(n % 700).key for n in range(300, 1_000)]
    assert [one.done for one in found] == [1] * 400 + [2] * 300
    assert await clocks(store) == (0, 1_000)
    assert recorded == Recorded(0, 1_000, added=700)
    assert await store.episode_actions.weights(ALICE) == (700, 700)
    assert await store.episode_actions.weights(BOB) == (0, 0)
    with pytest.raises(NotAuthorized):
        await store.episode_actions.weights(99)


async def test_concurrent_actions_and_documents_see_one_another(store):
    same = action(99)
    others = []

    def count(snapshot, _):
        kept = snapshot.known.get(same.key)
        return stamped(snapshot, [replace(same, done=kept.done + 1 if kept else 1)])

    def count_in_document(body, _):
        return str(int(body or 0) + 1)

    def make(_, there):
        others.append(there)
        return "{}"

    change = store.documents.change
    await asyncio.gather(
        *(record(store, action(number)) for number in range(30)),
        *(record(store, action(number), to=BOB) for number in range(10)),
        *(store.episode_actions.record(ALICE, [same], count, max) for _ in range(20)),
        *(change(ALICE, "settings", "n", count_in_document) for _ in range(20)),
        *(change(ALICE, "device", f"d{number}", make) for number in range(20)),
    )
    found = await listed(store)
    assert len({one.revision for one in found}) == len(found) == 31
    assert next(one for one in found if one.key == same.key).done == 20
    assert (await clocks(store), await clocks(store, BOB)) == ((0, 50), (0, 10))
    assert await store.documents.body(ALICE, "settings", "n") == "20"
    assert sorted(others[-20:]) == list(range(20))


async def test_documents_are_stored_by_kind_and_name_for_their_account_only(store):
    for kind, name in (("device", "é"), ("device", "a"), ("device", "B"), ("settings", "a")):
        body = f'{{"name":"{name} 🎧"}}'
        saved = await store.documents.change(ALICE, kind, name, lambda *_, body=body: body)
        assert saved == body
    assert await store.documents.of(ALICE, "device") == [
        Document("device", name, f'{{"name":"{name} 🎧"}}') for name in ("B", "a", "é")
    ]
    assert await store.documents.body(ALICE, "settings", "a") == '{"name":"a 🎧"}'
    assert await store.documents.body(ALICE, "settings", "B") is None
    assert await store.documents.of(ALICE, "none") == []
    assert await store.documents.of(BOB, "device") == []
    assert await store.documents.body(BOB, "device", "a") is None


async def test_change_of_a_document_is_given_it_and_the_weight_of_the_others(store):
    seen = []

    def note(body, others):
        seen.append((body, others))
        return f"{len(seen)}" if len(seen) != 2 else long

    long = "ä" * 1_300  # 4 KiB
    wanted = (("device", "a"), ("device", "b"), ("settings", "x"), ("device", "a"))
    for kind, name in (*wanted, ("device", "b"), ("device", "c")):
        await store.documents.change(ALICE, kind, name, note)
    await store.documents.change(BOB, "device", "a", note)
    assert seen == [(None, 0), (None, 1), (None, 0), ("1", 4), (long, 1), (None, 2), (None, 0)]
    before = await store.documents.of(ALICE, "device")
    for name in ("a", "z"):
        named = DocumentName(DocumentKind.DEVICE, name)
        with pytest.raises(InvalidInput):
            await store.documents.change(ALICE, named.kind, name, refuse)
        with pytest.raises(InvalidInput):
            await store.entries.change(ALICE, [], refuse, [named])
    assert await store.documents.of(ALICE, "device") == before


def keeping(snapshot, *documents, progress=None):
    """Return a decision that changes no entry."""
    return replace(look(snapshot), documents=documents, token_progress=progress)


async def test_changes_of_entries_are_given_the_documents_they_name_in_turn(store):
    token = await store.tokens.add(ALICE, Token(0, KEY, "", 0))
    seen = []

    async def meet(name, body):
        named = DocumentName(DocumentKind.DEVICE, name)

        def decide(snapshot):
            seen.append(snapshot.documents[named])
            known = SyncProgress(len(seen), len(seen))
            progress = TokenProgress(token.id, Clock.SUBSCRIPTIONS, known)
            return keeping(snapshot, Document(named.kind, name, body), progress=progress)

        await store.entries.change(ALICE, [], decide, [named])

    await store.documents.change(ALICE, "settings", "a", lambda *_: "{}")  # of another kind
    await asyncio.gather(*(meet(f"d{number}", "{}") for number in range(20)))
    assert sorted(known.others for known in seen) == list(range(20))
    await meet("d7", "{1}")
    assert seen[-1] == KnownDocument("{}", 19)
    long = "ä" * 1_300  # 4 KiB
    await asyncio.gather(meet("d7", long), meet("d8", long), meet("d7", "{1}"))
    known = [("{1}", 19), ("{}", 22), (long, 22)]
    assert seen[-3:] == [KnownDocument(*one) for one in known]
    assert await store.documents.body(ALICE, "device", "d7") == "{1}"
    assert len(await store.documents.of(ALICE, "device")) == 20
    (stored,) = await store.tokens.of(ALICE)
    assert (stored.last_sent_subscriptions, stored.last_sent_actions) == (24, None)
    told = [TokenProgress(token.id, clock, SyncProgress(5)) for clock in Clock]
    decides = [partial(keeping, progress=progress) for progress in told]
    await asyncio.gather(*(store.entries.change(ALICE, [], decide) for decide in decides))
    (stored,) = await store.tokens.of(ALICE)
    assert (stored.last_sent_subscriptions, stored.last_sent_actions) == (5, 5)


async def test_change_that_names_a_kind_is_given_all_its_documents(store):
    device, new = (DocumentName(DocumentKind.DEVICE, name) for name in "ab")
    other = DocumentName(DocumentKind.SETTINGS, "a")

    async def given(*wanted):
        return (await store.entries.change(ALICE, [], look, wanted)).documents

    for name in (device, other):
        await store.documents.change(ALICE, name.kind, name.name, lambda *_: "{}")
    assert await given(new.kind) == {device: KnownDocument("{}")}
    saved = Document(new.kind, new.name, "{1}")
    _, seen, named, settings = await asyncio.gather(
        store.entries.change(ALICE, [], lambda snapshot: keeping(snapshot, saved), [new]),
        given(new.kind),
        given(other, new.kind, DocumentName(other.kind, "b")),
        given(other.kind),
    )
    devices = {device: KnownDocument("{}", 1), new: KnownDocument("{1}", 1)}
    assert seen == devices
    others = {other: KnownDocument("{}"), DocumentName(other.kind, "b"): KnownDocument(None, 1)}
    assert named == devices | others
    assert settings == {other: KnownDocument("{}")}


TYPED = FeedLabel(G1, "Zoë's", "Täglich / Früh", is_title_edited=True, is_folder_edited=True)
PLAIN = FeedLabel(G2, "Title")


async def save_labels(store, *labels):
    await store.feed_labels.change(ALICE, lambda _: labels)


async def labels_of_feeds(store):
    return [found.label for found in await store.feed_labels.of(ALICE)]


async def test_labels_are_stored_with_what_their_guids_lead_to_beside_the_list(store):
    await add(store, (A, G1), (B, G2))
    before = await store.entries.whole(ALICE, 0)
    await save_labels(store, PLAIN, TYPED)
    after = await store.entries.whole(ALICE, 0)
    assert replace(after, now=before.now) == before
    await update(store, G1, new_guid=G3)
    renamed, plain = await store.feed_labels.of(ALICE)
    assert (renamed.label, plain.label) == (TYPED, PLAIN)
    assert renamed.view == await store.entries.view(ALICE, G1)
    assert renamed.view.subscription.guid == G3
    assert plain.view == await store.entries.view(ALICE, G2)
    assert await store.feed_labels.of(BOB) == []


async def test_each_change_of_labels_is_given_what_those_before_it_saved(store):
    await add(store, (A, G1))

    def longer(found):
        title = found[0].label.title if found else ""
        return [FeedLabel(G1, f"{title}x")]

    await asyncio.gather(*(store.feed_labels.change(ALICE, longer) for _ in range(9)))
    assert await labels_of_feeds(store) == [FeedLabel(G1, "x" * 9)]
    await save_labels(store)
    assert await labels_of_feeds(store) == [FeedLabel(G1, "x" * 9)]
    guids = [guid_of(number) for number in range(1_050)]
    await add(store, *((f"https://{number}.example", one) for number, one in enumerate(guids)))
    await save_labels(store, *(FeedLabel(guid, guid[-4:]) for guid in reversed(guids)))
    assert await labels_of_feeds(store) == [FeedLabel(guid, guid[-4:]) for guid in guids]
    found = []
    await store.feed_labels.change(ALICE, lambda known: (found.append(len(known)), ())[1])
    assert found == [len(guids)]


async def test_login_is_granted_by_one_account_and_fetched_once_by_its_login(store):
    grants = [Grant(KEY, of, "AntennaPod 🎧", 5) for of in (ALICE, BOB)]
    accounts = (account(), account(BOB, "Bob"))

    async def save(number, now):
        return await store.logins.save(accounts[number], grants[number], now)

    granted = await asyncio.gather(save(0, 0), save(1, 0))
    assert sorted(granted) == [False, True]
    winner = granted.index(True)
    kept = grants[winner]
    assert await store.logins.find(HASH) is None
    assert await store.logins.find(KEY) == kept
    assert [await save(0, 0), await save(1, 5)] == [False, False]
    tokens = [Token(0, bytes([number]) * 32, kept.label, 6) for number in range(4)]
    fetched = await asyncio.gather(*(store.logins.fetch(kept, one, 6) for one in tokens))
    assert sorted(fetched, key=repr) == [accounts[winner], None, None, None]
    (token,) = await store.tokens.of(kept.account_id)
    assert token == replace(tokens[fetched.index(accounts[winner])], id=1)
    assert await store.logins.find(KEY) is None
    assert [await save(0, 0), await save(1, 5)] == [False, False]
    assert await save(0, 6)  # the one before is forgotten
    assert await store.logins.find(KEY) == grants[0]


@pytest.mark.parametrize(
    ("end", "argument"), [("set_password", ["new"]), ("set_disabled", [True]), ("delete", [])]
)
async def test_grant_ends_with_its_password_and_its_account(end, argument, store):
    theirs, fetched = Grant(HASH, BOB, "", 5), Grant(KEY, ALICE, "", 5)
    await store.logins.save(account(BOB, "Bob"), theirs, 0)
    await store.logins.save(account(), fetched, 0)
    assert await store.logins.fetch(fetched, Token(0, b"\3" * 32, "", 6), 6) is not None
    grant = Grant(b"\3" * 32, ALICE, "", 5)
    assert await store.logins.save(account(), grant, 0)
    await getattr(store.accounts, end)(ALICE, *argument)
    assert await store.logins.fetch(grant, Token(0, b"\4" * 32, "", 6), 6) is None
    with pytest.raises(NotAuthorized):  # whoever gave the password just before
        await store.logins.save(account(), grant, 0)
    assert await store.logins.find(theirs.login) == theirs
    assert len(await store.tokens.of(ALICE)) <= 1


async def test_no_app_fetches_a_token_with_a_password_that_was_replaced_meanwhile(store):
    for number in range(1, 9):
        now = replace(account(), password_hash=f"hash {number}")
        await store.accounts.set_password(ALICE, now.password_hash)
        grant = Grant(bytes([number]) * 32, ALICE, "", 5)
        replacing = store.accounts.set_password(ALICE, "newer")
        granted, _ = await answers(store.logins.save(now, grant, 0), replacing)
        assert granted in (True, NotAuthorized)
        assert await store.logins.find(grant.login) is None


def session(number, expires, **more):
    token = Token(0, bytes([number]) * 32, f"app {number}", 1, expires, is_session=True)
    return replace(token, **more)


async def begin(store, number, expires, *, most=5, of=ALICE, **more):
    begun = session(number, expires, **more)
    return await store.tokens.add_session(account(of), begun, most, most)


async def labels(store):
    return [token.label for token in await store.tokens.of(ALICE)]


async def test_session_has_the_next_number_and_is_extended_until_it_is_revoked(store):
    token = await store.tokens.add(ALICE, Token(0, KEY, "", 0))
    first = await begin(store, 2, 10)
    assert first == replace(session(2, 10), id=2)
    assert (await store.tokens.find(ALICE, first.hash)).token == first
    second = await begin(store, 3, 10)
    theirs = await begin(store, 1, 10, of=BOB)
    await store.tokens.extend(ALICE, first.id, 99)
    revoked = await store.tokens.revoke(ALICE, second.id, 5)
    await store.tokens.extend(ALICE, second.id, 99)
    assert await store.tokens.of(ALICE) == [token, replace(first, expires=99), revoked]
    assert await store.tokens.of(BOB) == [theirs]


async def test_sessions_that_end_first_make_room_and_revoked_ones_before_them(store):
    await store.tokens.add(ALICE, Token(0, b"\xff" * 32, "a token", 0, 1))
    theirs = await begin(store, 1, 1, most=1, of=BOB)
    for number, expires in ((1, 30), (2, 10), (3, 20)):
        await begin(store, number, expires, most=3)
    await begin(store, 4, 40, most=3)
    assert await labels(store) == ["a token", "app 1", "app 3", "app 4"]
    await store.tokens.revoke(ALICE, 5, 5)  # the one that would end last
    await begin(store, 5, 50, most=3)
    assert await labels(store) == ["a token", "app 1", "app 3", "app 5"]
    await begin(store, 9, 10, most=3)  # a new one never makes room itself
    assert await labels(store) == ["a token", "app 1", "app 5", "app 9"]
    assert await store.tokens.of(BOB) == [theirs]


async def test_sessions_of_one_label_make_room_for_one_another(store):
    await begin(store, 1, 10)
    await store.tokens.add_session(account(BOB), session(2, 1, label="same"), 5, 2)
    for number in (2, 3, 4):
        alike = session(number, 10 * number, label="same")
        await store.tokens.add_session(account(), alike, 5, 2)
    assert [token.id for token in await store.tokens.of(ALICE)] == [1, 3, 4]
    assert len(await store.tokens.of(BOB)) == 1


async def test_another_hash_of_a_password_ends_nothing_and_replaces_no_new_password(store):
    old, new = (f"$argon2id$v=19$m=8,t={n},p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAA" for n in (1, 2))
    before = replace(account(), password_hash=old)
    await store.accounts.set_password(ALICE, old)
    begun = await store.tokens.add_session(before, session(2, 9), 9, 9)
    await store.accounts.replace_hash(ALICE, old, new)
    assert (await store.accounts.find("alice")).password_hash == new
    # Whoever was let in by the old hash just before.
    other = await store.tokens.add_session(before, session(3, 9), 9, 9)
    assert await store.tokens.of(ALICE) == [begun, other]
    await store.accounts.set_password(ALICE, "another password")
    await store.accounts.replace_hash(ALICE, new, old)
    assert (await store.accounts.find("alice")).password_hash == "another password"
    with pytest.raises(NotAuthorized):
        await store.tokens.add_session(before, session(4, 9), 9, 9)


async def test_session_of_a_token_ends_when_the_token_is_revoked_and_not_before(store):
    token = await store.tokens.add(ALICE, Token(0, KEY, "", 0, is_granted=True))
    other = await store.tokens.add(ALICE, Token(0, HASH, "", 0))
    first = await begin(store, 3, 99, of_token=token.id)
    second = await begin(store, 4, 99, of_token=other.id, is_shared=True)
    theirs = await store.tokens.add(BOB, Token(0, KEY, "", 0))
    bobs = await begin(store, 3, 99, of=BOB, of_token=token.id)
    await store.accounts.set_password(ALICE, "new")
    assert await store.tokens.of(ALICE) == [token, other, first, second]

    revoked = replace(token, revoked=5)
    assert await store.tokens.revoke(ALICE, token.id, 5) == revoked
    ended = replace(first, revoked=5)
    assert await store.tokens.of(ALICE) == [revoked, other, ended, second]
    assert await store.tokens.revoke(ALICE, second.id, 6) == replace(second, revoked=6)
    assert await store.tokens.of(ALICE) == [revoked, other, ended, replace(second, revoked=6)]
    assert await store.tokens.revoke(ALICE, 99, 7) is None
    assert await store.tokens.of(BOB) == [theirs, bobs]


async def test_no_session_begins_with_a_token_that_was_revoked_meanwhile(store):
    for number in range(1, 9):
        token = await store.tokens.add(ALICE, Token(0, bytes([number]) * 32, "", 0))
        of_token = session(100 + number, 99, of_token=token.id)
        beginning = store.tokens.add_session(account(), of_token, 99, 99)
        begun, _ = await answers(beginning, store.tokens.revoke(ALICE, token.id, 5))
        found = await store.tokens.find(ALICE, of_token.hash)
        assert (found and found.token.revoked) == (None if begun is NotAuthorized else 5)
        with pytest.raises(NotAuthorized):
            await begin(store, 255, 9, of_token=token.id)


async def test_account_is_deleted_with_all_that_is_stored_and_nothing_more_is_written(store):
    await add(store, (A, G1))
    await add(store, (A, G1), to=BOB)
    left = partial(subscribe, is_subscribed=False, stamp=10**17, ended=[G1])
    await store.entries.change(ALICE, [G1], left, author="{}")
    deletion = await delete(store, G1)
    await record(store, action(1))
    await record(store, action(1), to=BOB)
    await store.documents.change(ALICE, "device", "a", lambda *_: "{}")
    await begin(store, 1, 9)
    await save_labels(store, TYPED)
    async with store.archive() as archive:
        assert await archive.count() == 13
    await store.accounts.delete(ALICE)
    for refused in (
        store.entries.whole(ALICE),
        store.accounts.advance(ALICE, Clock.ACTIONS, lambda last: last + 1),
        store.documents.change(ALICE, "device", "a", lambda *_: "{}"),
        add(store, (A, None)),
        record(store, action(2)),
        save_labels(store, TYPED),
    ):
        with pytest.raises(NotAuthorized):
            await refused
    with pytest.raises(AccountError, match="no longer exists"):
        await store.tokens.add(ALICE, Token(0, KEY, "", 0))
    await store.tokens.save_progress(ALICE, TokenProgress(1, Clock.ACTIONS, SyncProgress(1, 1)))
    await store.tokens.extend(ALICE, 1, 99)
    assert await store.accounts.find("alice") is None
    assert await store.tokens.find(ALICE, session(1, 9).hash) is None
    assert await store.entries.view(ALICE, G1) is None
    assert await store.entries.view(BOB, G1) is not None
    assert await store.entries.deletion(ALICE, deletion.id) is None
    for found in (
        await listed(store),
        await store.documents.of(ALICE, "device"),
        await store.tokens.of(ALICE),
        list(await store.entries.changed(ALICE, 0)),
        await labels_of_feeds(store),
    ):
        assert found == []
    async with store.archive() as archive:
        owners = {owner async for some in archive.records() for owner, _ in some}
    assert owners == {BOB}
    await store.accounts.create(account(), "alice")
    await add(store, (A, G1))
    assert await labels_of_feeds(store) == []
    states = (await store.entries.whole(ALICE, 0)).history.states
    assert [state.ended for state in states] == [None, None]
