"""Episode actions."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, cast

import msgspec

from feedkeep.model import (
    EPISODE_KEY_BYTES,
    FINISHED_SECONDS,
    Account,
    AccountId,
    ActionDecision,
    ActionRequest,
    ActionSnapshot,
    Document,
    DocumentName,
    EpisodeAction,
    Guid,
    KnownDocument,
    Now,
    PlayRequest,
    Recorded,
    Stamp,
    TokenProgress,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.portable.documents import known_documents, save_document
from feedkeep.store.portable.tokens import save_progress
from feedkeep.store.sql import AND_NOT_DELETED, delete_each, find_each, save_each, sql
from feedkeep.store.tables import ACTION, ACTIONS, WEIGHT_OF_ACTION, columns

DecideActions: TypeAlias = Callable[[ActionSnapshot, Sequence[EpisodeAction]], ActionDecision]
"""Decides which actions of an uploaded chunk are saved."""

Learn: TypeAlias = Callable[
    [Recorded, Mapping[DocumentName, KnownDocument]], TokenProgress | Document | None
]
"""Returns what to store about the app that sent actions, after they were recorded."""

MAX_OF_AN_EPISODE = 20
"""Maximum number of stored actions that a rule is given for each guid, and for each file."""

MAX_OF_ALL_DEVICES = 100
"""Maximum number of stored actions that `of_episode` returns."""

_LAST = 2**63 - 1  # later than all times
_NUMBERS = msgspec.json.Decoder(list[int])
_LAST_OF_KEYS = b"\xff" * 6
_ACTION = columns(ACTION, "e")
_OF_THE_EPISODE = f"SELECT {_ACTION} FROM feedkeep.episode_action e WHERE e.account_id = $1"
# Actions with the same key, with the same guid, and of the same file.
_KNOWN = find_each(
    f"""
    {_OF_THE_EPISODE} AND e.podcast_guid = w.p2 AND e.key = w.p3
    UNION ALL SELECT * FROM (
        {_OF_THE_EPISODE} AND e.podcast_guid = w.p2 AND e.key BETWEEN w.p4 AND w.p5
            AND NOT e.is_superseded
        LIMIT {MAX_OF_AN_EPISODE}
    ) g UNION ALL SELECT * FROM (
        {_OF_THE_EPISODE} AND e.podcast_guid = w.p2 AND e.file = w.p6
            AND NOT e.is_superseded AND e.kind IN ('play', 'delete')
        LIMIT {MAX_OF_AN_EPISODE}
    ) f
    """,
    *("uuid", "bytea", "bytea", "bytea", "bytea"),
)
_OF_EPISODE = sql(f"""
{_OF_THE_EPISODE} AND e.podcast_guid = $2 AND e.key BETWEEN $3 AND $4
LIMIT {MAX_OF_ALL_DEVICES}
""")
_SAVE, _REMOVE = save_each(ACTIONS, EpisodeAction), delete_each(ACTIONS, EpisodeAction)
_ADVANCE = sql("""
UPDATE feedkeep.account AS a SET last_action_stamp = $2, action_count = a.action_count + $3
WHERE a.account_id = $1
""")
_PAGE = sql(f"""
SELECT {_ACTION} FROM feedkeep.episode_action e
WHERE e.account_id = $1 AND e.revision BETWEEN $2 AND $3 AND (NOT e.is_superseded OR $4)
ORDER BY e.revision LIMIT $5
""")
# The zero keeps the planner from reading the actions of all podcasts by revision.
_PAGE_OF_PODCAST = sql(f"""
SELECT {_ACTION} FROM feedkeep.episode_action e
WHERE e.account_id = $1 AND e.podcast_guid = $6 AND e.revision + 0 BETWEEN $2 AND $3
    AND (NOT e.is_superseded OR $4)
ORDER BY e.revision + 0 LIMIT $5
""")
_WEIGHTS = sql(f"""
SELECT a.action_count, (
    SELECT coalesce(sum{WEIGHT_OF_ACTION}, 0) FROM feedkeep.episode_action e
    WHERE e.account_id = $1
) FROM feedkeep.account a WHERE a.account_id = $1 {AND_NOT_DELETED}
""")
# The expressions and the condition of the index `episode_action_by_time`.
_SECOND = "least(e.done, e.received / 1000000)"
_PLAYS = f"""
    SELECT {_ACTION} FROM feedkeep.episode_action e
    WHERE e.account_id = $1 AND NOT e.is_superseded AND e.kind = 'play'
    AND coalesce(e.total - e.position <= {FINISHED_SECONDS}, false) =
