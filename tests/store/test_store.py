"""The Store protocol in every store, method by method, and concurrent changes."""

import asyncio
import gc
import threading
import weakref
from contextlib import suppress
from functools import partial

import apsw
import asyncpg
import pytest
from library import renamed
from list_values import ALICE, BOB, G1, G2, G3, A, B, account, derived, guid_of
from small_lists import add, answers, delete, look, subscribe, update
from stores import limited
from whole_store import all_accounts

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import AccountError, InvalidInput, NotAuthorized, UnknownSubscription
from feedkeep.rules import url_lists
from feedkeep.rules.invariants import violations
from feedkeep.store.sql import sql
from feedkeep.store.sqlite import SqliteStore

ACCOUNTS = [account(), account(BOB, "Bob")]
C = "https://c.example"


def guids(page):
    return [view.entry.guid for view in page.views]


async def test_entries_are_loaded_as_they_were_saved_to_the_last_field(store):
    first, *_ = await add(store, (A, G1), (B, G2), (C, G3))
    assert first.first_had is not None
    await update(store, G1, "https://new.example")
    await update(store, G1, new_guid=G2)
    await delete(store, G3)
    whole = await store.entries.whole(ALICE)
    entries = whole.entries
    assert whole.last_stamp == max(entry.revision or 0 for entry in entries.values())
    merged = entries[G2]
    assert (merged.feed_url, merged.is_subscribed) == ("https://new.example", True)
    assert merged.guid_changed == merged.subscription_changed
    assert entries[G1] == model.Pointer(G1, G2, merged.revision - 1)
    former = model.Alias(A, moved_away=False, first_had=first.first_had)
    assert entries[derived(A)] == model.Pointer(derived(A), G2, None, former)
    absorbed = model.Alias(B, moved_away=False, was_own=True, first_had=first.first_had)
    assert entries[derived(B)] == model.Pointer(derived(B), G2, None, absorbed)
    assert (entries[G3].deleted, entries[G3].is_subscribed) == (whole.last_stamp, False)


async def test_change_is_given_named_entries_their_feeds_and_all_pointers_to_these(store):
    await add(store, (A, G1), ("https://other.example", None))
    await add(store, (B, G1))
    await add(store, ("https://bobs.example", None), to=BOB)
    given = await store.entries.change(ALICE, [derived(A), G3], look)
    assert set(given.entries) == {G1, derived(A), derived(B)}
    assert given.last_stamp == (await store.entries.whole(ALICE)).last_stamp
    assert given.now >= given.last_stamp
    await delete(store, G1)
    given = await store.entries.change(ALICE, None, look)
    assert given == replace(await store.entries.whole(ALICE), now=given.now)
    with pytest.raises(NotAuthorized):
        await store.entries.change(7, None, look)


async def test_change_that_loads_much_is_decided_beside_the_event_loop(store):
    loop = threading.get_ident()

    def decide(snapshot):
        return replace(look(snapshot), outcome=threading.get_ident() == loop)

    async def decided_in_loop(guids, *documents):
        return await store.entries.change(ALICE, guids, decide, documents)

    many = [derived(f"https://a.example/{number}") for number in range(101)]
    decided = [await decided_in_loop(guids) for guids in (many[:100], many, None)]
    assert decided == [True, False, False]
    # Entries that few guids and names resolve to count, too.
    await add(store, (A, G1), *renamed(B, G2, 150))
    name = model.DocumentName("settings", "a")
    await store.documents.change(ALICE, name.kind, name.name, lambda *_: "x" * 20_000)
    decided = [await decided_in_loop(*named) for named in ([[G1]], [[G2]], [[G1], name])]
    assert decided == [True, False, False]


async def test_accounts_whose_changes_load_much_together_are_all_changed(monkeypatch, store):
    monkeypatch.setattr("feedkeep.store.postgres.entry_writes.MAX_ROWS_IN_A_BATCH", 4)
    monkeypatch.setattr("feedkeep.store.sqlite.runner.MAX_PARTS_IN_A_BATCH", 0)
    await add(store, *renamed("https://a.example/0", G1, 9))
    await asyncio.gather(
        delete(store, G1), add(store, (A, G1)), add(store, (B, G2), to=BOB), add(store, (B, G2))
    )
    alices, bobs = await store.entries.whole(ALICE), await store.entries.whole(BOB)
    assert (alices.counts.subscribed, bobs.counts.subscribed) == (2, 1)
    assert list(violations(alices)) == list(violations(bobs)) == []


