"""Errors have one more field than the interface names."""

from feedkeep.http import json_bodies, refusal


def encode(problem: object) -> bytes:
    return json_bodies.encode(problem).replace(b"}", b', "x": 1}')


refusal.encode = encode  # type: ignore[attr-defined]  # it uses it
