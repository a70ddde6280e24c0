"""feedkeep doctor: checks the setup of a service on this machine, and says what to do."""

from __future__ import annotations

import asyncio
import ctypes
import os
import ssl
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from feedkeep.assembly import open_service, pending_migrations_of
from feedkeep.cli import diagnosis
from feedkeep.cli.common import ConfigOption, DatabaseOption, say, settings
from feedkeep.cli.diagnosis import Entrance, Finding, Verdict, fault, note, ok
from feedkeep.cli.health import (
    AnswersNotReady,
    Migrating,
    NotReady,
    asking_policy,
    ready_origin,
    trusting_policy,
    url_here,
)
from feedkeep.cli.serve import EXAMPLE_FEED
from feedkeep.config.networks import is_loopback
from feedkeep.config.settings import Settings, is_postgres, misspelt, shown, sqlite_path
from feedkeep.feeds.fetcher_process import FetcherProcess
from feedkeep.http.serving import listen, listen_for_metrics, tls_context
from feedkeep.model import Failure, Feed, Fetch, Stamp, replace
from feedkeep.model.errors import FeedkeepError
from feedkeep.oidc.claims import ProviderAway
from feedkeep.oidc.provider import Provider
from feedkeep.outbound.failures import MachineFailed, RequestError, RequestRefused
from feedkeep.outbound.targets import FetchTarget, SystemNames
from feedkeep.rules.clock import SECOND_US
from feedkeep.rules.feed_urls import FeedUrl, parse_new_feed_url
from feedkeep.runtime import wall_clock

_NAME_SECONDS = 10.0


def entrance(chosen: Settings) -> Iterator[Finding]:
    """Check that certificate, proxies and public URL are consistent."""
    if chosen.tls_cert:
        yield _certificate(chosen)
    found = list(
        diagnosis.entrance(
            Entrance(
                scheme=urlsplit(chosen.public_url).scheme,
                is_local=is_loopback(chosen.host),
                has_certificate=bool(chosen.tls_cert),
                proxies=chosen.trusted_proxies,
            )
        )
    )
    yield from found
    if not any(one.subject == "proxies" for one in found):
        named = ", ".join(chosen.trusted_proxies)
        yield ok("proxies", f"Trusted: {named}." if named else "No proxy is trusted.")


def _certificate(chosen: Settings) -> Finding:
    """Check that clients that trust the certificate's authority accept the certificate."""
    try:
        ours = tls_context(chosen)
        assert ours is not None
        told = _handshake(ours, chosen.tls_cert, urlsplit(chosen.public_url).hostname)
    except FeedkeepError as error:
        return fault("tls", str(error))
    except ssl.SSLCertVerificationError as error:
        return fault("tls", f"Clients refuse the certificate: {error.verify_message}.")
    ends = Stamp(int(ssl.cert_time_to_seconds(str(told["notAfter"]))) * SECOND_US)
    return diagnosis.certificate(ends, wall_clock.now())


