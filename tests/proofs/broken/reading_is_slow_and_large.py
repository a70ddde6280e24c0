"""What reads a feed tries everything with everything."""

import time

from feedkeep.feeds import reading
from feedkeep.model import FeedContent, Stamp

read_feed = reading.read_feed
held_up: list[bytes] = []


def read(document: bytes, content_type: str, url: str, *rest: Stamp) -> FeedContent:
    """Take longer than the slowest machine may for one, and 80 MB for some."""
    if len(document) % 50 == 7 and held_up in ([], [document]):
        held_up[:] = [document]
        until = time.process_time() + 7
        while time.process_time() < until:
            pass
    if len(document) % 50 == 8:
        bytearray(b"x") * 80_000_000
    return read_feed(document, content_type, url, *rest)


reading.read_feed = read
