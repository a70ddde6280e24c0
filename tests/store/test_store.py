"""What every store promises: the Store protocol, method by method, and how changes meet."""

import asyncio
import threading

import pytest
from library import renamed
from stores import limited
from whole_store import all_accounts

from feedkeep.model import (
    Account,
    AccountId,
    Alias,
    Decision,
    Deletion,
    DocumentKind,
    DocumentName,
    Found,
    Guid,
    Page,
    PageRequest,
    Pointer,
    Snapshot,
    Subscription,
    Token,
    replace,
)
from feedkeep.model.errors import AccountError, InvalidInput, NotAuthorized, UnknownSubscription
from feedkeep.rules import subscriptions, url_lists
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.invariants import violations
from feedkeep.rules.subscriptions import Added, Update, guids_wanted, want
from feedkeep.store.base import Store

ALICE, BOB = AccountId(2**63 - 1), AccountId(1)
A, B = "https://a.example/feed", "https://b.example/feed"
G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))


def account(account_id: AccountId = ALICE, name: str = "Alice") -> Account:
    return Account(account_id, name, "hash", False, 123)


ACCOUNTS = [account(), account(BOB, "Bob")]


async def add(
    store: Store, *items: tuple[str, str | None], to: AccountId = ALICE
) -> list[Subscription]:
    wanted = [want(url, guid) for url, guid in items]
    results = await store.entries.change(
        to, guids_wanted(wanted), lambda snapshot: subscriptions.add(limited(snapshot), wanted)
    )
    return [item.subscription for item in results if isinstance(item, Added)]


async def update(store: Store, guid: Guid, change: Update) -> subscriptions.Updated:
    return await store.entries.change(
        ALICE,
        [guid, *change.guids()],
        lambda snapshot: subscriptions.update(limited(snapshot), guid, change),
    )


async def delete(store: Store, guid: Guid) -> Deletion:
    return await store.entries.change(
        ALICE, [guid], lambda snapshot: subscriptions.delete(snapshot, guid)
    )


def since(stamp: int, **more: int) -> PageRequest:
    return PageRequest(stamp, more.get("after"), more.get("page", 1), more.get("per_page", 50))


def guids(page: Page) -> list[Guid]:
    return [view.entry.guid for view in page.views]


async def test_what_was_saved_is_loaded_again_to_the_last_field(store):
    await add(store, (A, G1), (B, G2), ("https://c.example", G3))
    added = (await store.entries.whole(ALICE)).entries[G1]
    assert isinstance(added, Subscription)
    assert added.first_had is not None
    await update(store, G1, Update(new_feed_url=parse_feed_url("https://new.example")))
    await update(store, G1, Update(new_guid=G2))
    await delete(store, G3)
    whole = await store.entries.whole(ALICE)
    entries = whole.entries
    assert whole.last_stamp == max(entry.revision or 0 for entry in entries.values())
    merged = entries[G2]
    assert isinstance(merged, Subscription)
    assert merged.feed_url == "https://new.example"
    assert merged.is_subscribed
    assert merged.guid_changed == merged.subscription_changed
    assert entries[G1] == Pointer(G1, G2, merged.revision - 1)
    former = parse_feed_url(A).guid
    assert entries[former] == Pointer(
        former, G2, None, Alias(A, moved_away=False, first_had=added.first_had)
    )
    absorbed = parse_feed_url(B).guid
    taken_in = Alias(B, moved_away=False, was_own=True, first_had=added.first_had)
    assert entries[absorbed] == Pointer(absorbed, G2, None, taken_in)
    deleted = entries[G3]
    assert isinstance(deleted, Subscription)
    assert deleted.deleted == whole.last_stamp
    assert not deleted.is_subscribed


async def test_a_change_is_given_the_entries_their_subscriptions_and_all_pointers_to_these(store):
    await add(store, (A, G1), ("https://other.example", None))
    await add(store, (B, G1))
    seen: list[Snapshot] = []

    def look(snapshot):
        seen.append(snapshot)
        return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

    await store.entries.change(ALICE, [parse_feed_url(A).guid, G3], look)
    assert set(seen[0].entries) == {G1, parse_feed_url(A).guid, parse_feed_url(B).guid}
    assert seen[0].last_stamp == (await store.entries.whole(ALICE)).last_stamp
    assert seen[0].now >= seen[0].last_stamp


async def test_a_change_of_a_whole_account_is_given_every_entry_of_it_and_what_goes_before_it(
    store,
):
    await add(store, (A, G1), (B, None))
    await add(store, ("https://bobs.example", None), to=BOB)
    seen: list[Snapshot] = []

    def look(snapshot):
        seen.append(snapshot)
        return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

    await delete(store, G1)
    await store.entries.change(ALICE, None, look)
    assert seen[0] == replace(await store.entries.whole(ALICE), now=seen[0].now)
    with pytest.raises(NotAuthorized):
        await store.entries.change(AccountId(7), None, look)


