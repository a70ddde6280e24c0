"""Accounts in every store: administrators, secrets, and wrong passwords."""

import asyncio
from array import array

import pytest
from recorded import COMMITS, recorded
from small_lists import answers, opened
from whole_store import all_accounts

from feedkeep.model import (
    Account,
    CountedAttempts,
    Person,
    Purpose,
    Restored,
    Scope,
    Token,
    TokenDecision,
    TokensChanged,
    replace,
)
from feedkeep.model.errors import AccountError, IdentityTaken, NameTaken, NotAuthorized
from feedkeep.rules.accounts import check_not_last
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.copying import copy
from feedkeep.store.sqlite import SqliteStore

ALICE, BOB, CAROL = 2**63 - 1, 1, 7
HASH = b"\1" * 32
ONCE = (Purpose.INVITATION, Purpose.RESET, Purpose.RECOVERY)
INVITATION = Token(0, HASH, "", 5, 6, purpose=Purpose.INVITATION)


def account(account_id, name, *, is_admin=True):
    return Account(account_id, name, "hash", False, 100 - account_id % 10, is_admin=is_admin)


ACCOUNTS = ALICES, BOBS = account(ALICE, "Alice"), account(BOB, "Bob")


async def test_newest_stamp_is_the_greatest_of_both_clocks_of_all_accounts(store):
    assert await store.accounts.newest_stamp() == 0
    bob = await store.accounts.find("bob")
    for clocks in ({"last_stamp": 7}, {"last_stamp": 7, "last_action_stamp": 9}):
        decided = Restored(replace(bob, **clocks), newest=None)
        await store.accounts.note_restored(BOB, lambda *_, decided=decided: decided)
        assert await store.accounts.newest_stamp() == max(clocks.values())


async def test_one_of_the_administrators_who_resign_at_once_stays(store):
    ways = [
        lambda one: store.accounts.set_admin(one, False, check_not_last),
        lambda one: store.accounts.set_disabled(one, True, check_not_last),
        lambda one: store.accounts.delete(one, check_not_last),
    ]
    for way in ways:
        for other in ways:
            done = await answers(way(ALICE), other(BOB))
            assert set(done) == {AccountError, None}
            (left,) = await store.accounts.administrators()
            assert left.id == (ALICE if done[0] else BOB)
            for one in ACCOUNTS:
                await store.accounts.delete(one.id)
                await store.accounts.create(one, one.name.lower())


async def test_check_is_given_the_account_and_the_number_of_other_administrators(store):
    await store.accounts.create(account(CAROL, "Carol"), "carol")
    seen = []

    def check(one, others):
        seen.append((one.name, others))
        if len(seen) > 1:
            raise AccountError("no")

    def changes(of):
        accounts = store.accounts
        return (
            accounts.set_disabled(of, True, check),
            accounts.set_admin(of, False, check),
            accounts.delete(of, check),
        )

    await store.accounts.set_disabled(CAROL, True, check)
    for change in changes(BOB):
        with pytest.raises(AccountError):
            await change
    assert seen == [("Carol", 2), ("Bob", 1), ("Bob", 1), ("Bob", 1)]
    assert await store.accounts.find("bob") == BOBS
    for change in changes(9):
        await change  # there is nothing to check
    assert [one.name for one in await store.accounts.administrators()] == ["Alice", "Bob"]
    await store.accounts.set_disabled(CAROL, False)
    names = [one.name for one in await store.accounts.administrators()]
    assert names == ["Carol", "Alice", "Bob"]  # the oldest first
    await store.accounts.set_admin(CAROL, False)
    assert await store.accounts.find("carol") == account(CAROL, "Carol", is_admin=False)


