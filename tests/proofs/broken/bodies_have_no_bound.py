"""Replies of other hosts are decompressed without any limit of size or memory."""

import resource

from feedkeep.outbound.bodies import Body


def _hold(body: Body, data: bytes) -> None:
    body._held += data


Body._hold = _hold
resource.setrlimit = lambda *_: None
