"""feedkeep serve: run the service."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import structlog
import typer
import uvloop

from feedkeep import __version__
from feedkeep.assembly import (
    Meanwhile,
    fetching,
    open_service,
    refusing_to_migrate,
    telling_metrics,
)
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    end_at_a_signal,
    metrics_url,
    say,
    settings,
    warn,
)
from feedkeep.cli.workers import Workers
from feedkeep.config.networks import leads_to_loopback
from feedkeep.config.settings import (
    InvalidSettings,
    Settings,
    base_path,
    local_host,
    misspelt,
    own_url,
    shown,
)
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.backpressure import Draining
from feedkeep.http.error_responses import Outages
from feedkeep.http.health import WaitingApplication
from feedkeep.http.responses import Refusal
from feedkeep.http.serving import (
    Sockets,
    listen,
    listen_for_metrics,
    run,
    serving_until_ready,
)
from feedkeep.model import Value, replace
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.logs import configure_logs
from feedkeep.runtime.notify import Signs, notify, telling_of_life, watchdog_seconds
from feedkeep.runtime.recorder import Recorder
from feedkeep.service import Service

EXAMPLE_FEED = "https://podnews.net/rss"

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

HostOption = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="The address to listen on. Default: 127.0.0.1, this machine.",
        show_default=False,
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        help="The port to listen on; 0 takes a free one. Default: 8080.",
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
        help="The number of processes. Default: 1.",
        show_default=False,
    ),
]
TlsCertOption = Annotated[
    str | None,
    typer.Option(
        "--tls-cert",
        metavar="FILE",
        help="Serve HTTPS with this certificate (PEM, with its chain).",
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
        help="If there is no account yet, create this one, and print a token for it.",
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
    """Run the service until SIGTERM, SIGHUP or Ctrl-C.

    Migrates the database first, and waits for PostgreSQL if it is unavailable. Answers accepted
    requests before it exits. Logs JSON lines to standard error. Each setting is also an environment
    variable, such as FEEDKEEP_HOST, or a line of a TOML file.
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
    end_at_a_signal()
    if setup is not None and chosen.admin_name:
        raise InvalidSettings("Both --setup and admin_name say who is the first: give one.")
    configure_logs(chosen.log_level)
    for variable, meant in misspelt(os.environ):
        warn(f"{variable} is not a setting, and has no effect; {meant} is one.")
    listeners = listen(chosen)
    for_metrics = listen_for_metrics(chosen, len(listeners))
    places = [
        Sockets(clients, metrics, is_first=clients is listeners[0])
        for clients, metrics in zip(listeners, for_metrics, strict=True)
    ]
    host, port = listeners[0].getsockname()[:2]
    addresses = _Addresses(
        listening=own_url(chosen, host, port),
        base=chosen.public_url.rstrip("/") or own_url(chosen, local_host(host), port),
        metrics=[metrics_url(metrics) for metrics in for_metrics if metrics],
    )
    first_secret = secrets.token_urlsafe(24)
    meanwhile = partial(_answering, chosen, listeners, notify, watchdog_seconds())
    uvloop.run(_introduce(chosen, addresses, setup, first_secret, meanwhile))
    chosen = replace(chosen, admin_name="", admin_password="")  # no longer needed
    serving = partial(_serve, first_secret)
    if chosen.workers > 1:
        Workers(chosen, places, serving, notify, watchdog_seconds()).run()
    else:
        uvloop.run(serving(chosen, places[0], notify, watchdog_seconds()))


async def _serve(
    first_secret: str,
    chosen: Settings,
    sockets: Sockets,
    tell: Callable[[str], None],
    alive_each_seconds: float | None,
) -> None:
    recorder = Recorder() if sockets.metrics else None
    opening = open_service(
        chosen,
        waits=True,
        meanwhile=partial(_answering, chosen, [sockets.clients], tell, alive_each_seconds),
        # `_introduce` has migrated the database. If a replacement worker finds it outdated, the
        # program was upgraded on disk, and a migration could break the other workers.
        before_migrating=refusing_to_migrate(chosen),
        recorder=recorder,
    )
    async with opening as service:
        service.forgetting.start()
        await service.shared_attempts.start()
        telling = telling_metrics(
            service, recorder, sockets.metrics, counts_what_is_stored=sockets.is_first
        )
        looking = fetching(service, chosen, recorder, is_first=sockets.is_first)
        async with looking as looks, telling:
            draining = Draining()
            routes = edges(service, chosen, first_secret, draining, looks)
            signs = Signs(tell, alive_each_seconds)
            application = Application(routes, chosen, recorder, Outages())
            await run(application, sockets.clients, chosen, signs, draining)


