"""An account without a password to compare with is refused without computing anything."""

from feedkeep.security.passwords import Passwords

_verify = Passwords.verify


async def verify(
    self: Passwords,
    name_key: str,
    password: str,
    stored_hash: str | None,
    counted_key: str,
    address: str,
) -> bool:
    if stored_hash is None:
        return False
    return await _verify(self, name_key, password, stored_hash, counted_key, address)


Passwords.verify = verify