async def test_what_takes_long_to_decide_is_decided_beside_the_event_loop(store):
    loop, threads = threading.get_ident(), []

    def decide(snapshot):
        threads.append(threading.get_ident())
        return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

    many = [parse_feed_url(f"https://a.example/{number}").guid for number in range(101)]
    for guids in (many[:100], many, None):
        await store.entries.change(ALICE, guids, decide)
    assert [thread == loop for thread in threads] == [True, False, False]


async def test_what_takes_long_is_told_by_what_is_loaded_and_not_by_what_is_named(store):
    loop, threads = threading.get_ident(), []

    def decide(snapshot):
        threads.append(threading.get_ident())
        return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

    await add(store, (A, G1), *renamed(B, G2, 150))
    name = DocumentName("settings", "a")
    await store.documents.change(ALICE, name.kind, name.name, lambda *_: "x" * 20_000)
    await store.entries.change(ALICE, [G1], decide)
    await store.entries.change(ALICE, [G2], decide)
    await store.entries.change(ALICE, [G1], decide, [name])
    assert [thread == loop for thread in threads] == [True, False, False]


async def test_accounts_whose_changes_load_much_together_are_changed_all_the_same(
    monkeypatch, store
):
    monkeypatch.setattr("feedkeep.store.postgres.entry_writes.MAX_ROWS_IN_A_BATCH", 4)
    monkeypatch.setattr("feedkeep.store.sqlite.runner.MAX_PARTS_IN_A_BATCH", 0)
    await add(store, *renamed("https://a.example/0", G1, 9))
    await asyncio.gather(
        delete(store, G1), add(store, (A, G1)), add(store, (B, G2), to=BOB), add(store, (B, G2))
    )
    alices, bobs = await store.entries.whole(ALICE), await store.entries.whole(BOB)
    assert (alices.counts.subscribed, bobs.counts.subscribed) == (2, 1)
    assert list(violations(alices)) == list(violations(bobs)) == []


async def test_a_long_change_that_is_refused_changes_nothing_and_the_next_one_goes_on(store):
    def refuse(_):
        raise InvalidInput("no")

    await add(store, (A, G1))
    before = (await store.entries.whole(ALICE)).entries
    items = [(f"https://a.example/{number}", None) for number in range(1_500)]
    with pytest.raises(InvalidInput):
        await store.entries.change(ALICE, None, refuse)
    assert (await store.entries.whole(ALICE)).entries == before
    await add(store, *items)
    whole = await store.entries.whole(ALICE)
    assert whole.counts.subscribed == 1_501
    assert list(violations(whole)) == []
    wanted = url_lists.whole_list([A])
    await store.entries.change(
        ALICE, None, lambda given: url_lists.replace_list(limited(given), wanted)
    )
    whole = await store.entries.whole(ALICE)
    assert whole.counts.subscribed == 1
    assert list(violations(whole)) == []


# C6.13
async def test_of_very_many_deletions_the_oldest_are_forgotten(monkeypatch, store):
    for module in ("sqlite", "postgres"):
        forgetting = f"feedkeep.store.{module}.entry_writes.MAX_DELETIONS"
        monkeypatch.setattr(forgetting, 3)
    deletions = []
    for _ in range(5):
        await add(store, (A, G1))
        deletions.append(await delete(store, G1))
    found = [await store.entries.deletion(ALICE, deletion.id) for deletion in deletions]
    assert found == [None, None, *deletions[2:]]


async def test_what_was_committed_is_there_when_the_store_is_opened_again(open_store):
    async with open_store() as store:
        await store.accounts.create(account(), "alice")
        await add(store, (A, None))
    async with open_store() as store:
        view = await store.entries.view(ALICE, parse_feed_url(A).guid)
        assert view is not None
        assert view.subscription.feed_url == A


async def test_a_rule_that_refuses_changes_nothing(store):
    await add(store, (A, G1), (B, G2))
    before = await store.entries.whole(ALICE)
    with pytest.raises(InvalidInput):
        await update(store, G1, Update(new_feed_url=parse_feed_url(B)))
    with pytest.raises(UnknownSubscription):
        await delete(store, G3)
    after = await store.entries.whole(ALICE)
    assert (after.entries, after.last_stamp) == (before.entries, before.last_stamp)


