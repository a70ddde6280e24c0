"""Sixteen passwords are compared at once."""

from feedkeep.security import passwords

passwords.hashed_at_once = lambda _processors, _workers: 16
