"""A service on a store that is empty at first, and a clock that tests set."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from feedkeep.model import Stamp
from feedkeep.model.errors import NotAuthorized

MINUTE = 60_000_000
DAY = 1_440 * MINUTE
PASSWORD = "correct horse"
HOME = "192.0.2.1"


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.at = Stamp(20_000 * DAY + 5 * MINUTE)

    def __call__(self) -> Stamp:
        return self.at

    def go_on(self, us: int) -> None:
        self.at += us


async def assert_refused(
    work: Awaitable[object], error: type[Exception] = NotAuthorized, match: str | None = None
) -> None:
    with pytest.raises(error, match=match):
        await work
