"""Making tokens and account ids."""

from __future__ import annotations

from feedkeep.model import AccountId
from feedkeep.rules.credentials import read_token
from feedkeep.security.tokens import new_account_id, new_token


def test_no_two_tokens_and_ids_are_the_same() -> None:
    assert len({new_token(AccountId(5)) for _ in range(1_000)}) == 1_000
    assert len({new_account_id() for _ in range(1_000)}) == 1_000


def test_a_new_token_can_be_read() -> None:
    account_id = new_account_id()
    token = read_token(new_token(account_id))
    assert token is not None
    assert token.account_id == account_id
