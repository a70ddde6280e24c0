"""How far an app knows what changed that sends a password with each request."""

from running import PASSWORD

from feedkeep.model import Admitted, Author, CredentialKind, DocumentKind, Second, SyncProgress
from feedkeep.model import Clock as Changing
from feedkeep.rules import devices
from feedkeep.service.progress import Progress


async def test_progress_from_the_credential_counts_unless_the_clock_moved(service, store):
    """A clock is set by a commit, and meanwhile another request of the app is answered."""
    await service.accounts.create("Bob", PASSWORD)

    async def poll():
        """Poll; return what is known of the app, and what is if nothing was read of it."""
        account = await store.accounts.find("bob")
        kind = CredentialKind.PASSWORD
        asked = [Admitted(account, kind, user_agent="Kasts")] * 2
        asked[1] = Admitted(account, kind, user_agent="Kasts", document=None)
        found = [
            (await Progress(store).of_poll(one, Changing.SUBSCRIPTIONS, ["a"], Second(5)))[0]
            for one in reversed(asked)
        ]
        await service.url_lists.changes(asked[0], Second(5), "a")
        return found[1].known, found[0].known

    nothing = SyncProgress(is_alone=True)
    assert await poll() == (nothing, nothing)
    sent, read_before = await poll()
    assert sent.last_sent is not None
    assert read_before == nothing  # the clock stands where it was: nothing was waited for
    account = await store.accounts.find("bob")
    other = Author(CredentialKind.BROWSER)
    added = ["https://a.example/feed"]
    await service.url_lists.upload(Admitted(account, CredentialKind.BROWSER), added, [], other)
    assert await poll() == (sent, sent)


async def test_progress_of_apps_without_cookies_is_bounded(monkeypatch, service, store, bob):
    monkeypatch.setattr(devices, "MAX_DOCUMENTS", 2)
    for app in ("Kasts", "GlassCast", "cliamp", "Kasts"):
        admitted = Admitted(bob, CredentialKind.PASSWORD, user_agent=app)
        await service.url_lists.changes(admitted, Second(5), "a")
    assert len(await store.documents.of(bob.id, DocumentKind.COOKIELESS)) == 2
