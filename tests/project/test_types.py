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
    store: Store, service: Service, runner: SqliteRunner, resource: SubscriptionResource,
    admitted: Admitted, account_id: AccountId, token: Token, clock: Stamp, second: Second,
    told: SyncProgress, rename: Callable[[apsw.Connection, AccountId, str], None],
) -> None:
    """
"""Beginning of the file that is made for each line below."""

MISTAKES = [  # each right line, what may be mistaken in it, and the mistake
    ("await store.accounts.set_password({})", 'account_id, "hash"', '"hash", account_id'),
    ("await runner.write(lambda c: rename(c, {}))", 'account_id, "name"', '"name", account_id'),
    ("await store.entries.changed({})", "account_id, clock", "clock"),
    ("await store.tokens.revoke({}, clock)", "account_id, token.id", "token.id, account_id"),
    ('await service.tokens.revoke("alice", {})', "TokenId(1)", "1"),
    ("await store.tokens.extend(account_id, token.id, {})", "clock", "second"),
    ("first_second({}, second, told)", "second", "clock"),
    ("settled({})", "clock", "clock + 1"),
    ("write_stamp({})", "token.created", "token"),
    ('{}("/", get=resource.get)', "Route", "PublicRoute"),  # who asks is known
    ('Route("/", {})', "patch=resource.patch", "pacth=resource.patch"),
    ('Route("/", {})', "patch=resource.patch", "patch=resource.pacth"),
]


def test_mypy_refuses_each_mistake_and_nothing_that_is_right(tmp_path):
    right = [line.format(part) for line, part, _ in MISTAKES]
    wrong = {line.format(part) for line, _, part in MISTAKES}
    lines = [*dict.fromkeys(right), *wrong]
    for number, line in enumerate(lines):
        (tmp_path / f"line{number}.py").write_text(f"{GIVEN}{line}\n")
    configured = ["--config-file", str(ROOT / "pyproject.toml")]
    cached = ["--cache-dir", str(ROOT / ".mypy_cache")]  # with it, this takes seconds
    out, failure, _ = api.run([*configured, *cached, str(tmp_path)])
    assert failure == ""
    refused = {int(number) for number in re.findall(r"line(\d+)\.py:\d+: error: ", out)}
    assert {lines[number] for number in refused} == wrong, out
