"""What podcast apps keep, in PostgreSQL: episode actions, documents."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from typing import Any, cast

import asyncpg

from feedkeep import wall_clock
from feedkeep.errors import NotAuthorized
from feedkeep.model import (
    AccountId,
    ActionRequest,
    ActionSnapshot,
    Clock,
    Document,
    DocumentKind,
    Entry,
    EpisodeAction,
    Stamp,
    Told,
)
from feedkeep.store.base import DecideActions
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.rows import ACTION, ENTRY, columns, own_row
from feedkeep.turns import LONG_LIST, beside

_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}
_NOTE_TOLD = {
    clock: f"""
    UPDATE feedkeep.token t SET
        told_{clock.value} = $3,
        heard_{clock.value} = greatest(t.heard_{clock.value}, $4),
        own_{clock.value} = $5
    WHERE t.account_id = $1 AND t.id = $2
    """
    for clock in Clock
}
_ONE_ACCOUNT = Shape(is_distributed=True)
_TYPES = {
    "key": "bytea",
    "podcast_guid": "uuid",
    "podcast": "text",
    "episode": "text",
    "device": "text",
    "kind": "text",
    "episode_guid": "text",
}

_AT_ONCE = 250
"""How many actions are looked up, and saved, with one statement: some milliseconds' work here."""

_CHANGED = f"""
SELECT {columns(ENTRY, "e")} FROM feedkeep.entry e WHERE e.account_id = $1 AND e.revision >= $2
UNION ALL
SELECT {columns(ENTRY, "p")} FROM feedkeep.entry e
JOIN feedkeep.entry p ON p.account_id = $1 AND p.new_guid = e.guid
WHERE e.account_id = $1 AND e.revision >= $2 AND p.alias_url IS NOT NULL
AND coalesce(p.revision < $2, true)
"""
_KNOWN = f"""
SELECT {columns(ACTION, "a")} FROM {_ONE_ACCOUNT.wanted(podcast_guid="uuid", key="bytea")}
JOIN feedkeep.episode_action a
ON a.account_id = $1 AND a.podcast_guid = w.podcast_guid AND a.key = w.key
"""
_SAVE_ACTIONS = f"""
INSERT INTO feedkeep.episode_action (account_id, {columns(ACTION)})
{_ONE_ACCOUNT.selected(**{name: _TYPES.get(name, "bigint") for name in ACTION})}
ON CONFLICT (account_id, podcast_guid, key) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in ACTION[2:])}
"""
_ACTIONS = f"""
SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
WHERE a.account_id = $1 AND a.revision BETWEEN $2 AND $3 ORDER BY a.revision LIMIT $4
"""
# The zero keeps PostgreSQL from going through the actions of all podcasts by revision.
_ACTIONS_OF_PODCAST = f"""
SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
WHERE a.account_id = $1 AND a.podcast_guid = $2 AND a.revision + 0 BETWEEN $3 AND $4
ORDER BY a.revision + 0 LIMIT $5
"""
# As text: a hundred thousand numbers are a megabyte that way, and ten as rows.
_LAST_OF_EACH = """
SELECT coalesce(string_agg(l.revision::text, ',' ORDER BY l.revision), '') FROM (
    SELECT a.revision, row_number() OVER (
        PARTITION BY a.podcast_guid, a.episode ORDER BY a.done DESC, a.revision DESC
    ) AS n
    FROM feedkeep.episode_action a
    WHERE a.account_id = $1 AND a.revision BETWEEN $2 AND $3
    AND ($4::uuid IS NULL OR a.podcast_guid = $4)
) l WHERE l.n = 1
"""
_DOCUMENTS = """
SELECT d.name, d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 ORDER BY d.name
"""
_DOCUMENT = """
SELECT d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 AND d.name = $3
"""
_COUNT_DOCUMENTS = """
SELECT count(*) FROM feedkeep.document d WHERE d.account_id = $1 AND d.kind = $2
"""
_SAVE_DOCUMENT = """
INSERT INTO feedkeep.document (account_id, kind, name, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (account_id, kind, name) DO UPDATE SET body = excluded.body
"""


async def changed(connections: Connections, account_id: AccountId, first: Stamp) -> list[Entry]:
    """Return what changed from a stamp on, and the former URLs of the subscriptions in it."""
    rows = await connections.fetch(_CHANGED, account_id, first)
    return await beside(len(rows) > LONG_LIST, lambda: [ROWS.entry_of(row) for row in rows])


async def advance(
    connection: asyncpg.Connection,
    account_id: AccountId,
    clock: Clock,
    to: Callable[[Stamp], Stamp],
) -> Stamp:
    """Set a clock to what `to` says, and return that."""
    stamp = to(await _clock(connection, account_id, clock))
    await _set_clock(connection, account_id, clock, stamp)
    return stamp


