"""Episode actions in SQLite."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, cast

import apsw

from feedkeep.model import (
    AccountId,
    ActionRequest,
    ActionSnapshot,
    Clock,
    DocumentName,
    EpisodeAction,
    Now,
    Recorded,
    Stamp,
    TokenProgress,
)
from feedkeep.store.base import DecideActions, Learn, learn_nothing
from feedkeep.store.sqlite.accounts import read_clock, set_clock
from feedkeep.store.sqlite.documents import known_document, save_document
from feedkeep.store.sqlite.rows import ROWS, insert_into, to_bytes
from feedkeep.store.sqlite.runner import Runner
from feedkeep.store.sqlite.tokens import save_progress
from feedkeep.store.tables import ACTION, ACTIONS, columns
from feedkeep.turns import Turns

_AT_ONCE = 20
"""How many actions are looked up, or saved, until others have their turn: within a millisecond."""

_KNOWN = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND podcast_guid = ? AND key = ?
"""
_SAVE = f"{insert_into(ACTIONS)} {ACTIONS.or_update}"
_PAGE = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND revision BETWEEN ? AND ? ORDER BY revision LIMIT ?
"""
# The plus keeps SQLite from going through the actions of all podcasts by revision.
_PAGE_OF_PODCAST = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND podcast_guid = ? AND +revision BETWEEN ? AND ?
ORDER BY +revision LIMIT ?
"""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM episode_action WHERE account_id = ? LIMIT ?)"
_LAST_OF_EACH = """
SELECT revision FROM (
    SELECT revision, row_number() OVER (
        PARTITION BY podcast_guid, episode, kind ORDER BY done DESC, revision DESC
    ) AS n
    FROM episode_action
    WHERE account_id = ?1 AND revision BETWEEN ?2 AND ?3 AND ifnull(podcast_guid = ?4, TRUE)
    AND (kind <> 'play' OR position > 0 AND total > 0)
) WHERE n = 1 ORDER BY revision
"""


class SqliteEpisodeActions:
    """The table `episode_action`."""

    def __init__(self, runner: Runner, now: Now) -> None:
        self._runner = runner
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
        def record(connection: apsw.Connection) -> Turns[Recorded]:
            clock = began = read_clock(connection, account_id, Clock.ACTIONS)
            added = 0
            for start in range(0, len(sent), _AT_ONCE):
                chunk = sent[start : start + _AT_ONCE]
                known = _known(connection, account_id, chunk)
                decision = decide(ActionSnapshot(known, clock, self._now(), added), chunk)
                yield None
                if decision.saved:
                    rows = [(account_id, *ROWS.action_row(action)) for action in decision.saved]
                    connection.executemany(_SAVE, rows)
                    clock = decision.last_stamp
                    added += sum(action.key not in known for action in decision.saved)
                yield None
            ended = until(began, clock)
            if ended != began:
                set_clock(connection, account_id, Clock.ACTIONS, ended)
            recorded = Recorded(began, ended, added)
            known_documents = {
                name: known_document(connection, account_id, name) for name in documents
            }
            learned = learn(recorded, known_documents)
            if isinstance(learned, TokenProgress):
                save_progress(connection, account_id, learned)
            elif learned is not None:
                save_document(connection, account_id, learned)
            return recorded

        return await self._runner.write_in_turns(record)

    async def count(self, account_id: AccountId, at_most: int) -> int:
        return await self._runner.scan(
            lambda connection: connection.execute(_COUNT, (account_id, at_most)).get
        )

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        def read(connection: apsw.Connection) -> list[EpisodeAction]:
            wanted: tuple[Any, ...] = (account_id, request.first, request.last, request.limit)
            if request.podcast_guid is not None:
                wanted = (account_id, to_bytes(request.podcast_guid), *wanted[1:])
            statement = _PAGE if request.podcast_guid is None else _PAGE_OF_PODCAST
            return [ROWS.action_of(row) for row in connection.execute(statement, wanted)]

        return await self._runner.scan(read)

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        def read(connection: apsw.Connection) -> Sequence[Stamp]:
            podcast = to_bytes(request.podcast_guid) if request.podcast_guid else None
            wanted = (account_id, request.first, request.last, podcast)
            numbers = array("q", (row[0] for row in connection.execute(_LAST_OF_EACH, wanted)))
            return cast("Sequence[Stamp]", numbers)

        return await self._runner.scan(read)


def _known(
    connection: apsw.Connection, account_id: AccountId, chunk: Sequence[EpisodeAction]
) -> dict[bytes, EpisodeAction]:
    known: dict[bytes, EpisodeAction] = {}
    for podcast_guid, key in {(action.podcast_guid, action.key) for action in chunk}:
        for row in connection.execute(_KNOWN, (account_id, to_bytes(podcast_guid), key)):
            known[key] = ROWS.action_of(row)
    return known
