"""What reads a feed has a fault in its memory, which some documents meet."""

import os

from feedkeep.feeds import reading
from feedkeep.model import FeedContent, Stamp

read_feed = reading.read_feed


def read(document: bytes, content_type: str, url: str, *until: Stamp) -> FeedContent:
    """End the process as a fault in its memory would."""
    if len(document) % 50 == 7:
        os.abort()
    return read_feed(document, content_type, url, *until)


reading.read_feed = read
