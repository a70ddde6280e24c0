"""Render exchanges as curl commands, without secrets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from podsync_check.connection import Exchange
from podsync_check.messages import shortened

MAX_SHOWN, MAX_WRITTEN = 12, 300
"""Maximum number of requests of a failure, on the terminal and in files."""

_MAX_BODY_CHARACTERS = 2_000
_LOGIN = 'curl -sS {} -u "$LOGIN" -X POST "$URL/api/2/auth/${{LOGIN%%:*}}/login.json"'


def commands(exchanges: Sequence[Exchange], at_most: int = MAX_SHOWN) -> list[str]:
    """Return a command for each request, followed by its time and its reply as a comment.

    The commands use `$URL` for the server's address and `$LOGIN` for `name:password`. Of more than
    `at_most` requests, only the first and the last ones are shown.
    """
    if not exchanges:
        return []
    began = exchanges[0].at_seconds
    logins = sorted({one.log_in for one in exchanges if one.log_in})
    shown = [_LOGIN.format(options) for options in logins]
    last = min(at_most, len(exchanges)) * 2 // 3
    first = at_most - last if len(exchanges) > at_most else len(exchanges) - last
    for one in exchanges[:first]:
        shown += _command(one, began)
    if left_out := len(exchanges) - first - last:
        shown.append(f"# ... {left_out} more requests: --json and --html have them")
    for one in exchanges[len(exchanges) - last :]:
        shown += _command(one, began)
    return shown


def _command(exchange: Exchange, began_seconds: float) -> list[str]:
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
    at = f"{exchange.at_seconds - began_seconds:.2f} s"
    return [" ".join(words), f"# {at}: {' '.join(answer.split())}"]