async def test_rule_that_refuses_changes_nothing_and_the_next_long_one_works(store):
    def refuse(_):
        raise InvalidInput("no")

    await add(store, (A, G1), (B, G2))
    before = await store.entries.whole(ALICE)
    for refused, error in (
        (update(store, G1, B), InvalidInput),
        (delete(store, G3), UnknownSubscription),
        (store.entries.change(ALICE, None, refuse), InvalidInput),
    ):
        with pytest.raises(error):
            await refused
        assert replace(await store.entries.whole(ALICE), now=before.now) == before
    await add(store, *((f"https://a.example/{number}", None) for number in range(1_500)))
    whole = await store.entries.whole(ALICE)
    assert (whole.counts.subscribed, list(violations(whole))) == (1_502, [])
    wanted = url_lists.whole_list([A])
    await store.entries.change(
        ALICE, None, lambda given: url_lists.replace_list(limited(given), wanted)
    )
    whole = await store.entries.whole(ALICE)
    assert (whole.counts.subscribed, list(violations(whole))) == (1, [])


# C6.13
async def test_of_very_many_deletions_the_oldest_are_forgotten(monkeypatch, store):
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"feedkeep.store.{module}.entry_writes.MAX_DELETIONS", 3)
    deletions = []
    for _ in range(5):
        await add(store, (A, G1))
        deletions.append(await delete(store, derived(A)))
    found = [await store.entries.deletion(ALICE, deletion.id) for deletion in deletions]
    assert found == [None, None, *deletions[2:]]
    assert found[-1] == model.Deletion(deletions[-1].id, G1)
    assert await store.entries.deletion(BOB, deletions[-1].id) is None
    assert await store.entries.deletion(ALICE, deletions[-1].id + 1) is None


async def test_what_was_committed_is_there_when_the_store_is_opened_again(open_store):
    async with open_store() as store:
        await store.accounts.create(account(), "alice")
        await add(store, (A, None))
    async with open_store() as store:
        assert (await store.entries.view(ALICE, derived(A))).subscription.feed_url == A
        await store.assert_ready()
        assert await store.faults() == []


async def test_concurrent_changes_see_one_another_and_no_stamp_is_given_twice(store):
    urls = [f"https://example.com/{number}" for number in range(300)]
    found = await asyncio.gather(
        *(add(store, (url, None)) for url in urls),
        *(add(store, (url, None), to=BOB) for url in urls[:50]),
        *(add(store, ("https://same.example", None)) for _ in range(20)),
    )
    stamps = [item.subscription_changed for items in found for item in items[:1]]
    whole = await store.entries.whole(ALICE)
    assert len((await store.entries.whole(BOB)).entries) == 50
    revisions = [entry.revision for entry in whole.entries.values()]
    assert len(set(revisions)) == len(whole.entries) == 301
    assert max(revisions) == whole.last_stamp == max(stamps[:300] + stamps[350:])
    same = stamps[350:]
    assert same == sorted(set(same))
    assert len(same) == 20


async def test_request_that_fails_in_a_batch_fails_alone(store):
    def defect(_):
        raise ZeroDivisionError

    failing = store.entries.change(ALICE, [G1], defect), delete(store, G1)
    [one], *failed, [other] = await answers(add(store, (A, None)), *failing, add(store, (B, None)))
    assert failed == [ZeroDivisionError, UnknownSubscription]
    assert (one.feed_url, other.feed_url) == (A, B)
    assert len((await store.entries.whole(ALICE)).entries) == 2


class Held:
    """What a request has in hand, as a list of 20,000 feeds."""


