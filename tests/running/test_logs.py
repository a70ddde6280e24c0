"""The log: the service goes on without a reader of it."""

import fcntl
import json
import os
import pty
import select
import socket
import subprocess

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from running_services import served

from feedkeep.runtime import logs

MORE_THAN_FITS = 1_000
"""Number of requests whose log lines overflow a pipe, a socket or a terminal."""


def terminal():
    reader, writer = pty.openpty()
    return reader, writer


def sockets():
    reader, writer = socket.socketpair()
    return reader.detach(), writer.detach()


def all_that_waits(reader):
    read = b""
    while select.select([reader], [], [], 0)[0]:
        read += os.read(reader, 65_536)
    return read


@pytest.mark.parametrize("kind", first_of(os.pipe, sockets, terminal))
def test_a_log_that_is_not_read_loses_lines_and_holds_up_nothing(tmp_path, kind):
    reader, writer = kind()
    process, streams = FeedkeepProcess(tmp_path), {"stdout": subprocess.PIPE, "stderr": writer}
    with (
        served(process, "--port", "0", **streams) as process.process,
        httpx.Client(base_url=process._told_address(), timeout=20) as client,
    ):
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
