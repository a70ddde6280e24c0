"""The wall clock is set back an hour, a second after the start."""

from feedkeep.model import Stamp
from feedkeep.runtime import wall_clock

_real, _begun = wall_clock.now, wall_clock.now()


def now() -> Stamp:
    moment = _real()
    return Stamp(moment - 3_600_000_000) if moment - _begun > 1_000_000 else moment


wall_clock.now = now
