"""What podcast apps keep, in SQLite: episode actions, documents."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, cast

import apsw

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
from feedkeep.store.rows import ACTION, ENTRY, columns, own_row
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.turns import Turns

_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}
_NOTE_TOLD = {
    clock: f"""
    UPDATE token SET
        told_{clock.value} = ?1,
        heard_{clock.value} = max(ifnull(heard_{clock.value}, ?2), ifnull(?2, heard_{clock.value})),
        own_{clock.value} = ?5
    WHERE account_id = ?3 AND id = ?4
    """
    for clock in Clock
}

_CHANGED = f"""
SELECT {columns(ENTRY, "e")} FROM entry e WHERE e.account_id = ? AND e.revision >= ?
UNION ALL
SELECT {columns(ENTRY, "p")} FROM entry e JOIN entry p
ON p.account_id = e.account_id AND p.new_guid = e.guid
WHERE e.account_id = ? AND e.revision >= ? AND p.alias_url IS NOT NULL
AND ifnull(p.revision < ?, TRUE)
LIMIT ?
"""
_FEW = 250
"""How many entries are read without a thread: within a millisecond."""

_AT_ONCE = 20
"""How many actions are looked up, or saved, until others have their turn: within a millisecond."""

_ALL_OF_THEM = -1
_KNOWN = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND podcast_guid = ? AND key = ?
"""
_SAVE_ACTION = f"""
INSERT INTO episode_action (account_id, {columns(ACTION)})
VALUES ({", ".join("?" * (len(ACTION) + 1))})
ON CONFLICT (account_id, podcast_guid, key) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in ACTION[2:])}
"""
_ACTIONS = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND revision BETWEEN ? AND ? ORDER BY revision LIMIT ?
"""
# The plus keeps SQLite from going through the actions of all podcasts by revision.
_ACTIONS_OF_PODCAST = f"""
SELECT {columns(ACTION)} FROM episode_action
WHERE account_id = ? AND podcast_guid = ? AND +revision BETWEEN ? AND ?
ORDER BY +revision LIMIT ?
"""
_LAST_OF_EACH = """
SELECT revision FROM (
    SELECT revision, row_number() OVER (
        PARTITION BY podcast_guid, episode ORDER BY done DESC, revision DESC
    ) AS n
    FROM episode_action
    WHERE account_id = ?1 AND revision BETWEEN ?2 AND ?3 AND ifnull(podcast_guid = ?4, TRUE)
) WHERE n = 1 ORDER BY revision
"""
_DOCUMENTS = "SELECT name, body FROM document WHERE account_id = ? AND kind = ? ORDER BY name"
_DOCUMENT = "SELECT body FROM document WHERE account_id = ? AND kind = ? AND name = ?"
_COUNT_DOCUMENTS = "SELECT count(*) FROM document WHERE account_id = ? AND kind = ?"
_SAVE_DOCUMENT = """
INSERT INTO document (account_id, kind, name, body) VALUES (?, ?, ?, ?)
ON CONFLICT (account_id, kind, name) DO UPDATE SET body = excluded.body
"""


def changed(connection: apsw.Connection, account_id: AccountId, first: Stamp) -> list[Entry]:
    """Return what changed from a stamp on, and the former URLs of the subscriptions in it."""
    return _changed(connection, account_id, first, _ALL_OF_THEM)


def changed_if_few(
    connection: apsw.Connection, account_id: AccountId, first: Stamp
) -> list[Entry] | None:
    """Return the same, or None if that takes long to read."""
    found = _changed(connection, account_id, first, _FEW + 1)
    return found if len(found) <= _FEW else None


def _changed(
    connection: apsw.Connection, account_id: AccountId, first: Stamp, most: int
) -> list[Entry]:
    rows = connection.execute(_CHANGED, (*(account_id, first) * 2, first, most))
    return [ROWS.entry_of(row) for row in rows]


def advance(
    connection: apsw.Connection, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
) -> Stamp:
    """Set a clock to what `to` says, and return that."""
    stamp = to(_clock(connection, account_id, clock))
    _set_clock(connection, account_id, clock, stamp)
    return stamp


def note_told(
    connection: apsw.Connection, account_id: AccountId, token_id: int, clock: Clock, told: Told
) -> None:
    """Remember how far the bearer of a token knows what changed."""
    told_and_heard = (told.told, told.heard, account_id, token_id)
    connection.execute(_NOTE_TOLD[clock], (*told_and_heard, own_row(told.own)))


def record(
    connection: apsw.Connection,
    account_id: AccountId,
    sent: Sequence[EpisodeAction],
    decide: DecideActions,
    until: Callable[[Stamp, Stamp], Stamp],
) -> Turns[tuple[Stamp, Stamp]]:
    """Load, decide, save, some at a time; the transaction around it is the caller's."""
    clock = began = _clock(connection, account_id, Clock.ACTIONS)
    for start in range(0, len(sent), _AT_ONCE):
        some = sent[start : start + _AT_ONCE]
        decision = decide(_snapshot(connection, account_id, some, clock), some)
        yield None
        if decision.saved:
            rows = [(account_id, *ROWS.action_row(action)) for action in decision.saved]
            connection.executemany(_SAVE_ACTION, rows)
            clock = decision.last_stamp
        yield None
    ended = until(began, clock)
    if ended != began:
        _set_clock(connection, account_id, Clock.ACTIONS, ended)
    return began, ended


