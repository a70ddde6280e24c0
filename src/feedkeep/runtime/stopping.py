"""Signals that stop a process."""

from __future__ import annotations

import signal


def stop_signals() -> set[signal.Signals]:
    """Return the signals that stop this process.

    SIGHUP, sent by closing terminals and by tools that mean "restart", is included unless it is
    ignored already, as under `nohup`.
    """
    always = {signal.SIGINT, signal.SIGTERM}
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return always if is_ignored else always | {signal.SIGHUP}