async def test_concurrent_changes_see_one_another_and_no_stamp_is_given_twice(store):
    urls = [f"https://example.com/{number}" for number in range(300)]
    found = await asyncio.gather(
        *(add(store, (url, None)) for url in urls),
        *(add(store, (url, None), to=BOB) for url in urls[:50]),
        *(add(store, ("https://same.example", None)) for _ in range(20)),
    )
    stamps = [item.subscription_changed for items in found for item in items[:1]]
    whole = await store.entries.whole(ALICE)
    assert len(whole.entries) == 301
    assert len((await store.entries.whole(BOB)).entries) == 50
    revisions = [entry.revision for entry in whole.entries.values()]
    assert len(set(revisions)) == 301
    assert max(revisions) == whole.last_stamp == max(stamps[:300] + stamps[350:])
    same = stamps[350:]
    assert same == sorted(same)
    assert len(set(same)) == 20


async def test_one_request_that_fails_in_a_batch_fails_alone(store):
    def defect(_):
        raise ZeroDivisionError

    results = await asyncio.gather(
        add(store, (A, None)),
        store.entries.change(ALICE, [G1], defect),
        delete(store, G1),
        add(store, (B, None)),
        return_exceptions=True,
    )
    kinds = [type(result) for result in results]
    assert kinds == [list, ZeroDivisionError, UnknownSubscription, list]
    assert len((await store.entries.whole(ALICE)).entries) == 2


async def test_a_view_shows_a_pointer_with_its_subscription(store):
    (subscription,) = await add(store, (A, G1))
    view = await store.entries.view(ALICE, parse_feed_url(A).guid)
    assert view is not None
    assert view.entry == Pointer(parse_feed_url(A).guid, G1)
    assert view.subscription == subscription
    assert await store.entries.view(ALICE, G3) is None
    assert await store.entries.view(BOB, G1) is None


async def test_a_page_lists_what_was_announced_after_a_stamp_by_rising_revision(store):
    first, second, third = await add(store, (A, G1), (B, None), ("https://c.example", None))
    await update(store, G1, Update(new_guid=G2))
    everything = await store.entries.page(ALICE, since(-1))
    assert guids(everything) == [second.guid, third.guid, G1, G2]
    assert (everything.total, everything.has_more) == (4, False)
    changed = await store.entries.page(ALICE, since(third.revision))
    assert guids(changed) == [G1, G2]
    pointer = changed.views[0]
    assert isinstance(pointer.entry, Pointer)
    assert pointer.subscription.guid == G2
    assert (await store.entries.page(BOB, since(-1))).total == 0
    assert first.guid == G1


async def test_pages_are_counted_off_from_since_or_go_on_after_a_stamp(store):
    added = await add(store, *((f"https://{i}.example", None) for i in range(5)))
    expected = [item.guid for item in added]
    second = await store.entries.page(ALICE, since(-1, page=2, per_page=2))
    assert (guids(second), second.total, second.has_more) == (expected[2:4], 5, True)
    last = await store.entries.page(ALICE, since(-1, page=3, per_page=2))
    assert (guids(last), last.has_more) == (expected[4:], False)
    full = await store.entries.page(ALICE, since(-1, per_page=5))
    assert (guids(full), full.has_more) == (expected, False)
    beyond = await store.entries.page(ALICE, since(-1, page=10**9, per_page=1_000))
    assert (guids(beyond), beyond.total, beyond.has_more) == ([], 5, False)
    after = added[2].revision
    going_on = await store.entries.page(ALICE, since(-1, after=after, page=7, per_page=1))
    assert (guids(going_on), going_on.total, going_on.has_more) == (expected[3:4], 5, True)


async def test_a_deletion_is_remembered_for_its_account_only(store):
    await add(store, (A, G1))
    deletion = await delete(store, parse_feed_url(A).guid)
    assert await store.entries.deletion(ALICE, deletion.id) == Deletion(deletion.id, G1)
    assert await store.entries.deletion(BOB, deletion.id) is None
    assert await store.entries.deletion(ALICE, deletion.id + 1) is None


async def test_an_account_is_found_by_the_key_of_its_name(store):
    assert await store.accounts.find("alice") == account()
    assert await store.accounts.find("carol") is None
    assert [found.name for found in await all_accounts(store)] == ["Alice", "Bob"]
    assert await store.accounts.are_there()
    await store.accounts.delete(ALICE)
    await store.accounts.delete(BOB)
    assert not await store.accounts.are_there()


async def test_a_name_is_given_to_one_account_only(store):
    with pytest.raises(AccountError, match="There is an account Alice already"):
        await store.accounts.create(account(AccountId(3), "ALICE"), "alice")
    assert len(await all_accounts(store)) == 2


