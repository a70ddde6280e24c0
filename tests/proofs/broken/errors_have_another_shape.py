"""Errors have one more field than the interface names."""

from feedkeep.api import problems, wire


def encode(problem: object) -> bytes:
    return wire.encode(problem).replace(b"}", b', "x": 1}')


problems.encode = encode  # type: ignore[attr-defined]  # it uses it
