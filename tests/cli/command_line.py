"""Helpers that run commands: error messages, and sessions on a terminal."""

from __future__ import annotations

import os
import pty
import select

from feedkeep_process import FEEDKEEP, FeedkeepProcess

_SILENCE_SECONDS = 20


def refusal(process: FeedkeepProcess, *arguments: str, stdin: str | bytes = "") -> str:
    """Run a command that has to fail; return its one sentence."""
    done = process.run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (1, ""), arguments
    assert done.stderr.startswith("feedkeep: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("feedkeep: ").strip()


def talk(process: FeedkeepProcess, arguments: list[str], typed: bytes) -> str:
    """Run a command on a terminal, type, and return what was shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(FEEDKEEP, [FEEDKEEP, *arguments], process.environment)
    shown = b""
    answers = typed.splitlines(keepends=True)
    while select.select([terminal], [], [], _SILENCE_SECONDS)[0]:
        try:
            shown += os.read(terminal, 4_096)
        except OSError:  # Linux's way to say that the other side is gone
            break
        if answers and shown.endswith(b": "):
            os.write(terminal, answers.pop(0))
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()
