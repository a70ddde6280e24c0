"""Nothing is broken: each commit leaves a line in a file, on either store."""

from __future__ import annotations

import os
from pathlib import Path

import asyncpg

from feedkeep.store.postgres import connections
from feedkeep.store.sqlite.runner import SqliteRunner

COMMITS = Path(os.environ["RAN_FIRST"]).with_name("commits")
commit_sqlite, commit_postgres = SqliteRunner._commit, connections._commit


def count() -> None:
    with COMMITS.open("a") as commits:
        commits.write("commit\n")


def commit_and_count(runner: SqliteRunner) -> None:
    commit_sqlite(runner)
    count()


async def commit_there_and_count(connection: asyncpg.Connection, within_seconds: float) -> None:
    await commit_postgres(connection, within_seconds)
    count()


SqliteRunner._commit = commit_and_count
connections._commit = commit_there_and_count