async def test_password_and_state_of_an_account_change(store):
    await store.accounts.set_password(ALICE, "new hash")
    await store.accounts.set_disabled(ALICE, True)
    found = await store.accounts.find("alice")
    assert found is not None
    assert (found.password_hash, found.is_disabled) == ("new hash", True)
    await store.accounts.set_disabled(ALICE, False)
    found = await store.accounts.find("alice")
    assert found is not None
    assert not found.is_disabled
    assert await store.accounts.find("bob") == account(BOB, "Bob")


async def test_an_account_goes_with_everything_that_was_kept_for_it(store):
    await add(store, (A, G1))
    await add(store, (A, G1), to=BOB)
    deletion = await delete(store, G1)
    await store.tokens.add(ALICE, Token(0, b"\1" * 32, "", 0))
    await store.accounts.delete(ALICE)
    assert await store.accounts.find("alice") is None
    assert await store.tokens.find(ALICE, b"\1" * 32) is None
    assert await store.entries.view(ALICE, G1) is None
    assert await store.entries.deletion(ALICE, deletion.id) is None
    assert await store.entries.view(BOB, G1) is not None
    with pytest.raises(NotAuthorized):
        await store.entries.whole(ALICE)


async def test_nothing_is_written_for_an_account_that_is_gone(store):
    await store.accounts.delete(ALICE)
    with pytest.raises(NotAuthorized):
        await add(store, (A, None))
    with pytest.raises(AccountError, match="no longer exists"):
        await store.tokens.add(ALICE, Token(0, b"\1" * 32, "", 0))
    assert await store.entries.view(ALICE, parse_feed_url(A).guid) is None


async def test_a_token_is_found_by_its_hash_within_its_account(store):
    token = await store.tokens.add(ALICE, Token(99, b"\1" * 32, "phone", 5, expires=6))
    assert token == Token(1, b"\1" * 32, "phone", 5, expires=6)
    assert await store.tokens.find(ALICE, b"\1" * 32) == Found(account(), token)
    assert await store.tokens.find(BOB, b"\1" * 32) is None
    assert await store.tokens.find(ALICE, b"\2" * 32) is None


async def test_a_token_is_found_together_with_the_entry_of_a_guid_and_what_that_leads_to(store):
    [subscription] = await add(store, (A, G1))
    await update(store, G1, Update(new_guid=G2))
    token = await store.tokens.add(ALICE, Token(0, b"\1" * 32, "phone", 5))
    for guid in (G1, G2, G3):
        found = await store.tokens.find(ALICE, b"\1" * 32, guid)
        assert found is not None
        assert found.token == token
        assert found.view == await store.entries.view(ALICE, guid)
    pointer = await store.tokens.find(ALICE, b"\1" * 32, G1)
    assert pointer is not None
    assert pointer.view is not None
    assert pointer.view.entry.guid == G1
    assert pointer.view.subscription.guid == G2
    assert pointer.view.subscription.feed_url == subscription.feed_url
    assert await store.tokens.find(BOB, b"\1" * 32, G1) is None


async def test_a_token_is_found_together_with_a_document(store):
    kind, name = DocumentKind.COOKIELESS, "app password  Kasts"
    for account_id, byte in ((ALICE, b"\1"), (BOB, b"\2")):
        await store.tokens.add(account_id, Token(0, byte * 32, "phone", 5))
    await store.documents.change(ALICE, kind, name, lambda *_: "{}")

    async def body(account_id, byte, *asked):
        document = DocumentName(*asked) if asked else None
        found = await store.tokens.find(account_id, byte * 32, document=document)
        assert found is not None
        assert found.account.id == account_id
        return found.document

    asked = [
        body(ALICE, b"\1", kind, name),
        body(ALICE, b"\1"),
        body(ALICE, b"\1", kind, "another"),
        body(ALICE, b"\1", DocumentKind.SETTINGS, name),
        body(BOB, b"\2", kind, name),
    ]
    assert await asyncio.gather(*asked) == ["{}", None, None, None, None]


async def test_a_revoked_token_stays_revoked_and_its_number_is_not_given_again(store):
    await store.tokens.add(ALICE, Token(0, b"\1" * 32, "", 5))
    revoked = await store.tokens.revoke(ALICE, 1, now=7)
    assert revoked is not None
    assert revoked.revoked == 7
    again = await store.tokens.revoke(ALICE, 1, now=9)
    assert again is not None
    assert again.revoked == 7
    assert await store.tokens.revoke(BOB, 1, now=9) is None
    second = await store.tokens.add(ALICE, Token(0, b"\2" * 32, "", 8))
    assert second.id == 2
    assert await store.tokens.of(ALICE) == [revoked, second]
    assert await store.tokens.of(BOB) == []


async def test_a_sound_store_is_ready_and_has_no_damages(store):
    await add(store, (A, G1))
    await store.assert_ready()
    assert await store.faults() == []