class _Addresses(Value, frozen=True):
    """Addresses of the service.

    Attributes:
        listening: URL that it listens on.
        base: Base URL of its links.
        metrics: URLs of the metrics, one for each process; empty without metrics.
    """

    listening: str
    base: str
    metrics: Sequence[str]


@asynccontextmanager
async def _answering(
    chosen: Settings,
    listeners: Sequence[socket.socket],
    tell: Callable[[str], None],
    alive_each_seconds: float | None,
    refusal: Refusal,
) -> AsyncIterator[None]:
    """Context manager: refuse requests, and send ALIVE, while the database is unusable."""
    waiting = WaitingApplication(base_path(chosen), refusal)
    async with (
        telling_of_life(tell, alive_each_seconds),
        serving_until_ready(waiting, listeners, chosen),
    ):
        yield


async def _introduce(
    chosen: Settings,
    addresses: _Addresses,
    setup: str | None,
    first_secret: str,
    meanwhile: Meanwhile,
) -> None:
    """Print the service's addresses and, without accounts, how to create the first one.

    Standard output may be a terminal, a journal or a container's log.

    A token from --setup is shown only once. Each start prints another link for the first account,
    which works until an account exists.
    """
    async with open_service(chosen, waits=True, meanwhile=meanwhile) as service:
        _tell(f"feedkeep {__version__}")
        if chosen.admin_name:
            await _make_first(service, chosen.admin_name, chosen.admin_password)
        has_accounts = await service.accounts.are_there()
        if not has_accounts and setup is None:
            link = f"{addresses.base}/sign-up/{first_secret}"
            _tell(f"Your account: {link} (open this link; it works once)")
        elif has_accounts:
            _tell(f"Your feeds: {addresses.base}")
            if not await service.accounts.administrators():
                _tell("No account is an administrator: `feedkeep account admin NAME` makes one.")
        if "SSH_CONNECTION" in os.environ and leads_to_loopback(addresses.base):
            parts = urlsplit(addresses.listening)
            _tell("Only this machine reaches that address. To open it on yours, run this there:")
            _tell(f"ssh -L {parts.port}:{parts.netloc} USER@SERVER")
            _tell("Or start with --host 0.0.0.0: unencrypted, so where you trust the network.")
        _tell(f"Database:  {shown(chosen.database)}")
        if addresses.metrics:
            _tell(f"Metrics:   {', '.join(addresses.metrics)}")
        _tell(f"Listening: {addresses.listening}; stop with Ctrl-C")
        token = "TOKEN"  # noqa: S105 - a placeholder
        if not has_accounts and setup is not None:
            account = await service.accounts.create(setup, None, is_admin=True)
            token = (await service.tokens.create(account.name, "setup", None)).text
            say(f"Account:   {account.name}, created just now")
            say(f"Token:     {token} (shown this once)")
            _tell("Try it, in another terminal:")
        else:
            _tell(f"For your own app, create a token at {addresses.base}/apps or with")
            _tell("`feedkeep token create NAME`, and insert it into this line:")
        body = json.dumps({"subscriptions": [{"feed_url": EXAMPLE_FEED}]})
        _tell(f"curl -H 'Authorization: Bearer {token}' -d '{body}' {addresses.base}/subscriptions")


def _tell(line: str) -> None:
    """Print a line if possible: a full disk must not keep the service from starting."""
    try:
        say(line)
    except OSError as error:
        _log.warning("cannot write standard output", reason=error.strerror)
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until exit


async def _make_first(service: Service, name: str, password: str) -> None:
    """Create the first account; existing accounts are never changed."""
    try:
        account = await service.accounts.set_up(name, password)
    except NotAuthorized:  # an account exists, perhaps from a process that starts concurrently
        return
    _tell(
        f"Account:   {account.name}, an administrator, created just now with the password you chose"
    )
