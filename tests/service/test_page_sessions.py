"""Sessions of browsers, and links of Nextcloud's login: what opens the pages, and until when."""

import pytest
from running import DAY, HOME, MINUTE, PASSWORD, assert_refused

from feedkeep.model import Admitted, CredentialKind, Purpose, Scope
from feedkeep.model.errors import NotAuthorized, TooManyAttempts
from feedkeep.rules import credentials
from feedkeep.rules.credentials import SessionCredential, TokenCredential
from feedkeep.service import logins
from feedkeep.service.logins import MAX_SESSIONS_OF_AN_APP, begun_at, login_of, new_secret

RANDOM = "x" * 43


async def test_sign_in_with_the_password_alone_opens_the_pages_until_sign_out(service, bob):
    pages = service.page_sessions
    token = await service.apps.connect(bob, "", Scope.WRITE)
    for wrong in (token.text, *(f"wrong {number}" for number in range(9))):
        await assert_refused(pages.sign_in("bob", wrong, "192.0.2.2", ""))
    await assert_refused(pages.sign_in("bob", PASSWORD, "192.0.2.2", ""), TooManyAttempts)
    session = await pages.sign_in("BOB", PASSWORD, HOME, "Firefox\n")
    assert session.text.startswith("fp_")
    assert session.token.label == "Firefox"
    admitted = await pages.admit(session.text)
    assert (admitted.account, admitted.token) == (bob, session.token)
    assert admitted.credential_kind is CredentialKind.BROWSER
    assert not admitted.is_read_only
    await pages.sign_out(admitted)
    await assert_refused(pages.admit(session.text))
    await pages.sign_out(admitted)  # again, from another tab


async def test_a_session_ends_thirty_days_after_its_last_use(service, clock, bob):
    session = await service.page_sessions.begin(bob, "")
    for _ in range(3):
        clock.go_on(30 * DAY - 1)
        moved = (await service.page_sessions.admit(session.text)).token
        assert moved.expires == clock.at + 30 * DAY
    clock.go_on(DAY - 1)
    again = (await service.page_sessions.admit(session.text)).token
    assert again.expires == moved.expires  # it is moved once a day
    clock.go_on(30 * DAY)
    await assert_refused(service.page_sessions.admit(session.text))


async def test_a_secret_of_one_purpose_never_works_for_another(service):
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
    opened = set()
    for name, stored in hashes.items():
        # As if its prefix had been exchanged, and the hash were still the same.
        for kind in (TokenCredential, SessionCredential, credentials.BrowserCredential):
            try:
                await service.authentication.admit(kind(ada.id, stored), HOME)
            except NotAuthorized:
                continue
            opened.add((name, kind.purpose))
    apps, pages = Purpose.APPS, Purpose.PAGES
    assert opened == {("token", apps), ("session", apps), ("browser", pages)}
    for name, text in texts.items():
        for prefix in ("fk_", "fs_", "fp_", "fi_", "fr_"):
            written = prefix + text[3:]
            opens = name if written == text else None
            assert await service.invitations.is_open(written) is (opens == "invitation")
            found = await service.recovery.account_of(written)
            assert (found is not None) is (opens == "reset")
            if opens == "browser":
                await service.page_sessions.admit(written)
            else:
                await assert_refused(service.page_sessions.admit(written))
        await assert_refused(service.recovery.recover("ada", text, "battery staple", name))


async def test_a_typed_password_is_fresh_for_ten_minutes(service, store, clock, bob):
    pages = service.page_sessions
    session = await pages.sign_in("bob", PASSWORD, HOME, "")
    clock.go_on(10 * MINUTE - 1)
    admitted = await pages.admit(session.text)
    assert pages.is_fresh(admitted)
    clock.go_on(1)
    assert not pages.is_fresh(admitted)
    await assert_refused(pages.confirm(admitted, "wrong word", HOME, ""))
    await pages.admit(session.text)  # it goes on
    confirmed = await pages.confirm(admitted, PASSWORD, HOME, "")
    assert pages.is_fresh(await pages.admit(confirmed.text))
    await assert_refused(pages.admit(session.text))
    assert len(await store.tokens.of(bob.id)) == 1


async def test_a_browser_ends_the_other_browser_sessions_of_its_account(service, store, bob):
    eve = await service.accounts.create("Eve", PASSWORD)
    sessions = [await service.page_sessions.begin(bob, "") for _ in range(3)]
    hers = await service.page_sessions.begin(eve, "")
    app = await service.logins.begin_session(Admitted(bob, CredentialKind.PASSWORD), "")
    own = await service.page_sessions.admit(sessions[1].text)
    await service.page_sessions.sign_out_everywhere_else(own)
    left = [one.id for one in await store.tokens.of(bob.id)]
    assert left == [sessions[1].token.id, app.token.id]
    await service.page_sessions.admit(hers.text)


async def test_the_oldest_sessions_of_browsers_and_of_apps_end_apart(service, store, clock, bob):
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


async def test_a_session_ends_with_its_password_and_pauses_with_its_account(service, bob):
    session = await service.page_sessions.begin(bob, "")
    await service.accounts.set_disabled("bob", True)
    await assert_refused(service.page_sessions.admit(session.text))
    await service.accounts.set_disabled("bob", False)
    await service.page_sessions.admit(session.text)
    changed = await service.accounts.set_password("bob", "battery staple")
    await assert_refused(service.page_sessions.admit(session.text))
    await assert_refused(service.page_sessions.begin(bob, ""))  # by the old password
    await service.page_sessions.begin(changed, "")


def test_a_secret_has_its_time_and_scope_and_its_link_does_not_give_it_away():
    keys = set()
    for scope in Scope:
        secret = new_secret(RANDOM, 1_790_000_000, scope)
        assert (logins.scope_of(secret), begun_at(secret)) == (scope, 1_790_000_000)
        keys |= {logins.granted_as(login_of(secret), granted) for granted in Scope}
    assert len(keys) == 4
    assert begun_at(new_secret(RANDOM, 1_790_000_000)) == 1_790_000_000
    assert len(login_of(secret)) == 32
    assert login_of(secret) != login_of(new_secret(RANDOM, 1_790_000_001, scope))
    assert logins.scope_of("no secret") is Scope.WRITE


def test_what_is_no_secret_or_no_link_has_no_second():
    wrong = [form.format(RANDOM) for form in (".{}", "5.{} ", "\u0665.{}", "-5.{}", "5.write.{}")]
    for text in ("", "5", "5.x", RANDOM, *wrong):
        assert begun_at(text) is None, text
    for text, second in (("5", 5), ("", None), ("\u0665", None), ("9" * 13, None)):
        assert logins.read_begun(text) == second


@pytest.mark.parametrize(
    ("begun", "expected"),
    [(1_000, True), (1_060, True), (1_061, False), (-200, True), (-201, False), (None, False)],
)
def test_a_login_is_open_for_20_minutes_and_not_before_it_is_begun(begun, expected):
    assert logins.is_open(begun, 1_000) is expected
