"""People of a provider, and the accounts that they get here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from running import Clock, run

from feedkeep.model.errors import NameTaken
from feedkeep.service import Service, identities
from feedkeep.store.base import Store


def test_who_can_get_none_of_the_names_gets_no_account(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "names_for", lambda _: iter(["zoë", "ZOË"]))

    async def work(service: Service, store: Store, clock: Clock) -> None:
        await service.accounts.create("Zoë", None)
        with pytest.raises(NameTaken):
            await service.identities.account_of(b"1" * 32, {}, may_create=True, admin_claim="")
        assert await service.identities.linked(b"1" * 32) is None

    run(open_store, work)
