"""Each client has a copy of the whole file, and whatever is written is kept until it is taken."""

from starlette.responses import Response

from feedkeep.http import backpressure
from feedkeep.openpodcast import reference


def copied(body: bytes, headers: dict[str, str]) -> Response:
    """Return a body of the client's own."""
    return Response(bytes(bytearray(body)), headers=headers)


vars(reference)["shared"] = copied
backpressure.CHUNK_BYTES = 2**30
