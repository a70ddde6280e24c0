"""Requests to another server on behalf of an account there, with errors for people.

They use the guarded client. If the operator named the server, the named port is permitted, and with
their consent any address.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import Self
from urllib.parse import quote

from feedkeep.config.networks import EVERYWHERE, AddressRule
from feedkeep.model import Failure
from feedkeep.outbound.client import Answer, GuardedClient
from feedkeep.outbound.failures import RequestError, RequestRefused
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.outbound.targets import FetchTarget
from feedkeep.remote.errors import (
    InvalidAddress,
    NeverAnswers,
    NotAccepted,
    NotThere,
    Refused,
    RemoteError,
    ServerMoved,
    TooLong,
)

_SILENT_SECONDS = 120.0  # a long history takes gpodder.net a minute
_WHOLE_SECONDS = 600.0
_PAUSES_SECONDS = (1.0, 5.0, 15.0)
_FOR_GOOD = {Failure.NO_SUCH_HOST, Failure.TLS_FAULT}
_LOGIN_BYTES = 1024 * 1024
_SUCCESS = range(200, 300)
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _FAULT = 401, 403, 404, 429, 500


class Asker:
    """HTTP client of a server for an account there; open while its context is entered.

    Args:
        url: URL of the server, which starts with https:// or http://.
        allow_private: Whether to permit all addresses that the policy does not deny.
        any_port: Whether to permit the URL's port, whatever the policy says.

    Raises:
        InvalidAddress: `url` is not the URL of a server.
    """

    def __init__(
        self,
        url: str,
        name: str,
        password: str,
        policy: ClientPolicy,
        *,
        allow_private: bool = False,
        any_port: bool = True,
    ) -> None:
        try:
            self._server = FetchTarget.parse(url)
        except RequestRefused as error:
            raise InvalidAddress(
                "The address is not valid; it should look like https://gpodder.net."
            ) from error
        self._base = url.rstrip("/")
        self._login = f"/api/2/auth/{quote(name, safe='')}/login.json"
        credential = base64.b64encode(f"{name}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credential}", "Cookie": ""}
        rule = policy.addresses
        own = replace(
            policy,
            addresses=AddressRule(EVERYWHERE, rule.denied) if allow_private else rule,
            ports=policy.ports | ({self._server.port} if any_port else set()),
            silent_seconds=_SILENT_SECONDS,
            whole_seconds=_WHOLE_SECONDS,
        )
        self._client = GuardedClient(own)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._client.__aexit__(*raised)

    async def get(self, path: str, max_bytes: int) -> bytes:
        """Return the body of a reply; retries temporary failures.

        Raises:
            NotThere: The server has no such path.
            TooLong: The body is longer than `max_bytes`.
            RemoteError: The request failed, temporarily or permanently.
        """
        reason = ""
        for pause_seconds in (0.0, *_PAUSES_SECONDS):
            await asyncio.sleep(pause_seconds)
            try:
                answer = await self._get(path, max_bytes)
            except RequestRefused as error:
                raise Refused(
                    f"{error} If that server is your own, add --allow-private."
                ) from error
            except RequestError as error:
                if error.kind is Failure.TOO_LARGE:
                    raise TooLong("The other server sends too much.") from error
                reason = str(error)
                if error.kind in _FOR_GOOD:
                    raise NeverAnswers(error.kind, reason) from error
                continue
            if answer.status in _SUCCESS:
                return answer.body
            if answer.status != _TOO_MANY and answer.status < _FAULT:
                raise self._refusal(answer)
            reason = f"it answered {answer.status}."
        raise RemoteError(f"The request to the other server failed: {reason} Try again later.")

    async def _get(self, path: str, max_bytes: int) -> Answer:
        answer = await self._send("GET", path, max_bytes)
        if answer.status != _UNAUTHORIZED:
            return answer
        # gpodder2go accepts a password at its login only, then its cookie for two minutes.
        login = await self._send("POST", self._login, _LOGIN_BYTES)
        if login.status not in _SUCCESS:
            return answer
        cookies = (one.partition(";")[0].strip() for one in login.set_cookies)
        self._headers["Cookie"] = "; ".join(cookies)
        return await self._send("GET", path, max_bytes)

    async def _send(self, method: str, path: str, max_bytes: int) -> Answer:
        # Redirects are not followed: the password is for the server that its owner named.
        return await self._client.ask(
            method, self._base + path, headers=self._headers, max_bytes=max_bytes
        )

    def _refusal(self, answer: Answer) -> RemoteError:
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
            return NotAccepted("The other server does not accept that name with that password.")
        if answer.status == _NOT_FOUND:
            return NotThere(
                "The other server speaks neither gpodder.net's API nor Nextcloud's gpoddersync, or"
                " has no such account."
            )
        elsewhere = self._origin_elsewhere(answer) if answer.is_redirect else None
        if elsewhere is not None:
            return ServerMoved(elsewhere)
        return RemoteError(f"The other server answered {answer.status}.")

    def _origin_elsewhere(self, answer: Answer) -> str | None:
        try:
            origin = self._server.followed(answer.location).origin
        except RequestRefused:
            return None
        return None if origin == self._server.origin else origin
