"""The apps of an account, as its owner sees, connects and disconnects them."""

import pytest
from running import DAY, HOME, MINUTE, PASSWORD

from feedkeep.model import Account, Admitted, CredentialKind, Preferences, Scope, Stamp
from feedkeep.model.errors import AccountError, InvalidInput, NotAuthorized
from feedkeep.rules.apps import MAX_ENDED_TOKENS, MAX_TOKENS, AppKind, AppUse
from feedkeep.rules.clock import minute_of
from feedkeep.rules.credentials import read_session, read_token
from feedkeep.service import Service
from feedkeep.service.devices import MAX_SHOWN
from feedkeep.service.logins import login_of


async def begin(service: Service, account: Account, label: str, text: str = "") -> str:
    """Begin a session of an app by a token; by the password without one."""
    admitted = Admitted(account, CredentialKind.PASSWORD)
    if text:
        admitted = await service.authentication.admit(read_token(text), HOME)
    return (await service.logins.begin_session(admitted, label)).text


async def test_an_app_is_a_token_with_its_sessions_or_the_sessions_of_a_password_with_one_label(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    began = clock.at
    phone = await service.apps.connect(bob, "phone", Scope.READ)
    clock.go_on(DAY)
    await begin(service, bob, "gPodder/3", phone.text)
    sessions = [await begin(service, bob, "AntennaPod") for _ in range(2)]
    await begin(service, bob, "Kasts")
    login = service.logins.begin_login()
    await service.logins.grant_login(bob, login_of(login), "Cardo")
    await service.logins.fetch_login(login)
    await service.page_sessions.begin(bob, "Firefox")  # no app
    await service.recovery.new_codes(bob)
    clock.go_on(DAY)
    await service.authentication.admit(read_session(sessions[1]), HOME)
    await service._last_uses.close()
    found = {app.name: app for app in await service.apps.of(bob.id)}
    assert list(found) == ["AntennaPod", "Kasts", "phone", "Cardo"]
    today = minute_of(clock.at)
    expected = {
        "phone": (1, AppKind.TOKEN, began, today - DAY, Scope.READ),
        "AntennaPod": (2, AppKind.PASSWORD, began + DAY, today, Scope.WRITE),
        "Kasts": (1, AppKind.PASSWORD, began + DAY, today - DAY, Scope.WRITE),
        "Cardo": (1, AppKind.NEXTCLOUD, began + DAY, None, Scope.WRITE),
    }
    for name, app in found.items():
        seen = (len(app.ids), app.kind, app.created, app.last_used, app.scope)
        assert seen == expected[name], name


async def test_the_use_of_a_token_by_one_product_is_no_sign_of_life_of_another(service, clock):
    """Kasts with the phone's password, which asks for the phone's device, too."""
    bob = await service.accounts.create("Bob", PASSWORD)
    phone = await service.apps.connect(bob, "phone", Scope.WRITE)
    for label in ("AntennaPod/3.5", "AntennaPod/3.6"):
        await begin(service, bob, label, phone.text)
    began = minute_of(clock.at)
    [alone] = await service.apps.of(bob.id)
    assert (alone.last_used, alone.used_by) == (began, ())
    clock.go_on(DAY)
    await begin(service, bob, "Kasts/24.02", phone.text)
    [app] = await service.apps.of(bob.id)
    assert app.used_by == [AppUse("Kasts/24.02", began + DAY), AppUse("AntennaPod/3.6", began)]


async def test_an_app_with_the_own_password_is_one_whatever_versions_it_had(service):
    bob = await service.accounts.create("Bob", PASSWORD)
    for label in ("AntennaPod/3.5", "AntennaPod/3.6", "Kasts/24"):
        await begin(service, bob, label)
    names = sorted(app.name for app in await service.apps.of(bob.id))
    assert names == ["AntennaPod/3.6", "Kasts/24"]


async def test_a_token_is_disconnected_with_its_sessions(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    phone = await service.apps.connect(bob, "phone", Scope.WRITE)
    session = await begin(service, bob, "gPodder", phone.text)
    other = await begin(service, bob, "gPodder")
    await service.apps.disconnect(bob.id, phone.token.id)
    for ended in (read_token(phone.text), read_session(session)):
        with pytest.raises(NotAuthorized):
            await service.authentication.admit(ended, HOME)
    await service.authentication.admit(read_session(other), HOME)
    assert [app.name for app in await service.apps.of(bob.id)] == ["gPodder"]
    with pytest.raises(AccountError, match="not connected"):
        await service.apps.disconnect(bob.id, phone.token.id)


async def test_any_session_of_a_password_disconnects_all_with_its_label(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    phone = await service.apps.connect(bob, "AntennaPod", Scope.WRITE)
    kept = [
        await begin(service, bob, "AntennaPod", phone.text),
        await begin(service, bob, "Kasts"),
    ]
    ended = [await begin(service, bob, "AntennaPod") for _ in range(3)]
    app = next(app for app in await service.apps.of(bob.id) if len(app.ids) == 3)
    await service.apps.disconnect(bob.id, app.ids[1])
    for text in ended:
        with pytest.raises(NotAuthorized):
            await service.authentication.admit(read_session(text), HOME)
    for text in kept:
        await service.authentication.admit(read_session(text), HOME)


async def test_no_account_disconnects_the_app_of_another(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    eve = await service.accounts.create("Eve", PASSWORD)
    phone = await service.apps.connect(bob, "phone", Scope.WRITE)
    browser = await service.page_sessions.begin(bob, "")
    for account_id, token_id in ((eve.id, phone.token.id), (bob.id, browser.token.id)):
        with pytest.raises(AccountError):
            await service.apps.disconnect(account_id, token_id)
    await service.authentication.admit(read_token(phone.text), HOME)


async def test_an_account_has_a_limited_number_of_tokens_and_of_those_that_ended(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    kept = await service.tokens.create("bob", "expires", 1)
    expired = await service.tokens.create("bob", "expires earlier", 1)
    await begin(service, bob, "gPodder", expired.text)
    for _ in range(MAX_TOKENS - 2):
        await service.apps.connect(bob, "", Scope.WRITE)
    with pytest.raises(AccountError, match="200 apps"):
        await service.apps.connect(bob, "", Scope.WRITE)
    clock.go_on(DAY)
    alive = await service.apps.connect(bob, "alive", Scope.WRITE)
    for app in await service.apps.of(bob.id):
        clock.go_on(1)
        await service.apps.disconnect(bob.id, app.ids[0])
    alive = await service.apps.connect(bob, "alive", Scope.WRITE)
    known = await service.tokens.of("bob")
    assert len(known) == MAX_ENDED_TOKENS + 1
    assert alive.token.id in {one.id for one in known}
    assert expired.token.id not in {one.id for one in known}  # it ended first
    assert kept.token.id not in {one.id for one in known}
    assert await service.tokens.sessions_of("bob") == []


async def test_the_list_of_apps_is_cut(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    for number in range(MAX_SHOWN + 1):
        await service.tokens.create("bob", str(number), None)
    assert len(await service.apps.of(bob.id)) == MAX_SHOWN


# C2.11
async def test_the_last_use_is_stored_once_a_minute_for_a_token_and_for_that_of_a_session(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    phone = await service.apps.connect(bob, "phone", Scope.WRITE)
    unused = await service.apps.connect(bob, "unused", Scope.WRITE)
    session = await begin(service, bob, "gPodder", phone.text)
    marks = []
    mark_used = store.tokens.mark_used

    async def mark(used, moment):
        marks.append((sorted(token_id for _, token_id in used), moment))
        await mark_used(used, moment)

    store.tokens.mark_used = mark
    await service._last_uses.close()
    clock.go_on(MINUTE)
    for _ in range(3):
        await service.authentication.admit(read_session(session), HOME)
        await service._last_uses.close()
    minute = minute_of(clock.at)
    stored = {one.id: one.last_used for one in await store.tokens.of(bob.id)}
    assert stored == {phone.token.id: minute, unused.token.id: None, 3: minute}
    assert marks[-1] == ([phone.token.id, 3], minute)
    assert len([mark for mark in marks if mark[1] == minute]) == 1


async def test_preferences_are_stored_for_each_account_and_bounded(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    eve = await service.accounts.create("Eve", PASSWORD)
    assert await service.preferences.of(bob.id) == Preferences()
    for wanted in (Preferences("de", "Europe/Berlin", "dark"), Preferences(theme="light")):
        await service.preferences.change(bob.id, wanted)
        assert await service.preferences.of(bob.id) == wanted
    with pytest.raises(InvalidInput, match="64"):
        await service.preferences.change(bob.id, Preferences(theme="x" * 65))
    assert await service.preferences.of(bob.id) == Preferences(theme="light")
    assert await service.preferences.of(eve.id) == Preferences()


async def test_a_wipe_that_was_meant_is_kept_beside_the_preferences_and_only_rises(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    await service.preferences.change(bob.id, Preferences(theme="dark"))
    for meant in (5, 9, 7):
        await service.preferences.dismiss_mass_unsubscribe(bob.id, Stamp(meant))
    assert await service.preferences.of(bob.id) == Preferences(
        theme="dark", dismissed_mass_unsubscribe=Stamp(9)
    )
    await service.preferences.change(bob.id, Preferences(language="de"))
    assert await service.preferences.of(bob.id) == Preferences(
        language="de", dismissed_mass_unsubscribe=Stamp(9)
    )
