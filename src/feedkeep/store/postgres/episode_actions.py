"""Episode actions in PostgreSQL."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from typing import Any, cast

import asyncpg

from feedkeep.model import (
    EPISODE_KEY_BYTES,
    Account,
    AccountId,
    ActionRequest,
    ActionSnapshot,
    DocumentName,
    EpisodeAction,
    Now,
    Recorded,
    Stamp,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.base import (
    MAX_OF_AN_EPISODE,
    DecideActions,
    Learn,
    learn_nothing,
)
from feedkeep.store.portable.episode_actions import end_recording
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.counted import write_all
from feedkeep.store.postgres.driver import PostgresDriver
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.shape import given_rows
from feedkeep.store.tables import ACTION, ACTIONS, WEIGHT_OF_ACTION, columns

_TYPES = {
    "key": "bytea",
    "file": "bytea",
    "is_superseded": "boolean",
    "podcast_guid": "uuid",
    "podcast": "text",
    "episode": "text",
    "device": "text",
    "kind": "text",
    "episode_guid": "text",
}

_AT_ONCE = 250
"""How many actions are looked up, and saved, with one statement: some milliseconds' work here."""

_LAST_OF_KEYS = b"\xff" * 6
_KEYS = {"podcast_guid": "uuid", "first": "bytea", "last": "bytea"}
_FILES = {"podcast_guid": "uuid", "file": "bytea"}
_KNOWN = f"""
SELECT {columns(ACTION, "k")} FROM {given_rows(_KEYS, 2)} CROSS JOIN LATERAL (
    SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
    WHERE a.account_id = $1 AND a.podcast_guid = w.podcast_guid AND a.key BETWEEN w.first AND w.last
        AND (w.first = w.last OR NOT a.is_superseded)
    LIMIT {MAX_OF_AN_EPISODE}
) k
UNION ALL SELECT {columns(ACTION, "k")} FROM {given_rows(_FILES, 5)} CROSS JOIN LATERAL (
    SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
    WHERE a.account_id = $1 AND a.podcast_guid = w.podcast_guid AND a.file = w.file
        AND NOT a.is_superseded AND a.kind IN ('play', 'delete')
    LIMIT {MAX_OF_AN_EPISODE}
) k
"""
_REMOVE = f"""
DELETE FROM feedkeep.episode_action a
USING {given_rows({"podcast_guid": "uuid", "key": "bytea"}, 2)}
WHERE a.account_id = $1 AND a.podcast_guid = w.podcast_guid AND a.key = w.key
"""
# It reads the account's row for the reason that `Shape.selected` tells.
_SAVE = f"""
INSERT INTO feedkeep.episode_action (account_id, {columns(ACTION)})
SELECT n.account_id, {columns(ACTION, "w")}
FROM {given_rows({name: _TYPES.get(name, "bigint") for name in ACTION}, 2)}, feedkeep.account n
WHERE n.account_id = $1
{ACTIONS.or_update}
"""
_PAGE = f"""
SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
WHERE a.account_id = $1 AND a.revision BETWEEN $2 AND $3 AND (NOT a.is_superseded OR $4)
ORDER BY a.revision LIMIT $5
"""
# The zero keeps PostgreSQL from going through the actions of all podcasts by revision.
_PAGE_OF_PODCAST = f"""
SELECT {columns(ACTION, "a")} FROM feedkeep.episode_action a
WHERE a.account_id = $1 AND a.podcast_guid = $6 AND a.revision + 0 BETWEEN $2 AND $3
    AND (NOT a.is_superseded OR $4)
ORDER BY a.revision + 0 LIMIT $5
"""
_WEIGHTS = f"""
SELECT n.action_count, (
    SELECT coalesce(sum{WEIGHT_OF_ACTION}, 0) FROM feedkeep.episode_action a
    WHERE a.account_id = $1
) FROM feedkeep.account n WHERE n.account_id = $1
"""
# As text: a hundred thousand numbers are a megabyte that way, and ten as rows.
_LAST_OF_EACH = """
WITH told AS (
    SELECT a.revision, a.podcast_guid, a.episode, a.kind, a.episode_guid,
        min(a.episode_guid) OVER file AS least, max(a.episode_guid) OVER file AS greatest,
        least(a.done, a.received / 1000000) AS done
    FROM feedkeep.episode_action a
    WHERE a.account_id = $1 AND a.revision BETWEEN $2 AND $3
    AND ($4::uuid IS NULL OR a.podcast_guid = $4)
    AND NOT a.is_superseded AND (a.kind <> 'play' OR a.position > 0 AND a.total > 0)
    WINDOW file AS (PARTITION BY a.podcast_guid, a.episode)
), named AS (
    SELECT t.revision, t.podcast_guid, t.episode, t.kind, t.done,
        coalesce(t.episode_guid, CASE WHEN t.least = t.greatest THEN t.least END) AS guid
    FROM told t
)
SELECT coalesce(string_agg(l.revision::text, ',' ORDER BY l.revision), '') FROM (
    SELECT m.revision, row_number() OVER (
        PARTITION BY m.podcast_guid, m.kind, m.guid, CASE WHEN m.guid IS NULL THEN m.episode END
        ORDER BY m.done DESC, m.revision DESC
    ) AS n
    FROM named m
) l WHERE l.n = 1
"""


