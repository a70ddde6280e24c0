"""A body that is unpacked as it arrives, and never holds more than it may.

zlib is told how much it may give out each time. What 8 KiB of a bomb become is counted before the
next 8 KiB are looked at, so a bomb costs as much memory as a body of the permitted size.
"""

from __future__ import annotations

import zlib

_STEP_BYTES = 65_536
_MOST_MEMBERS = 1_000
"""How many gzip streams may follow each other: zlib copies the rest of a chunk for each."""

_PLAIN = {"", "identity"}
_GZIP = {"gzip", "x-gzip"}
_GZIP_WBITS = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = 0x1F
_ZLIB_METHOD = 0x08


class ResponseTooLarge(Exception):
    """The body is larger than it may be."""


class BodyBroken(Exception):
    """The body cannot be unpacked, or ends too early."""


class Body:
    """What came of a body so far."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        """Expect a body in a `Content-Encoding`.

        Raises:
            BodyBroken: It is none of those that are asked for.
        """
        encoding = encoding.strip().lower()
        if encoding not in _PLAIN | _GZIP | {"deflate"}:
            raise BodyBroken
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._received = 0
        self._held = bytearray()
        self._stream: zlib._Decompress | None = None
        self._members = 0
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes from the network.

        Raises:
            BodyTooLarge: They are too many, or become too many.
            BodyBroken: They cannot be unpacked.
        """
        if self._encoding in _PLAIN:
            self._hold(data)
            return
        self._received += len(data)
        if self._received > self._max_bytes:
            raise ResponseTooLarge
        try:
            self._unpack(data)
        except zlib.error as error:
            raise BodyBroken from error

    def begun(self) -> bytes:
        """Return what of the body was taken, as far as it may be held."""
        return bytes(self._held)

    def whole(self) -> bytes:
        """Return the body, at its end.

        Raises:
            BodyBroken: It is not the end of what was packed.
        """
        if self._stream is not None:
            raise BodyBroken
        return bytes(self._held)

    def _unpack(self, data: bytes) -> None:
        while data and not self._is_over:
            stream = self._stream = self._stream or self._next_member(data)
            self._hold(stream.decompress(data, _STEP_BYTES))
            data = stream.unconsumed_tail
            if stream.eof:
                data = stream.unused_data
                self._stream = None
                # Behind the last gzip stream may be anything, which all programs ignore.
                self._is_over = bool(data) and not self._goes_on_with(data[0])

    def _goes_on_with(self, first: int) -> bool:
        return self._encoding in _GZIP and first == _GZIP_MAGIC

    def _next_member(self, data: bytes) -> zlib._Decompress:
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BodyBroken
        if self._encoding in _GZIP:
            return zlib.decompressobj(_GZIP_WBITS)
        # "deflate" means zlib's format, and some servers send its inside alone.
        is_zlib = data[0] & 0x0F == _ZLIB_METHOD
        return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)

    def _hold(self, data: bytes) -> None:
        room = self._max_bytes - len(self._held)
        self._held += data[:room]
        if len(data) > room:
            raise ResponseTooLarge
