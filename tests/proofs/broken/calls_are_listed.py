"""Nothing is broken: what each request runs through is listed, a line of JSON for each request."""

import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType

import feedkeep
from feedkeep.http.serving.exchange import Exchange
from feedkeep.http.serving.protocol import Protocol

_ROOT = str(Path(feedkeep.__file__).parent) + os.sep
_calls: dict[str, None] = {}


def _note(frame: FrameType, event: str, _argument: object) -> None:
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(_ROOT):
        _calls.setdefault(f"{code.co_filename.removeprefix(_ROOT)} {code.co_qualname}")


_begin, _end = Protocol.on_message_begin, Protocol.on_answered


def _begin_list(self: Protocol) -> None:
    _calls.clear()
    _begin(self)


def _end_list(self: Protocol, exchange: Exchange) -> None:
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(json.dumps(list(_calls)) + "\n")
    _end(self, exchange)


Protocol.on_message_begin = _begin_list
Protocol.on_answered = _end_list
sys.setprofile(_note)
threading.setprofile(_note)
