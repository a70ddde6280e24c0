"""Decompress a body as it arrives, within a size limit.

zlib limits the output of each call. The output of 8 KiB of a bomb is counted before the next 8 KiB
are read, so a bomb needs no more memory than a body of the permitted size.
"""

from __future__ import annotations

import zlib

_STEP_BYTES = 65_536
_MOST_MEMBERS = 1_000
"""Maximum number of concatenated gzip streams: zlib copies the rest of a chunk for each."""

_GZIP = {"gzip", "x-gzip"}
_GZIP_WBITS = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_METHOD = 0x08


class ResponseTooLarge(Exception):
    """The body exceeds the size limit."""


class BodyBroken(Exception):
    """The body cannot be decompressed, or is truncated."""


class Body:
    """Body received so far.

    Args:
        encoding: Its `Content-Encoding`.
        max_bytes: Maximum size, before and after decompression.

    Raises:
        BodyBroken: The encoding was not requested.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        encoding = encoding.strip().lower()
        if "," in encoding:
            raise BodyBroken
        self._encoding = encoding if encoding in _GZIP | {"deflate"} else ""
        self._beginning: bytes | None = b""
        self._max_bytes = max_bytes
        self._received = 0
        self._held = bytearray()
        self._stream: zlib._Decompress | None = None
        self._members = 0
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Add bytes from the network.

        Raises:
            ResponseTooLarge: The body exceeds the size limit.
            BodyBroken: The body cannot be decompressed.
        """
        if not self._encoding:
            data = self._after_beginning(data)
        if not self._encoding:
            self._hold(data)
            return
        self._received += len(data)
        if self._received > self._max_bytes:
            raise ResponseTooLarge
        try:
            self._unpack(data)
        except zlib.error as error:
            raise BodyBroken from error

    def _after_beginning(self, data: bytes) -> bytes:
        """Return the data to process: the first two bytes show undeclared gzip."""
        if self._beginning is None:
            return data
        data = self._beginning + data
        if len(data) < len(_GZIP_MAGIC):
            self._beginning = data
            return b""
        self._beginning = None
        if data.startswith(_GZIP_MAGIC):
            self._encoding = "gzip"
        return data

    def begun(self) -> bytes:
        """Return the body received so far, up to the size limit."""
        return bytes(self._held)

    def whole(self) -> bytes:
        """Return the complete body; a truncated compressed one as far as it goes.

        Raises:
            BodyBroken: The compressed data is truncated before its first byte.
        """
        if self._stream is not None and not self._held:
            raise BodyBroken
        return bytes(self._held) + (self._beginning or b"")

    def _unpack(self, data: bytes) -> None:
        while data and not self._is_over:
            stream = self._stream = self._stream or self._next_member(data)
            self._hold(stream.decompress(data, _STEP_BYTES))
            data = stream.unconsumed_tail
            if stream.eof:
                data = stream.unused_data
                self._stream = None
                # All programs ignore data after the last gzip stream.
                goes_on = self._encoding in _GZIP and data[:1] == _GZIP_MAGIC[:1]
                self._is_over = bool(data) and not goes_on

    def _next_member(self, data: bytes) -> zlib._Decompress:
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BodyBroken
        if self._encoding in _GZIP:
            return zlib.decompressobj(_GZIP_WBITS)
        # "deflate" means zlib's format, but some servers send a raw deflate stream.
        is_zlib = data[0] & 0x0F == _ZLIB_METHOD
        return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)

    def _hold(self, data: bytes) -> None:
        room = self._max_bytes - len(self._held)
        self._held += data[:room]
        if len(data) > room:
            raise ResponseTooLarge
