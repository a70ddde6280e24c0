"""Administrators, one-time links and codes, and identities at another provider. Pure.

Each link or code works once: the commit that carries out its purpose deletes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from feedkeep.model import Account, Purpose, Stamp, Token, TokenDecision, TokenId
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.rules.credentials import MAX_NAME_CHARACTERS, admits, is_alive

INVITATION_DAYS = 7
MAX_INVITATIONS = 100
"""Maximum number of open invitations of an administrator."""

RESET_DAYS = 1
RECOVERY_CODES = 10


def invited(
    inviter: Account, made: Sequence[Token], invitation: Token, now: Stamp
) -> TokenDecision:
    """Add an invitation of an administrator, and delete expired ones.

    Raises:
        AccountError: `inviter` is not an administrator, or has `MAX_INVITATIONS` open invitations.
    """
    if not inviter.is_admin or inviter.is_disabled:
        raise AccountError(
            "{name} is not an administrator, and only administrators can invite.", name=inviter.name
        )
    ended = [token.id for token in made if not is_alive(token, now)]
    if len(made) - len(ended) >= MAX_INVITATIONS:
        raise AccountError(
            "{max} invitations of {name} are open, and there may not be more:"
            " revoke some, or wait until they expire.",
            max=MAX_INVITATIONS,
            name=inviter.name,
        )
    return TokenDecision([invitation], ended)


def is_invitation_open(inviter: Account, invitation: Token, now: Stamp) -> bool:
    """Whether an invitation works; its author must still be an administrator."""
    return inviter.is_admin and admits(inviter, invitation, now, Purpose.INVITATION)


def replaced(known: Sequence[Token], added: Sequence[Token]) -> TokenDecision:
    """Replace all existing links or codes with new ones."""
    return TokenDecision(added, [token.id for token in known])


def spent(
    account: Account, known: Sequence[Token], spent_id: TokenId, now: Stamp, password_hash: str
) -> TokenDecision:
    """Set a new password, and delete the link or code that permits it.

    Raises:
        NotAuthorized: It was used, replaced or has expired, or the account is disabled.
    """
    allows = [one for one in known if one.id == spent_id and admits(account, one, now, one.purpose)]
    if not allows:
        raise NotAuthorized
    return TokenDecision((), [spent_id], password_hash)


def check_not_last(account: Account, others: int) -> None:
    """Check, before an administrator is removed, that they are not the last one.

    `others` is the number of other enabled administrators.

    Raises:
        AccountError: It is the last administrator.
    """
    if account.is_admin and not account.is_disabled and others == 0:
        raise AccountError(
            "{name} is the last administrator: make another account an administrator first.",
            name=account.name,
        )


MAX_SUBJECT_CHARACTERS = 255
"""Maximum length of a provider's id for a person (OpenID Connect Core, section 2)."""

_NAME_CLAIMS = ("preferred_username", "nickname", "email", "name")
_FALLBACK = "listener"
_MOST_NAMES = 50


def identity_of(issuer: str, subject: str) -> bytes:
    """Return the identity to link to an account: never a mail address, whose owner can change."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode()).digest()


def names_for(claims: Mapping[str, Any]) -> Iterator[str]:
    """Yield possible names for a new account from a provider's claims, best first."""
    told = (claims.get(name) for name in _NAME_CLAIMS)
    texts = (text.partition("@")[0] for text in told if isinstance(text, str))
    names = (re.sub(r"[^\w.-]+", "-", text).strip("-._") for text in texts)
    name = next((one[: MAX_NAME_CHARACTERS - 3] for one in names if one), _FALLBACK)
    yield name
    for number in range(2, _MOST_NAMES):
        yield f"{name}-{number}"


def is_administrator(claims: Mapping[str, Any], wanted: str) -> bool:
    """Whether a provider's claims contain `wanted`, such as groups=admins."""
    name, _, value = wanted.partition("=")
    told = claims.get(name)
    return value in (told if isinstance(told, list) else [told])
