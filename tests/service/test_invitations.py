"""Invitations, and creating an account with one, or where registration is open."""

import asyncio

import pytest
from running import DAY, HOME, PASSWORD
from stores import service_on
from whole_store import all_accounts

from feedkeep.model import Account, Registration
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.rules.accounts import MAX_INVITATIONS
from feedkeep.security.throttle import SIGN_UPS_PER_ADDRESS
from feedkeep.service import Service, invitations


async def administrator(service: Service, name: str = "Ada") -> Account:
    return await service.accounts.create(name, None, is_admin=True)


async def test_an_invitation_creates_one_account_and_never_another_one(service, store, clock):
    ada = await administrator(service)
    link = (await service.invitations.invite(ada, "for Bob")).text
    assert link.startswith("fi_")
    assert await service.invitations.is_open(link)
    bob = await service.invitations.sign_up(link, "Bob", PASSWORD)
    assert await service.accounts.named("bob") == bob
    assert not bob.is_admin
    await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")
    assert not await service.invitations.is_open(link)
    with pytest.raises(NotAuthorized):
        await service.invitations.sign_up(link, "Eve", PASSWORD)


async def test_of_two_people_who_use_an_invitation_at_once_one_gets_an_account(
    service, store, clock
):
    link = (await service.invitations.invite(await administrator(service))).text
    done = await asyncio.gather(
        *(service.invitations.sign_up(link, name, PASSWORD) for name in ("Bob", "Eve")),
        return_exceptions=True,
    )
    assert {type(one) for one in done} == {Account, NotAuthorized}
    assert len(await all_accounts(service.store)) == 2


@pytest.mark.parametrize("name", ["ada", "not a name", "Bob"])
async def test_an_invitation_stays_open_if_the_account_cannot_be_created(
    name, service, store, clock
):
    link = (await service.invitations.invite(await administrator(service))).text
    with pytest.raises(AccountError):
        await service.invitations.sign_up(link, name, PASSWORD if name != "Bob" else "short")
    assert await service.invitations.is_open(link)
    await service.invitations.sign_up(link, "Bob", PASSWORD)


async def test_an_invitation_ends_after_a_week_when_revoked_and_with_the_rights_of_who_made_it(
    service, store, clock
):
    ada, other = await administrator(service), await administrator(service, "Other")
    invite = service.invitations.invite

    async def assert_ended(link):
        assert not await service.invitations.is_open(link)
        with pytest.raises(NotAuthorized):
            await service.invitations.sign_up(link, "Bob", PASSWORD)

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


async def test_only_administrators_invite_and_so_many_at_a_time(service, store, clock):
    ada = await administrator(service)
    bob = await service.accounts.create("Bob", None)
    with pytest.raises(AccountError, match="Bob is not an administrator"):
        await service.invitations.invite(bob)
    for _ in range(MAX_INVITATIONS):
        await service.invitations.invite(ada)
    with pytest.raises(AccountError, match="100 invitations of Ada are open"):
        await service.invitations.invite(ada)
    clock.go_on(7 * DAY)
    await service.invitations.invite(ada)
    assert len(await store.tokens.of(ada.id)) == 1  # those that ended are forgotten


async def test_the_open_invitations_of_all_administrators_are_listed_with_who_made_them(
    service, store, clock
):
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
    assert [(by.name, one.label) for by, one in found] == [
        ("Ada", "by Ada"),
        ("Other", "by Other"),
    ]


@pytest.mark.parametrize("registration", [Registration.CLOSED])
async def test_while_registration_is_closed_sign_ups_are_refused(
    service, store, clock, registration
):
    ada = await administrator(service)
    with pytest.raises(AccountError, match="registration"):
        await service.invitations.invite(ada)
    before = service_on(store, clock, registration=Registration.OPEN)
    link = (await before.invitations.invite(ada)).text
    before._passwords.close()
    assert not await service.invitations.is_open(link)
    with pytest.raises(NotAuthorized):
        await service.invitations.sign_up(link, "Bob", PASSWORD)
    with pytest.raises(NotAuthorized):
        await service.invitations.sign_up_openly("Bob", PASSWORD, HOME)


@pytest.mark.parametrize("registration", [Registration.OPEN])
async def test_where_registration_is_open_strangers_sign_up_but_not_often_from_one_address(
    service, store, clock, registration
):
    sign_up = service.invitations.sign_up_openly
    assert (await sign_up("Bob", PASSWORD, HOME)).name == "Bob"
    for name in ("bob", *["?"] * (SIGN_UPS_PER_ADDRESS - 2)):
        with pytest.raises(AccountError):
            await sign_up(name, PASSWORD, HOME)
    with pytest.raises(TooManyAttempts):
        await sign_up("Eve", PASSWORD, HOME)
    await sign_up("Eve", PASSWORD, "192.0.2.2")
    with pytest.raises(NotAuthorized):
        await service.page_sessions.sign_in("bob", "wrong word", HOME, "")  # not counted there


@pytest.mark.parametrize("registration", [Registration.INVITED])
async def test_with_invitations_alone_open_sign_ups_are_refused(
    service, store, clock, registration
):
    with pytest.raises(NotAuthorized):
        await service.invitations.sign_up_openly("Bob", PASSWORD, HOME)


async def test_a_long_list_of_invitations_is_cut(monkeypatch, service, store, clock):
    monkeypatch.setattr(invitations, "MAX_LISTED", 3)
    for number in range(3):
        ada = await administrator(service, f"Ada{number}")
        clock.go_on(1)
        for _ in range(2):
            await service.invitations.invite(ada)
    found = await service.invitations.all()
    assert [by.name for by, _ in found] == ["Ada0", "Ada0", "Ada1"]
