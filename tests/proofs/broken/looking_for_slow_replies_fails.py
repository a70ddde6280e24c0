"""Looking for clients that are slow fails each time, for those who are being answered."""

from feedkeep.http.backpressure import InFlight


def fail(_in_flight: InFlight) -> None:
    raise ZeroDivisionError


InFlight.cut_the_slow = fail
