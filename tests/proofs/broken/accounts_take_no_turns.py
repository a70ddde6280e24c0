"""Feeds that accounts add are fetched in any order, however many each has added."""

from feedkeep.model import AccountId, Stamp
from feedkeep.rules.fetch_order import FairTurns


def _next_of(_: FairTurns, __: AccountId) -> Stamp:
    return Stamp(0)


FairTurns.next_of = _next_of
