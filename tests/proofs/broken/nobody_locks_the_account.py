"""Transactions of PostgreSQL do not lock the account that they change."""

from feedkeep.model import Now
from feedkeep.store.postgres.changes import Changes
from feedkeep.store.postgres.shape import Shape

_init = Changes.__init__


def init(self: Changes, shape: Shape, now: Now) -> None:
    _init(self, shape, now)
    unlocked = self._lock.replace("FOR NO KEY UPDATE", "")
    assert unlocked != self._lock
    self._lock = self._lock_what_is_free = unlocked


Changes.__init__ = init