def _snapshot(
    connection: apsw.Connection, account_id: AccountId, some: Sequence[EpisodeAction], clock: Stamp
) -> ActionSnapshot:
    known: dict[bytes, EpisodeAction] = {}
    for podcast_guid, key in {(action.podcast_guid, action.key) for action in some}:
        for row in connection.execute(_KNOWN, (account_id, to_bytes(podcast_guid), key)):
            known[key] = ROWS.action_of(row)
    return ActionSnapshot(known, clock, wall_clock.now())


def actions(
    connection: apsw.Connection, account_id: AccountId, request: ActionRequest
) -> list[EpisodeAction]:
    """Return episode actions by rising revision."""
    wanted: tuple[Any, ...] = (account_id, request.first, request.last, request.most)
    if request.podcast_guid is not None:
        wanted = (account_id, to_bytes(request.podcast_guid), *wanted[1:])
    statement = _ACTIONS if request.podcast_guid is None else _ACTIONS_OF_PODCAST
    return [ROWS.action_of(row) for row in connection.execute(statement, wanted)]


def last_of_each(
    connection: apsw.Connection, account_id: AccountId, request: ActionRequest
) -> Sequence[Stamp]:
    """Return the revision of the last action of each episode, in order; eight bytes each."""
    podcast = to_bytes(request.podcast_guid) if request.podcast_guid else None
    rows = connection.execute(_LAST_OF_EACH, (account_id, request.first, request.last, podcast))
    return cast("Sequence[Stamp]", array("q", (row[0] for row in rows)))


def documents(
    connection: apsw.Connection, account_id: AccountId, kind: DocumentKind
) -> list[Document]:
    """Return all documents of a kind by name."""
    rows = connection.execute(_DOCUMENTS, (account_id, kind))
    return [Document(kind, *row) for row in rows]


def document(
    connection: apsw.Connection, account_id: AccountId, kind: DocumentKind, name: str
) -> str | None:
    """Return the body of a document."""
    body: str | None = connection.execute(_DOCUMENT, (account_id, kind, name)).get
    return body


def change_document(
    connection: apsw.Connection,
    account_id: AccountId,
    kind: DocumentKind,
    name: str,
    decide: Callable[[str | None, int], str],
) -> str:
    """Load, decide, save; the transaction around it is the caller's."""
    _clock(connection, account_id, Clock.SUBSCRIPTIONS)
    found = document(connection, account_id, kind, name)
    others = connection.execute(_COUNT_DOCUMENTS, (account_id, kind)).get if found is None else 0
    body = decide(found, others)
    if body != found:
        connection.execute(_SAVE_DOCUMENT, (account_id, kind, name, body))
    return body


def _clock(connection: apsw.Connection, account_id: AccountId, clock: Clock) -> Stamp:
    found: Stamp | None = connection.execute(
        f"SELECT {_CLOCKS[clock]} FROM account WHERE id = ?",
        (account_id,),
    ).get
    if found is None:
        raise NotAuthorized
    return found


def _set_clock(
    connection: apsw.Connection, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    connection.execute(
        f"UPDATE account SET {_CLOCKS[clock]} = ? WHERE id = ?",
        (stamp, account_id),
    )
