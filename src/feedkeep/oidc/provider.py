"""Client of the configured OpenID Connect provider.

Nothing is requested before a person signs in. The provider's metadata is cached for an hour, and so
are its keys, unless a signature is by an unknown key.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from joserfc.jwk import KeySet

from feedkeep.config.networks import EVERYWHERE, AddressRule
from feedkeep.config.settings import Settings
from feedkeep.model import T, Value
from feedkeep.model.errors import TooManyAttempts
from feedkeep.oidc.claims import (
    Logout,
    ProviderAway,
    SignInFailed,
    UnknownKey,
    id_token_claims,
    keys_of,
    logged_out,
)
from feedkeep.oidc.flow import Flow, FlowCookies, authorization_url
from feedkeep.outbound.failures import RequestError
from feedkeep.outbound.policy import policy_of
from feedkeep.security.address_queue import AddressQueue

if TYPE_CHECKING:
    from feedkeep.outbound.client import Answer, GuardedClient

MAX_AT_ONCE = 4
"""Maximum number of concurrent code exchanges; others wait a short time."""

_WAIT_SECONDS = 10.0
_WHOLE_SECONDS = 15.0
_MAX_BYTES = 256 * 1024
_REMEMBERED_SECONDS = 3_600.0
_KEYS_AGAIN_SECONDS = 30.0
"""Minimum interval between requests of the keys, if no key verifies a signature."""

_REST_SECONDS = 2.0
"""Pause of requests for documents after the provider failed to send one."""

_OK = 200
_BY_HEADER = "client_secret_basic"
_WELL_KNOWN = "/.well-known/openid-configuration"


class Metadata(Value, frozen=True):
    """Metadata of a provider (OpenID Connect Discovery, section 3).

    Attributes:
        names_issuer: Whether replies name the issuer (RFC 9207).
        takes_basic: Whether the provider accepts the client secret in a header.
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    names_issuer: bool
    takes_basic: bool
    scopes: frozenset[str]


