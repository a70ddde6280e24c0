"""Transactions of PostgreSQL do not lock the account that they change."""

from feedkeep.store.postgres.entries import Entries
from feedkeep.store.postgres.shape import Shape

_init = Entries.__init__


def init(self: Entries, shape: Shape) -> None:
    _init(self, shape)
    unlocked = self._lock.replace("FOR NO KEY UPDATE", "")
    assert unlocked != self._lock
    self._lock = self._lock_what_is_free = unlocked


Entries.__init__ = init
