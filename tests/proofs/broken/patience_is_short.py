"""Who is slow is cut after one second, where others have thirty."""

from feedkeep.http import in_flight

in_flight.PATIENCE_SECONDS = 1