@pytest.mark.parametrize(
    ("create", "refused"), [("create_first", NotAuthorized), ("create_linked", IdentityTaken)]
)
async def test_one_of_several_new_accounts_at_once_is_created(open_store, create, refused):
    identity = b"1" * 32 if create == "create_linked" else None
    async with open_store() as store:
        wanted = [replace(account(n, f"new{n}"), identity=identity) for n in range(1, 6)]
        creates = getattr(store.accounts, create)
        done = await answers(*(creates(one, one.name) for one in wanted))
        (created,) = await all_accounts(store)
        assert [one for one, error in zip(wanted, done, strict=True) if not error] == [created]
        assert {error for error in done if error} == {refused}
        taken = replace(account(9, created.name), identity=b"9" * 32)
        with pytest.raises(NameTaken):
            await store.accounts.create_linked(taken, created.name)
        assert await store.accounts.linked(b"9" * 32) is None


async def test_person_of_a_provider_is_linked_to_one_account(store):
    one, other = b"1" * 32, b"2" * 32
    accounts = store.accounts
    assert await accounts.linked(one) is None
    await accounts.set_identity(ALICE, one)
    assert await accounts.linked(one) == replace(ALICES, identity=one)
    with pytest.raises(IdentityTaken):
        await accounts.set_identity(BOB, one)
    await accounts.set_identity(ALICE, one)  # again
    await accounts.set_identity(ALICE, other)
    assert await accounts.linked(one) is None
    await accounts.set_identity(BOB, one)
    await accounts.set_identity(ALICE, None)
    assert await accounts.linked(other) is None
    await accounts.set_identity(99, other)  # which is gone
    assert await accounts.linked(other) is None
    await accounts.delete(BOB)
    assert await accounts.linked(one) is None
    await accounts.set_identity(ALICE, one)


async def test_many_accounts_are_created_at_once_but_none_whose_name_is_taken(store):
    names = ("Carol", "Dan", "Dan", "Bob", "Eve")
    wanted = [(account(n, name), name.lower()) for n, name in enumerate(names, 11)]
    created = await store.accounts.create_many(wanted)
    assert list(created) == [True, True, False, False, True]
    kept = [one for (one, _), is_new in zip(wanted, created, strict=True) if is_new]
    stored = await all_accounts(store)
    assert stored[2:] == kept
    assert [one.id for one in stored[:2]] == [ALICE, BOB]
    assert list(await store.accounts.create_many([])) == []


async def test_people_are_listed_by_name_in_pages_with_the_time_of_their_last_use(store):
    carols = account(CAROL, "Ärger")
    await store.accounts.create(carols, "ärger")
    for number, used in enumerate((None, 30, 20)):
        token = Token(0, bytes([number]) * 32, "", 0, last_used=used)
        await store.tokens.add(BOB, token)
    await store.tokens.add(ALICE, Token(0, HASH, "", 0))
    assert await store.accounts.people("", 2) == [Person(ALICES, None), Person(BOBS, 30)]
    assert await store.accounts.people("alice", 1) == [Person(BOBS, 30)]
    assert await store.accounts.people("bob", 9) == [Person(carols, None)]
    assert await store.accounts.people("ärger", 9) == []


async def test_people_are_searched_by_the_beginning_of_their_names(store):
    names = ("al", "alicia", "am", "\U0002fa1d")
    await store.accounts.create_many([(account(n, name), name) for n, name in enumerate(names, 11)])
    for asked, found in (
        (("", 9, "al"), ["al", "Alice", "alicia"]),
        (("", 2, "al"), ["al", "Alice"]),
        (("alice", 9, "al"), ["alicia"]),
        (("alicia", 9, "al"), []),
        (("am", 9, "al"), []),
        (("bob", 9, ""), ["\U0002fa1d"]),
    ):
        people = await store.accounts.people(*asked)
        assert [person.account.name for person in people] == found
    assert await store.accounts.taken(["alice", "carol", "am"]) == {"alice", "am"}
    assert await store.accounts.taken([]) == set()


