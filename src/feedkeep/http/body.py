"""Reading a request's body within its bounds (contract, section 1)."""

from __future__ import annotations

from feedkeep.http.messages import Request
from feedkeep.http.problems import BodyTooLarge, UnsupportedCoding


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return the whole body.

    Raises:
        UnsupportedCoding: It is compressed or otherwise coded.
        BodyTooLarge: It is larger than `max_bytes`; no more than that was kept.
        InvalidInput: The connection was cut in the middle of it.
    """
    coding = request.header(b"content-encoding").strip().lower()
    if coding not in {"", "identity"}:
        raise UnsupportedCoding("Send the body as it is, without a Content-Encoding.")
    body = await request.body(max_bytes)
    if body is None:
        raise BodyTooLarge(f"At most {max_bytes:,} bytes are read.")
    return body
