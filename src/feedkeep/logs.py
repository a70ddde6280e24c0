"""Logs: one line of JSON for each event, on standard error. No secrets and no feed URLs in them."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, BinaryIO, cast

import msgspec
import structlog

_ENCODER = msgspec.json.Encoder(enc_hook=str)


class _Sink:
    """Standard error; a line that it cannot take is lost, and never fails what it tells of."""

    def write(self, line: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.buffer.write(line)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.buffer.flush()


def configure_logs(level: str) -> None:
    """Send structlog's events, and what libraries log, to standard error as JSON lines."""
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(_to_json)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.BytesLoggerFactory(cast("BinaryIO", _Sink())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(lambda event, **_: _to_json(event).decode()),
            ],
        )
    )
    # Libraries speak of single requests at lower levels; that is ours to log, and better known.
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _to_json(event: object, **_: object) -> bytes:
    return _ENCODER.encode(event)