def _handshake(server: ssl.SSLContext, certificate: str, name: str | None) -> dict[str, object]:
    """Simulate a client that trusts the certificate; return the certificate's fields.

    Raises:
        ssl.SSLCertVerificationError: The certificate is expired, not valid yet, or not for `name`.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(certificate)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.check_hostname = name is not None
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(back, there, server_hostname=name),
        server.wrap_bio(there, back, server_side=True),
    )
    waiting = set(ends)
    while waiting:
        for end in ends:
            try:
                end.do_handshake()
                waiting.discard(end)
            except ssl.SSLWantReadError:
                pass
    return dict(ends[0].getpeercert() or {})


async def address(chosen: Settings) -> AsyncIterator[Finding]:
    """Check that the service answers at its address, or could listen there."""
    if chosen.port == 0:
        yield note("address", "The port is 0: `feedkeep serve` uses a free port at each start.")
        return
    origin = url_here(chosen)
    plain = replace(chosen, tls_cert="", tls_key="")
    try:
        for opened in (listeners := listen(plain)) + listen_for_metrics(plain, len(listeners)):
            if opened:
                opened.close()
    except FeedkeepError as in_use:
        try:
            await ready_origin(origin, trusting_policy())
        except Migrating as error:
            yield note("address", str(error))
            return
        except AnswersNotReady as error:
            yield fault("address", str(error))
            return
        except NotReady as error:
            yield fault("address", f"{in_use} {error}")
            return
        yield ok("address", f"feedkeep answers at {origin}, and is ready.")
        if chosen.public_url:
            yield await _public(chosen.public_url)
    else:
        yield note("address", f"feedkeep is not running; `feedkeep serve` can listen at {origin}.")


async def _public(url: str) -> Finding:
    try:
        await ready_origin(url.rstrip("/"), asking_policy())
    except NotReady as error:
        cause = error.__cause__
        if isinstance(cause, RequestError) and cause.kind is not Failure.TLS_FAULT:
            return note("public_url", f"{error} That is the result from this machine; try another.")
        return fault("public_url", f"{error} Check the proxy and public_url.")
    return ok("public_url", f"feedkeep answers at {url}.")


async def provider(chosen: Settings) -> AsyncIterator[Finding]:
    """Request the sign-in provider's published configuration, as the service does."""
    if not chosen.oidc_issuer:
        return
    try:
        await Provider(chosen).assert_usable()
    except ProviderAway as error:
        by_password = "" if chosen.password_login else ", and password_login is off"
        yield fault(
            "provider",
            f"Signing in with {chosen.oidc_issuer} fails{by_password}: {error.reason}. Check"
            " oidc_issuer, the network and the provider.",
        )
    else:
        yield ok("provider", f"{chosen.oidc_issuer} answers.")


async def one_feed(chosen: Settings, url: str) -> AsyncIterator[Finding]:
    """Resolve a feed's host, and fetch the feed, as the service does."""
    if chosen.fetch is Fetch.OFF:
        yield ok("feed", "fetch is off: feedkeep requests no other host.")
        return
    try:
        wanted = parse_new_feed_url(url)
        host = FetchTarget.parse(wanted.text).host
    except (FeedkeepError, RequestRefused) as error:
        yield fault("feed", str(error))
        return
    try:
        async with asyncio.timeout(_NAME_SECONDS):
            await SystemNames(1).look_up(host)
    except OSError as error:  # or a timeout, which is one
        reason = error.strerror or "no answer"
        yield fault(
            "names",
            f"{host} is not found: {reason}. Check this machine's resolver (/etc/resolv.conf).",
        )
        return
    yield ok("names", f"{host} is found.")
    fetcher = FetcherProcess(chosen)
    try:
        result = await fetcher.look(_as_new(wanted), wall_clock.now())
    except MachineFailed as error:
        yield fault("feed", str(error))
        return
    finally:
        await fetcher.close()
    if result.failure is None and result.content:
        yield ok("feed", f"{wanted.text} can be read: {result.content.title}")
    else:
        yield fault(
            "feed",
            f"{wanted.text} cannot be read: {result.reason} Try another feed with --feed, or check"
            " the network and fetch_allowed.",
        )


def _as_new(wanted: FeedUrl) -> Feed:
    return Feed(wanted.guid, wanted.text, wanted=wall_clock.now(), next_fetch=Stamp(0))


_TIME_ERROR = 5
"""Result of adjtimex(2) while no time service sets the clock."""

FeedOption = Annotated[
    str,
    typer.Option("--feed", metavar="URL", help="The feed to fetch."),
]


