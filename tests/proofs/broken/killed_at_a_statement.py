"""The process kills itself at the statement of the number in `KILL_AT`."""

import os
import signal

_seen = 0


def strike() -> None:
    """Count a statement that is about to be carried out."""
    global _seen  # noqa: PLW0603
    _seen += 1
    if _seen == int(os.environ.get("KILL_AT", "0")):
        os.kill(os.getpid(), signal.SIGKILL)
