"""Accounts: the first one, administrators, and what a stranger can learn from the time it takes."""

import asyncio

import pytest
from running import HOME, PASSWORD
from whole_store import all_accounts

from feedkeep.model import Account, AccountId, Person, Token
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.rules.credentials import read_token
from feedkeep.service.last_uses import MAX_WAITING, LastUses


async def test_of_two_people_who_set_the_service_up_at_once_one_is_its_administrator(
    service, store, clock
):
    with pytest.raises(AccountError):
        await service.accounts.set_up("Ada", "short")
    done = await asyncio.gather(
        *(service.accounts.set_up(name, PASSWORD) for name in ("Ada", "Eve")),
        return_exceptions=True,
    )
    assert {type(one) for one in done} == {Account, NotAuthorized}
    (ada,) = await all_accounts(service.store)
    assert ada in done
    assert ada.is_admin
    await service.page_sessions.begin(ada, "")
    with pytest.raises(NotAuthorized):
        await service.accounts.set_up("Bob", PASSWORD)


async def test_there_is_always_an_administrator(service, store, clock):
    await service.accounts.create("Ada", None, is_admin=True)
    await service.accounts.create("Bob", None)
    accounts = service.accounts
    for refused in (
        lambda: accounts.set_admin("ada", False),
        lambda: accounts.set_disabled("ada", True),
        lambda: accounts.delete("ada"),
    ):
        with pytest.raises(AccountError, match="Ada is the last administrator"):
            await refused()
    await accounts.set_disabled("bob", True)
    await accounts.set_admin("bob", True)
    with pytest.raises(AccountError):  # one that is disabled does not count
        await accounts.set_disabled("ada", True)
    await accounts.set_disabled("bob", False)
    await accounts.set_disabled("ada", True)
    assert [one.name for one in await accounts.administrators()] == ["Bob"]
    await accounts.delete("ada")  # it was none any longer
    await accounts.set_disabled("bob", False)
    assert await accounts.people("", 5) == [Person(await accounts.named("bob"), None)]


async def test_whether_there_is_such_an_account_changes_nothing_that_a_wrong_code_costs(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
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
        with pytest.raises(NotAuthorized):
            await service.recovery.recover(name, shown, "battery staple", HOME)
        seen.append(list(asked))
    assert seen == [["find", "find", "_computed"]] * 4


# C2.11
async def test_a_last_use_that_cannot_be_stored_is_logged_once_and_stored_later(
    capsys, service, store, clock
):
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
async def test_no_request_waits_for_its_last_use_to_be_stored(service, store, clock):
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


async def test_only_so_many_last_uses_wait_and_none_keeps_the_service_from_stopping(
    service, store, clock
):
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