async def note_told(
    connection: asyncpg.Connection, account_id: AccountId, token_id: int, clock: Clock, told: Told
) -> None:
    """Remember how far the bearer of a token knows what changed."""
    told_and_heard = (told.told, told.heard, own_row(told.own))
    await connection.execute(_NOTE_TOLD[clock], account_id, token_id, *told_and_heard)


async def record(
    connection: asyncpg.Connection,
    account_id: AccountId,
    sent: Sequence[EpisodeAction],
    decide: DecideActions,
    until: Callable[[Stamp, Stamp], Stamp],
) -> tuple[Stamp, Stamp]:
    """Lock, load, decide and save, some at a time; the transaction around it is the caller's."""
    clock = began = await _clock(connection, account_id, Clock.ACTIONS)
    for start in range(0, len(sent), _AT_ONCE):
        some = sent[start : start + _AT_ONCE]
        decision = decide(await _snapshot(connection, account_id, some, clock), some)
        if decision.saved:
            saved = zip(*(ROWS.action_row(action) for action in decision.saved), strict=True)
            await connection.execute(_SAVE_ACTIONS, account_id, *(list(column) for column in saved))
            clock = decision.last_stamp
    ended = until(began, clock)
    if ended != began:
        await _set_clock(connection, account_id, Clock.ACTIONS, ended)
    return began, ended


async def _snapshot(
    connection: asyncpg.Connection,
    account_id: AccountId,
    some: Sequence[EpisodeAction],
    clock: Stamp,
) -> ActionSnapshot:
    keys = {action.key: action.podcast_guid for action in some}
    rows = await connection.fetch(_KNOWN, account_id, list(keys.values()), list(keys))
    known = {row[0]: ROWS.action_of(row) for row in rows}
    return ActionSnapshot(known, clock, wall_clock.now())


async def actions(
    connections: Connections, account_id: AccountId, request: ActionRequest
) -> list[EpisodeAction]:
    """Return episode actions by rising revision."""
    wanted: tuple[Any, ...] = (account_id, request.first, request.last, request.most)
    if request.podcast_guid is not None:
        wanted = (account_id, request.podcast_guid, *wanted[1:])
    statement = _ACTIONS if request.podcast_guid is None else _ACTIONS_OF_PODCAST
    return [ROWS.action_of(row) for row in await connections.fetch(statement, *wanted)]


async def last_of_each(
    connections: Connections, account_id: AccountId, request: ActionRequest
) -> Sequence[Stamp]:
    """Return the revision of the last action of each episode, in order; eight bytes each."""
    wanted = (account_id, request.first, request.last, request.podcast_guid)
    text: str = (await connections.fetch(_LAST_OF_EACH, *wanted))[0][0]
    numbers = (int(number[0]) for number in re.finditer("[0-9]+", text))
    return cast("Sequence[Stamp]", array("q", numbers))


async def documents(
    connections: Connections, account_id: AccountId, kind: DocumentKind
) -> list[Document]:
    """Return all documents of a kind by name."""
    rows = await connections.fetch(_DOCUMENTS, account_id, kind)
    return [Document(kind, *row) for row in rows]


async def document(
    connections: Connections, account_id: AccountId, kind: DocumentKind, name: str
) -> str | None:
    """Return the body of a document."""
    rows = await connections.fetch(_DOCUMENT, account_id, kind, name)
    return rows[0][0] if rows else None


async def change_document(
    connection: asyncpg.Connection,
    account_id: AccountId,
    kind: DocumentKind,
    name: str,
    decide: Callable[[str | None, int], str],
) -> str:
    """Lock, load, decide and save; the transaction around it is the caller's."""
    await _clock(connection, account_id, Clock.SUBSCRIPTIONS)
    found = await connection.fetchval(_DOCUMENT, account_id, kind, name)
    others = 0
    if found is None:
        others = await connection.fetchval(_COUNT_DOCUMENTS, account_id, kind)
    body = decide(found, others)
    if body != found:
        await connection.execute(_SAVE_DOCUMENT, account_id, kind, name, body)
    return body


async def _clock(connection: asyncpg.Connection, account_id: AccountId, clock: Clock) -> Stamp:
    """Return a clock, and hold the account: what comes next sees what was committed before."""
    found = await connection.fetchval(
        f"SELECT a.{_CLOCKS[clock]} FROM feedkeep.account a"
        " WHERE a.account_id = $1 FOR NO KEY UPDATE",
        account_id,
    )
    if found is None:
        raise NotAuthorized
    return Stamp(found)


async def _set_clock(
    connection: asyncpg.Connection, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    await connection.execute(
        f"UPDATE feedkeep.account a SET {_CLOCKS[clock]} = $2 WHERE a.account_id = $1",
        account_id,
        stamp,
    )