async def test_accounts_are_read_by_id_in_pages_and_the_rest_is_counted(store):
    carols = account(CAROL, "Carol")
    await store.accounts.create(carols, "carol")
    assert await store.accounts.by_id(0, 2) == [BOBS, carols]
    assert await store.accounts.by_id(CAROL, 2) == [ALICES]
    assert await store.accounts.by_id(ALICE, 2) == []
    assert await store.accounts.with_id(BOB) == BOBS
    assert await store.accounts.with_id(BOB + 1) is None
    assert [await store.accounts.count(after) for after in (0, BOB, ALICE)] == [3, 2, 0]


async def test_invitation_and_the_account_that_it_creates_are_one_commit(store):
    stored = await store.tokens.add(BOB, INVITATION)
    seen = []

    def admits(inviter, invitation):
        seen.append((inviter, invitation))
        return len(seen) > 1

    async def sign_up(name, of, stored_hash):
        one = account(CAROL, name, is_admin=False)
        await store.accounts.sign_up(one, name.lower(), (of, stored_hash), admits)

    for of, stored_hash in ((ALICE, HASH), (BOB, b"\2" * 32), (9, HASH)):
        with pytest.raises(NotAuthorized):
            await sign_up("Carol", of, stored_hash)
    assert seen == []
    with pytest.raises(NotAuthorized):
        await sign_up("Carol", BOB, HASH)  # not admitted
    with pytest.raises(AccountError, match="There is an account Alice already"):
        await sign_up("ALICE", BOB, HASH)
    assert await store.tokens.of(BOB) == [stored]
    await sign_up("Carol", BOB, HASH)
    assert seen == [(BOBS, stored)] * 3
    assert await store.tokens.of(BOB) == []
    assert await store.accounts.find("carol") == account(CAROL, "Carol", is_admin=False)


async def test_one_of_several_who_use_an_invitation_at_once_gets_an_account(store):
    await store.tokens.add(BOB, INVITATION)
    wanted = [account(n, f"new{n}", is_admin=False) for n in range(11, 17)]
    spent = (BOB, HASH), lambda *_: True
    done = await answers(*(store.accounts.sign_up(one, one.name, *spent) for one in wanted))
    assert (done.count(None), done.count(NotAuthorized)) == (1, 5)
    assert len(await all_accounts(store)) == 3


async def test_rule_is_given_the_secrets_of_one_purpose_and_changes_only_these(store):
    codes = [Token(0, bytes([n]) * 32, "", n, purpose=Purpose.RECOVERY) for n in range(1, 4)]
    token = await store.tokens.add(ALICE, Token(0, b"\x09" * 32, "", 0, scope=Scope.READ))
    bobs = await store.tokens.add(BOB, codes[0])
    seen = []

    def add(alice, known):
        seen.append((alice, known))
        return TokenDecision(codes)

    changed = await store.tokens.change(ALICE, Purpose.RECOVERY, add)
    stored = [replace(code, id=n) for n, code in enumerate(codes, 2)]
    assert seen == [(ALICES, [])]
    assert changed == TokensChanged(ALICES, stored)

    def spend(alice, known):
        assert list(known) == stored
        return TokenDecision((), [stored[1].id, token.id], "new hash")

    changed = await store.tokens.change(ALICE, Purpose.RECOVERY, spend)
    assert changed.account == replace(ALICES, password_hash="new hash")
    assert await store.accounts.find("alice") == changed.account
    assert await store.tokens.of(ALICE) == [token, stored[0], stored[2]]  # of this purpose only
    assert await store.tokens.of(BOB) == [bobs]

    def refuse(alice, known):
        raise AccountError("no")

    with pytest.raises(AccountError, match="no"):
        await store.tokens.change(ALICE, Purpose.APPS, refuse)
    with pytest.raises(NotAuthorized):
        await store.tokens.change(9, Purpose.APPS, refuse)
    assert await store.tokens.of(ALICE) == [token, stored[0], stored[2]]


async def test_changes_of_an_accounts_secrets_see_one_another(store):
    def add(number):
        token = Token(0, bytes([number]) * 32, "", 0)
        return lambda _, known: TokenDecision([token] if len(known) < 3 else [])

    changes = (store.tokens.change(ALICE, Purpose.APPS, add(number)) for number in range(8))
    done = await asyncio.gather(*changes)
    assert sorted(len(one.added) for one in done) == [0] * 5 + [1] * 3
    assert [token.id for token in await store.tokens.of(ALICE)] == [1, 2, 3]


