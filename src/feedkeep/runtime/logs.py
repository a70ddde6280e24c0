"""Logs: one line of JSON for each event, on standard error. No secrets and no feed URLs in them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import structlog

from feedkeep.model.stamps import write_stamp
from feedkeep.runtime import wall_clock

_ENCODER = msgspec.json.Encoder(enc_hook=str)

_WHOLE_BYTES = 4_096
"""How many bytes are written at once to a pipe that other processes share (PIPE_BUF on Linux)."""


class _Lines:
    """The file of the log. A line that it cannot take at once is lost: no request waits for it.

    All lines of one turn of the event loop are written together, so that a dozen requests take one
    call of the system.
    """

    def __init__(self, descriptor: int) -> None:
        self._write = _never_waiting(descriptor)
        self._waiting = b""
        self._is_torn = False

    def write(self, line: bytes) -> None:
        """Write a line before the event loop's next turn, or at once if no loop is running."""
        if len(self._waiting) + len(line) > _WHOLE_BYTES:
            self._write_out()
        is_first = not self._waiting
        self._waiting += line
        if is_first:
            try:
                asyncio.get_running_loop().call_soon(self._write_out)
            except RuntimeError:
                self._write_out()

    def _write_out(self) -> None:
        lines, self._waiting = self._waiting, b""
        if not lines:
            return
        if self._is_torn:  # a terminal took a part of a line; a reader would take two lines for one
            lines = b"\n" + lines
        with contextlib.suppress(OSError):
            if count := self._write(lines):
                self._is_torn = lines[count - 1 : count] != b"\n"

    debug = info = warning = error = write


class _Handler(logging.Handler):
    """Writes what libraries log."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.write(self.format(record).encode() + b"\n")


def _never_waiting(descriptor: int) -> Callable[[bytes], int]:
    """Return a function that writes to a file without ever waiting, and says how many bytes.

    The log may have no reader: a terminal is stopped, a pager waits, a collector hangs. Other
    processes may share the descriptor and expect writes to wait. So its flags are not changed, and
    the file is opened a second time. A socket, such as systemd's, cannot be opened again.
    """
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(kind):
        duplicate = socket.socket(fileno=os.dup(descriptor))
        return lambda lines: duplicate.send(lines, socket.MSG_DONTWAIT)
    if stat.S_ISREG(kind):  # a disk waits for no reader; opened again, it is written from its start
        return partial(os.write, descriptor)
    try:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
        return partial(os.write, os.open(f"/proc/self/fd/{descriptor}", flags))
    except OSError:
        return partial(_write_if_there_is_room, descriptor)


def _write_if_there_is_room(descriptor: int, lines: bytes) -> int:
    # A pipe that has room for anything has room for as much as is written in one piece.
    _, writable, _ = select.select([], [descriptor], [], 0)
    return os.write(descriptor, lines[:_WHOLE_BYTES]) if writable else 0


def configure_logs(level: str, **known: int) -> None:
    """Send structlog's events, and what libraries log, to standard error as JSON lines.

    Each line has what is `known` of this process.
    """
    lines, line_of = _Lines(sys.stderr.fileno()), partial(_line, known)
    structlog.configure(
        # One processor that does it all: with a chain of the usual ones a line took 10
        # microseconds instead of 7.
        processors=[line_of],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    handler = _Handler(lines)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.processors.add_log_level],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                lambda logger, level, event: line_of(logger, level, event).decode().rstrip(),
            ],
        )
    )
    # Libraries speak of single requests at lower levels; that is ours to log, and better known.
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _line(known: Mapping[str, int], logger: object, level: str, event: Mapping[str, Any]) -> bytes:
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, level, dict(event))
    now = write_stamp(wall_clock.now())
    return _ENCODER.encode({"level": level, **event, **known, "timestamp": now}) + b"\n"
