"""The links of Nextcloud's login: their secrets, and until when they are good."""

import pytest

from feedkeep.model import Scope
from feedkeep.service import logins
from feedkeep.service.logins import begun_at, login_of, new_secret

RANDOM = "x" * 43


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
