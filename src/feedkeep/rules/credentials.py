"""What names, passwords and tokens look like, and when they grant access (contract, section 2).

Pure.
"""

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
from feedkeep.rules.clock import DAY_US, later

TOKEN_PREFIX = "fk_"  # noqa: S105 - what all tokens start with
SESSION_PREFIX = "fs_"
BROWSER_PREFIX = "fp_"
INVITATION_PREFIX = "fi_"
RESET_PREFIX = "fr_"
NEWS_PREFIX = "fn_"
SECRET_BYTES = 21

BROWSER_SESSION_DAYS = 30
APP_SESSION_DAYS = 180
"""For how many days a session counts after its last use."""

RECOVERY_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""What recovery codes are made of: 32 characters, none of which is easily read as another one."""

RECOVERY_CHARACTERS = 16
"""How many of them a code has: 80 random bits."""

MAX_NAME_CHARACTERS = 64
MAX_LABEL_CHARACTERS = 200
MIN_PASSWORD_CHARACTERS = 8
_MAX_GUESSED_CHARACTERS = 16
_MAX_GUESSED_SIGNS = 3
MAX_PASSWORD_CHARACTERS = 1_024

MAX_ACCOUNT_ID = 2**63 - 1

# Normalising takes time that grows with the square of the number of combining marks in a row, so a
# text that is too long for any account is not normalised. It gets this prefix, which no normalised
# text has, and so it equals none.
_NEVER_NORMAL = "e\u0301"

_ID_BYTES = 8
_CHECKSUM_BYTES = 4
_NAME = re.compile(r"\w[\w.@+-]*")
_SECRET = re.compile(r"f[kspirn]_[A-Za-z0-9_-]{44}")
_RECOVERY_CODE = re.compile(f"[{RECOVERY_LETTERS}]{{{RECOVERY_CHARACTERS}}}")
_RECOVERY_GROUP = 4
_MAX_TYPED_CHARACTERS = 64


class TokenCredential(Value, frozen=True):
    """A token that a client sent: well formed, but not verified yet.

    Attributes:
        account_id: The account that the token says it belongs to.
        hash: SHA-256 of the token's text.
        names: The possible names of the account, if the token was sent as a name's password.
    """

    account_id: AccountId
    hash: bytes
    names: Sequence[str] = ()

    kind: ClassVar[CredentialKind] = CredentialKind.TOKEN
    purpose: ClassVar[Purpose] = Purpose.APPS
    hidden: ClassVar[frozenset[str]] = frozenset({"hash"})


class SessionCredential(TokenCredential, frozen=True):
    """A session that a client sent as a cookie: a token of another kind."""

    kind: ClassVar[CredentialKind] = CredentialKind.SESSION


class BrowserCredential(TokenCredential, frozen=True):
    """A session of a browser, which opens the pages and nothing else."""

    kind: ClassVar[CredentialKind] = CredentialKind.BROWSER
    purpose: ClassVar[Purpose] = Purpose.PAGES


class PasswordCredential(Value, frozen=True):
    """A name and a password that a client sent.

    Attributes:
        name: The name.
        password: The password.
        otherwise: The same bytes in another encoding, in case no account has this name.
    """

    name: str
    password: str
    otherwise: PasswordCredential | None = None

    kind: ClassVar[CredentialKind] = CredentialKind.PASSWORD
    hidden: ClassVar[frozenset[str]] = frozenset({"password"})


Credential: TypeAlias = TokenCredential | PasswordCredential


def read_basic(text: bytes) -> Credential | None:
    """Return the credential of a Basic header (RFC 7617), or None if there is no valid one.

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
    # Apps have a field for a password and none for a token, so a token is taken in its place. It is
    # ASCII, and therefore the same in both readings.
    if (token := read_token(readings[0][1])) is not None:
        return replace(token, names=[name for name, _ in readings])
    shown = None
    for reading in reversed(readings):
        shown = PasswordCredential(*reading, shown)
    return shown


def check_name(name: str) -> str:
    """Return `name` if an account can have it.

    Raises:
        AccountError: It is too long, or has a character that causes trouble in a header or path.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        raise AccountError(
            "An account's name has 1 to {max} letters, digits or any of . _ @ + -"
            " and starts with a letter or digit.",
            max=MAX_NAME_CHARACTERS,
        )
    return name


def apps_that_refuse(name: str) -> list[Sentence]:
    """Return a sentence for each kind of app that cannot log in with a name."""
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
    """Return the key that all spellings of a name share: names compare without case (C2.2).

    White space around it does not count, either: the keyboards of phones add it.

    The key of a name that is too long belongs to no account. No key contains U+0000, which
    PostgreSQL cannot store or look up.
    """
    if len(name) > MAX_NAME_CHARACTERS:
        return _NEVER_NORMAL + name[:MAX_NAME_CHARACTERS].replace("\0", "\ufffd")
    # Case folding can leave a text that is not normalised.
    folded = unicodedata.normalize("NFKC", name).strip().casefold()
    return unicodedata.normalize("NFKC", folded).replace("\0", "\ufffd")


def assert_typed(typed: str, account: Account) -> None:
    """Check that a person has typed the name of an account, to say that they mean it.

    Raises:
        AccountError: It is not that name.
    """
    if name_key(typed) != name_key(account.name):
        raise AccountError("Type the name of the account here to delete it.")


def check_password(password: str) -> str:
    """Return `password` in the form that is hashed, if an account can have it (C2.7).

    Raises:
        AccountError: It is too short, among the first guesses of anyone, or too long.
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
    """Say whether a password is found within a thousand guesses, as names are.

    Only short ones with few signs are looked at: that takes twenty milliseconds at most, and
    strangers may ask for it. Each further sign that can stand for a letter multiplies the time.
    """
    signs = sum(not character.isalnum() for character in password)
    if len(password) > _MAX_GUESSED_CHARACTERS or signs > _MAX_GUESSED_SIGNS:
        return False
    # Its lists of words take memory and a moment: commands that set no password do without them.
    from zxcvbn_rs_py import zxcvbn  # noqa: PLC0415

    guessed = zxcvbn(password, ["feedkeep"])
    return guessed.score == 0


