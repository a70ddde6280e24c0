"""The links of Nextcloud's login: their secrets, and until when they are good."""

import pytest

from feedkeep.model import Scope
from feedkeep.service.logins import (
    begun_at,
    granted_as,
    is_open,
    login_of,
    new_secret,
    read_begun,
    scope_of,
)

RANDOM = "x" * 43


def test_a_secret_says_when_its_login_was_begun_and_its_link_does_not_give_it_away():
    secret = new_secret(RANDOM, 1_790_000_000)
    assert begun_at(secret) == 1_790_000_000
    assert len(login_of(secret)) == 32
    assert login_of(secret) != login_of(new_secret(RANDOM, 1_790_000_001))


def test_a_secret_says_what_its_app_asked_for_and_is_found_only_as_granted_with_that():
    keys = set()
    for scope in Scope:
        secret = new_secret(RANDOM, 1_790_000_000, scope)
        assert (scope_of(secret), begun_at(secret)) == (scope, 1_790_000_000)
        keys |= {granted_as(login_of(secret), granted) for granted in Scope}
    assert len(keys) == 4
    assert scope_of("no secret") is Scope.WRITE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        RANDOM,
        f".{RANDOM}",
        f"5.{RANDOM} ",
        "5.x",
        f"\u0665.{RANDOM}",
        f"-5.{RANDOM}",
        f"5.write.{RANDOM}",
    ],
)
def test_a_text_that_is_not_a_secret_has_no_second(text):
    assert begun_at(text) is None


@pytest.mark.parametrize(
    ("text", "second"), [("5", 5), ("", None), ("\u0665", None), ("9" * 13, None)]
)
def test_a_link_has_a_second_or_is_not_valid(text, second):
    assert read_begun(text) == second


@pytest.mark.parametrize(
    ("begun", "expected"),
    [(1_000, True), (1_060, True), (1_061, False), (-200, True), (-201, False), (None, False)],
)
def test_a_login_is_open_for_20_minutes_and_not_before_it_is_begun(begun, expected):
    assert is_open(begun, 1_000) is expected