def doctor(
    feed: FeedOption = EXAMPLE_FEED,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Check the setup of this machine, and print a line for each subject, with what to do.

    Run it as the service's user, with the service's environment. The service may run, and nothing
    is changed. Checks settings, database, rights, connections, disk, backup, clock, address, TLS,
    proxies, the sign-in provider, name resolution and one feed. Exit status: 1 if there is a fault,
    otherwise 0, even if there are notes.
    """
    faults = asyncio.run(_tell_all(database, config, feed))
    if faults:
        say(f"{faults} {'fault' if faults == 1 else 'faults'} found.")
        raise typer.Exit(1)
    say("No fault found.")


async def _tell_all(database: str | None, config: Path | None, feed: str) -> int:
    faults = 0
    async for finding in _examine(database, config, feed):
        say(f"{finding.verdict.value:<5} {finding.subject}: {finding.text}")
        faults += finding.verdict is Verdict.FAULT
    return faults


async def _examine(database: str | None, config: Path | None, feed: str) -> AsyncIterator[Finding]:
    try:
        chosen = settings(database, config)
    except FeedkeepError as error:
        yield fault("settings", str(error))
        return
    for finding in _settings():
        yield finding
    subjects = set()
    async for finding in _database(chosen):
        subjects.add(finding.subject)
        yield finding
    if "clock" not in subjects:  # the database could not be read
        yield diagnosis.clock(wall_clock.now(), None, Stamp(0), _is_clock_set())
    for finding in entrance(chosen):
        yield finding
    async for finding in address(chosen):
        yield finding
    async for finding in provider(chosen):
        yield finding
    async for finding in one_feed(chosen, feed):
        yield finding


def _settings() -> Iterator[Finding]:
    wrong = False
    for variable, meant in misspelt(os.environ):
        wrong = True
        yield fault("settings", f"{variable} is not a setting, and has no effect; {meant} is one.")
    if not wrong:
        yield ok("settings", "All settings are valid.")


async def _database(chosen: Settings) -> AsyncIterator[Finding]:
    """Check the database without changing it; opening an older one would migrate it."""
    name = shown(chosen.database)
    try:
        pending = await pending_migrations_of(chosen)
        if pending.steps and not pending.found:
            yield fault("database", f"{name} has no tables yet: `feedkeep migrate` creates them.")
            return
        if not is_postgres(chosen.database):
            yield diagnosis.file_rights(_open_to_all(sqlite_path(chosen.database)))
        if pending.steps:
            yield note(
                "database",
                f"{name} is older than this feedkeep, and `feedkeep serve` will migrate it:"
                " `feedkeep migrate --dry-run` shows the changes.",
            )
            return
        async with open_service(chosen, may_create=False) as service:
            await service.store.assert_ready()
            yield ok("database", f"{name} is up to date, and can be read and written.")
            now = wall_clock.now()
            if is_postgres(chosen.database):
                yield diagnosis.rights(await service.store.missing_rights())
            limit = await service.store.connection_limit()
            if limit is not None:
                yield diagnosis.connections(chosen.workers, chosen.postgres_connections, limit)
            state = service.store.state()
            if state.files:
                yield diagnosis.disk(state.files.free_bytes)
                yield diagnosis.backup(state.last_backup, now)
            newest = await service.store.accounts.newest_stamp()
            of_database = await service.store.clock()
            yield diagnosis.clock(wall_clock.now(), of_database, newest, _is_clock_set())
    except FeedkeepError as error:
        yield fault("database", str(error))


def _open_to_all(database: Path) -> list[str]:
    """Return the database's files that every user of this machine may read or write."""
    real = database.resolve()
    files = (real.with_name(real.name + ending) for ending in ("", "-wal", "-shm"))
    to_all = stat.S_IROTH | stat.S_IWOTH
    return [str(file) for file in files if file.exists() and file.stat().st_mode & to_all]


def _is_clock_set() -> bool | None:
    """Whether a time service sets this machine's clock; None if the kernel does not tell."""
    timex = ctypes.create_string_buffer(512)  # larger than any machine's struct; modes 0: read only
    try:
        return bool(ctypes.CDLL(None).adjtimex(timex) not in {-1, _TIME_ERROR})
    except (OSError, AttributeError):
        return None