def normal_password(password: str) -> str:
    """Return the form of a password that is hashed (RFC 8265): the same from every keyboard.

    A password that is too long becomes one that no account has.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return _NEVER_NORMAL + password[:MAX_PASSWORD_CHARACTERS]
    return unicodedata.normalize("NFC", password)


def write_token(account_id: AccountId, secret: bytes, prefix: str = TOKEN_PREFIX) -> str:
    """Return the text of a token: prefix; account, secret, checksum in URL-safe base64 (C2.5)."""
    assert len(secret) == SECRET_BYTES
    body = account_id.to_bytes(_ID_BYTES, "big") + secret
    return prefix + base64.urlsafe_b64encode(body + _checksum(body)).decode()


def read_token(text: str) -> TokenCredential | None:
    """Return the token of a text, or None if it is not valid: this notices a typing error."""
    account_id = _account_of(text, TOKEN_PREFIX)
    return None if account_id is None else TokenCredential(account_id, token_hash(text))


def read_session(text: str) -> SessionCredential | None:
    """Return the session of a text, or None if it is not valid."""
    account_id = _account_of(text, SESSION_PREFIX)
    return None if account_id is None else SessionCredential(account_id, token_hash(text))


def read_browser_session(text: str) -> BrowserCredential | None:
    """Return the browser's session of a text, or None if it is not valid."""
    account_id = _account_of(text, BROWSER_PREFIX)
    return None if account_id is None else BrowserCredential(account_id, token_hash(text))


def read_link(text: str, prefix: str) -> tuple[AccountId, bytes] | None:
    """Return the account and the hash of a link that begins with `prefix`; None if not valid."""
    account_id = _account_of(text, prefix)
    return None if account_id is None else (account_id, token_hash(text))


def write_recovery_code(letters: str) -> str:
    """Return a recovery code as it is shown: in groups of four, with hyphens between them."""
    starts = range(0, len(letters), _RECOVERY_GROUP)
    return "-".join(letters[start : start + _RECOVERY_GROUP] for start in starts)


def recovery_hash(text: str) -> bytes | None:
    """Return the stored hash of a recovery code as it was typed; None if it cannot be one.

    Case, spaces and hyphens do not matter. 80 random bits need no slow hash.
    """
    if len(text) > _MAX_TYPED_CHARACTERS:
        return None
    letters = re.sub(r"[\s-]", "", text).lower()
    return token_hash(letters) if _RECOVERY_CODE.fullmatch(letters) else None


def _account_of(text: str, prefix: str) -> AccountId | None:
    if not text.startswith(prefix) or not _SECRET.fullmatch(text):
        return None
    # As `urlsafe_b64decode` does, without three calls that check what is known to be right.
    raw = binascii.a2b_base64(text[len(prefix) :].replace("-", "+").replace("_", "/"))
    body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    account_id = int.from_bytes(body[:_ID_BYTES], "big")
    if checksum != _checksum(body) or not 0 < account_id <= MAX_ACCOUNT_ID:
        return None
    return AccountId(account_id)


def token_hash(text: str) -> bytes:
    """Return the hash of a token that is stored (C2.6): 168 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).digest()


def is_named(account: Account, shown: TokenCredential) -> bool:
    """Say whether a token was sent without a name, or with the name of its own account."""
    key = name_key(account.name)
    return not shown.names or any(name_key(name) == key for name in shown.names)


def is_alive(token: Token, now: Stamp) -> bool:
    """Say whether a token has neither expired nor been revoked at the moment `now`."""
    return token.revoked is None and (token.expires is None or now < token.expires)


def admits(account: Account, token: Token, now: Stamp, purpose: Purpose = Purpose.APPS) -> bool:
    """Say whether a secret of an account lets its bearer in for a purpose at the moment `now`."""
    # Judged anew with each request, so that revoking takes effect with the next one (C2.8).
    return token.purpose is purpose and is_alive(token, now) and not account.is_disabled


def end_if_used(session: Token, now: Stamp, days: int) -> Stamp | None:
    """Return the end to which the use of a session moves it; None if it stays. Tokens have none.

    It is moved at most once a day, so that few requests have to write. A session that belongs to a
    token is not moved, so that it never outlives the token.
    """
    if not session.is_session or session.of_token is not None or session.expires is None:
        return None
    expires = later(now, days * DAY_US)
    return expires if expires - session.expires >= DAY_US else None


def as_label(text: str) -> str:
    """Return the label of a token or session, cut, and without what cannot be shown."""
    return "".join(filter(str.isprintable, text)).strip()[:MAX_LABEL_CHARACTERS]


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(TOKEN_PREFIX.encode() + body).to_bytes(_CHECKSUM_BYTES, "big")
