"""Setting a new password without the old one: by a link, and by a recovery code."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from running import DAY, HOME, PASSWORD, assert_refused

from feedkeep.model import Account, Admitted, CredentialKind, Scope
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.rules.credentials import PasswordCredential
from feedkeep.security import address_queue
from feedkeep.security.throttle import PER_ACCOUNT_AND_ADDRESS

NEW = "battery staple"


async def logs_in(service, password):
    try:
        await service.authentication.admit(PasswordCredential("Bob", password), "192.0.2.9")
    except NotAuthorized:
        return False
    return True


async def test_a_link_sets_a_password_once_and_ends_its_sessions(service, bob):
    browser = await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")
    by_password = Admitted(bob, CredentialKind.PASSWORD)
    await service.logins.begin_session(by_password, "gPodder")
    token = await service.apps.connect(bob, "phone", Scope.WRITE)
    await service.recovery.new_codes(bob)
    link = (await service.recovery.reset_link("bob")).text
    assert link.startswith("fr_")
    assert await service.recovery.account_of(link) == await service.accounts.named("bob")
    await assert_refused(service.recovery.reset(link, "short"), AccountError)
    found = await service.recovery.reset(link, NEW)
    assert found == await service.accounts.named("bob")
    assert await logs_in(service, NEW)
    assert not await logs_in(service, PASSWORD)
    assert await service.recovery.account_of(link) is None
    await assert_refused(service.recovery.reset(link, PASSWORD))
    await assert_refused(service.page_sessions.admit(browser.text))
    assert await service.tokens.sessions_of("bob") == []
    assert [one.id for one in await service.tokens.of("bob")] == [token.token.id]
    assert await service.recovery.codes_left(bob.id) == 10
    await service.page_sessions.begin(found, "")  # with what was returned


async def test_one_link_sets_one_of_two_passwords_at_once(service):
    await service.accounts.create("Bob", None)  # a link may set the first password, too
    link = (await service.recovery.reset_link("bob")).text
    both = (service.recovery.reset(link, f"{NEW} {number}") for number in range(2))
    done = await asyncio.gather(*both, return_exceptions=True)
    assert {type(one) for one in done} == {Account, NotAuthorized}
    is_set = [isinstance(one, Account) for one in done]
    assert [await logs_in(service, f"{NEW} {number}") for number in range(2)] == is_set


async def test_a_link_ends_after_a_day_or_with_a_newer_link_or_password(service, clock, bob):
    async def assert_ended(link):
        assert await service.recovery.account_of(link) is None
        await assert_refused(service.recovery.reset(link, NEW))

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
    await assert_refused(new_link(), AccountError, "Bob is disabled")
    await assert_ended("fr_nonsense")
    await assert_ended((await service.apps.connect(bob, "", Scope.WRITE)).text)


async def test_each_recovery_code_sets_a_password_once(service, bob):
    recovery = service.recovery
    assert await recovery.codes_left(bob.id) == 0
    codes = await recovery.new_codes(bob)
    assert len(set(codes)) == 10
    session = await service.page_sessions.begin(bob, "")
    await assert_refused(recovery.recover("bob", codes[0], "short", HOME), AccountError)
    assert await recovery.codes_left(bob.id) == 10
    typed = f" {codes[0].upper().replace('-', ' ')} "
    found = await recovery.recover("BOB", typed, NEW, HOME)
    assert found == await service.accounts.named("bob")
    assert await logs_in(service, NEW)
    assert not await logs_in(service, PASSWORD)
    assert await recovery.codes_left(bob.id) == 9
    await assert_refused(service.page_sessions.admit(session.text))
    await assert_refused(recovery.recover("bob", codes[0], PASSWORD, HOME))
    await recovery.recover("bob", codes[1], PASSWORD, HOME)
    newer = await recovery.new_codes(bob)
    assert await recovery.codes_left(bob.id) == 10
    await assert_refused(recovery.recover("bob", codes[2], NEW, HOME))
    for code in newer:  # more right ones than wrong ones are let through
        await recovery.recover("bob", code, NEW, HOME)
    codes = await recovery.new_codes(bob)
    await recovery.recover("bob", codes[0], NEW, HOME)


async def test_no_code_works_for_a_disabled_or_another_account(service, bob):
    await service.accounts.create("Eve", PASSWORD)
    code, *_ = await service.recovery.new_codes(bob)
    for name in ("eve", "stranger"):
        await assert_refused(service.recovery.recover(name, code, NEW, HOME))
    await service.accounts.set_disabled("bob", True)
    for _ in range(PER_ACCOUNT_AND_ADDRESS):
        await assert_refused(service.recovery.recover("bob", code, NEW, HOME))
    await assert_refused(service.recovery.recover("bob", code, NEW, HOME), TooManyAttempts)
    await service.accounts.set_disabled("bob", False)
    assert await logs_in(service, PASSWORD)


@pytest.mark.parametrize("name", ["bob", "stranger"])
async def test_wrong_codes_and_wrong_passwords_count_together(name, service, bob):
    code, *_ = await service.recovery.new_codes(bob)
    sign_in, recover = service.page_sessions.sign_in, service.recovery.recover
    await assert_refused(sign_in(name, "wrong word", HOME, ""))
    for number in range(PER_ACCOUNT_AND_ADDRESS - 1):
        await assert_refused(recover(name, f"wrong {number}", NEW, HOME))
    await assert_refused(recover(name, code, NEW, HOME), TooManyAttempts)
    await assert_refused(sign_in(name, PASSWORD, HOME, ""), TooManyAttempts)
    await recover("bob", code, NEW, "192.0.2.2")


async def test_a_code_that_waits_in_vain_is_not_counted(monkeypatch, service, bob):
    monkeypatch.setattr(address_queue, "MAX_WAITING", 1)
    code, *_ = await service.recovery.new_codes(bob)
    queue = service._passwords._queue
    async with AsyncExitStack() as stack:
        for _ in range(queue._free):
            await stack.enter_async_context(queue.turn("others"))
        waiting = asyncio.ensure_future(service._passwords.hash(NEW))
        await asyncio.sleep(0)
        for _ in range(PER_ACCOUNT_AND_ADDRESS + 1):
            await assert_refused(service.recovery.recover("bob", code, NEW, HOME), TooManyAttempts)
    assert await waiting
    await service.recovery.recover("bob", code, NEW, HOME)
