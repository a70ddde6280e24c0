"""Temporary database with its service, and a saved state to restore."""

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
"""Name of the only account."""


class TrialDatabase:
    """Service on a SQLite file in a temporary folder.

    Attributes:
        password: Password of the account.
        token: Token of the account.
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
        await self._opened.aclose()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI request."""
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
        """Save the current state in place of the last saved one."""
        async with self._idle:
            self._kept.unlink(missing_ok=True)
            await asyncio.to_thread(back_up, self._database(), self._kept)

    async def restore(self) -> None:
        """Restore the saved state, as an operator would: later changes are lost."""
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
