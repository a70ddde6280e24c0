"""Format and validity of names, passwords and tokens (contract, section 2). Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import unicodedata
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, TypeAlias

from feedkeep.model import (
    Account,
    AccountId,
    CredentialKind,
    Purpose,
    Stamp,
    Token,
    Value,
    replace,
)
from feedkeep.model.errors import AccountError, Sentence
from feedkeep.rules.clock import DAY_US, shift

TOKEN_PREFIX = "fk_"  # noqa: S105 - common prefix of tokens
SESSION_PREFIX = "fs_"
BROWSER_PREFIX = "fp_"
INVITATION_PREFIX = "fi_"
RESET_PREFIX = "fr_"
NEWS_PREFIX = "fn_"
SECRET_BYTES = 21

BROWSER_SESSION_DAYS = 30
APP_SESSION_DAYS = 180
"""Lifetime, in days, of a session after its last use."""

RECOVERY_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Alphabet of recovery codes: 32 characters without easily confused ones."""

RECOVERY_CHARACTERS = 16
"""Length of a recovery code: 80 random bits."""

MAX_NAME_CHARACTERS = 64
MAX_LABEL_CHARACTERS = 200
MIN_PASSWORD_CHARACTERS = 8
_MAX_GUESSED_CHARACTERS = 16
_MAX_GUESSED_SIGNS = 3
MAX_PASSWORD_CHARACTERS = 1_024

MAX_ACCOUNT_ID = 2**63 - 1

# Normalizing takes time that grows with the square of the number of consecutive combining marks, so
# a text that is too long for any account is not normalized. It gets this prefix, which no
# normalized text has, so that it equals none of them.
_NEVER_NORMAL = "e\u0301"

_ID_BYTES = 8
_CHECKSUM_BYTES = 4
_NAME = re.compile(r"\w[\w.@+-]*")
_SECRET = re.compile(r"f[kspirn]_[A-Za-z0-9_-]{44}")
_RECOVERY_CODE = re.compile(f"[{RECOVERY_LETTERS}]{{{RECOVERY_CHARACTERS}}}")
_RECOVERY_GROUP = 4
_MAX_TYPED_CHARACTERS = 64


class TokenCredential(Value, frozen=True):
    """A well-formed token from a client, not yet verified.

    Attributes:
        account_id: The account encoded in the token.
        hash: SHA-256 of the token's text.
        names: Possible account names, if the token was sent as a password.
    """

    account_id: AccountId
    hash: bytes
    names: Sequence[str] = ()

    kind: ClassVar[CredentialKind] = CredentialKind.TOKEN
    purpose: ClassVar[Purpose] = Purpose.APPS
    hidden: ClassVar[frozenset[str]] = frozenset({"hash"})


class SessionCredential(TokenCredential, frozen=True):
    """A session that a client sent as a cookie: another kind of token."""

    kind: ClassVar[CredentialKind] = CredentialKind.SESSION


class BrowserCredential(TokenCredential, frozen=True):
    """A session of a browser, which opens only the pages."""

    kind: ClassVar[CredentialKind] = CredentialKind.BROWSER
    purpose: ClassVar[Purpose] = Purpose.PAGES


class PasswordCredential(Value, frozen=True):
    """A name and a password from a client.

    Attributes:
        otherwise: The same bytes in another encoding, in case no account has this name.
    """

    name: str
    password: str
    otherwise: PasswordCredential | None = None

    kind: ClassVar[CredentialKind] = CredentialKind.PASSWORD
    hidden: ClassVar[frozenset[str]] = frozenset({"password"})


Credential: TypeAlias = TokenCredential | PasswordCredential


def read_basic(text: bytes) -> Credential | None:
    """Parse a Basic header (RFC 7617); None if it is not valid.

    Names and passwords should be UTF-8, as the challenge says; but OkHttp, and with it most apps on
    Android, always sends Latin-1 (C2.3). The password can be a token (C2.1).
    """
    name, colon, password = text.partition(b":")
    if not colon:
        return None
    readings: list[tuple[str, str]] = []
    with suppress(UnicodeDecodeError):
        readings.append((name.decode(), password.decode()))
    if not text.isascii():
        readings.append((name.decode("latin-1"), password.decode("latin-1")))
    # Apps have a field for a password and none for a token, so a token is accepted in its place. It
    # is ASCII, and therefore the same in both encodings.
    if (token := read_token(readings[0][1])) is not None:
        return replace(token, names=[name for name, _ in readings])
    shown = None
    for reading in reversed(readings):
        shown = PasswordCredential(*reading, shown)
    return shown


