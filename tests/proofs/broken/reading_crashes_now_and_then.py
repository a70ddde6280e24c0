"""What reads a feed has a fault in its memory, which some documents meet."""

import os
from collections.abc import Sequence
from typing import Any

from feedkeep.feeds import reading
from feedkeep.model import Episode, FeedContent

read_with_episodes = reading.read_with_episodes


def read(document: bytes, *rest: Any) -> tuple[FeedContent, Sequence[Episode]]:
    """End the process as a fault in its memory would."""
    if len(document) % 50 == 7:
        os.abort()
    return read_with_episodes(document, *rest)


reading.read_with_episodes = read
