"""feedkeep health: readiness check of the running service, for containers and scripts."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from typing import Annotated

import msgspec
import typer

from feedkeep.cli.common import ConfigOption, say, settings
from feedkeep.config.networks import EVERYWHERE, AddressRule
from feedkeep.config.settings import InvalidSettings, Settings, local_host, own_url
from feedkeep.http.error_responses import MIGRATING
from feedkeep.model.errors import FeedkeepError
from feedkeep.outbound.failures import RequestError
from feedkeep.outbound.policy import ClientPolicy

WHOLE_SECONDS = 10.0
"""Timeout of the check. A service whose database is locked reports that earlier."""

_MAX_BYTES = 64 * 1024
_READY, _UNAVAILABLE = 200, 503

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="The service's address. Default: this machine's, as the settings of serve say.",
        show_default=False,
    ),
]


class NotReady(FeedkeepError):
    """The service does not answer, or cannot read and write; `str()` says which."""


class AnswersNotReady(NotReady):
    """The service answers, but cannot read and write."""


class Migrating(NotReady):
    """The service answers, but is migrating its database."""


def health(url: UrlOption = None, config: ConfigOption = None) -> None:
    """Check whether the running service is ready. Exit status: 0 if it is, otherwise 1.

    It is ready if it can read and write its database. The check needs no account, and takes at most
    ten seconds.
    """
    if url is None:
        url, policy = url_here(settings(None, config)), trusting_policy()
    else:
        policy = asking_policy()
    origin = asyncio.run(ready_origin(url.rstrip("/"), policy))
    say(f"feedkeep at {origin} is ready.")


def asking_policy() -> ClientPolicy:
    """Return the policy for requests to an address named by the operator."""
    return ClientPolicy(
        reads_failures=True,
        addresses=AddressRule(EVERYWHERE),
        max_bytes=_MAX_BYTES,
        max_header_bytes=_MAX_BYTES,
        connect_seconds=WHOLE_SECONDS,
        silent_seconds=WHOLE_SECONDS,
        whole_seconds=WHOLE_SECONDS,
    )


def trusting_policy() -> ClientPolicy:
    """Return the policy for requests to this machine, without verification of the certificate.

    The certificate is for the name that clients use. No secret is sent.
    """
    return replace(asking_policy(), tls=_trusting())


def url_here(chosen: Settings) -> str:
    """Return the URL of the service on this machine, from the settings.

    Raises:
        InvalidSettings: The port is 0, so the actual port is unknown.
    """
    if chosen.port == 0:
        raise InvalidSettings(
            "The setting port is 0, which uses a free port at each start: name the address that"
            " serve printed by --url."
        )
    return own_url(chosen, local_host(chosen.host), chosen.port)


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def ready_origin(url: str, policy: ClientPolicy) -> str:
    """Check that the service at a URL is ready; return its origin.

    Raises:
        NotReady: The service is not ready, or does not answer.
        RequestRefused: `url` is not a valid URL.
    """
    # aiohttp imports slowly, and most commands do without it.
    from feedkeep.outbound.client import GuardedClient  # noqa: PLC0415
    from feedkeep.outbound.targets import FetchTarget  # noqa: PLC0415

    target = FetchTarget.parse(f"{url}/readyz")
    origin = target.origin
    async with GuardedClient(replace(policy, ports=frozenset({target.port}))) as client:
        try:
            answer = await client.ask("GET", target.text)
        except RequestError as error:
            raise NotReady(f"No feedkeep answers at {origin}. {error}") from error
    said = _said(answer.body)
    if answer.status == _UNAVAILABLE and said.get("message") == MIGRATING.message:
        raise Migrating(
            f"feedkeep at {origin} is not ready yet: it brings the schema of its database up to"
            " date. Its log says which step runs."
        )
    if answer.status == _UNAVAILABLE:
        raise AnswersNotReady(
            f"feedkeep at {origin} is not ready: it cannot use its database now, or is about to"
            " stop."
        )
    if answer.status != _READY or said.get("status") != "ok":
        raise NotReady(
            f"What answers at {origin} is no feedkeep, or not by this address (status"
            f" {answer.status})."
        )
    return origin


def _said(body: bytes) -> dict[str, str]:
    try:
        return msgspec.json.decode(body, type=dict[str, str])
    except msgspec.DecodeError:
        return {}