async def test_new_password_ends_browser_sessions_and_links_and_nothing_else(store):
    kinds = [
        Token(0, b"\1" * 32, "", 0),
        Token(0, b"\2" * 32, "", 0, 9, is_session=True, of_token=1),
        Token(0, b"\3" * 32, "", 0, 9, is_session=True),
        Token(0, b"\4" * 32, "", 0, 9, is_session=True, purpose=Purpose.PAGES),
        *(Token(0, bytes([n]) * 32, "", 0, 9, purpose=one) for n, one in enumerate(ONCE, 5)),
    ]
    for account_id in (ALICE, BOB):
        for kind in kinds:
            await store.tokens.add(account_id, kind)
    await store.accounts.set_password(ALICE, "other")
    assert [token.id for token in await store.tokens.of(ALICE)] == [1, 2, 5, 7]
    assert len(await store.tokens.of(BOB)) == len(kinds)
    session = Token(0, b"\x09" * 32, "", 0, 9, is_session=True)
    with pytest.raises(NotAuthorized):  # whoever was let in by the old one just before
        await store.tokens.add_session(ALICES, session, 9, 9)
    changed = replace(ALICES, password_hash="other")
    added = await store.tokens.add_session(changed, session, 9, 9)
    assert added.id == len(kinds) + 1  # the numbers of those that ended are not given again


async def test_time_of_the_last_use_is_stored_for_many_tokens_of_many_accounts(store):
    for number in range(3):
        for account_id in (ALICE, BOB):
            await store.tokens.add(account_id, Token(0, bytes([number]) * 32, "", 0))
    used = [(ALICE, 1), (BOB, 1), (BOB, 3), (BOB, 99), (9, 1)]
    await store.tokens.mark_used(used, 77)
    await store.tokens.mark_used([(9, 1)], 77)
    assert [token.last_used for token in await store.tokens.of(ALICE)] == [77, None, None]
    assert [token.last_used for token in await store.tokens.of(BOB)] == [77, None, 77]


async def test_session_replaces_another_one(store):
    session = Token(0, HASH, "", 0, 9, is_session=True, purpose=Purpose.PAGES)
    first = await store.tokens.add_session(ALICES, session, 9, 9)
    newer = replace(session, hash=b"\2" * 32)
    second = await store.tokens.add_session(ALICES, newer, 9, 9, first.id)
    assert await store.tokens.of(ALICE) == [second]
    other = replace(ALICES, password_hash="other")
    with pytest.raises(NotAuthorized):
        await store.tokens.add_session(other, session, 9, 9, second.id)
    assert await store.tokens.of(ALICE) == [second]


async def test_database_refuses_secrets_that_no_rule_would_write(store):
    for impossible in (
        {"purpose": "lottery"},
        {"scope": "everything"},
        {"purpose": Purpose.PAGES},
        {"is_session": True, "is_shared": True, "purpose": Purpose.PAGES},
        {"is_session": True, "of_token": 1, "purpose": Purpose.PAGES},
        {"is_session": True, "purpose": Purpose.INVITATION},
        {"is_granted": True, "purpose": Purpose.RESET},
    ):
        with pytest.raises(Exception, match=r"(?i)check|constraint"):
            await store.tokens.add(ALICE, Token(0, HASH, "", 0, **impossible))
    assert await store.tokens.of(ALICE) == []


HERE, THERE = 1, 2**63 - 1
HOUR = 3_600
MANY = 10_000


def counted(number, process=HERE, *seconds):
    return CountedAttempts(number.to_bytes(16), process, array("I", seconds or [1_800_000_000]))


def some(first, last, process=HERE):
    return [counted(number, process) for number in range(first, last + 1)]


