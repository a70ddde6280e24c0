"""Accounts: the first one, administrators, what a stranger can learn, and older hashes."""

import asyncio

import pytest
from running import HOME, PASSWORD, assert_refused
from stores import service_on
from whole_store import all_accounts

from feedkeep.model import Account, AccountId, Person, Token
from feedkeep.model.errors import AccountError, NameTaken, NotAuthorized, StoreUnavailable
from feedkeep.rules.credentials import PasswordCredential, read_token
from feedkeep.security import argon2id
from feedkeep.security.argon2id import Cost
from feedkeep.service import identities, last_uses
from feedkeep.service.last_uses import MAX_WAITING, LastUses


async def test_set_up_makes_one_administrator(service):
    await assert_refused(service.accounts.set_up("Ada", "short"), AccountError)
    both = (service.accounts.set_up(name, PASSWORD) for name in ("Ada", "Eve"))
    done = await asyncio.gather(*both, return_exceptions=True)
    assert {type(one) for one in done} == {Account, NotAuthorized}
    (ada,) = await all_accounts(service.store)
    assert ada in done
    assert ada.is_admin
    await service.page_sessions.begin(ada, "")
    await assert_refused(service.accounts.set_up("Bob", PASSWORD))


async def test_there_is_always_an_administrator(service):
    accounts = service.accounts
    await accounts.create("Ada", None, is_admin=True)
    await accounts.create("Bob", None)
    last = "Ada is the last administrator"
    await assert_refused(accounts.set_admin("ada", False), AccountError, last)
    await assert_refused(accounts.set_disabled("ada", True), AccountError, last)
    await assert_refused(accounts.delete("ada"), AccountError, last)
    await accounts.set_disabled("bob", True)
    await accounts.set_admin("bob", True)
    # One that is disabled does not count.
    await assert_refused(accounts.set_disabled("ada", True), AccountError)
    await accounts.set_disabled("bob", False)
    await accounts.set_disabled("ada", True)
    assert [one.name for one in await accounts.administrators()] == ["Bob"]
    await accounts.delete("ada")  # it was none any longer
    await accounts.set_disabled("bob", False)
    assert await accounts.people("", 5) == [Person(await accounts.named("bob"), None)]


async def test_a_person_for_whom_all_names_are_taken_gets_no_account(monkeypatch, service):
    monkeypatch.setattr(identities, "names_for", lambda _: iter(["zoë", "ZOË"]))
    await service.accounts.create("Zoë", None)
    person = b"1" * 32
    made = service.identities.account_of(person, {}, may_create=True, admin_claim="")
    await assert_refused(made, NameTaken)
    assert await service.identities.linked(person) is None


async def test_a_wrong_code_costs_the_same_for_every_account(service, store, bob):
    await service.recovery.new_codes(bob)
    eve = await service.accounts.create("Eve", PASSWORD)
    code, *_ = await service.recovery.new_codes(eve)
    await service.accounts.set_disabled("eve", True)
    asked: list[str] = []
    for thing, name in ((service._passwords, "_computed"), (store.accounts, "find"),
                        (store.tokens, "find"), (store.tokens, "change")):  # fmt: skip
        original = getattr(thing, name)

        async def noted(*arguments, name=name, original=original):
            asked.append(name)
            return await original(*arguments)

        setattr(thing, name, noted)
    seen = []
    wrong = "abcd-efgh-ijkm-npqr"
    for name, shown in (("stranger", wrong), ("bob", wrong), ("bob", "?"), ("eve", code)):
        asked.clear()
        await assert_refused(service.recovery.recover(name, shown, "battery staple", HOME))
        seen.append(list(asked))
    assert seen == [["find", "find", "_computed"]] * 4


# C2.11
async def test_a_last_use_that_cannot_be_stored_is_stored_later(capsys, service, store):
    await service.accounts.create("Bob", None)
    token = read_token((await service.tokens.create("bob", "", None)).text)
    mark_used, is_broken = store.tokens.mark_used, True

    async def mark(*arguments):
        if is_broken:
            raise RuntimeError("the disk is full")
        await mark_used(*arguments)

    store.tokens.mark_used = mark
    for _ in range(3):
        await service.authentication.admit(token, HOME)
        await service._last_uses.close()
    assert capsys.readouterr().out.count("the disk is full") == 1
    is_broken = False
    await service.authentication.admit(token, HOME)
    await service._last_uses.close()
    (stored,) = await service.tokens.of("bob")
    assert stored.last_used is not None