async def test_what_a_refused_change_held_is_freed_with_its_error(store):
    # In a cycle it would stay until a full collection, which then stops all requests.
    held = []

    def refuse(*_):
        decided_on = Held()
        held.append(weakref.ref(decided_on))
        raise InvalidInput("no")

    async def refused(change):
        asked_with = Held()
        held.append(weakref.ref(asked_with))
        await change(refuse)

    gc.disable()
    try:
        for change in (
            partial(store.entries.change, ALICE, [G1]),
            partial(store.entries.change, ALICE, None),
            partial(store.documents.change, ALICE, "settings", "a"),
        ):
            with suppress(InvalidInput):
                await refused(change)
            await add(store, (A, G1))  # the task of the batch goes on, and ends
        assert [one() for one in held] == [None] * 6
    finally:
        gc.enable()


REFUSED = (apsw.ConstraintError, asyncpg.IntegrityConstraintViolationError)


async def test_change_that_the_database_refuses_fails_alone(store):
    def dangle(snapshot):
        return replace(look(snapshot), saved=[model.Pointer(guid_of(9), guid_of(8))])

    one, other, stamp = await asyncio.gather(
        store.entries.change(ALICE, [G1], dangle),
        store.entries.change(BOB, [G1], dangle),
        store.entries.change(ALICE, [G1], subscribe),
        return_exceptions=True,
    )
    assert isinstance(one, REFUSED)
    assert isinstance(other, REFUSED)
    assert stamp == 1
    assert set((await store.entries.whole(ALICE)).entries) == {G1}
    assert (await store.entries.whole(BOB)).entries == {}


async def test_database_refuses_rows_that_no_rule_would_write(store):
    await store.entries.change(ALICE, [G1], subscribe)
    one, known, missing = (store.feeds._rows.write_guid(guid) for guid in (G3, G1, G2))
    no_flag = 2 if isinstance(store, SqliteStore) else "NULL"
    columns = "feed_url, is_subscribed, subscription_changed, status_changed, first_had, revision"
    pointer = "INSERT INTO feedkeep.entry (account_id, guid, new_guid)"
    for change, *values in (
        ("UPDATE feedkeep.entry AS e SET revision = 99",),
        (f"UPDATE feedkeep.entry AS e SET is_subscribed = {no_flag}",),
        ("UPDATE feedkeep.entry AS e SET deleted = 1",),
        ("UPDATE feedkeep.entry AS e SET new_guid = guid",),
        ("UPDATE feedkeep.entry AS e SET new_guid = $1, feed_url = NULL", one),
        ("UPDATE feedkeep.entry AS e SET alias_url = 'https://b.example'",),
        (f"{pointer} VALUES ({ALICE}, $1, $2)", one, missing),
        (f"{pointer} VALUES (8, $1, $2)", one, known),
        (
            f"INSERT INTO feedkeep.entry (account_id, guid, {columns})"
            f" SELECT account_id, $1, {columns} FROM feedkeep.entry AS e",
            one,
        ),
    ):

        async def make(statements, change=change, values=values):
            await statements.execute(sql(change), *values)

        with pytest.raises(REFUSED):
            await store.feeds._driver.write(make)


async def test_page_lists_what_was_announced_after_a_stamp_by_rising_revision(store):
    first, second, third = await add(store, (A, G1), (B, None), (C, None))
    await update(store, G1, new_guid=G2)
    everything = await store.entries.page(ALICE, model.PageRequest(-1, None, 1, 50))
    assert guids(everything) == [second.guid, third.guid, G1, G2]
    assert (everything.total, everything.has_more) == (4, False)
    changed = await store.entries.page(ALICE, model.PageRequest(third.revision, None, 1, 50))
    assert guids(changed) == [G1, G2]
    pointer = changed.views[0]
    assert isinstance(pointer.entry, model.Pointer)
    assert pointer.subscription.guid == G2
    assert (await store.entries.page(BOB, model.PageRequest(-1, None, 1, 50))).total == 0
    assert first.guid == G1


async def test_pages_are_counted_off_from_since_or_continue_after_a_stamp(store):
    added = await add(store, *((f"https://{i}.example", None) for i in range(5)))
    expected = [item.guid for item in added]
    for after, page, per_page, found, has_more in (
        (None, 2, 2, expected[2:4], True),
        (None, 3, 2, expected[4:], False),
        (None, 1, 5, expected, False),
        (None, 10**9, 1_000, [], False),
        (added[2].revision, 7, 1, expected[3:4], True),
    ):
        listed = await store.entries.page(ALICE, model.PageRequest(-1, after, page, per_page))
        assert (guids(listed), listed.total, listed.has_more) == (found, 5, has_more)


