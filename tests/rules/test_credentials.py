"""Contract, section 2: names, passwords and tokens."""

import hashlib
import re
import unicodedata
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Account, AccountId, Purpose, Token, replace
from feedkeep.model.errors import AccountError
from feedkeep.rules import credentials
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.credentials import admits, check_password, name_key, read_token, write_token

SECRET = bytes(range(21))
TEXT = write_token(AccountId(7), SECRET)
IDS = st.integers(1, credentials.MAX_ACCOUNT_ID).map(AccountId)


@pytest.mark.parametrize(
    "name", ["a", "Alice", "josé", "bob.smith+tv@example.org", "名前", "x" * 64]
)
def test_name_of_letters_digits_and_some_signs_is_accepted(name):
    assert credentials.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "a b", "a:b", "a/b", "-a", ".a", "a\n", "a\x00", "a%"]
)
def test_name_that_causes_trouble_in_a_header_or_path_is_refused(name):
    with pytest.raises(AccountError, match="letters, digits"):
        credentials.check_name(name)


def test_names_and_passwords_compare_without_case_or_composition_of_letters():
    assert name_key("ALICE") == name_key("alice")
    assert name_key("STRASSE") == name_key("straße")
    assert name_key("Jose\u0301") == name_key("JOSÉ")
    assert name_key("alice") != name_key("alicf")
    # White space that a phone adds does not count.
    assert name_key(" Alice\u00a0") == name_key("alice ") == name_key("alice")
    assert name_key("al ice") != name_key("alice")
    assert check_password("cafe\u0301 noir") == credentials.normal_password("café noir")


def test_nothing_is_normalised_that_is_longer_than_a_name_or_a_password_can_be(monkeypatch):
    normalize = Mock(wraps=unicodedata.normalize)
    monkeypatch.setattr(credentials, "unicodedata", SimpleNamespace(normalize=normalize))
    marks = "\u0301\u0316" * 3_000
    name_key(marks)
    credentials.normal_password(marks)
    normalize.assert_not_called()
    name_key(marks[:64])
    credentials.normal_password(marks[:1_024])
    assert [len(call.args[1]) for call in normalize.call_args_list] == [64, 64, 1_024]


def test_text_too_long_for_any_account_matches_none_however_it_could_be_shortened():
    assert name_key("e\u0301" * 64) != name_key("é" * 64)
    assert credentials.normal_password("e\u0301" * 1_024) != check_password("é" * 1_024)
    assert name_key("x" * 65) != name_key("x" * 64)
    assert name_key("x" * 65) != name_key("y" * 65)
    assert "\0" not in name_key("\0" * 65)


FIRST_GUESSES = ("12345678", "Password", "p@ssw0rd", "iloveyou", "aaaaaaaa", "feedkeep")


# C2.7
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "at least 8"),
        ("1234567", "at least 8"),
        ("e\u0301" * 7, "at least 8"),
        ("x" * 1_025, "at most 1,024"),
        *((text, "first that others would guess") for text in FIRST_GUESSES),
    ],
)
def test_short_or_absurd_password_is_refused(password, reason):
    with pytest.raises(AccountError, match=reason):
        check_password(password)


@pytest.mark.parametrize(
    "password", ["hunter22", "correct horse", "x" * 17, "пароль-мой", "p@$$w()rd"]
)
def test_password_that_takes_more_than_a_thousand_guesses_is_taken(password):
    assert check_password(password) == password


# C2.5, C2.6
@given(IDS, st.binary(min_size=21, max_size=21))
def test_token_tells_its_account_and_its_hash(account_id, secret):
    text = write_token(account_id, secret)
    token = read_token(text)
    assert re.fullmatch(r"fk_[A-Za-z0-9_-]{44}", text)
    assert token.account_id == account_id
    assert token.hash == hashlib.sha256(text.encode()).digest()


# C2.5
def test_token_holds_at_least_160_random_bits():
    assert len(SECRET) * 8 >= 160
    assert len({write_token(AccountId(7), bytes([i]) + SECRET[1:]) for i in range(256)}) == 256
    with pytest.raises(AssertionError):
        write_token(AccountId(7), SECRET[:-1])


# C2.5
@given(st.integers(3, len(TEXT) - 1), st.sampled_from("abcXYZ019-_"))
def test_typing_error_is_noticed_without_asking_the_store(place, letter):
    typed = TEXT[:place] + letter + TEXT[place + 1 :]
    assert (read_token(typed) is None) == (typed != TEXT)


NO_TOKENS = ["", "fk_", TEXT[3:], TEXT + "=", TEXT[:-1], TEXT + "A", TEXT.upper(), TEXT + "\n"]


@pytest.mark.parametrize("text", [*NO_TOKENS, TEXT[:-1] + "é"])
def test_text_without_the_form_of_a_token_is_not_one(text):
    assert read_token(text) is None


@pytest.mark.parametrize("account_id", [0, 2**63, 2**64 - 1])
def test_token_of_an_account_that_no_store_could_hold_is_not_valid(account_id):
    assert read_token(write_token(AccountId(account_id), SECRET)) is None


def token(expires: int | None = None, revoked: int | None = None) -> Token:
    return Token(1, b"", "", 0, expires, revoked)


def account(is_disabled: bool = False) -> Account:
    return Account(AccountId(7), "a", None, is_disabled, 0)


def test_token_lets_in_until_it_expires_is_revoked_or_its_account_is_disabled():
    assert admits(account(), token(), now=100)
    assert admits(account(), token(expires=101), now=100)
    assert not admits(account(), token(expires=100), now=100)
    assert not admits(account(), token(revoked=99), now=100)
    assert not admits(account(is_disabled=True), token(), now=100)


def test_use_moves_the_end_of_a_session_once_a_day_unless_a_token_or_nothing_ends_it():
    session = Token(1, b"", "", 0, expires=30 * DAY_US, is_session=True)
    assert credentials.end_if_used(session, DAY_US, 30) == 31 * DAY_US
    assert credentials.end_if_used(session, DAY_US - 1, 30) is None
    for other in ({"of_token": 2}, {"is_session": False}, {"expires": None}):
        assert credentials.end_if_used(replace(session, **other), DAY_US, 30) is None


@pytest.mark.parametrize("purpose", Purpose)
def test_secret_lets_in_for_its_own_purpose_only(purpose):
    secret = Token(1, b"", "", 0, purpose=purpose)
    assert [wanted for wanted in Purpose if admits(account(), secret, 100, wanted)] == [purpose]


def test_no_hash_and_no_password_shows_in_a_representation():
    found = read_token(TEXT)
    assert repr(found.hash) not in repr(found)
    assert "hash" not in repr(Account(AccountId(7), "a", "argon", False, 0))
