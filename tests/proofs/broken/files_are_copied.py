"""Each client has a copy of the whole file, and whatever is written is kept until it is taken."""

from pathlib import Path

from starlette.responses import Response

from feedkeep.http import reference
from feedkeep.http.serving import in_flight


def whole(path: Path, headers: dict[str, str]) -> Response:
    """Return a file as one body."""
    return Response(path.read_bytes(), headers=headers)


vars(reference)["FileResponse"] = whole
in_flight.CHUNK_BYTES = 2**30