class Provider:
    """Configured provider."""

    def __init__(self, settings: Settings) -> None:
        self.issuer = settings.oidc_issuer
        self._client_id = settings.oidc_client_id
        self._client_secret = settings.oidc_client_secret
        self.cookies = FlowCookies(settings.oidc_client_secret)
        self._claim = settings.oidc_admin_claim.partition("=")[0]
        self._settings = settings
        self._turns = AddressQueue(MAX_AT_ONCE)
        self._asking = asyncio.Lock()
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._failed: float | None = None

    async def assert_usable(self) -> None:
        """Check that the provider serves its metadata and keys.

        Raises:
            ProviderAway: It does not.
        """
        await self._known_keys(await self._described(), is_again=False)

    async def sign_in_url(self, redirect_uri: str, flow: Flow) -> str:
        """Return the provider's sign-in URL.

        Raises:
            ProviderAway: The provider's metadata is unavailable.
        """
        metadata = await self._described()
        wanted = ["openid", "profile", *({self._claim} & metadata.scopes)]
        endpoint = metadata.authorization_endpoint
        return authorization_url(endpoint, self._client_id, redirect_uri, " ".join(wanted), flow)

    async def claims(
        self, code: str, issuer: str, redirect_uri: str, flow: Flow, address: str
    ) -> Mapping[str, Any]:
        """Exchange a person's code for the claims of their ID token.

        `issuer` is the issuer that the reply names; "" if none. A few codes are exchanged at once;
        client addresses take turns.

        Raises:
            SignInFailed: The reply or the code is not valid.
            ProviderAway: The provider does not reply.
        """
        metadata = await self._described()
        if (issuer or metadata.names_issuer) and issuer != self.issuer:
            raise SignInFailed("the answer is of another issuer (RFC 9207)")
        reply = await self._exchanged(metadata, code, redirect_uri, flow.verifier, address)
        token = reply.get("id_token")
        if not isinstance(token, str):
            raise SignInFailed("the provider sent no ID token")

        def believed(keys: KeySet) -> Mapping[str, Any]:
            now = int(time.time())
            return id_token_claims(token, keys, self.issuer, self._client_id, flow.nonce, now)

        return await self._by_its_keys(metadata, believed)

    async def logged_out(self, token: str) -> Logout:
        """Return the content of a logout token.

        Raises:
            SignInFailed: The token is not valid for this provider and client.
            ProviderAway: The provider's keys are unavailable.
        """
        metadata = await self._described()

        def believed(keys: KeySet) -> Logout:
            now = int(time.time())
            return logged_out(token, keys, self.issuer, self._client_id, now)

        return await self._by_its_keys(metadata, believed)

    async def _by_its_keys(self, metadata: Metadata, believed: Callable[[KeySet], T]) -> T:
        # The keys may have changed since they were fetched.
        for is_again in (False, True):
            try:
                return believed(await self._known_keys(metadata, is_again=is_again))
            except UnknownKey:
                continue
        raise SignInFailed("the signature is by none of the provider's keys")

    async def _described(self) -> Metadata:
        async with self._asking:
            if self._metadata and self._is_recent(self._metadata[0], _REMEMBERED_SECONDS):
                return self._metadata[1]
            with self._rested():
                told = await self._document(f"{self.issuer.rstrip('/')}{_WELL_KNOWN}")
                metadata = self._read(told)
            self._metadata = (time.monotonic(), metadata)
            return metadata

    async def _known_keys(self, metadata: Metadata, *, is_again: bool) -> KeySet:
        async with self._asking:
            seconds = _KEYS_AGAIN_SECONDS if is_again else _REMEMBERED_SECONDS
            if self._keys and self._is_recent(self._keys[0], seconds):
                return self._keys[1]
            with self._rested():
                keys = keys_of(await self._document(metadata.jwks_uri))
            self._keys = (time.monotonic(), keys)
            return keys

    def _is_recent(self, at: float, seconds: float) -> bool:
        return time.monotonic() - at < seconds

    def _read(self, told: Mapping[str, Any]) -> Metadata:
        """Validate the provider's metadata.

        Raises:
            ProviderAway: The issuer differs from `oidc_issuer`, or a required field is missing.
        """
        if told.get("issuer") != self.issuer:
            raise ProviderAway("it calls itself otherwise than oidc_issuer")

        def address(name: str) -> str:
            url = told.get(name)
            if not isinstance(url, str) or not self._may_be_asked(url):
                raise ProviderAway(f"its {name} is no address that may be asked")
            return url

        methods, scopes = (
            told.get(name) for name in ("token_endpoint_auth_methods_supported", "scopes_supported")
        )
        return Metadata(
            address("authorization_endpoint"),
            address("token_endpoint"),
            address("jwks_uri"),
            names_issuer=told.get("authorization_response_iss_parameter_supported") is True,
            takes_basic=not isinstance(methods, list) or _BY_HEADER in methods,
            scopes=frozenset(map(str, scopes)) if isinstance(scopes, list) else frozenset(),
        )

    def _may_be_asked(self, url: str) -> bool:
        try:
            parts, own = urlsplit(url), urlsplit(self.issuer)
            is_at_home = (parts.scheme, parts.hostname) == (own.scheme, own.hostname)
        except ValueError:
            return False
        return parts.scheme == "https" or is_at_home

    async def _exchanged(
        self, metadata: Metadata, code: str, redirect_uri: str, verifier: str, address: str
    ) -> Mapping[str, Any]:
        """Return the provider's reply to a code (OpenID Connect Core, section 3.1.3)."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        headers = {"Accept": "application/json"}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        if self._client_secret and metadata.takes_basic:  # RFC 6749, section 2.3.1
            pair = f"{quote(self._client_id, safe='')}:{quote(self._client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif self._client_secret:
            form["client_secret"] = self._client_secret
        url, body = metadata.token_endpoint, urlencode(form).encode()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(_WAIT_SECONDS):
                    await stack.enter_async_context(self._turns.turn(address))
                client = await stack.enter_async_context(self._client(url))
                answer = await client.ask("POST", url, headers=headers, body=body)
        except (TimeoutError, TooManyAttempts):
            raise ProviderAway("too many people sign in at the same time") from None
        except RequestError as error:
            raise ProviderAway(str(error)) from error
        if answer.status != _OK:
            raise SignInFailed(f"the provider answered {answer.status} to the code")
        return _object(answer)

    @contextmanager
    def _rested(self) -> Iterator[None]:
        """Context manager for requesting a document; fails during the pause after a failure."""
        if self._failed is not None and self._is_recent(self._failed, _REST_SECONDS):
            raise ProviderAway("it has just failed")
        try:
            yield
        except ProviderAway:
            self._failed = time.monotonic()
            raise

    async def _document(self, url: str) -> Mapping[str, Any]:
        try:
            async with self._client(url) as client:
                answer = await client.ask("GET", url, headers={"Accept": "application/json"})
        except RequestError as error:
            raise ProviderAway(str(error)) from error
        if answer.status != _OK:
            raise ProviderAway(f"it answered {answer.status}")
        return _object(answer)

    @asynccontextmanager
    async def _client(self, url: str) -> AsyncIterator[GuardedClient]:
        """Return a client for a URL; the provider's own host may have any address and port."""
        # A slow import: only when a person signs in, and not on the event loop.
        outbound = await asyncio.to_thread(import_module, "feedkeep.outbound.client")
        policy, own, parts = policy_of(self._settings), urlsplit(self.issuer), urlsplit(url)
        rule = policy.addresses
        if parts.hostname == own.hostname:
            port = parts.port or {"https": 443}.get(parts.scheme, 80)
            rule = AddressRule(EVERYWHERE, rule.denied)
            policy = replace(policy, ports=policy.ports | {port})
        policy = replace(policy, addresses=rule, max_bytes=_MAX_BYTES, whole_seconds=_WHOLE_SECONDS)
        async with outbound.GuardedClient(policy) as client:
            yield client


def _object(answer: Answer) -> Mapping[str, Any]:
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderAway("its answer is no JSON object")
    return found