async def test_account_is_found_by_its_name_which_no_other_one_gets(store):
    assert await store.accounts.find("alice") == account()
    assert await store.accounts.find("carol") is None
    with pytest.raises(AccountError, match="There is an account Alice already"):
        await store.accounts.create(account(3, "ALICE"), "alice")
    assert [found.name for found in await all_accounts(store)] == ["Alice", "Bob"]
    await store.accounts.set_password(ALICE, "new hash")
    for is_disabled in (True, False):
        await store.accounts.set_disabled(ALICE, is_disabled)
        changed = replace(account(), password_hash="new hash", is_disabled=is_disabled)
        assert await store.accounts.find("alice") == changed
    assert await store.accounts.find("bob") == account(BOB, "Bob")
    assert await store.accounts.are_there()
    await store.accounts.delete(ALICE)
    await store.accounts.delete(BOB)
    assert not await store.accounts.are_there()


async def test_token_is_found_with_an_entry_and_its_feed_within_its_account(store):
    await add(store, (A, G1))
    feed = (await update(store, G1, new_guid=G2)).subscription
    token = await store.tokens.add(ALICE, model.Token(99, b"\1" * 32, "phone", 5, expires=6))
    assert token == model.Token(1, b"\1" * 32, "phone", 5, expires=6)
    alice = await store.accounts.find("alice")
    assert await store.tokens.find(ALICE, b"\1" * 32) == model.Found(alice, token)
    assert await store.tokens.find(ALICE, b"\2" * 32) is None
    for guid, entry in (
        (G1, model.Pointer(G1, G2, feed.guid_changed - 1)),
        (derived(A), model.Pointer(derived(A), G2)),
        (G2, feed),
    ):
        found = await store.tokens.find(ALICE, b"\1" * 32, guid)
        assert (found.token, found.view) == (token, model.View(entry, feed))
        assert await store.entries.view(ALICE, guid) == found.view
    assert await store.tokens.find(ALICE, b"\1" * 32, G3) == model.Found(alice, token)
    assert await store.entries.view(ALICE, G3) is None
    assert await store.tokens.find(BOB, b"\1" * 32, G1) is None
    assert await store.entries.view(BOB, G1) is None


async def test_token_is_found_with_a_document(store):
    kind, name = model.DocumentKind.COOKIELESS, "app password  Kasts"
    for account_id, byte in ((ALICE, b"\1"), (BOB, b"\2")):
        await store.tokens.add(account_id, model.Token(0, byte * 32, "phone", 5))
    await store.documents.change(ALICE, kind, name, lambda *_: "{}")
    for account_id, byte, asked, body in (
        (ALICE, b"\1", model.DocumentName(kind, name), "{}"),
        (ALICE, b"\1", None, None),
        (ALICE, b"\1", model.DocumentName(kind, "another"), None),
        (ALICE, b"\1", model.DocumentName(model.DocumentKind.SETTINGS, name), None),
        (BOB, b"\2", model.DocumentName(kind, name), None),
    ):
        found = await store.tokens.find(account_id, byte * 32, document=asked)
        assert (found.account.id, found.document) == (account_id, body)


async def test_revoked_token_stays_revoked_and_its_number_is_not_given_again(store):
    await store.tokens.add(ALICE, model.Token(0, b"\1" * 32, "", 5))
    revoked = await store.tokens.revoke(ALICE, 1, now=7)
    assert revoked.revoked == 7
    assert (await store.tokens.revoke(ALICE, 1, now=9)).revoked == 7
    assert await store.tokens.revoke(BOB, 1, now=9) is None
    second = await store.tokens.add(ALICE, model.Token(0, b"\2" * 32, "", 8))
    assert second.id == 2
    assert await store.tokens.of(ALICE) == [revoked, second]
    assert await store.tokens.of(BOB) == []
