"""The way from the moments of attempts to a column and back: four bytes for each, one by one."""

from __future__ import annotations

import struct
from array import array


def seconds_column(seconds: array[int]) -> bytes:
    """Return what is stored."""
    return struct.pack(f"<{len(seconds)}I", *seconds)


def seconds_of(column: bytes) -> array[int]:
    """Return the moments that were stored."""
    return array("I", struct.unpack(f"<{len(column) // 4}I", column))
