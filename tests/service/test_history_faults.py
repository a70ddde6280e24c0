"""A history that was tampered with is noticed by `feedkeep check`, on every store."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from authors import TESTER
from postgres_server import with_connection
from running import Clock
from whole_store import damages_of

from feedkeep.model import Guid
from feedkeep.rules.subscriptions import Update, want
from feedkeep.service import Service
from feedkeep.store.sqlite.connection import open_file

A, B = "https://a.example/feed", "https://b.example/feed"
G1, G2 = (Guid(f"00000000-0000-4000-8000-00000000000{number}") for number in (1, 2))

Tamper = Callable[[str], object]


@pytest.fixture
def tamper(request, open_store):
    """Runs a statement on the database of the store, as nothing of feedkeep would."""
    if "sqlite" in request.node.callspec.params["open_store"]:
        path: Path = request.getfixturevalue("path")

        def change_file(statement):
            connection = open_file(path)
            connection.execute(statement)
            connection.close()

        return change_file
    url: str = request.getfixturevalue("emptied_database")
    both = "SET search_path = feedkeep; {}"
    return lambda statement: with_connection(url, lambda to: to.execute(both.format(statement)))


async def live(service: Service, clock: Clock) -> None:
    """Make a history: a feed is unsubscribed and subscribed to again, and two are merged."""
    account = await service.accounts.create("Alice", None)
    await service.subscriptions.add(account.id, [want(A, G1), want(B, G2)], TESTER)
    for is_subscribed in (False, True):
        clock.go_on(1_000_000)
        await service.subscriptions.update(
            account.id, G1, Update(is_subscribed=is_subscribed), TESTER
        )
    clock.go_on(1_000_000)
    await service.subscriptions.update(account.id, G1, Update(new_guid=G2), TESTER)


async def faults(service: Service, clock: Clock, tamper: Callable[[], object]) -> list[str]:
    """Return what a check finds once a history was tampered with."""
    await live(service, clock)
    assert await damages_of(service) == []
    await asyncio.to_thread(tamper)
    return await damages_of(service)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE former_entry SET began = ended WHERE began IS NOT NULL", "have one that began at"),
        ("UPDATE former_entry SET began = began - 1 WHERE is_subscribed = {no}", "overlap at"),
        ("UPDATE former_entry SET began = NULL WHERE is_subscribed = {no}", "overlap at"),
        ("UPDATE entry SET began = began - 1", "overlap at"),
        ("UPDATE entry SET began = NULL", "overlap at"),
        ("UPDATE entry SET began = began + 1000000000000", "which is after the clock"),
        ("UPDATE former_entry SET ended = ended + 1", "overlap at"),
        ("UPDATE former_entry SET ended = ended + 1000000000000", "which is after the clock"),
        ("UPDATE former_entry SET feed_url = 'https://c.example'", "does not lead to it"),
        ("DELETE FROM former_entry WHERE is_subscribed = {no}", "does not lead to a subscription"),
        ("DELETE FROM former_entry WHERE new_guid IS NULL", "does not lead to a subscription"),
    ],
)
async def test_each_fault_is_found(service, clock, tamper, request, statement, fault):
    is_sqlite = "sqlite" in request.node.callspec.params["open_store"]
    no = "0" if is_sqlite else "false"
    found = await faults(service, clock, lambda: tamper(statement.format(no=no)))
    assert any(line.startswith("account Alice: ") and fault in line for line in found), found


async def test_what_ended_before_the_list_is_known_is_not_looked_at(service, clock, tamper):
    def forget():
        tamper("UPDATE former_entry SET began = ended")
        tamper("UPDATE account SET known_from = last_stamp")

    assert await faults(service, clock, forget) == []
