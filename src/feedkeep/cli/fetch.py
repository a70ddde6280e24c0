"""feedkeep fetch: fetch feeds in a dedicated process."""

from __future__ import annotations

import asyncio
import socket

import uvloop

from feedkeep.assembly import fetching, open_service, telling_metrics
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    end_at_a_signal,
    metrics_url,
    say,
    settings,
)
from feedkeep.config.settings import InvalidSettings, Settings, is_postgres, shown
from feedkeep.http.serving import listen_for_metrics
from feedkeep.model import Fetch
from feedkeep.runtime.logs import configure_logs
from feedkeep.runtime.recorder import Recorder
from feedkeep.runtime.stopping import stop_signals


def fetch(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Run a dedicated feed fetcher until SIGTERM, SIGHUP or Ctrl-C; needs PostgreSQL.

    One or a few fetchers do most of the fetching instead of the serving processes. Keep `fetch` on
    in the serving processes: they schedule new feeds, which otherwise wait for up to an hour.
    """
    chosen = settings(database, config)
    if not is_postgres(chosen.database):
        raise InvalidSettings("With SQLite, the process that serves looks at feeds by itself.")
    if chosen.fetch is Fetch.OFF:
        raise InvalidSettings("The setting fetch is off, so there is nothing to do.")
    configure_logs(chosen.log_level)
    end_at_a_signal()
    (listener,) = listen_for_metrics(chosen, 1)
    uvloop.run(_look_until_stopped(chosen, listener))


async def _look_until_stopped(chosen: Settings, listener: socket.socket | None) -> None:
    is_over = asyncio.Event()
    recorder = Recorder() if listener else None
    async with open_service(chosen, waits=True, recorder=recorder) as service:
        for number in stop_signals():
            asyncio.get_running_loop().add_signal_handler(number, is_over.set)
        telling = telling_metrics(service, recorder, listener, counts_what_is_stored=False)
        async with fetching(service, chosen, recorder), telling:
            if listener:
                say(f"Metrics: {metrics_url(listener)}")
            say(f"Fetching the feeds of {shown(chosen.database)}; stop with Ctrl-C")
            await is_over.wait()
