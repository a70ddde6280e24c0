"""Transactions of PostgreSQL do not lock the account that they change."""

from feedkeep.store.postgres.entry_write_statements import ChangeStatements
from feedkeep.store.postgres.shape import Shape

_init = ChangeStatements.__init__


def init(self: ChangeStatements, shape: Shape) -> None:
    _init(self, shape)
    unlocked = self.lock.replace("FOR NO KEY UPDATE", "")
    assert unlocked != self.lock
    self.lock = self.lock_what_is_free = unlocked


ChangeStatements.__init__ = init
