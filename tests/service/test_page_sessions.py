"""Sessions of browsers: what opens the pages, and nothing else."""

import pytest
from running import DAY, HOME, MINUTE, PASSWORD

from feedkeep.model import Admitted, CredentialKind, Purpose, Scope
from feedkeep.model.errors import NotAuthorized, TooManyAttempts
from feedkeep.rules import credentials
from feedkeep.rules.credentials import SessionCredential, TokenCredential
from feedkeep.service.logins import MAX_SESSIONS_OF_AN_APP


async def test_a_person_who_signs_in_can_use_the_pages_until_they_sign_out(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    session = await service.page_sessions.sign_in("BOB", PASSWORD, HOME, "Firefox\n")
    assert session.text.startswith("fp_")
    assert session.token.label == "Firefox"
    admitted = await service.page_sessions.admit(session.text)
    assert (admitted.account, admitted.token) == (bob, session.token)
    assert admitted.credential_kind is CredentialKind.BROWSER
    assert not admitted.is_read_only
    await service.page_sessions.sign_out(admitted)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)
    await service.page_sessions.sign_out(admitted)  # once more, from another tab


async def test_a_wrong_password_and_a_token_do_not_sign_in(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    token = await service.apps.connect(bob, "", Scope.WRITE)
    for wrong in ("wrong word", token.text):
        with pytest.raises(NotAuthorized):
            await service.page_sessions.sign_in("bob", wrong, HOME, "")
    for number in range(8):
        with pytest.raises(NotAuthorized):
            await service.page_sessions.sign_in("bob", f"wrong {number}", HOME, "")
    with pytest.raises(TooManyAttempts):
        await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")


async def test_a_session_ends_thirty_days_after_its_last_use(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    session = await service.page_sessions.begin(bob, "")
    for _ in range(3):
        clock.go_on(30 * DAY - 1)
        moved = (await service.page_sessions.admit(session.text)).token
        assert moved.expires == clock.at + 30 * DAY
    clock.go_on(DAY - 1)
    again = (await service.page_sessions.admit(session.text)).token
    assert again.expires == moved.expires  # it is moved once a day
    clock.go_on(30 * DAY)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)


async def test_a_secret_of_one_purpose_never_works_for_another(service, store, clock):
    ada = await service.accounts.create("Ada", PASSWORD, is_admin=True)
    by_password = Admitted(ada, CredentialKind.PASSWORD)
    texts = {
        "token": (await service.apps.connect(ada, "", Scope.WRITE)).text,
        "session": (await service.logins.begin_session(by_password, "")).text,
        "browser": (await service.page_sessions.begin(ada, "")).text,
        "invitation": (await service.invitations.invite(ada)).text,
        "reset": (await service.recovery.reset_link("ada")).text,
    }
    codes = await service.recovery.new_codes(ada)
    hashes = {name: credentials.token_hash(text) for name, text in texts.items()}
    hashes["code"] = credentials.recovery_hash(codes[0])
    opened = {name: set() for name in hashes}
    for name, stored in hashes.items():
        # As if its prefix had been exchanged, and the hash were still the same.
        for kind in (TokenCredential, SessionCredential, credentials.BrowserCredential):
            try:
                await service.authentication.admit(kind(ada.id, stored), HOME)
            except NotAuthorized:
                continue
            opened[name].add(kind.purpose)
    assert opened == {
        "token": {Purpose.APPS},
        "session": {Purpose.APPS},
        "browser": {Purpose.PAGES},
        "invitation": set(),
        "reset": set(),
        "code": set(),
    }
    for name, text in texts.items():
        for prefix in ("fk_", "fs_", "fp_", "fi_", "fr_"):
            written = prefix + text[3:]
            is_itself = written == text
            assert await service.invitations.is_open(written) is (
                is_itself and name == "invitation"
            )
            found = await service.recovery.account_of(written)
            assert (found is not None) is (is_itself and name == "reset")
            try:
                await service.page_sessions.admit(written)
            except NotAuthorized:
                assert not (is_itself and name == "browser")
            else:
                assert is_itself
                assert name == "browser"
        with pytest.raises(NotAuthorized):
            await service.recovery.recover("ada", text, "battery staple", name)


async def test_a_password_counts_as_typed_just_now_for_ten_minutes_and_again_once_confirmed(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    session = await service.page_sessions.sign_in("bob", PASSWORD, HOME, "")
    clock.go_on(10 * MINUTE - 1)
    admitted = await service.page_sessions.admit(session.text)
    assert service.page_sessions.is_fresh(admitted)
    clock.go_on(1)
    assert not service.page_sessions.is_fresh(admitted)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.confirm(admitted, "wrong word", HOME, "")
    await service.page_sessions.admit(session.text)  # it goes on
    confirmed = await service.page_sessions.confirm(admitted, PASSWORD, HOME, "")
    assert service.page_sessions.is_fresh(await service.page_sessions.admit(confirmed.text))
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)
    assert len(await store.tokens.of(bob.id)) == 1


async def test_one_browser_ends_the_sessions_of_all_others_and_of_no_app(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    eve = await service.accounts.create("Eve", PASSWORD)
    sessions = [await service.page_sessions.begin(bob, "") for _ in range(3)]
    hers = await service.page_sessions.begin(eve, "")
    app = await service.logins.begin_session(Admitted(bob, CredentialKind.PASSWORD), "")
    own = await service.page_sessions.admit(sessions[1].text)
    await service.page_sessions.sign_out_everywhere_else(own)
    left = [one.id for one in await store.tokens.of(bob.id)]
    assert left == [sessions[1].token.id, app.token.id]
    await service.page_sessions.admit(hers.text)


async def test_neither_browsers_nor_apps_end_the_sessions_of_the_others(service, store, clock):
    bob = await service.accounts.create("Bob", PASSWORD)
    browser = await service.page_sessions.begin(bob, "same")
    by_password = Admitted(bob, CredentialKind.PASSWORD)
    app = await service.logins.begin_session(by_password, "same")
    clock.go_on(MINUTE)
    for _ in range(MAX_SESSIONS_OF_AN_APP - 1):
        await service.logins.begin_session(by_password, "same")
        await service.page_sessions.begin(bob, "same")
    known = {one.id for one in await store.tokens.of(bob.id)}
    assert {browser.token.id, app.token.id} < known
    await service.page_sessions.begin(bob, "same")
    known = {one.id for one in await store.tokens.of(bob.id)}
    assert browser.token.id not in known
    assert app.token.id in known


async def test_a_session_ends_with_its_password_and_while_its_account_is_disabled(
    service, store, clock
):
    bob = await service.accounts.create("Bob", PASSWORD)
    session = await service.page_sessions.begin(bob, "")
    await service.accounts.set_disabled("bob", True)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)
    await service.accounts.set_disabled("bob", False)
    changed = await service.accounts.set_password("bob", "battery staple")
    with pytest.raises(NotAuthorized):
        await service.page_sessions.admit(session.text)
    with pytest.raises(NotAuthorized):
        await service.page_sessions.begin(bob, "")  # by the old password
    await service.page_sessions.begin(changed, "")
