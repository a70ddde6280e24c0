"""People of a provider, and the accounts that they get here."""

import pytest

from feedkeep.model.errors import NameTaken
from feedkeep.service import identities


async def test_who_can_get_none_of_the_names_gets_no_account(monkeypatch, service, store, clock):
    monkeypatch.setattr(identities, "names_for", lambda _: iter(["zoë", "ZOË"]))
    await service.accounts.create("Zoë", None)
    with pytest.raises(NameTaken):
        await service.identities.account_of(b"1" * 32, {}, may_create=True, admin_claim="")
    assert await service.identities.linked(b"1" * 32) is None
