"""How far an app knows what changed that sends a password with each request."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from running import PASSWORD, Clock, run

from feedkeep.model import Admitted, Author, CredentialKind, DocumentKind, Second, SyncProgress
from feedkeep.model import Clock as Changing
from feedkeep.rules import devices
from feedkeep.service import Service
from feedkeep.service.progress import Progress
from feedkeep.store.base import Store


def test_what_was_read_with_the_credential_counts_only_if_nothing_was_waited_for_since(
    open_store: Callable,
) -> None:
    """A clock is set by a commit, and meanwhile another request of the app is answered."""

    async def work(service: Service, store: Store, _: Clock) -> None:
        await service.accounts.create("Bob", PASSWORD)

        async def poll() -> tuple[SyncProgress, SyncProgress]:
            """Poll; return what is known of the app, and what is if nothing was read of it."""
            account = await store.accounts.find("bob")
            assert account is not None
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
        assert account is not None
        other = Author(CredentialKind.BROWSER)
        added = ["https://a.example/feed"]
        await service.url_lists.upload(Admitted(account, CredentialKind.BROWSER), added, [], other)
        assert await poll() == (sent, sent)

    run(open_store, work)


def test_progress_of_apps_without_cookies_is_bounded_for_each_account(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "MAX_DOCUMENTS", 2)

    async def work(service: Service, store: Store, _: Clock) -> None:
        account = await service.accounts.create("Bob", PASSWORD)
        for app in ("Kasts", "GlassCast", "cliamp", "Kasts"):
            admitted = Admitted(account, CredentialKind.PASSWORD, user_agent=app)
            await service.url_lists.changes(admitted, Second(5), "a")
        assert len(await store.documents.of(account.id, DocumentKind.COOKIELESS)) == 2

    run(open_store, work)
