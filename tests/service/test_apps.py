"""The apps of an account, as its owner sees, connects and disconnects them."""

from running import DAY, HOME, MINUTE, PASSWORD, assert_refused

from feedkeep.model import Admitted, CredentialKind, Preferences, Scope, Stamp
from feedkeep.model.errors import AccountError, InvalidInput
from feedkeep.rules.apps import MAX_ENDED_TOKENS, MAX_TOKENS, AppKind, AppUse
from feedkeep.rules.clock import minute_of
from feedkeep.rules.credentials import read_session, read_token
from feedkeep.service.devices import MAX_SHOWN
from feedkeep.service.logins import login_of


async def begin(service, account, label, text=""):
    """Begin a session of an app by a token; by the password without one."""
    admitted = Admitted(account, CredentialKind.PASSWORD)
    if text:
        admitted = await service.authentication.admit(read_token(text), HOME)
    return (await service.logins.begin_session(admitted, label)).text


async def test_an_app_is_a_token_or_the_sessions_of_one_label(service, clock, bob):
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


async def test_a_token_has_the_last_use_of_each_product(service, clock, bob):
    """Kasts with the phone's password, which asks for the phone's device, too."""
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
    eve = await service.accounts.create("Eve", PASSWORD)  # who uses versions of one app
    for label in ("AntennaPod/3.5", "AntennaPod/3.6", "Kasts/24"):
        await begin(service, eve, label)
    names = sorted(app.name for app in await service.apps.of(eve.id))
    assert names == ["AntennaPod/3.6", "Kasts/24"]


async def test_disconnect_ends_a_token_with_its_sessions_or_all_of_a_label(service, bob):
    eve = await service.accounts.create("Eve", PASSWORD)
    phone = await service.apps.connect(bob, "phone", Scope.WRITE)
    browser = await service.page_sessions.begin(bob, "")
    admit, disconnect = service.authentication.admit, service.apps.disconnect
    for account_id, token_id in ((eve.id, phone.token.id), (bob.id, browser.token.id)):
        await assert_refused(disconnect(account_id, token_id), AccountError)
    session = await begin(service, bob, "gPodder", phone.text)
    other = await begin(service, bob, "gPodder")
    await disconnect(bob.id, phone.token.id)
    for ended in (read_token(phone.text), read_session(session)):
        await assert_refused(admit(ended, HOME))
    await admit(read_session(other), HOME)
    assert [app.name for app in await service.apps.of(bob.id)] == ["gPodder"]
    await assert_refused(disconnect(bob.id, phone.token.id), AccountError, "not connected")
    tablet = await service.apps.connect(bob, "AntennaPod", Scope.WRITE)
    kept = [await begin(service, bob, "AntennaPod", tablet.text), other]
    sessions = [await begin(service, bob, "AntennaPod") for _ in range(3)]
    app = next(app for app in await service.apps.of(bob.id) if len(app.ids) == 3)
    await disconnect(bob.id, app.ids[1])
    for text in sessions:
        await assert_refused(admit(read_session(text), HOME))
    for text in kept:
        await admit(read_session(text), HOME)


async def test_tokens_and_ended_tokens_are_limited(service, clock, bob):
    kept = await service.tokens.create("bob", "expires", 1)
    expired = await service.tokens.create("bob", "expires earlier", 1)
    await begin(service, bob, "gPodder", expired.text)
    for _ in range(MAX_TOKENS - 2):
        await service.apps.connect(bob, "", Scope.WRITE)
    await assert_refused(service.apps.connect(bob, "", Scope.WRITE), AccountError, "200 apps")
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
    for number in range(MAX_SHOWN + 1):
        await service.tokens.create("bob", str(number), None)
    assert len(await service.apps.of(bob.id)) == MAX_SHOWN  # though commands make more


# C2.11
async def test_the_last_use_is_stored_once_a_minute(service, store, clock, bob):
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


async def test_preferences_are_stored_for_each_account_and_bounded(service, bob):
    eve = await service.accounts.create("Eve", PASSWORD)
    preferences = service.preferences
    assert await preferences.of(bob.id) == Preferences()
    for wanted in (Preferences("de", "Europe/Berlin", "dark"), Preferences(theme="light")):
        await preferences.change(bob.id, wanted)
        assert await preferences.of(bob.id) == wanted
    too_long = Preferences(theme="x" * 65)
    await assert_refused(preferences.change(bob.id, too_long), InvalidInput, "64")
    for dismissed in (5, 9, 7):  # the newest one is kept
        await preferences.dismiss_mass_unsubscribe(bob.id, Stamp(dismissed))
    newest = Stamp(9)
    assert await preferences.of(bob.id) == Preferences(
        theme="light", dismissed_mass_unsubscribe=newest
    )
    await preferences.change(bob.id, Preferences(language="de"))
    assert await preferences.of(bob.id) == Preferences(
        language="de", dismissed_mass_unsubscribe=newest
    )
    assert await preferences.of(eve.id) == Preferences()
