"""The signals that tell a process to stop."""

from __future__ import annotations

import signal


def stop_signals() -> set[signal.Signals]:
    """Return the signals that stop this process.

    SIGHUP is one: a terminal that is closed sends it, and so do tools that mean "begin anew". Where
    it is ignored already, as under `nohup`, it stays so.
    """
    always = {signal.SIGINT, signal.SIGTERM}
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return always if is_ignored else always | {signal.SIGHUP}
