"""Feeds that accounts add are fetched in any order, however many each has added."""

from feedkeep.model import AccountId, Stamp
from feedkeep.rules.lanes import Turns


def _next_of(_: Turns, __: AccountId) -> Stamp:
    return Stamp(0)


Turns.next_of = _next_of
