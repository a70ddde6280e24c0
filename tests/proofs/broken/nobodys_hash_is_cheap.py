"""A name that nobody has costs nothing."""

import argon2

from feedkeep.security import passwords

passwords._NOBODYS_HASH = argon2.PasswordHasher(1, 8, 1).hash("nobody")
