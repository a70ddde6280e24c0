"""The throw-away database: its service, and going back to a state of it that was kept."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from starlette.types import Receive, Scope, Send

from feedkeep.assembly import back_up, open_service, restore
from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.model import replace
from feedkeep.service import Service

NAME = "try"
"""The name of its one account."""


class TrialDatabase:
    """A service on a SQLite file in a folder that is removed afterwards.

    Attributes:
        password: The password of its account.
        token: A token of its account.
    """

    token: str

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.password = secrets.token_urlsafe(9)
        self._settings = settings
        self._folder = folder
        self._number = 0
        self._opened = AsyncExitStack()
        self._idle = asyncio.Condition()
        self._under_way = 0

    async def __aenter__(self) -> Self:
        """Make the account, with a token, and keep the empty list."""
        service = await self._open()
        await service.accounts.create(NAME, self.password, is_admin=True)
        self.token = (await service.tokens.create(NAME, "try", None)).text
        await self.keep()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self._opened.aclose()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the real service does."""
        async with self._idle:
            self._under_way += 1
            application = self._application
        try:
            await application(scope, receive, send)
        finally:
            async with self._idle:
                self._under_way -= 1
                self._idle.notify_all()

    async def keep(self) -> None:
        """Back it up."""
        async with self._idle:
            self._kept.unlink(missing_ok=True)
            await asyncio.to_thread(back_up, self._database(), self._kept)

    async def restore(self) -> None:
        """Restore the backup, as an operator would: what came after it is lost."""
        async with self._idle:
            await self._idle.wait_for(lambda: self._under_way == 0)
            await self._opened.aclose()
            self._number += 1
            await asyncio.to_thread(restore, self._database(), self._kept)
            await self._open()

    @property
    def _kept(self) -> Path:
        return self._folder / "kept.db"

    def _database(self) -> Settings:
        file = self._folder / f"{self._number}.db"
        return replace(self._settings, database=f"sqlite:///{file}")

    async def _open(self) -> Service:
        settings = self._database()
        service = await self._opened.enter_async_context(open_service(settings))
        self._application = Application(edges(service, settings), settings)
        return service
