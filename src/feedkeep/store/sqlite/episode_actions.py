"""Episode actions in SQLite."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import cast

import apsw

from feedkeep.model import (
    EPISODE_KEY_BYTES,
    AccountId,
    ActionRequest,
    ActionSnapshot,
    DocumentName,
    EpisodeAction,
    Guid,
    Now,
    Recorded,
    Stamp,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.base import (
    MAX_OF_AN_EPISODE,
    DecideActions,
    Learn,
    learn_nothing,
)
from feedkeep.store.portable.episode_actions import end_recording
from feedkeep.store.sql import AND_NOT_DELETED, for_sqlite
from feedkeep.store.sqlite.driver import SqliteStatements, done, there
from feedkeep.store.sqlite.rows import ROWS, insert_into, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner, undone_if_refused
from feedkeep.store.tables import ACTION, ACTIONS, WEIGHT_OF_ACTION, columns

_AT_ONCE = 10
"""How many actions are looked up, or saved, until others have their turn: within a millisecond."""

_LAST_OF_KEYS = b"\xff" * 6
_ITSELF = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND podcast_guid = ? AND key = ?
"""
_OF_GUID = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ?1 AND podcast_guid = ?2 AND key BETWEEN ?3 AND ?4
    AND NOT is_superseded
LIMIT {MAX_OF_AN_EPISODE}
"""
_OF_FILE = f"""
SELECT {columns(ACTION)} FROM episode_action INDEXED BY episode_action_by_file
WHERE account_id = ? AND podcast_guid = ? AND file = ?
    AND NOT is_superseded AND kind IN ('play', 'delete')
LIMIT {MAX_OF_AN_EPISODE}
"""
_REMOVE = "DELETE FROM episode_action WHERE account_id = ? AND podcast_guid = ? AND key = ?"
_SAVE = f"{insert_into(ACTIONS)} {ACTIONS.or_update}"
_PAGE = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ?1 AND revision BETWEEN ?3 AND ?4 AND is_superseded <= ?5
ORDER BY revision LIMIT ?6
"""
# The plus keeps SQLite from going through the actions of all podcasts by revision.
_PAGE_OF_PODCAST = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ?1 AND podcast_guid = ?2 AND +revision BETWEEN ?3 AND ?4
    AND is_superseded <= ?5
ORDER BY +revision LIMIT ?6
"""
_WEIGHTS = for_sqlite(f"""
SELECT a.action_count, (
    SELECT coalesce(sum{WEIGHT_OF_ACTION}, 0) FROM episode_action WHERE account_id = $1
) FROM feedkeep.account a WHERE a.account_id = $1 {AND_NOT_DELETED}
""")
_LAST_OF_EACH = """
WITH told AS (
    SELECT revision, podcast_guid, episode, kind, episode_guid,
        min(episode_guid) OVER file AS least, max(episode_guid) OVER file AS greatest,
        min(done, received / 1000000) AS done
    FROM episode_action
    WHERE account_id = ?1 AND revision BETWEEN ?2 AND ?3 AND ifnull(podcast_guid = ?4, TRUE)
    AND NOT is_superseded AND (kind <> 'play' OR position > 0 AND total > 0)
    WINDOW file AS (PARTITION BY podcast_guid, episode)
), named AS (
    SELECT revision, podcast_guid, episode, kind, done,
        ifnull(episode_guid, iif(least = greatest, least, NULL)) AS guid
    FROM told
)
SELECT revision FROM (
    SELECT revision, row_number() OVER (
        PARTITION BY podcast_guid, kind, guid, iif(guid IS NULL, episode, NULL)
        ORDER BY done DESC, revision DESC
    ) AS n
    FROM named
) WHERE n = 1 ORDER BY revision
"""


class SqliteEpisodeActions:
    """The table `episode_action`."""

    def __init__(self, runner: SqliteRunner, now: Now) -> None:
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
        def record(connection: apsw.Connection) -> Yielding[Recorded]:
            account = there(connection, account_id)
            clock = began = account.last_action_stamp
            added = 0
            sent_until: Stamp | None = None
            for start in range(0, len(sent), _AT_ONCE):
                chunk = sent[start : start + _AT_ONCE]
                known = _known(connection, account_id, chunk)
                count = account.action_count + added
                decision = decide(ActionSnapshot(known, clock, self._now(), count), chunk)
                added += decision.added
                yield None
                if decision.removed:
                    removed = [
                        (account_id, to_bytes(action.podcast_guid), action.key)
                        for action in decision.removed
                    ]
                    connection.executemany(_REMOVE, removed)
                if decision.saved:
                    rows = [(account_id, *ROWS.action_row(action)) for action in decision.saved]
                    connection.executemany(_SAVE, rows)
                    clock = decision.last_stamp
                    if sent_until is None:
                        sent_until = decision.sent_until
                yield None
            recorded = Recorded(began, until(began, clock), added, sent_until)
            statements = SqliteStatements(connection)
            done(end_recording(statements, account_id, recorded, learn, documents))
            return recorded

        return await self._runner.write_in_turns(undone_if_refused(record), account_id, len(sent))

    async def weights(self, account_id: AccountId) -> tuple[int, int]:
        found = await self._runner.scan(
            lambda connection: connection.execute(_WEIGHTS, (account_id,)).get
        )
        if found is None:
            raise NotAuthorized
        return found[0], found[1]

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        def read(connection: apsw.Connection) -> list[EpisodeAction]:
            podcast = to_bytes(request.podcast_guid) if request.podcast_guid else None
            wanted = (account_id, podcast, request.first, request.last)
            statement = _PAGE if podcast is None else _PAGE_OF_PODCAST
            rows = connection.execute(statement, (*wanted, request.with_superseded, request.limit))
            return [ROWS.action_of(row) for row in rows]

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
    """Return the stored actions of the episodes of a chunk: `ActionSnapshot.known`."""
    wanted: set[tuple[str, Guid, tuple[bytes, ...]]] = set()
    for action in chunk:
        wanted.add((_ITSELF, action.podcast_guid, (action.key,)))
        wanted.add((_OF_FILE, action.podcast_guid, (action.file,)))
        if action.episode_guid is not None:
            first = action.key[:EPISODE_KEY_BYTES]
            wanted.add((_OF_GUID, action.podcast_guid, (first, first + _LAST_OF_KEYS)))
    known: dict[bytes, EpisodeAction] = {}
    for statement, podcast_guid, keys in wanted:
        for row in connection.execute(statement, (account_id, to_bytes(podcast_guid), *keys)):
            action = ROWS.action_of(row)
            known[action.key] = action
    return known
