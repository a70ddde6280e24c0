"""Administrators: there is always one who can look after the accounts. Pure."""

from __future__ import annotations

from feedkeep.model import Account
from feedkeep.model.errors import AccountError


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
