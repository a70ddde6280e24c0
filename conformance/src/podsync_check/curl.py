"""Render exchanges as curl commands, without secrets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from podsync_check.connection import SHOWS_COOKIE, Exchange
from podsync_check.messages import shortened

MAX_SHOWN = 12
_MAX_BODY_CHARACTERS = 2_000
_LOGIN = 'curl -sS -c cookies.txt -u "$LOGIN" -X POST "$URL/api/2/auth/${LOGIN%%:*}/login.json"'


def commands(exchanges: Sequence[Exchange]) -> list[str]:
    """Return a command for each request, followed by its reply as a comment.

    The commands use `$URL` for the server's address and `$LOGIN` for `name:password`. Only the last
    `MAX_SHOWN` requests are shown.
    """
    shown = [line for one in exchanges[-MAX_SHOWN:] for line in _command(one)]
    left_out = len(exchanges) - MAX_SHOWN
    if left_out > 0:
        shown.insert(0, f"# ... {left_out} requests before")
    if any(SHOWS_COOKIE in one.shown_as for one in exchanges):
        shown.insert(0, _LOGIN)
    return shown


def _command(exchange: Exchange) -> list[str]:
    request = exchange.request
    words = ["curl -sS"]
    if request.method not in {"GET", "POST"} or (request.method == "POST" and not request.body):
        words.append(f"-X {request.method}")
    if exchange.shown_as:
        words.append(exchange.shown_as)
    headers = dict(request.headers)
    if request.body and not headers:
        headers = {"Content-Type": ""}  # curl would declare a form
    words += [f"-H {shlex.quote(f'{name}: {text}'.rstrip())}" for name, text in headers.items()]
    if request.body:
        text = request.body.decode("utf-8", "backslashreplace")
        if len(text) > _MAX_BODY_CHARACTERS:
            text = text[:_MAX_BODY_CHARACTERS] + f"...({len(request.body)} bytes in all)"
        words.append(f"--data-raw {shlex.quote(text)}")
    words.append(f'"$URL"{shlex.quote(request.target)}')
    reply = exchange.reply
    answer = "no reply" if reply is None else f"{reply.status} {shortened(reply.text)}"
    return [" ".join(words), f"# {' '.join(answer.split())}"]
