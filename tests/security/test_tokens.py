"""Making tokens and account ids."""

import hashlib
import re

import pytest

from feedkeep.model import AccountId
from feedkeep.rules.credentials import read_token, recovery_hash
from feedkeep.security.tokens import new_account_id, new_recovery_code, new_token


def test_no_two_tokens_and_ids_are_the_same():
    assert len({new_token(AccountId(5)) for _ in range(1_000)}) == 1_000
    assert len({new_account_id() for _ in range(1_000)}) == 1_000


def test_a_new_token_can_be_read():
    account_id = new_account_id()
    token = read_token(new_token(account_id))
    assert token is not None
    assert token.account_id == account_id


def test_a_recovery_code_has_80_random_bits_and_is_read_however_it_is_typed():
    codes = {new_recovery_code() for _ in range(1_000)}
    assert len(codes) == 1_000
    for code in codes:
        assert re.fullmatch(r"(?:[a-km-np-z2-9]{4}-){3}[a-km-np-z2-9]{4}", code)
    assert len(set("".join(codes)) - {"-"}) == 32
    plain = code.replace("-", "")
    for typed in (code, code.upper(), plain, f" {code.replace('-', ' ')}\n", "-".join(plain)):
        assert recovery_hash(typed) == hashlib.sha256(plain.encode()).digest()


@pytest.mark.parametrize(
    "text",
    ["", "abcd-efgh-ijkm", "abcd-efgh-ijkm-npq1", "abcd-efgh-ijkm-npqo", "a" * 17, "- " * 99],
)
def test_what_cannot_be_a_recovery_code_has_no_hash(text):
    assert recovery_hash(text) is None
