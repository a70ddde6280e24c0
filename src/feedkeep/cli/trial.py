"""feedkeep try: a throw-away service for app developers."""

from __future__ import annotations

import json
import socket
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from feedkeep import __version__
from feedkeep.cli.common import end_at_a_signal, say
from feedkeep.cli.serve import EXAMPLE_FEED, HostOption, PortOption
from feedkeep.config.settings import LogLevel, Settings, load_settings, local_host, own_url
from feedkeep.http.serving import listen, run
from feedkeep.model import Fetch, replace
from feedkeep.model.errors import FeedkeepError
from feedkeep.runtime.logs import configure_logs
from feedkeep.trial.database import NAME, TrialDatabase

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