# C2.11
async def test_no_request_waits_for_its_last_use_to_be_stored(service, store):
    await service.accounts.create("Bob", None)
    token = read_token((await service.tokens.create("bob", "", None)).text)
    is_storing = asyncio.Event()

    async def hang(*_):
        is_storing.set()
        await asyncio.Event().wait()

    store.tokens.mark_used = hang
    for _ in range(2):
        assert await service.authentication.admit(token, HOME)
        await is_storing.wait()
    service._last_uses._work.cancel()


async def test_last_uses_that_wait_are_bounded_and_delay_no_stop(monkeypatch, store, clock):
    monkeypatch.setattr(last_uses, "_CLOSE_SECONDS", 0.1)
    marked: list[int] = []

    async def hang(used, *_):
        marked.append(len(used))
        await asyncio.Event().wait()

    store.tokens.mark_used = hang
    noted = LastUses(store)
    for number in range(1, MAX_WAITING + 1_000):
        noted.note(AccountId(number), Token(1, b"", "", 0), clock())
    assert len(noted._waiting) == MAX_WAITING
    await asyncio.wait_for(noted.close(), 5)
    assert marked == [256]


FORMER, OURS = Cost(64, 3, 4), Cost(64, 3, 1)
SHOWN = PasswordCredential("Bob", PASSWORD)


async def hash_of_bob(store):
    return (await store.accounts.find("bob")).password_hash


async def all_replaced(service):
    await asyncio.gather(*service.authentication._rehashing._tasks.values())


@pytest.fixture
async def former(monkeypatch, service, store):
    """A hash of an earlier version, of Bob's password."""
    monkeypatch.setattr(argon2id, "OURS", FORMER)
    await service.accounts.create("Bob", PASSWORD)
    monkeypatch.setattr(argon2id, "OURS", OURS)
    return await hash_of_bob(store)


async def test_a_right_password_replaces_an_older_hash(former, monkeypatch, service, store):
    renewed, may_begin = service._passwords.renewed, asyncio.Event()

    async def renewed_later(*given):
        await may_begin.wait()
        return await renewed(*given)

    monkeypatch.setattr(service._passwords, "renewed", renewed_later)
    admitted = await service.authentication.admit(SHOWN, HOME)
    await service.authentication.admit(SHOWN, HOME)
    assert len(service.authentication._rehashing._tasks) == 1
    assert await hash_of_bob(store) == former  # no request waits for it
    session = await service.page_sessions.begin(admitted.account, "")
    may_begin.set()
    await all_replaced(service)
    replaced = await hash_of_bob(store)
    assert replaced.startswith("$argon2id$v=19$m=64,t=3,p=1$")
    # Logins by the old hash just before continue, and the password stays cached.
    await service.logins.begin_session(admitted, "gPodder")
    await service.page_sessions.admit(session.text)
    assert service._passwords.remembers("bob", PASSWORD, replaced)
    await service.authentication.admit(SHOWN, HOME)
    assert not service.authentication._rehashing._tasks


@pytest.mark.usefixtures("former")
async def test_a_new_password_is_not_replaced_by_a_hash_of_the_old_one(service, store):
    await service.authentication.admit(SHOWN, HOME)
    await service.accounts.set_password("Bob", "battery staple")
    new = await hash_of_bob(store)
    await all_replaced(service)
    assert await hash_of_bob(store) == new


async def test_a_hash_is_replaced_after_the_next_start(former, monkeypatch, service, store, clock):
    async def unavailable(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(store.accounts, "replace_hash", unavailable)
        await service.authentication.admit(SHOWN, HOME)
        await all_replaced(service)
    await service.authentication.admit(SHOWN, HOME)
    await service.authentication.close()  # meanwhile
    assert await hash_of_bob(store) == former
    assert not service.authentication._rehashing._tasks
    next_one = service_on(store, clock)
    await next_one.authentication.admit(SHOWN, HOME)
    await all_replaced(next_one)
    assert await hash_of_bob(store) != former
    next_one._passwords.close()
