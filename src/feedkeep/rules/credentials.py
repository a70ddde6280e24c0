"""What names, passwords and tokens look like, and when they let somebody in (contract, section 2).

Pure.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
import zlib
from typing import ClassVar, TypeAlias

from feedkeep.errors import AccountError
from feedkeep.model import Account, AccountId, Stamp, Token, Value

TOKEN_PREFIX = "fk_"  # noqa: S105 - what all tokens start with
SESSION_PREFIX = "fs_"
SECRET_BYTES = 21
MAX_NAME_CHARACTERS = 64
MAX_PASSWORD_CHARACTERS = 1_024

MAX_ACCOUNT_ID = 2**63 - 1

# Normalising takes a time that grows with the square of marks in a row: what is longer than any
# account's is not normalised. It begins with what never is, so that nothing normal is equal to it.
_NEVER_NORMAL = "e\u0301"

_ID_BYTES = 8
_CHECKSUM_BYTES = 4
_NAME = re.compile(r"\w[\w.@+-]*")
_SECRET = re.compile(r"f[ks]_[A-Za-z0-9_-]{44}")


class TokenCredential(Value, frozen=True):
    """A token that somebody shows; well formed, and nothing more is known of it yet.

    Attributes:
        account_id: The account that the token says it belongs to.
        hash: SHA-256 of the token's text.
        name: The account's name, if the token came as the password of that name.
    """

    account_id: AccountId
    hash: bytes
    name: str | None = None

    kind: ClassVar[str] = "token"
    hidden: ClassVar[frozenset[str]] = frozenset({"hash"})


class SessionCredential(TokenCredential, frozen=True):
    """A session that somebody shows, as a cookie: a token of another kind."""

    kind: ClassVar[str] = "session"


class PasswordCredential(Value, frozen=True):
    """A name and a password that somebody shows."""

    name: str
    password: str

    kind: ClassVar[str] = "password"
    hidden: ClassVar[frozenset[str]] = frozenset({"password"})


Credential: TypeAlias = TokenCredential | PasswordCredential


def check_name(name: str) -> str:
    """Return `name` if an account can have it.

    Raises:
        AccountError: It is too long, or has a character that would be trouble in a header or path.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        raise AccountError(
            f"An account's name has 1 to {MAX_NAME_CHARACTERS} letters, digits or any of . _ @ + -"
            " and starts with a letter or digit."
        )
    return name


def name_key(name: str) -> str:
    """Return what two spellings of one name have in common: names compare without case.

    A name that is too long has a key that is no account's. No key has a U+0000, which not every
    store can be asked for.
    """
    if len(name) > MAX_NAME_CHARACTERS:
        return _NEVER_NORMAL + name[:MAX_NAME_CHARACTERS].replace("\0", "\ufffd")
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded).replace("\0", "\ufffd")


def check_password(password: str) -> str:
    """Return `password` in the form that is hashed, if an account can have it.

    Raises:
        AccountError: It is empty or absurdly long.
    """
    if not password:
        raise AccountError("The password is empty; give one with at least one character.")
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise AccountError(f"A password has at most {MAX_PASSWORD_CHARACTERS:,} characters.")
    return normal_password(password)


def normal_password(password: str) -> str:
    """Return the form of a password that is hashed: RFC 8265, so that all keyboards agree.

    One that is too long becomes one that is no account's.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return _NEVER_NORMAL + password[:MAX_PASSWORD_CHARACTERS]
    return unicodedata.normalize("NFC", password)


def write_token(account_id: AccountId, secret: bytes, prefix: str = TOKEN_PREFIX) -> str:
    """Return the text of a token: prefix, then account, secret and checksum in URL-safe base64."""
    assert len(secret) == SECRET_BYTES
    body = account_id.to_bytes(_ID_BYTES, "big") + secret
    return prefix + base64.urlsafe_b64encode(body + _checksum(body)).decode()


def read_token(text: str) -> TokenCredential | None:
    """Return what a token's text says, or None if it is none: a typing error is noticed here."""
    account_id = _account_of(text, TOKEN_PREFIX)
    return None if account_id is None else TokenCredential(account_id, token_hash(text))


def read_session(text: str) -> SessionCredential | None:
    """Return what a session's text says, or None if it is none."""
    account_id = _account_of(text, SESSION_PREFIX)
    return None if account_id is None else SessionCredential(account_id, token_hash(text))


def _account_of(text: str, prefix: str) -> AccountId | None:
    if not text.startswith(prefix) or not _SECRET.fullmatch(text):
        return None
    raw = base64.urlsafe_b64decode(text[len(prefix) :])
    body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    account_id = int.from_bytes(body[:_ID_BYTES], "big")
    if checksum != _checksum(body) or not 0 < account_id <= MAX_ACCOUNT_ID:
        return None
    return AccountId(account_id)


def token_hash(text: str) -> bytes:
    """Return what is stored of a token: 160 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).digest()


def admits(account: Account, token: Token, now: Stamp) -> bool:
    """Say whether a token of an account lets its bearer in at the moment `now`."""
    is_alive = token.expires is None or now < token.expires
    return is_alive and token.revoked is None and not account.is_disabled


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(TOKEN_PREFIX.encode() + body).to_bytes(_CHECKSUM_BYTES, "big")
