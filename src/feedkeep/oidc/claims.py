"""Validation of tokens that a provider has signed. Pure."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, TypeGuard

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import extract_compact

from feedkeep.model import Value
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.accounts import MAX_SUBJECT_CHARACTERS


class SignInFailed(FeedkeepError):
    """The provider did not identify the person, or its reply is not valid.

    Attributes:
        reason: Reason for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("Signing in did not work. Please try again.")
        self.reason = reason


class ProviderAway(FeedkeepError):
    """The provider does not reply, or not as a provider does.

    Attributes:
        reason: Reason for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("The sign-in provider cannot be reached at the moment. Please try again.")
        self.reason = reason


# Only signatures by a private key of the provider: never "none" or HMAC, whose key clients have.
ALGORITHMS = [
    *(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)),
    "EdDSA",
    "Ed25519",
]
MAX_TOKEN_CHARACTERS = 32_768
MAX_KEYS = 100
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_LOGOUT_SECONDS = 600
_MAX_TOKEN_ID_CHARACTERS = 1_024
LEEWAY_SECONDS = 60
"""Maximum difference between the provider's clock and ours."""

_END_OF_TIME = 253_402_300_800  # the year 10000
_KINDS = {"RSA", "EC", "OKP"}


class Logout(Value, frozen=True):
    """A person's sign-out at the provider.

    Attributes:
        issued: Time of the token's issue, in seconds since 1970.
        token_id: The token's id (`jti`).
        valid_until: Time until which the token is valid, in seconds since 1970.
    """

    subject: str
    issued: float
    token_id: str
    valid_until: float


class UnknownKey(Exception):
    """No key verifies the signature; the provider may have new keys."""


def keys_of(document: Any) -> KeySet:
    """Return the signature keys that a provider publishes; unusable ones are skipped."""
    told = document.get("keys") if isinstance(document, dict) else None
    keys = []
    for key in (told if isinstance(told, list) else [])[:MAX_KEYS]:
        if isinstance(key, dict) and key.get("kty") in _KINDS and key.get("use", "sig") == "sig":
            try:
                keys.append(JWKRegistry.import_key(key))
            except (JoseError, ValueError, TypeError):
                continue
    return KeySet(keys)


def id_token_claims(
    text: str, keys: KeySet, issuer: str, client_id: str, nonce: str, now_seconds: int
) -> Mapping[str, Any]:
    """Return the claims of an ID token that is valid for this client, time and sign-in.

    Follows OpenID Connect Core, section 3.1.3.7.

    Raises:
        SignInFailed: The token is not valid.
        UnknownKey: No key verifies its signature.
    """
    claims = _signed(text, keys, issuer, client_id, now_seconds)
    told = claims.get("nonce")
    if not isinstance(told, str) or not hmac.compare_digest(told.encode(), nonce.encode()):
        raise SignInFailed("the ID token has another nonce")
    _check_times(claims, now_seconds)
    if _subject_of(claims) is None:
        raise SignInFailed("the ID token names no person")
    return claims


def logged_out(text: str, keys: KeySet, issuer: str, client_id: str, now_seconds: int) -> Logout:
    """Return the content of a logout token that is valid for this client.

    Follows OpenID Connect Back-Channel Logout, section 2.6.

    Raises:
        SignInFailed: The text is not a logout token for this client.
        UnknownKey: No key verifies its signature.
    """
    claims = _signed(text, keys, issuer, client_id, now_seconds)
    events, issued = claims.get("events"), claims.get("iat")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise SignInFailed("it is no logout token")
    if not _is_moment(issued) or abs(now_seconds - issued) > _LOGOUT_SECONDS:
        raise SignInFailed("the logout token is not from now")
    subject = _subject_of(claims)
    if subject is None:
        raise SignInFailed("the logout token names a session alone, and no person")
    token_id = claims.get("jti")
    if not isinstance(token_id, str) or not 0 < len(token_id) <= _MAX_TOKEN_ID_CHARACTERS:
        raise SignInFailed("the logout token has no id")
    return Logout(subject, issued, token_id, issued + _LOGOUT_SECONDS)


def _signed(
    text: str, keys: KeySet, issuer: str, client_id: str, now_seconds: int
) -> Mapping[str, Any]:
    """Return the claims of a token that the issuer has signed for this client."""
    if len(text) > MAX_TOKEN_CHARACTERS:
        raise SignInFailed("the token is too long")
    claims = _verified(text, keys)
    if claims.get("iss") != issuer:
        raise SignInFailed("another issuer signed the token")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise SignInFailed("the token is for another client")
    party = claims.get("azp")
    parties = [client_id] if len(audiences) > 1 else [None, client_id]
    if party not in parties:
        raise SignInFailed("the token was issued to another client")
    expires = claims.get("exp", now_seconds)
    if not _is_moment(expires) or expires <= now_seconds - LEEWAY_SECONDS:
        raise SignInFailed("the token has expired")
    return claims


def _verified(text: str, keys: KeySet) -> Mapping[str, Any]:
    """Return the claims of a token after verifying its signature.

    All keys are tried if the token names none.
    """
    try:
        named = extract_compact(text.encode()).headers().get("kid")
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise SignInFailed("the token cannot be read") from error
    for key in keys.keys:
        if named is None or named == key.kid:
            try:
                return jwt.decode(text, key, algorithms=ALGORITHMS).claims
            except (JoseError, ValueError, TypeError, RecursionError):
                continue
    raise UnknownKey


def _check_times(claims: Mapping[str, Any], now_seconds: int) -> None:
    """Require the issue time and expiry of an ID token, and reject a premature token."""
    if not _is_moment(claims.get("exp")) or not _is_moment(claims.get("iat")):
        raise SignInFailed("the ID token does not say until when it counts")
    begins = claims.get("nbf", claims["iat"])
    if not _is_moment(begins) or begins > now_seconds + LEEWAY_SECONDS:
        raise SignInFailed("the ID token does not count yet")


def _is_moment(value: object) -> TypeGuard[float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value < _END_OF_TIME  # False for NaN


def _subject_of(claims: Mapping[str, Any]) -> str | None:
    subject = claims.get("sub")
    is_one = isinstance(subject, str) and 0 < len(subject) <= MAX_SUBJECT_CHARACTERS
    return subject if is_one else None
