"""The log: the service goes on without a reader of it."""

import fcntl
import json
import os
import pty
import re
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FEEDKEEP, FeedkeepProcess
from forms import first_of

from feedkeep.runtime import logs

MORE_THAN_FITS = 1_000
"""Requests whose lines are more than a pipe, a socket or a terminal holds."""


def terminal() -> tuple[int, int]:
    reader, writer = pty.openpty()
    return reader, writer


def sockets() -> tuple[int, int]:
    reader, writer = socket.socketpair()
    return reader.detach(), writer.detach()


@contextmanager
def served(folder: Path, errors: int) -> Iterator[str]:
    """Run the service with that as its standard error; its URL."""
    process = subprocess.Popen(
        [FEEDKEEP, "serve", "--port", "0"],
        env=FeedkeepProcess(folder).environment,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield next(
            found[1]
            for line in process.stdout
            if (found := re.search(r"Listening: (http[^;]+)", line))
        )
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def all_that_waits(reader: int) -> bytes:
    read = b""
    while select.select([reader], [], [], 0)[0]:
        read += os.read(reader, 65_536)
    return read


@pytest.mark.parametrize("kind", first_of(os.pipe, sockets, terminal))
def test_a_log_that_is_not_read_loses_lines_and_holds_up_nothing(tmp_path, kind):
    reader, writer = kind()
    with served(tmp_path, writer) as url, httpx.Client(base_url=url, timeout=20) as client:
        for _ in range(MORE_THAN_FITS):
            assert client.get("/livez").status_code == 200
        lines = all_that_waits(reader).splitlines()
        whole = [json.loads(line) for line in lines if line.endswith(b"}")]
        assert 0 < len(whole) < MORE_THAN_FITS
        last = client.get("/livez").headers["X-Request-Id"]  # it is read again, and told again
        read = b""
        while last.encode() not in read:
            read += os.read(reader, 65_536)
    assert not fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK  # others write to it, too
    os.close(reader)
    os.close(writer)


def test_a_line_of_which_a_part_was_taken_is_ended_before_the_next_one(monkeypatch):
    taken, room = bytearray(), iter([5, 0, 99, 99])

    def take(sent):
        count = min(len(sent), next(room))
        taken.extend(sent[:count])
        return count

    monkeypatch.setattr(logs, "_never_waiting", lambda _: take)
    lines = logs._Lines(2)
    for line in (b'{"n":1}\n', b'{"n":2}\n', b'{"n":3}\n', b'{"n":4}\n'):
        lines.write(line)
    assert taken == b'{"n":\n{"n":3}\n{"n":4}\n'


def test_where_no_own_way_to_the_log_can_be_opened_it_is_asked_whether_it_has_room(monkeypatch):
    def refused(*_):
        raise PermissionError

    reader, writer = os.pipe()
    monkeypatch.setattr(os, "open", refused)
    write = logs._never_waiting(writer)
    for _ in range(1_000):
        write(b"x" * 4_096)
    monkeypatch.undo()
    assert all_that_waits(reader).strip(b"x") == b""
    os.close(reader)
    os.close(writer)
