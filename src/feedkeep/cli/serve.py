"""feedkeep serve: the service itself."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
import uvloop

from feedkeep import __version__
from feedkeep.assembly import keeper, open_service
from feedkeep.cli.common import ConfigOption, DatabaseOption, say, settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.serving import listen, run
from feedkeep.http.serving.workers import Workers
from feedkeep.logs import configure_logs
from feedkeep.notify import Signs, notify, watchdog_seconds
from feedkeep.settings import Settings, check_workers, own_url, shown

EXAMPLE_FEED = "https://podnews.net/rss"


HostOption = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Where to listen. Default: 127.0.0.1, this machine.",
        show_default=False,
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        help="The port. Default: 8080; 0 takes a free one.",
        show_default=False,
    ),
]
PublicUrlOption = Annotated[
    str | None,
    typer.Option(
        "--public-url",
        metavar="URL",
        help="The base URL that clients use, behind a proxy.",
        show_default=False,
    ),
]
LogLevelOption = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        help="debug, info, warning or error. Default: info.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="How many processes serve; more than one needs PostgreSQL. Default: 1.",
        show_default=False,
    ),
]
TlsCertOption = Annotated[
    str | None,
    typer.Option(
        "--tls-cert",
        metavar="FILE",
        help="Serve HTTPS with this certificate (PEM, with those up to its root).",
        show_default=False,
    ),
]
TlsKeyOption = Annotated[
    str | None,
    typer.Option(
        "--tls-key",
        metavar="FILE",
        help="The certificate's key (PEM), unless it is in the same file.",
        show_default=False,
    ),
]
SetupOption = Annotated[
    str | None,
    typer.Option(
        "--setup",
        metavar="NAME",
        help="If there is no account yet, create this one and print a token for it.",
        show_default=False,
    ),
]


def serve(
    host: HostOption = None,
    port: PortOption = None,
    database: DatabaseOption = None,
    public_url: PublicUrlOption = None,
    log_level: LogLevelOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
    workers: WorkersOption = None,
    setup: SetupOption = None,
    config: ConfigOption = None,
) -> None:
    """Start the service, and serve until SIGTERM or Ctrl-C.

    Requests that were accepted are answered before it ends. The log goes to standard error, a line
    of JSON for each request. All settings can also be given as FEEDKEEP_HOST and so on, or in a
    TOML file.
    """
    chosen = settings(
        database,
        config,
        host=host,
        port=port,
        public_url=public_url,
        log_level=log_level,
        tls_cert=tls_cert,
        tls_key=tls_key,
        workers=workers,
    )
    signal.signal(signal.SIGTERM, _end_before_serving)
    check_workers(chosen)
    configure_logs(chosen.log_level)
    listeners = listen(chosen)
    listening = own_url(chosen, *listeners[0].getsockname()[:2])
    first_secret = secrets.token_urlsafe(24)
    uvloop.run(_introduce(chosen, listening, setup, first_secret))
    serving = partial(_serve, first_secret)
    if chosen.workers > 1:
        Workers(chosen, listeners, serving, notify, watchdog_seconds()).run()
    else:
        uvloop.run(serving(chosen, listeners[0], notify, watchdog_seconds()))


def _end_before_serving(*_: object) -> None:
    """End at once at SIGTERM during the start: nothing was accepted, and the store survives it."""
    os._exit(0)


async def _serve(
    first_secret: str,
    chosen: Settings,
    listener: socket.socket,
    tell: Callable[[str], None],
    alive_each_seconds: float | None,
) -> None:
    async with open_service(chosen) as service:
        service.forgetting.start()
        async with keeper(service, chosen):
            routes = edges(service, chosen, first_secret)
            signs = Signs(tell, alive_each_seconds, service.assert_ready)
            await run(Application(routes, chosen), listener, chosen, signs)


async def _introduce(
    chosen: Settings, listening: str, setup: str | None, first_secret: str
) -> None:
    """Print where the service is and, if there is no account yet, how to begin.

    A token of the setup is shown this once. The link for the first account lives in this process
    only: each start has another one, and none works once there is an account.
    """
    base = chosen.public_url.rstrip("/") or listening
    async with open_service(chosen) as service:
        say(f"feedkeep {__version__}")
        has_accounts = await service.accounts.are_there()
        if not has_accounts and setup is None:
            say(f"Your account: {base}/sign-up/{first_secret} (open this link; it works once)")
        elif has_accounts:
            say(f"Your feeds: {base}")
        say(f"Database:  {shown(chosen.database)}")
        say(f"Listening: {listening}; stop with Ctrl-C")
        token = "TOKEN"  # noqa: S105 - what a person puts theirs in place of
        if not has_accounts and setup is not None:
            account = await service.accounts.create(setup, None, is_admin=True)
            token = (await service.tokens.create(account.name, "setup", None)).text
            say(f"Account:   {account.name}, made just now")
            say(f"Token:     {token} (shown this once)")
            say("Try it, in another terminal:")
        else:
            say(f"For an app of your own, make a token at {base}/apps or with")
            say("`feedkeep token create NAME`, and put it into this line:")
        body = json.dumps({"subscriptions": [{"feed_url": EXAMPLE_FEED}]})
        say(f"curl -H 'Authorization: Bearer {token}' -d '{body}' {base}/subscriptions")
