"""A database with a story, as `PYTHONPATH=tests python tests/upgrades/story.py 1.0.0` writes it.

The files of a release are written once, and stay: each later version reads them, in
`test_releases.py` and at the beginning of a year (`tests/year`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from authors import TESTER
from postgres_server import PostgresServer, new_database, with_connection
from stores import service_on

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings, is_postgres
from feedkeep.model import Account, Admitted, CredentialKind, Now, Scope, Stamp
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.service import Service
from feedkeep.store.sqlite import connection

RELEASES = Path(__file__).parent
WRITTEN_US = 1_793_534_400_000_000
"""Time of the story's clock: 2026-11-01, noon."""

PASSWORD = "correct horse"
MOVED, MOVED_TO, KEPT, DUPLICATE, DELETED, LEFT = (
    f"https://feeds.example/{name}"
    for name in ("moved", "moved-to", "kept", "duplicate", "deleted", "left")
)
MANY = [f"https://many.example/{number}" for number in range(30)]


async def live(service: Service) -> str:
    """Play the lives of two people with their apps; return the token of an app of the first."""
    ada = await service.accounts.create("Ada", PASSWORD, is_admin=True)
    ben = await service.accounts.create("Ben", None)
    token = (await service.tokens.create("Ada", "phone", None, Scope.WRITE)).text
    every = [MOVED, KEPT, DUPLICATE, DELETED, LEFT]
    await service.subscriptions.add(ada.id, [want(url, None) for url in every], TESTER)
    await service.feed_labels.take(ada.id, [FiledFeed(MOVED, "My radio", "News/Daily")])
    for url, position in ((MOVED, 900), (KEPT, 60)):
        sent = SentAction(url, f"{url}/1.mp3", "phone", "play", _second(), 0, position, 3_600)
        await service.episode_actions.record(_app_of(ada), [sent])
    change = Update(new_feed_url=parse_feed_url(MOVED_TO))
    await service.subscriptions.update(ada.id, guid_of(MOVED), change, TESTER)
    merge = Update(new_guid=guid_of(DUPLICATE))
    await service.subscriptions.update(ada.id, guid_of(KEPT), merge, TESTER)
    await service.subscriptions.delete(ada.id, guid_of(DELETED), TESTER)
    await service.subscriptions.set_subscribed(ada.id, [guid_of(LEFT)], False, TESTER)
    await service.devices.describe(ada.id, "phone", "Ada's phone", "mobile")
    await service.devices.change_settings(ada.id, "account", {"public": False}, [])
    await service.subscriptions.add(ben.id, [want(url, None) for url in MANY], TESTER)
    await service.subscriptions.set_subscribed(ben.id, [guid_of(u) for u in MANY], False, TESTER)
    return token


def _app_of(account: Account) -> Admitted:
    return Admitted(account, CredentialKind.BROWSER)


def guid_of(url: str) -> str:
    return parse_feed_url(url).guid


def _second() -> int:
    return WRITTEN_US // 1_000_000


def load(release: str, database: str) -> str:
    """Load the files of a release into an empty or missing database; return the app's token."""
    kind = "postgres" if is_postgres(database) else "sqlite"
    text = (RELEASES / f"{release}.{kind}.sql").read_text()
    if kind == "postgres":
        with_connection(database, lambda opened: opened.execute(text))
    else:
        with closing(connection.open_file(Path(database.removeprefix("sqlite:///")))) as file:
            file.execute(text)
    return text.partition("\n")[0].removeprefix("-- The token of the phone: ")


async def write(release: str) -> None:
    """Write the files of a release with this version."""
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        path = Path(folder) / "feedkeep.db"
        for kind, url in (("sqlite", f"sqlite:///{path}"), ("postgres", new_database(server.url))):
            now = _a_second_later()
            store = await open_store(Settings(database=url), now=now)
            service = service_on(store, now)
            token = await live(service)
            await service._last_uses.close()
            service._passwords.close()
            await store.close()
            dumped = _dumped(path) if kind == "sqlite" else _dumped_by(server, url)
            file = RELEASES / f"{release}.{kind}.sql"
            file.write_text(f"-- The token of the phone: {token}\n{dumped}")


def _a_second_later() -> Now:
    shown = WRITTEN_US

    def now() -> Stamp:
        nonlocal shown
        shown += 1_000_000
        return Stamp(shown)

    return now


def _dumped(path: Path) -> str:
    with closing(sqlite3.connect(path)) as file:
        marks = [
            f"PRAGMA {mark}={file.execute(f'PRAGMA {mark}').fetchone()[0]};"
            for mark in ("application_id", "user_version")
        ]
        return "\n".join([*marks, *file.iterdump(), ""])


def _dumped_by(server: PostgresServer, database: str) -> str:
    command = [
        server.programs / "pg_dump",
        "--inserts",
        "--no-owner",
        "--schema=feedkeep",
        database,
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("\\"))


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
