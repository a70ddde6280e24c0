"""The wall clock is set back an hour, a second after the start."""

import time

_real, _begun = time.time_ns, time.time_ns()
time.time_ns = lambda: _real() - (3_600 * 10**9 if _real() - _begun > 10**9 else 0)
