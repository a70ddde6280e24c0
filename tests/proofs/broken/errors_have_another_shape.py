"""Errors have one more field than the interface names."""

from feedkeep.http import json_bodies, responses


def encode(problem: object) -> bytes:
    return json_bodies.encode(problem).replace(b"}", b', "x": 1}')


responses.encode = encode  # type: ignore[attr-defined]  # it uses it
