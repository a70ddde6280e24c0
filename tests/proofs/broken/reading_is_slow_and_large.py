"""What reads a feed tries everything with everything."""

import time
from collections.abc import Sequence
from typing import Any

from feedkeep.feeds import reading
from feedkeep.model import Episode, FeedContent

read_with_episodes = reading.read_with_episodes
held_up: list[bytes] = []


def read(document: bytes, *rest: Any) -> tuple[FeedContent, Sequence[Episode]]:
    """Take longer than the slowest machine may for one, and 80 MB for some."""
    if len(document) % 50 == 7 and held_up in ([], [document]):
        held_up[:] = [document]
        until = time.process_time() + 7
        while time.process_time() < until:
            pass
    if len(document) % 50 == 8:
        bytearray(b"x") * 80_000_000
    return read_with_episodes(document, *rest)


reading.read_with_episodes = read
