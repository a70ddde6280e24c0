"""Who may look after accounts, and the links and codes that open one. Pure.

Invitations, links to set a password and recovery codes work once: each is deleted in the commit
that carries out what it is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import Account, Purpose, Stamp, Token, TokenDecision, TokenId
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.rules.credentials import admits, is_alive

INVITATION_DAYS = 7
MAX_INVITATIONS = 100
"""How many invitations of an administrator are open at the same time."""

RESET_DAYS = 1
RECOVERY_CODES = 10


def invited(
    inviter: Account, made: Sequence[Token], invitation: Token, now: Stamp
) -> TokenDecision:
    """Add an invitation to those that an administrator has made, and forget those that ended.

    Raises:
        AccountError: `inviter` is no administrator, or as many are open as there may be.
    """
    if not inviter.is_admin or inviter.is_disabled:
        raise AccountError(
            "{name} is no administrator, and only these can invite.", name=inviter.name
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
    """Say whether an invitation works: also its administrator still has to be one."""
    return inviter.is_admin and admits(inviter, invitation, now, Purpose.INVITATION)


def replaced(known: Sequence[Token], added: Sequence[Token]) -> TokenDecision:
    """Put new links or codes in the place of all that there are."""
    return TokenDecision(added, [token.id for token in known])


def spent(
    account: Account, known: Sequence[Token], spent_id: TokenId, now: Stamp, password_hash: str
) -> TokenDecision:
    """Set a new password, and spend the link or code that allows it.

    Raises:
        NotAuthorized: It was spent or replaced, has expired, or the account is disabled.
    """
    allows = [one for one in known if one.id == spent_id and admits(account, one, now, one.purpose)]
    if not allows:
        raise NotAuthorized
    return TokenDecision((), [spent_id], password_hash)


def check_not_last(account: Account, others: int) -> None:
    """Check that an account is not the last administrator, before it ceases to be one.

    `others` is how many other administrators are not disabled.

    Raises:
        AccountError: It is the last one.
    """
    if account.is_admin and not account.is_disabled and others == 0:
        raise AccountError(
            "{name} is the last administrator: make another account an administrator first.",
            name=account.name,
        )
