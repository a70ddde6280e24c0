"""The resolver answers that no name has an address."""

import socket
from collections.abc import Sequence

from feedkeep.outbound import targets


def _addresses(host: str) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, f"no {host}")


targets._addresses = _addresses
