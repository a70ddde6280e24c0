"""Nothing is broken: what each request does is counted, a line of JSON for each request.

Rows are counted at the driver, and the work on the event loop in calls between two turns of it, so
that no number follows from how fast the machine is. Calls within C are not seen, and neither is
what threads compute.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import asyncpg
from starlette.types import Message, Receive, Scope, Send

from feedkeep.http.application import Application
from feedkeep.http.pages.rendering import Pages
from feedkeep.runtime import cooperative as turns
from feedkeep.store.postgres import connections
from feedkeep.store.sqlite.runner import SqliteRunner

WORK = Path(os.environ["RAN_FIRST"]).with_name("work.jsonl")

# A turn ends after a time, which says how busy the machine is: here after each part of the work.
turns.LONGEST_SECONDS = -1.0

_STEPS = 100


class Work:
    """Work since the last request ended: in total, in this commit, and in this turn."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.rows_read = self.rows_written = self.longest_turn = 0
        self.in_commit = self.in_turn = 0

    def end_commit(self) -> None:
        self.rows_written = max(self.rows_written, self.in_commit)
        self.in_commit = 0

    def end_turn(self) -> None:
        self.longest_turn = max(self.longest_turn, self.in_turn)
        self.in_turn = 0


work = Work()
_on_loop, _RUN = threading.get_ident(), asyncio.Runner.run.__code__


def count_calls(frame: FrameType, event: str, _argument: object) -> None:
    """Count calls on the event loop; what the loop itself calls begins a turn."""
    if event in {"call", "c_call"}:
        if event == "call" and frame.f_back is not None and frame.f_back.f_code is _RUN:
            work.end_turn()
        work.in_turn += 1


def count_on(connection: apsw.Connection) -> apsw.Connection:
    """Count rows; on the loop, also the steps that SQLite takes, while it takes them."""
    before = connection.total_changes()

    def count_rows(event: dict[str, Any]) -> None:
        nonlocal before
        if event["code"] == apsw.SQLITE_TRACE_ROW:
            work.rows_read += 1
        else:
            work.in_commit += event["total_changes"] - before
            before = event["total_changes"]

    def count_steps() -> bool:
        if threading.get_ident() == _on_loop:
            work.in_turn += _STEPS
        return False

    def end_commit() -> bool:
        work.end_commit()
        return False

    connection.set_commit_hook(end_commit)
    connection.trace_v2(apsw.SQLITE_TRACE_ROW | apsw.SQLITE_TRACE_PROFILE, count_rows)
    connection.set_progress_handler(count_steps, _STEPS)
    return connection


_open, _connect_to_read = SqliteRunner._open, SqliteRunner._connect_to_read


def open_and_count(runner: SqliteRunner) -> None:
    _open(runner)
    for connection in (runner._writer, runner._scanner, runner._reader):
        count_on(connection)


SqliteRunner._open = open_and_count
SqliteRunner._connect_to_read = lambda runner: count_on(_connect_to_read(runner))
_fetch, _execute = asyncpg.Connection.fetch, asyncpg.Connection.execute


async def fetch(self: asyncpg.Connection, *arguments: Any, **named: Any) -> Any:
    rows = await _fetch(self, *arguments, **named)
    work.rows_read += len(rows)
    return rows


async def execute(self: asyncpg.Connection, *arguments: Any, **named: Any) -> Any:
    status = await _execute(self, *arguments, **named)
    work.in_commit += int(status.rpartition(" ")[2]) if status[-1:].isdigit() else 0
    return status


asyncpg.Connection.fetch, asyncpg.Connection.execute = fetch, execute
_commit = connections._commit


async def commit(connection: asyncpg.Connection, within_seconds: float) -> None:
    await _commit(connection, within_seconds)
    work.end_commit()


connections._commit = commit
_answer: Callable[..., Any] = Application.__call__
_make_pages: Callable[..., None] = Pages.__init__


def make_pages(self: Pages, *what: Any) -> None:
    _make_pages(self, *what)
    for template in self._environment.list_templates():  # compiled once, which no request pays for
        self._environment.get_template(template)


async def answer(self: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, and write down what was done for it."""
    reply: dict[str, Any] = {}

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            reply.update(headers=dict(message["headers"]))
        await send(message)

    work.begin()
    await _answer(self, scope, receive, note)
    work.end_turn()
    work.end_commit()
    line = {name: getattr(work, name) for name in ("rows_read", "rows_written", "longest_turn")}
    line["id"] = reply["headers"][b"x-request-id"].decode()
    with WORK.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


Application.__call__ = answer
Pages.__init__ = make_pages
sys.setprofile(count_calls)
