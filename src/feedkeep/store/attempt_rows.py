"""The way from the moments of attempts to a column and back: numbers of four bytes, in a row."""

from __future__ import annotations

import sys
from array import array

_IS_SWAPPED = sys.byteorder == "big"


def seconds_column(seconds: array[int]) -> bytes:
    """Return what is stored."""
    column = array("I", seconds)
    if _IS_SWAPPED:
        column.byteswap()
    return column.tobytes()


def seconds_of(column: bytes) -> array[int]:
    """Return the moments that were stored."""
    seconds = array("I", column)
    if _IS_SWAPPED:
        seconds.byteswap()
    return seconds
