"""Mistakes that mypy has to refuse. `make lint` checks them: an ignore that it does not need fails.

Each is a slip that would reach a store, or a client, if the hand-over in between had no types.
"""

from __future__ import annotations

from feedkeep.http.routing import Route
from feedkeep.model import AccountId, Second, Stamp, Told
from feedkeep.openpodcast.resources import SubscriptionResource
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.seconds import first_second, is_own, settled
from feedkeep.stamps import write_stamp
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.postgres import accounts as postgres_accounts
from feedkeep.store.postgres import apps as postgres_apps
from feedkeep.store.sqlite import SqliteStore, accounts, apps

ID = AccountId(1)


async def arguments_are_swapped(sqlite: SqliteStore, postgres: PostgresStore) -> None:
    await sqlite._write(accounts.set_password, "hash", ID)  # type: ignore[arg-type]
    await sqlite._scan(apps.document, "name", "kind", ID)  # type: ignore[arg-type]
    await postgres._write(postgres_accounts.set_password, "hash", ID)  # type: ignore[arg-type]
    await postgres._read(postgres_apps.document, "name", "kind", ID)  # type: ignore[arg-type]


async def an_argument_is_dropped(sqlite: SqliteStore, postgres: PostgresStore) -> None:
    await sqlite._write(accounts.set_password, ID)  # type: ignore[call-arg]
    await sqlite._scan(apps.changed, ID)  # type: ignore[call-arg]
    await postgres._write(postgres_accounts.set_password, ID)  # type: ignore[call-arg]
    await postgres._read(postgres_apps.changed, ID)  # type: ignore[call-arg]


def a_handler_is_misspelled(resource: SubscriptionResource) -> tuple[Route, Route, Route]:
    return (
        Route("/", ptach=resource.patch),  # type: ignore[call-arg]
        Route("/", patch=resource.ptach),  # type: ignore[attr-defined]
        Route("/", get=resource),  # type: ignore[arg-type]
    )


def seconds_are_taken_for_a_stamp(told: Second, clock: Stamp) -> tuple[Stamp, bool, Second]:
    return (
        settled(told),  # type: ignore[arg-type]
        is_own(Told(), "", clock, clock),  # type: ignore[arg-type]
        first_second(clock, told, Told()),  # type: ignore[arg-type]
    )


def a_number_is_taken_for_a_stamp(clock: Stamp) -> tuple[str, Stamp]:
    return (
        write_stamp(1_700_000_000),  # type: ignore[arg-type]
        next_stamp(clock, clock + 1),  # type: ignore[arg-type]
    )
