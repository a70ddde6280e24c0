"""Setting a new password without the old one: by a link, and by a recovery code."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from running import DAY, HOME, PASSWORD

from feedkeep.model import Account, Admitted, CredentialKind, Scope
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.rules.credentials import PasswordCredential
from feedkeep.security import address_queue
from feedkeep.security.throttle import PER_ACCOUNT_AND_ADDRESS
from feedkeep.service import Service

NEW = "battery staple"


async def logs_in(service: Service, password: str) -> bool:
    try:
        await service.authentication.admit(PasswordCredential("Bob", password), "192.0.2.9")
    except NotAuthorized:
        return False
    return True


async def test_a_link_sets_a_new_password_once_and_ends_what_the_old_one_began(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    browser = await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")
    by_password = Admitted(bob, CredentialKind.PASSWORD)
    await service.logins.begin_session(by_password, "gPodder")
    token = await service.apps.connect(bob, "phone", Scope.WRITE)
    await service.recovery.new_codes(bob)
    link = (await service.recovery.reset_link("bob")).text
    assert link.startswith("fr_")
    assert await service.recovery.account_of(link) == await service.accounts.named("bob")
    found = await service.recovery.reset(link, NEW)
    assert found == await service.accounts.named("bob")
    assert await logs_in(service, NEW)
    assert not await logs_in(service, PASSWORD)
    assert await service.recovery.account_of(link) is None
    with pytest.raises(NotAuthorized):
        await service.recovery.reset(link, PASSWORD)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(browser.text)
    assert await service.tokens.sessions_of("bob") == []
    assert [one.id for one in await service.tokens.of("bob")] == [token.token.id]
    assert await service.recovery.codes_left(bob.id) == 10
    await service.page_sessions.begin(found, "")  # with what was returned


async def test_of_two_passwords_that_one_link_sets_at_once_one_is_set(service, store, clock):
    await service.accounts.create("Bob", None)  # a link may set the first password, too
    link = (await service.recovery.reset_link("bob")).text
    done = await asyncio.gather(
        *(service.recovery.reset(link, f"{NEW} {number}") for number in range(2)),
        return_exceptions=True,
    )
    assert {type(one) for one in done} == {Account, NotAuthorized}
    right = next(number for number in range(2) if isinstance(done[number], Account))
    assert await logs_in(service, f"{NEW} {right}")


async def test_a_link_ends_after_a_day_with_a_newer_one_and_with_a_new_password(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)

    async def assert_ended(link):
        assert await service.recovery.account_of(link) is None
        with pytest.raises(NotAuthorized):
            await service.recovery.reset(link, NEW)

    async def new_link():
        return (await service.recovery.reset_link("bob")).text

    old = await new_link()
    clock.go_on(DAY - 1)
    assert await service.recovery.account_of(old) is not None
    clock.go_on(1)
    await assert_ended(old)
    replaced, newer = await new_link(), await new_link()
    await assert_ended(replaced)
    assert await service.recovery.account_of(newer) is not None
    await service.accounts.set_password("bob", PASSWORD)
    await assert_ended(newer)
    link = await new_link()
    await service.accounts.set_disabled("bob", True)
    await assert_ended(link)
    with pytest.raises(AccountError, match="Bob is disabled"):
        await new_link()
    await assert_ended("fr_nonsense")
    await assert_ended((await service.apps.connect(bob, "", Scope.WRITE)).text)


async def test_a_password_that_is_too_short_spends_neither_a_link_nor_a_code(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    link = (await service.recovery.reset_link("bob")).text
    code, *_ = await service.recovery.new_codes(bob)
    with pytest.raises(AccountError):
        await service.recovery.reset(link, "short")
    with pytest.raises(AccountError):
        await service.recovery.recover("bob", code, "short", HOME)
    assert await service.recovery.codes_left(bob.id) == 10
    await service.recovery.reset(link, NEW)


async def test_each_recovery_code_sets_a_new_password_once_however_it_is_typed(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    assert await service.recovery.codes_left(bob.id) == 0
    codes = await service.recovery.new_codes(bob)
    assert len(set(codes)) == 10
    session = await service.page_sessions.begin(bob, "")
    typed = f" {codes[0].upper().replace('-', ' ')} "
    found = await service.recovery.recover("BOB", typed, NEW, HOME)
    assert found == await service.accounts.named("bob")
    assert await logs_in(service, NEW)
    assert not await logs_in(service, PASSWORD)
    assert await service.recovery.codes_left(bob.id) == 9
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)
    with pytest.raises(NotAuthorized):
        await service.recovery.recover("bob", codes[0], PASSWORD, HOME)
    await service.recovery.recover("bob", codes[1], PASSWORD, HOME)
    newer = await service.recovery.new_codes(bob)
    assert await service.recovery.codes_left(bob.id) == 10
    with pytest.raises(NotAuthorized):
        await service.recovery.recover("bob", codes[2], NEW, HOME)
    await service.recovery.recover("bob", newer[9], NEW, HOME)


async def test_no_code_works_for_a_disabled_or_another_account(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    await service.accounts.create("Eve", PASSWORD)
    code, *_ = await service.recovery.new_codes(bob)
    for name in ("eve", "stranger"):
        with pytest.raises(NotAuthorized):
            await service.recovery.recover(name, code, NEW, HOME)
    await service.accounts.set_disabled("bob", True)
    for _ in range(PER_ACCOUNT_AND_ADDRESS):
        with pytest.raises(NotAuthorized):
            await service.recovery.recover("bob", code, NEW, HOME)
    with pytest.raises(TooManyAttempts):
        await service.recovery.recover("bob", code, NEW, HOME)
    await service.accounts.set_disabled("bob", False)
    assert await logs_in(service, PASSWORD)


@pytest.mark.parametrize("name", ["bob", "stranger"])
async def test_wrong_codes_are_slowed_down_together_with_wrong_passwords(
    name, service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    code, *_ = await service.recovery.new_codes(bob)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.sign_in(name, "wrong word", HOME, "")
    for number in range(PER_ACCOUNT_AND_ADDRESS - 1):
        with pytest.raises(NotAuthorized):
            await service.recovery.recover(name, f"wrong {number}", NEW, HOME)
    with pytest.raises(TooManyAttempts):
        await service.recovery.recover(name, code, NEW, HOME)
    with pytest.raises(TooManyAttempts):
        await service.page_sessions.sign_in(name, PASSWORD, HOME, "")
    await service.recovery.recover("bob", code, NEW, "192.0.2.2")


async def test_a_right_code_is_not_counted(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    for code in await service.recovery.new_codes(bob):
        await service.recovery.recover("bob", code, NEW, HOME)
    codes = await service.recovery.new_codes(bob)
    await service.recovery.recover("bob", codes[0], NEW, HOME)


async def test_a_code_that_was_not_checked_since_too_many_passwords_wait_is_not_counted(
    monkeypatch, service, store, clock
):
    monkeypatch.setattr(address_queue, "MAX_WAITING", 1)
    bob = await service.accounts.create("Bob", PASSWORD)
    code, *_ = await service.recovery.new_codes(bob)
    queue = service._passwords._queue
    async with AsyncExitStack() as stack:
        for _ in range(queue._free):
            await stack.enter_async_context(queue.turn("others"))
        waiting = asyncio.ensure_future(service._passwords.hash(NEW))
        await asyncio.sleep(0)
        for _ in range(PER_ACCOUNT_AND_ADDRESS + 1):
            with pytest.raises(TooManyAttempts):
                await service.recovery.recover("bob", code, NEW, HOME)
    assert await waiting
    await service.recovery.recover("bob", code, NEW, HOME)
