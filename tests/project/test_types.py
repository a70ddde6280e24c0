"""A slip that would reach a store, or a client, is an error of types: mypy refuses it."""

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]

GIVEN = """
from collections.abc import Callable

import apsw

from feedkeep.http.routing import PublicRoute, Route
from feedkeep.model import AccountId, Admitted, Clock, Second, Stamp, Token, TokenId, SyncProgress
from feedkeep.openpodcast.resources import SubscriptionResource
from feedkeep.rules.seconds import first_second, settled
from feedkeep.service import Service
from feedkeep.model.stamps import write_stamp
from feedkeep.store.base import Store
from feedkeep.store.sqlite.runner import SqliteRunner

async def work(
    store: Store,
    service: Service,
    runner: SqliteRunner,
    resource: SubscriptionResource,
    admitted: Admitted,
    account_id: AccountId,
    token: Token,
    clock: Stamp,
    second: Second,
    told: SyncProgress,
    rename: Callable[[apsw.Connection, AccountId, str], None],
) -> None:
    """
"""What each line below comes after, in a file of its own."""

MISTAKES = {
    "arguments are swapped": (
        'await store.accounts.set_password(account_id, "hash")',
        'await store.accounts.set_password("hash", account_id)',
    ),
    "arguments of a job are swapped": (
        'await runner.write(lambda connection: rename(connection, account_id, "name"))',
        'await runner.write(lambda connection: rename(connection, "name", account_id))',
    ),
    "an account is dropped": (
        "await store.entries.changed(account_id, clock)",
        "await store.entries.changed(clock)",
    ),
    "a token is taken for its account": (
        "await store.tokens.revoke(account_id, token.id, clock)",
        "await store.tokens.revoke(token.id, account_id, clock)",
    ),
    "any number is taken for a token": (
        'await service.tokens.revoke("alice", TokenId(1))',
        'await service.tokens.revoke("alice", 1)',
    ),
    "seconds are taken for a stamp": (
        "await store.tokens.extend(account_id, token.id, clock)",
        "await store.tokens.extend(account_id, token.id, second)",
    ),
    "a stamp is taken for seconds": (
        "first_second(second, second, told)",
        "first_second(clock, second, told)",
    ),
    "any number is taken for a stamp": ("settled(clock)", "settled(clock + 1)"),
    "a result is taken for its part": (
        "write_stamp(token.created)",
        "write_stamp(token)",
    ),
    "a handler is misspelled": (
        'Route("/", patch=resource.patch)',
        'Route("/", pacth=resource.patch)',
    ),
    "a handler that knows who asks is open to everyone": (
        'Route("/", get=resource.get)',
        'PublicRoute("/", get=resource.get)',
    ),
    "a handler that is not there": (
        'Route("/", patch=resource.patch)',
        'Route("/", patch=resource.pacth)',
    ),
}


def test_mypy_refuses_each_mistake_and_nothing_that_is_right(tmp_path):
    lines = list(dict.fromkeys(line for pair in MISTAKES.values() for line in pair))
    for number, line in enumerate(lines):
        (tmp_path / f"line{number}.py").write_text(f"{GIVEN}{line}\n")
    configured = ["--config-file", str(ROOT / "pyproject.toml")]
    cached = ["--cache-dir", str(ROOT / ".mypy_cache")]  # with it, this takes seconds
    out, failure, _ = api.run([*configured, *cached, str(tmp_path)])
    assert failure == ""
    refused = {int(number) for number in re.findall(r"line(\d+)\.py:\d+: error: ", out)}
    assert {lines[number] for number in refused} == {wrong for _, wrong in MISTAKES.values()}, out