class PostgresEpisodeActions:
    """The table `episode_action`."""

    def __init__(self, runner: PostgresRunner, now: Now) -> None:
        self._runner = runner
        self._driver = PostgresDriver(runner)
        self._now = now

    async def record(
        self,
        account_id: AccountId,
        sent: Sequence[EpisodeAction],
        decide: DecideActions,
        until: Callable[[Stamp, Stamp], Stamp],
        learn: Learn = learn_nothing,
        documents: Sequence[DocumentName] = (),
    ) -> Recorded:
        async def record(connection: asyncpg.Connection, account: Account) -> Recorded:
            clock = began = account.last_action_stamp
            added = 0
            sent_until: Stamp | None = None
            for start in range(0, len(sent), _AT_ONCE):
                chunk = sent[start : start + _AT_ONCE]
                known = await _known(connection, account_id, chunk)
                count = account.action_count + added
                decision = decide(ActionSnapshot(known, clock, self._now(), count), chunk)
                added += decision.added
                if decision.removed:
                    guids = [action.podcast_guid for action in decision.removed]
                    keys = [action.key for action in decision.removed]
                    await write_all(connection, _REMOVE, len(keys), account_id, guids, keys)
                if decision.saved:
                    saved = zip(
                        *(ROWS.action_row(action) for action in decision.saved), strict=True
                    )
                    columns_saved = (list(column) for column in saved)
                    rows = len(decision.saved)
                    await write_all(connection, _SAVE, rows, account_id, *columns_saved)
                    clock = decision.last_stamp
                    if sent_until is None:
                        sent_until = decision.sent_until
            recorded = Recorded(began, until(began, clock), added, sent_until)
            await end_recording(connection, account_id, recorded, learn, documents)
            return recorded

        return await self._driver.change(account_id, record)

    async def weights(self, account_id: AccountId) -> tuple[int, int]:
        rows = await self._runner.scan(lambda connections: connections.fetch(_WEIGHTS, account_id))
        if not rows:
            raise NotAuthorized
        return rows[0][0], rows[0][1]

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        async def read(connections: Connections) -> list[EpisodeAction]:
            wanted: list[Any] = [account_id, request.first, request.last]
            wanted += [request.with_superseded, request.limit]
            statement = _PAGE
            if request.podcast_guid is not None:
                statement = _PAGE_OF_PODCAST
                wanted.append(request.podcast_guid)
            return [ROWS.action_of(row) for row in await connections.fetch(statement, *wanted)]

        return await self._runner.scan(read)

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        async def read(connections: Connections) -> Sequence[Stamp]:
            wanted = (account_id, request.first, request.last, request.podcast_guid)
            text: str = (await connections.fetch(_LAST_OF_EACH, *wanted))[0][0]
            numbers = (int(number[0]) for number in re.finditer("[0-9]+", text))
            return cast("Sequence[Stamp]", array("q", numbers))

        return await self._runner.scan(read)


async def _known(
    connection: asyncpg.Connection, account_id: AccountId, chunk: Sequence[EpisodeAction]
) -> dict[bytes, EpisodeAction]:
    """Return the stored actions of the episodes of a chunk: `ActionSnapshot.known`."""
    ranges = {(action.podcast_guid, action.key, action.key) for action in chunk}
    for action in chunk:
        if action.episode_guid is not None:
            first = action.key[:EPISODE_KEY_BYTES]
            ranges.add((action.podcast_guid, first, first + _LAST_OF_KEYS))
    files = {(action.podcast_guid, action.file) for action in chunk}
    given = [list(column) for rows in (ranges, files) for column in zip(*rows, strict=True)]
    rows = await connection.fetch(_KNOWN, account_id, *given)
    return {row[0]: ROWS.action_of(row) for row in rows}
