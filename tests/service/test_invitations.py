"""Invitations, and creating an account with one, or where registration is open."""

import asyncio

import pytest
from running import DAY, HOME, PASSWORD, assert_refused
from stores import service_on
from whole_store import all_accounts

from feedkeep.model import Account, Registration
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.rules.accounts import MAX_INVITATIONS
from feedkeep.security.throttle import SIGN_UPS_PER_ADDRESS
from feedkeep.service import invitations


async def administrator(service, name="Ada"):
    return await service.accounts.create(name, None, is_admin=True)


async def test_an_invitation_creates_one_account(service):
    made, ada = service.invitations, await administrator(service)
    link = (await made.invite(ada, "for Bob")).text
    assert link.startswith("fi_")
    for name, password in (("ada", PASSWORD), ("not a name", PASSWORD), ("Bob", "short")):
        await assert_refused(made.sign_up(link, name, password), AccountError)
        assert await made.is_open(link)
    bob = await made.sign_up(link, "Bob", PASSWORD)
    assert await service.accounts.named("bob") == bob
    assert not bob.is_admin
    await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")
    assert not await made.is_open(link)
    await assert_refused(made.sign_up(link, "Eve", PASSWORD))
    link = (await made.invite(ada)).text
    both = (made.sign_up(link, name, PASSWORD) for name in ("Eve", "Zoe"))
    done = await asyncio.gather(*both, return_exceptions=True)
    assert {type(one) for one in done} == {Account, NotAuthorized}
    assert len(await all_accounts(service.store)) == 3


async def test_an_invitation_ends_after_a_week_or_when_revoked_or_with_its_author(service, clock):
    ada, other = await administrator(service), await administrator(service, "Other")
    invite = service.invitations.invite

    async def assert_ended(link):
        assert not await service.invitations.is_open(link)
        await assert_refused(service.invitations.sign_up(link, "Bob", PASSWORD))

    old = await invite(ada)
    clock.go_on(7 * DAY - 1)
    assert await service.invitations.is_open(old.text)
    clock.go_on(1)
    await assert_ended(old.text)
    revoked, kept = await invite(ada), await invite(other)
    await service.invitations.revoke(ada.id, revoked.token.id)
    await assert_ended(revoked.text)
    made = await invite(ada)
    await service.accounts.set_admin("ada", False)
    await assert_ended(made.text)
    await service.accounts.set_admin("ada", True)
    assert await service.invitations.is_open(made.text)
    await service.accounts.set_disabled("ada", True)
    await assert_ended(made.text)
    await service.accounts.delete("ada")
    await assert_ended(made.text)
    assert await service.invitations.is_open(kept.text)
    await assert_ended(kept.text[:-1])
    await assert_ended(f"fr_{kept.text[3:]}")


async def test_administrators_alone_invite_up_to_a_limit(service, store, clock, bob):
    ada, invite = await administrator(service), service.invitations.invite
    await assert_refused(invite(bob), AccountError, "Bob is not an administrator")
    for _ in range(MAX_INVITATIONS):
        await invite(ada)
    await assert_refused(invite(ada), AccountError, "100 invitations of Ada are open")
    clock.go_on(7 * DAY)
    await invite(ada)
    assert len(await store.tokens.of(ada.id)) == 1  # those that ended are forgotten


async def test_open_invitations_are_listed_with_their_authors(monkeypatch, service, clock):
    assert await service.invitations.all() == []
    ada = await administrator(service)
    old = await service.invitations.invite(ada, "old")
    clock.go_on(7 * DAY)
    other = await administrator(service, "Other")
    gone = await administrator(service, "Gone")
    for by in (gone, other, ada):
        await service.invitations.invite(by, f"by {by.name}\n")
    await service.accounts.set_admin("gone", False)
    await service.apps.connect(ada, "phone", old.token.scope)
    found = await service.invitations.all()
    assert [(by.name, one.label) for by, one in found] == [("Ada", "by Ada"), ("Other", "by Other")]
    monkeypatch.setattr(invitations, "MAX_LISTED", 2)
    await service.invitations.invite(other)
    assert [by.name for by, _ in await service.invitations.all()] == ["Ada", "Other"]


@pytest.mark.parametrize("registration", [Registration.CLOSED, Registration.INVITED])
async def test_sign_ups_need_open_registration(service, store, clock, registration):
    await assert_refused(service.invitations.sign_up_openly("Bob", PASSWORD, HOME))
    if registration is Registration.CLOSED:
        ada = await administrator(service)
        await assert_refused(service.invitations.invite(ada), AccountError, "registration")
        before = service_on(store, clock, registration=Registration.OPEN)
        link = (await before.invitations.invite(ada)).text
        before._passwords.close()
        assert not await service.invitations.is_open(link)
        await assert_refused(service.invitations.sign_up(link, "Bob", PASSWORD))


@pytest.mark.parametrize("registration", [Registration.OPEN])
async def test_open_sign_ups_are_limited_for_each_address(service):
    sign_up = service.invitations.sign_up_openly
    assert (await sign_up("Bob", PASSWORD, HOME)).name == "Bob"
    for name in ("bob", *["?"] * (SIGN_UPS_PER_ADDRESS - 2)):
        await assert_refused(sign_up(name, PASSWORD, HOME), AccountError)
    await assert_refused(sign_up("Eve", PASSWORD, HOME), TooManyAttempts)
    await sign_up("Eve", PASSWORD, "192.0.2.2")
    # Logins are counted apart from sign-ups.
    await assert_refused(service.page_sessions.sign_in("bob", "wrong word", HOME, ""))
