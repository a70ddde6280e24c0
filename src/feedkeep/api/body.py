"""Reading a request's body within its bounds (contract, section 1)."""

from __future__ import annotations

from falcon.asgi import Request

from feedkeep.api.problems import BodyTooLarge, UnsupportedCoding


async def read_body(req: Request, max_bytes: int) -> bytes:
    """Return the whole body.

    Raises:
        UnsupportedCoding: It is compressed or otherwise coded.
        BodyTooLarge: It is larger than `max_bytes`; no more than that was kept.
        InvalidInput: The connection was cut in the middle of it (see `server.answered`).
    """
    coding = (req.get_header("Content-Encoding") or "identity").strip().lower()
    if coding != "identity":
        raise UnsupportedCoding("Send the body as it is, without a Content-Encoding.")
    announced_bytes = req.content_length
    if announced_bytes is not None and announced_bytes > max_bytes:
        raise BodyTooLarge(f"At most {max_bytes:,} bytes are read.")
    body = await req.stream.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise BodyTooLarge(f"At most {max_bytes:,} bytes are read.")
    return body