async def stored(store):
    found = (await store.attempts.saved_since(0, MANY))[1]
    return sorted(found, key=lambda one: (one.key, one.process))


async def next_moment(store):
    """Wait until the store's clock has gone on; return what it shows."""
    begun, _ = await store.attempts.saved_since(0, 1)
    while (now := (await store.attempts.saved_since(0, 1))[0]) == begun:
        pass
    return now


async def save_one_by_one(store, rows):
    for row in rows:
        await store.attempts.save([row])
        await next_moment(store)


async def test_attempts_are_found_as_they_were_stored_also_after_a_restart(open_store):
    rows = [counted(1), counted(1, THERE, 1, 2, 2, 2**32 - 1), counted(2**128 - 1, THERE)]
    async with open_store() as store:
        assert await stored(store) == []
        await store.attempts.save(rows)
        assert await stored(store) == rows
    async with open_store() as store:
        assert await stored(store) == rows
        await store.attempts.save([counted(1, HERE, 5, 8)])  # replaces no row of others
        assert await stored(store) == [counted(1, HERE, 5, 8), *rows[1:]]


async def test_later_look_finds_the_attempts_that_came_or_changed_since(store):
    await store.attempts.save(some(1, 3))
    moment = await next_moment(store)
    assert (await store.attempts.saved_since(moment, MANY))[1] == []
    await store.attempts.save([counted(2, HERE, 9)])
    now, found = await store.attempts.saved_since(moment, MANY)
    assert found == [counted(2, HERE, 9)]
    assert moment <= now
    assert abs(now - wall_clock.now()) < 60_000_000


async def test_last_attempts_are_found_in_their_order_if_there_are_too_many(store):
    await save_one_by_one(store, [counted(5), counted(1), counted(4), counted(2)])
    _, found = await store.attempts.saved_since(0, 3)
    assert found == [counted(1), counted(4), counted(2)]


async def test_oldest_attempts_are_forgotten_first_if_they_are_over_or_too_many(store):
    await save_one_by_one(store, some(1, 5))
    for age, kept, most, forgotten, left in (
        (HOUR, 4, 9, 1, some(2, 5)),
        (HOUR, 4, 9, 0, some(2, 5)),
        (HOUR, 2, 1, 1, some(3, 5)),
        (0, MANY, 2, 2, some(5, 5)),
        (0, MANY, 5, 1, []),
        (0, MANY, 5, 0, []),
    ):
        assert await store.attempts.forget(age, kept, most) == forgotten
        assert await stored(store) == left


async def test_processes_that_write_and_forget_at_once_do_not_hinder_each_other(open_store):
    async with open_store() as one, open_store() as other:
        await one.attempts.save([*some(1, 300), *some(1, 300, THERE)])
        work = []
        for _ in range(5):
            work += [one.attempts.save(some(1, 300)), one.attempts.forget(0, MANY, 100)]
            work += [other.attempts.save(some(1, 300, THERE)[::-1])]
            work += [other.attempts.forget(0, MANY, 100)]
        await asyncio.gather(*work)
        await one.attempts.save(some(1, 300))
        found = [one for one in await stored(other) if one.process == HERE]
        assert found == some(1, 300)


async def test_attempts_are_not_copied_to_another_store(tmp_path, store):
    await store.attempts.save(some(1, 3))
    target = await SqliteStore.open(tmp_path / "target.db", wall_clock.now)
    async with store.archive() as archive:
        await copy(archive, target, lambda _: None)
    assert len(await all_accounts(target)) == len(ACCOUNTS)
    assert await stored(target) == []
    await target.close()


async def test_nothing_is_written_to_look_or_to_forget_nothing(path):
    recorder = Recorder()
    async with opened(path, recorder=recorder) as store:
        await store.attempts.save(some(1, 3))
        before = recorded(recorder, COMMITS)
        await store.attempts.saved_since(0, MANY)
        assert await store.attempts.forget(HOUR, MANY, 100) == 0
        assert recorded(recorder, COMMITS) == before > 0
