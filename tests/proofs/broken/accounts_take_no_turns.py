"""Feeds that accounts add are fetched in any order, however many each has added."""

from feedkeep.model import AccountId, Stamp
from feedkeep.rules.lanes import Yielding


def _next_of(_: Yielding, __: AccountId) -> Stamp:
    return Stamp(0)


Yielding.next_of = _next_of