"""
_BY_TIME = f"{_SECOND} DESC, e.revision DESC"
# Of each state, the plays at the second at which the page begins, and those before. Together, they
# would be one comparison of rows, for which SQLite does not use an index with expressions.
NEWEST_PLAYS = sql(
    f"SELECT {_ACTION} FROM ("
    + " UNION ALL ".join(
        f"SELECT * FROM ({_PLAYS} {state} AND {is_wanted} AND {range_} ORDER BY {order} LIMIT $6) p"
        for state, is_wanted in (("false", "$4"), ("true", "$5"))
        for range_, order in (
            (f"{_SECOND} = $2 AND e.revision < $3", "e.revision DESC"),
            (f"{_SECOND} < $2", _BY_TIME),
        )
    )
    + f") e ORDER BY {_BY_TIME} LIMIT $6"
)
# JSON, since 100,000 revisions take 1 MB as JSON, and 10 MB as rows.
_LAST_OF_EACH = sql(f"""
WITH told AS (
    SELECT e.revision, e.podcast_guid, e.episode, e.kind, e.episode_guid,
        min(e.episode_guid) OVER file AS lowest, max(e.episode_guid) OVER file AS highest,
        {_SECOND} AS done
    FROM feedkeep.episode_action e
    WHERE e.account_id = $1 AND e.revision BETWEEN $2 AND $3
    AND (CAST($4 AS uuid) IS NULL OR e.podcast_guid = $4)
    AND NOT e.is_superseded AND (e.kind <> 'play' OR e.position > 0 AND e.total > 0)
    WINDOW file AS (PARTITION BY e.podcast_guid, e.episode)
), named AS (
    SELECT t.revision, t.podcast_guid, t.episode, t.kind, t.done,
        coalesce(t.episode_guid, CASE WHEN t.lowest = t.highest THEN t.lowest END) AS guid
    FROM told t
)
SELECT '[' || coalesce(string_agg(CAST(l.revision AS text), ','), '') || ']' FROM (
    SELECT m.revision, row_number() OVER (
        PARTITION BY m.podcast_guid, m.kind, m.guid, CASE WHEN m.guid IS NULL THEN m.episode END
        ORDER BY m.done DESC, m.revision DESC
    ) AS n
    FROM named m
) l WHERE l.n = 1
""")


def learn_nothing(_: Recorded, __: Mapping[DocumentName, KnownDocument]) -> None:
    """Store nothing of the app: a `Learn`."""


class EpisodeActions:
    """The episode actions of all accounts: the table `episode_action`."""

    def __init__(self, driver: Driver, now: Now) -> None:
        self._driver = driver
        self._rows = driver.rows
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
        """Save the decisions about the actions `sent` in one commit, however many they are.

        The actions are handled in order, in chunks: `decide` is given the stored actions of the
        same episodes (`ActionSnapshot.known`) and a chunk; it sees the decisions about earlier
        chunks. Finally the clock of actions is set to the result of `until`, which is given the
        clock before the upload and after the last decision. The result of `learn` for the app is
        stored, too; it is given the stored `documents`. Otherwise as `Entries.change`.

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: `decide` raised it; nothing is changed.
        """

        async def record(statements: Statements, account: Account) -> Recorded:
            clock = began = account.last_action_stamp
            added = 0
            sent_until: Stamp | None = None
            for start in range(0, len(sent), self._driver.rows_at_once):
                chunk = sent[start : start + self._driver.rows_at_once]
                known = await self._known(statements, account_id, chunk)
                count = account.action_count + added
                decision = decide(ActionSnapshot(known, clock, self._now(), count), chunk)
                added += decision.added
                await self._driver.pause()
                if decision.removed:
                    keys = [
                        (self._rows.write_guid(action.podcast_guid), action.key)
                        for action in decision.removed
                    ]
                    await statements.write_each(_REMOVE, keys, account_id)
                if decision.saved:
                    rows = [self._rows.action_row(action) for action in decision.saved]
                    await statements.write_each(_SAVE, rows, account_id)
                    clock = decision.last_stamp
                    if sent_until is None:
                        sent_until = decision.sent_until
                await self._driver.pause()
            recorded = Recorded(began, until(began, clock), added, sent_until)
            if recorded.ended != began or added:
                await statements.execute(_ADVANCE, account_id, recorded.ended, added)
            learned = learn(recorded, await known_documents(statements, account_id, documents))
            if isinstance(learned, TokenProgress):
                await save_progress(statements, account_id, learned)
            elif learned is not None:
                await save_document(statements, account_id, learned)
            return recorded

        return await self._driver.change_in_turns(account_id, record, len(sent))

    async def weights(self, account_id: AccountId) -> tuple[int, int]:
        """Return an account's `action_count`, stored and recomputed, both at one moment.

        Raises:
            NotAuthorized: The account is deleted.
        """
        rows = await self._driver.scan(_WEIGHTS, account_id)
        if not rows:
            raise NotAuthorized
        return rows[0][0], rows[0][1]

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        """Return the requested episode actions by rising revision."""
        wanted = (account_id, request.first, request.last, request.with_superseded, request.limit)
        if request.podcast_guid is None:
            rows = await self._driver.scan(_PAGE, *wanted)
        else:
            podcast = self._rows.write_guid(request.podcast_guid)
            rows = await self._driver.scan(_PAGE_OF_PODCAST, *wanted, podcast)
        return await in_thread_if(
            len(rows) > LONG_LIST, lambda: [self._rows.action_of(row) for row in rows]
        )

    async def newest_plays(
        self, account_id: AccountId, request: PlayRequest
    ) -> list[EpisodeAction]:
        """Return the plays that are not superseded, latest first by the time that apps are sent."""
        wanted = (request.is_finished is not True, request.is_finished is not False)
        before = request.before or (_LAST, _LAST)
        rows = await self._driver.scan(NEWEST_PLAYS, account_id, *before, *wanted, request.limit)
        return [self._rows.action_of(row) for row in rows]

    async def of_episode(
        self, account_id: AccountId, podcast_guid: Guid, episode: bytes
    ) -> list[EpisodeAction]:
        """Return the actions whose keys begin with `episode`, at most `MAX_OF_ALL_DEVICES`."""
        podcast = self._rows.write_guid(podcast_guid)
        rows = await self._driver.scan(_OF_EPISODE, account_id, podcast, *_range_of(episode))
        return [self._rows.action_of(row) for row in rows]

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        """Return the rising revisions of the last action of each kind with each episode.

        The last action is the latest by the device's clock, of those that can be sent
        (`rules.episode_actions.can_be_sent`, `sent_second`). Episodes are identified by guid; an
        action that was sent with only a URL belongs to the single requested guid with this URL, or
        else to another episode. The limit of the request does not apply: a revision takes only
        eight bytes.
        """
        podcast = self._rows.write_guid(request.podcast_guid) if request.podcast_guid else None
        wanted = (account_id, request.first, request.last, podcast)
        text: str = (await self._driver.scan(_LAST_OF_EACH, *wanted))[0][0]
        return await in_thread_if(len(text) > LONG_BYTES, _numbers_in, text)

    async def of_episodes(
        self, account_id: AccountId, podcast_guid: Guid, episode_keys: Collection[bytes]
    ) -> list[EpisodeAction]:
        """Return actions with a podcast's episodes, without superseded actions.

        These are up to `MAX_OF_AN_EPISODE` of each guid, and plays and deletions of each file.
        """
        podcast = self._rows.write_guid(podcast_guid)
        wanted = [(podcast, None, *_range_of(key), key) for key in episode_keys]
        rows = await self._driver.find_each(_KNOWN, wanted, account_id) if wanted else ()
        return [self._rows.action_of(row) for row in rows]

    async def _known(
        self, statements: Statements, account_id: AccountId, chunk: Sequence[EpisodeAction]
    ) -> dict[bytes, EpisodeAction]:
        rows = await statements.find_each(
            _KNOWN,
            {
                (self._rows.write_guid(one.podcast_guid), one.key, *_keys_of_guid(one), one.file)
                for one in chunk
            },
            account_id,
        )
        return {row[0]: self._rows.action_of(row) for row in rows}


def _numbers_in(text: str) -> Sequence[Stamp]:
    return cast("Sequence[Stamp]", array("q", sorted(_NUMBERS.decode(text))))


def _keys_of_guid(action: EpisodeAction) -> tuple[bytes | None, bytes | None]:
    """Return the first and the last possible key of actions with the same episode guid."""
    if action.episode_guid is None:
        return None, None
    return _range_of(action.key[:EPISODE_KEY_BYTES])


def _range_of(episode_key: bytes) -> tuple[bytes, bytes]:
    return episode_key, episode_key + _LAST_OF_KEYS
