"""Podcast hosts on many loopback addresses, from which a service fetches feeds.

Feeds have realistic sizes, conditional requests get 304, and some feeds name a picture. Since it
stands for other machines, this process has a low priority.
"""

from __future__ import annotations

import asyncio
import io
import os
import random
import socket

import uvloop
from PIL import Image

HOSTS = 128
ETAG = '"1"'
SIZES_KB = (100, 200, 300, 500, 700, 900)
PICTURE_SIDE = 1_400
_ADDRESSES = [f"127.80.0.{number + 1}" for number in range(HOSTS)]
_LESS_URGENT_BY = 10


def feed_url(port: int, number: int) -> str:
    """Return the URL of a feed; consecutive feeds are on different hosts."""
    return f"http://{_ADDRESSES[number % HOSTS]}:{port}/{number}.xml"


def _podcast(size_kb: int, picture: str) -> bytes:
    """Return a podcast of about `size_kb` kilobytes."""
    chance = random.Random(size_kb)
    words = [chance.randbytes(chance.randint(1, 5)).hex() for _ in range(2_000)]
    head = (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"'
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>'
        f"<title>A show of {size_kb} KB</title><link>https://show.example</link>{picture}"
    )
    items, length = [head], len(head)
    while length < size_kb * 1_000:
        number = len(items)
        text = " ".join(chance.choices(words, k=150))
        items.append(
            f"<item><title>Episode {number}</title><guid>episode-{number}</guid>"
            "<pubDate>Sat, 21 Nov 2026 07:00:00 GMT</pubDate>"
            "<itunes:duration>1800</itunes:duration>"
            f"<description><![CDATA[<p>{text}</p>]]></description>"
            f'<enclosure url="https://show.example/{number}.mp3" type="audio/mpeg" length="1"/>'
            "</item>"
        )
        length += len(items[-1])
    return "".join([*items, "</channel></rss>"]).encode()


def _picture() -> bytes:
    """Return a square JPEG, typical of podcasts."""
    coarse = Image.frombytes("RGB", (140, 140), random.Random(1).randbytes(140 * 140 * 3))
    written = io.BytesIO()
    coarse.resize((PICTURE_SIDE, PICTURE_SIDE)).save(written, "JPEG", quality=85)
    return written.getvalue()


def _reply(body: bytes, media_type: str) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Type: {media_type}\r\n"
        f"ETag: {ETAG}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Web:
    """Serves and counts feeds and pictures."""

    def __init__(self, port: int) -> None:
        picture = f"<image><url>http://{_ADDRESSES[0]}:{port}/picture.jpg</url></image>"
        # One feed in thirty names a picture, for new feeds and monthly refetches of pictures.
        self._feeds = [_reply(_podcast(size, ""), "application/rss+xml") for size in SIZES_KB]
        self._pictured = _reply(_podcast(SIZES_KB[0], picture), "application/rss+xml")
        self._picture = _reply(_picture(), "image/jpeg")
        self._unchanged = b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"
        self._count = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close the connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(self._answer(head))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        path = head.split(b" ", 2)[1]
        if path == b"/count":
            return _reply(str(self._count).encode(), "text/plain")
        if path == b"/picture.jpg":
            return self._picture
        self._count += 1
        if b"if-none-match" in head.lower():
            return self._unchanged
        number = sum(path)  # arbitrary, but the same for each path
        return self._pictured if number % 30 == 0 else self._feeds[number % len(self._feeds)]


async def _run() -> None:
    listeners = [socket.create_server((_ADDRESSES[0], 0))]
    port = listeners[0].getsockname()[1]
    listeners += [socket.create_server((address, port)) for address in _ADDRESSES[1:]]
    web = Web(port)
    servers = [await asyncio.start_server(web.serve, sock=one) for one in listeners]
    print(f"http://{_ADDRESSES[0]}:{port}", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    os.nice(_LESS_URGENT_BY)
    uvloop.run(_run())
