"""feedkeep try: a throw-away service for app developers, on a temporary database."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import uvloop
from starlette.types import Receive, Scope, Send

from feedkeep import __version__
from feedkeep.assembly import back_up, open_service, restore
from feedkeep.cli.common import end_at_a_signal, say
from feedkeep.cli.serve import EXAMPLE_FEED, HostOption, PortOption
from feedkeep.config.settings import LogLevel, Settings, load_settings, local_host, own_url
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.serving import listen, run
from feedkeep.model import Fetch, replace
from feedkeep.model.errors import FeedkeepError
from feedkeep.runtime.logs import configure_logs
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


_FOR_PEOPLE = ("/docs", "/static", "/openapi.json", "/livez", "/readyz", "/favicon.ico")


class NotInstalled(FeedkeepError):
    """A package that this command needs is missing; `str()` says what to install."""


def try_out(host: HostOption = None, port: PortOption = None) -> None:
    """Start a throw-away service for app development; its data is deleted when it stops.

    It prints a token, and answers like the real service. Its page shows each request with its
    violations of the contract, and can make the next requests fail: by an outage, a lost response,
    an expired token or a restore. The page documents how a test does the same.

    It needs podsync-check: `pip install 'feedkeep[try]'`, or `./conformance` of a checkout.
    """
    if find_spec("podsync_check") is None:
        raise NotInstalled(
            "This needs podsync-check: pip install 'feedkeep[try]', or ./conformance of a checkout."
        )
    given = load_settings({"host": host, "port": port}, None, {})
    chosen = replace(given, fetch=Fetch.OFF, log_level=LogLevel.WARNING)
    end_at_a_signal()
    configure_logs(chosen.log_level)
    [listener] = listen(chosen)
    with TemporaryDirectory(prefix="feedkeep-try-") as folder:
        uvloop.run(_serve(chosen, listener, Path(folder)))


async def _serve(chosen: Settings, listener: socket.socket, folder: Path) -> None:
    # Imported here: a real service does not need podsync-check, which may be missing.
    from podsync_check.watching.watch import PLACE, Watch  # noqa: PLC0415

    async with TrialDatabase(chosen, folder) as database:
        host, port = listener.getsockname()[:2]
        base = own_url(chosen, local_host(host), port)
        say(f"feedkeep {__version__}, on trial: its data is deleted when it stops")
        say(f"Account:   {NAME}, with the password {database.password}")
        say(f"Token:     {database.token}")
        say(f"Requests:  {base}{PLACE} (with their violations of the contract)")
        say(f"Listening: {own_url(chosen, host, port)}; stop with Ctrl-C")
        body = json.dumps({"subscriptions": [{"feed_url": EXAMPLE_FEED}]})
        say(f"curl -H 'Authorization: Bearer {database.token}' -d '{body}' {base}/subscriptions")
        deeds = {"keep": database.keep, "restore": database.restore}
        watch = Watch(database.serve, deeds, passed_over=_FOR_PEOPLE)
        await run(watch, listener, chosen)