def check_name(name: str) -> str:
    """Return `name` if it is valid for an account.

    Raises:
        AccountError: It is too long, or has a character that is unsafe in a header or path.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        raise AccountError(
            "No spaces, please: use 1 to {max} letters, digits or . _ @ + -"
            " and start with a letter or digit.",
            max=MAX_NAME_CHARACTERS,
        )
    return name


def apps_that_refuse(name: str) -> list[Sentence]:
    """Return a sentence for each kind of app that cannot sign in with this name."""
    sentences = []
    if "@" in name or "+" in name:
        sentences.append(
            Sentence(
                "AntennaPod's login for gpodder.net takes no @ and no + in a name; its login for"
                " Nextcloud does."
            )
        )
    try:
        unicodedata.normalize("NFC", name).encode("latin-1")
    except UnicodeEncodeError:
        sentences.append(
            Sentence(
                "AntennaPod, and most other apps on Android, cannot send a name with letters that"
                " are not Western European (that is, not in Latin-1)."
            )
        )
    return sentences


def name_key(name: str) -> str:
    """Return the key for comparing names: case and surrounding white space do not count (C2.2).

    Keyboards of phones add white space.

    The key of a name that is too long belongs to no account. No key contains U+0000, which
    PostgreSQL cannot store or look up.
    """
    if len(name) > MAX_NAME_CHARACTERS:
        return _NEVER_NORMAL + name[:MAX_NAME_CHARACTERS].replace("\0", "\ufffd")
    # Case folding can leave a text that is not normalized.
    folded = unicodedata.normalize("NFKC", name).strip().casefold()
    return unicodedata.normalize("NFKC", folded).replace("\0", "\ufffd")


def assert_typed(typed: str, account: Account) -> None:
    """Check that a person has confirmed an action by typing the account's name.

    Raises:
        AccountError: It is not that name.
    """
    if name_key(typed) != name_key(account.name):
        raise AccountError("Type the name of the account here to delete it.")


def check_password(password: str) -> str:
    """Return `password` in the form to hash, if it is valid for an account (C2.7).

    Raises:
        AccountError: It is too short, easy to guess, or too long.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise AccountError("A password has at most {max} characters.", max=MAX_PASSWORD_CHARACTERS)
    normal = normal_password(password)
    if len(normal) < MIN_PASSWORD_CHARACTERS:
        raise AccountError(
            "A password has at least {min} characters; a few words are easy to"
            " remember and hard to guess.",
            min=MIN_PASSWORD_CHARACTERS,
        )
    if _is_among_the_first_guesses(normal):
        raise AccountError(
            "This password is one of the first that others would guess. A few words are easy to"
            " remember and hard to guess."
        )
    return normal


def _is_among_the_first_guesses(password: str) -> bool:
    """Whether a password would be found within a thousand guesses, as names are.

    Only short passwords with few signs are checked, since strangers can cause the check: that takes
    up to twenty milliseconds. Each further sign that can stand for a letter multiplies the time.
    """
    signs = sum(not character.isalnum() for character in password)
    if len(password) > _MAX_GUESSED_CHARACTERS or signs > _MAX_GUESSED_SIGNS:
        return False
    # Importing its word lists takes memory and time, and few commands need it.
    from zxcvbn_rs_py import zxcvbn  # noqa: PLC0415

    guessed = zxcvbn(password, ["feedkeep"])
    return guessed.score == 0


