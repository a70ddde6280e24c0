"""A SQLite database as the first release made it, with an account and its list."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.store.migrate import migrations
from feedkeep.store.sqlite import copy_file
from feedkeep.store.sqlite.connection import APPLICATION_ID

NAME = "anna"
FEEDS = [f"https://feeds.example/{number}" for number in range(1_000)]
_CREATED = 1_760_000_000_000_000


def make_database(file: Path) -> None:
    """Write a database of the schema's first step."""
    plain = file.with_suffix(".plain")
    with closing(sqlite3.connect(plain)) as connection, connection:
        first = migrations("sqlite")[0]
        connection.executescript(first.sql)
        connection.execute(
            "INSERT INTO account (id, name, name_key, created, last_stamp) VALUES (1, ?, ?, ?, ?)",
            (NAME, NAME, _CREATED, _CREATED + len(FEEDS)),
        )
        connection.executemany(
            "INSERT INTO entry (account_id, guid, feed_url, is_subscribed, subscription_changed,"
            " revision) VALUES (1, ?, ?, 1, ?, ?)",
            [
                (uuid.UUID(parse_feed_url(url).guid).bytes, url, stamp, stamp)
                for stamp, url in enumerate(FEEDS, _CREATED + 1)
            ],
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {first.number}")
    _with_checksums(plain, file)


def load_dump(file: Path, dump: Path) -> None:
    """Write a database from the statements of a dump."""
    plain = file.with_suffix(".plain")
    with closing(sqlite3.connect(plain)) as connection:
        connection.executescript(dump.read_text("utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")  # which dumps leave out
    _with_checksums(plain, file)


def _with_checksums(plain: Path, file: Path) -> None:
    """Write what Python's SQLite wrote as feedkeep writes files: each page with a checksum."""
    copy_file(plain, file, believe_checksums=False)


def subscribed_of(file: Path) -> tuple[int, dict[str, set[str]]]:
    """Return the version of a database's schema, and what each account is subscribed to."""
    with closing(sqlite3.connect(file)) as connection:
        ((version,),) = connection.execute("PRAGMA user_version")
        found: dict[str, set[str]] = {
            name: set() for (name,) in connection.execute("SELECT name FROM account")
        }
        for name, url in connection.execute(
            "SELECT name, feed_url FROM entry JOIN account ON account.id = account_id"
            " WHERE is_subscribed = 1"
        ):
            found[name].add(url)
    return version, found
