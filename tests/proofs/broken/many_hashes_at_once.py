"""Sixteen passwords are compared at once."""

from feedkeep.security import passwords

passwords.AT_ONCE = 16