def normal_password(password: str) -> str:
    """Return the form of a password to hash (RFC 8265), which is the same from every keyboard.

    A password that is too long becomes one that no account has.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return _NEVER_NORMAL + password[:MAX_PASSWORD_CHARACTERS]
    return unicodedata.normalize("NFC", password)


def write_token(account_id: AccountId, secret: bytes, prefix: str = TOKEN_PREFIX) -> str:
    """Return a token: prefix; account, secret, checksum in URL-safe base64 (C2.5)."""
    assert len(secret) == SECRET_BYTES
    body = account_id.to_bytes(_ID_BYTES, "big") + secret
    return prefix + base64.urlsafe_b64encode(body + _checksum(body)).decode()


def read_token(text: str) -> TokenCredential | None:
    """Parse a token; None if it is not valid. The checksum detects typing errors."""
    account_id = _account_of(text, TOKEN_PREFIX)
    return None if account_id is None else TokenCredential(account_id, token_hash(text))


def read_session(text: str) -> SessionCredential | None:
    account_id = _account_of(text, SESSION_PREFIX)
    return None if account_id is None else SessionCredential(account_id, token_hash(text))


def read_browser_session(text: str) -> BrowserCredential | None:
    account_id = _account_of(text, BROWSER_PREFIX)
    return None if account_id is None else BrowserCredential(account_id, token_hash(text))


def read_link(text: str, prefix: str) -> tuple[AccountId, bytes] | None:
    """Return the account and the hash of a link that begins with `prefix`; None if not valid."""
    account_id = _account_of(text, prefix)
    return None if account_id is None else (account_id, token_hash(text))


def write_recovery_code(letters: str) -> str:
    """Return a recovery code for display: in groups of four, separated by hyphens."""
    starts = range(0, len(letters), _RECOVERY_GROUP)
    return "-".join(letters[start : start + _RECOVERY_GROUP] for start in starts)


def recovery_hash(text: str) -> bytes | None:
    """Return the stored hash of a typed recovery code; None if it is not well formed.

    Case, spaces and hyphens do not matter. 80 random bits need no slow hash.
    """
    if len(text) > _MAX_TYPED_CHARACTERS:
        return None
    letters = re.sub(r"[\s-]", "", text).lower()
    return token_hash(letters) if _RECOVERY_CODE.fullmatch(letters) else None


def _account_of(text: str, prefix: str) -> AccountId | None:
    if not text.startswith(prefix) or not _SECRET.fullmatch(text):
        return None
    # `urlsafe_b64decode` without its checks, which the pattern has already made
    raw = binascii.a2b_base64(text[len(prefix) :].replace("-", "+").replace("_", "/"))
    body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    account_id = int.from_bytes(body[:_ID_BYTES], "big")
    if checksum != _checksum(body) or not 0 < account_id <= MAX_ACCOUNT_ID:
        return None
    return AccountId(account_id)


def token_hash(text: str) -> bytes:
    """Return the stored hash of a token (C2.6): 168 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).digest()


def is_named(account: Account, shown: TokenCredential) -> bool:
    """Whether a token was sent without a name, or with the name of its own account."""
    key = name_key(account.name)
    return not shown.names or any(name_key(name) == key for name in shown.names)


def is_alive(token: Token, now: Stamp) -> bool:
    return token.revoked is None and (token.expires is None or now < token.expires)


def admits(account: Account, token: Token, now: Stamp, purpose: Purpose = Purpose.APPS) -> bool:
    # Checked on each request, so that a revocation applies to the next one (C2.8).
    return token.purpose is purpose and is_alive(token, now) and not account.is_disabled


def end_if_used(session: Token, now: Stamp, days: int) -> Stamp | None:
    """Return the extended expiry of a session after its use; None to leave it, as for tokens.

    It is extended at most once a day, so that few requests write. A session that belongs to a token
    is not extended, so that it never outlives the token.
    """
    if not session.is_session or session.of_token is not None or session.expires is None:
        return None
    expires = shift(now, days * DAY_US)
    return expires if expires - session.expires >= DAY_US else None


def as_label(text: str) -> str:
    """Return a label for a token or session, truncated, without unprintable characters."""
    return "".join(filter(str.isprintable, text)).strip()[:MAX_LABEL_CHARACTERS]


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(TOKEN_PREFIX.encode() + body).to_bytes(_CHECKSUM_BYTES, "big")
