"""Replacements for functions of feedkeep, made from the originals."""

import asyncio
import builtins
import importlib
import os
import re
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from starlette.responses import Response


async def do_nothing(*_: object) -> None:
    pass


async def find_nothing(*_: object) -> dict[str, object]:
    return {}


async def itself(it: object) -> object:
    return it


async def fail(*_: object) -> NoReturn:
    raise ZeroDivisionError("x")


async def fail_as_told(*_: object) -> NoReturn:
    """Fail with the error that `DEFECT` names."""
    errors, name = importlib.import_module("feedkeep.model.errors"), os.environ["DEFECT"]
    raise (getattr(errors, name, None) or getattr(builtins, name))("the details")


def know_no_name(host: str) -> NoReturn:
    raise socket.gaierror(socket.EAI_NONAME, f"no {host}")


def copied(body: bytes, headers: dict[str, str]) -> Response:
    """Return a body of the client's own."""
    return Response(bytes(bytearray(body)), headers=headers)


def leaving_an_x(variable: str) -> Callable[[Any], Any]:
    """Append an x to the file named by an environment variable at each call."""

    def counted(call: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            with Path(os.environ[variable]).open("a") as file:
                file.write("x")
            return call(*given, **named)

        return called

    return counted


def going_back(now: Any) -> Any:
    """Set the clock back an hour, a second after the start."""
    begun = now()

    def gone_back() -> Any:
        moment = now()
        return moment - 3_600_000_000 if moment - begun > 1_000_000 else moment

    return gone_back


def not_expecting_damage(shrink: Any) -> Any:
    def shrunk(picture: bytes) -> Any:
        try:
            return shrink(picture)
        except Exception as refusal:  # noqa: BLE001 - none is expected
            raise refusal.__cause__ or refusal from None

    return shrunk


def crashing_now_and_then(read: Any) -> Any:
    """End the process at some documents, as a fault in its memory would."""
    return lambda document, *rest: os.abort() if len(document) % 50 == 7 else read(document, *rest)


def slow_and_large(read: Any) -> Any:
    """Take longer than the slowest machine may for one document, and 80 MB for some."""
    held_up: list[bytes] = []

    def read_slowly(document: bytes, *rest: Any) -> Any:
        if len(document) % 50 == 7 and held_up in ([], [document]):
            held_up[:] = [document]
            until = time.process_time() + 7
            while time.process_time() < until:
                pass
        if len(document) % 50 == 8:
            bytearray(b"x") * 80_000_000
        return read(document, *rest)

    return read_slowly


def ending_all(kill: Any) -> Any:
    async def killed(process: Any) -> None:
        await kill(process)
        os._exit(1)

    return killed


def stale(find: Any) -> Any:
    """Answer with what was read up to 20 ms before."""
    seen: dict[object, tuple[float, Any]] = {}

    async def found(tokens: Any, *key: Any) -> Any:
        when, what = seen.get(key, (0.0, None))
        if time.monotonic() - when > 0.02:
            when = time.monotonic()
            what = await find(tokens, *key)
            seen[key] = when, what
        return what

    return found


def waiting_for_a_word(add: Any) -> Any:
    """Report the beginning of a call, and wait for permission, by two FIFOs beside the log."""
    folder = Path(os.environ["RAN_FIRST"]).parent

    async def added(*given: Any) -> Any:
        await asyncio.to_thread((folder / "begun").write_text, "")  # returns when the test reads
        await asyncio.to_thread((folder / "go").read_text)  # and when the test writes
        return await add(*given)

    return added


def without_locks(init: Any) -> Any:
    def initialized(self: Any, shape: Any) -> None:
        init(self, shape)
        unlocked = self.lock.replace("FOR NO KEY UPDATE", "")
        assert unlocked != self.lock
        self.lock = self.lock_what_is_free = unlocked

    return initialized


_statements = count(1)


def strike() -> None:
    """Count a statement that is about to be carried out; kill at the one of `KILL_AT`."""
    if next(_statements) == int(os.environ.get("KILL_AT", "0")):
        os.kill(os.getpid(), signal.SIGKILL)


def counting_changes(open_file: Any) -> Any:
    """Count each statement that changes SQLite's file."""

    def opened(*what: Any, **how: Any) -> Any:
        connection, is_changing = open_file(*what, **how), False

        def trace(_cursor: object, statement: str, _values: object) -> bool:
            nonlocal is_changing
            is_changing |= "IMMEDIATE" in statement or "CREATE" in statement
            if is_changing:
                strike()
            return True

        connection.exec_trace = trace
        return connection

    return opened


def counting_scripts(execute: Any) -> Any:
    """Count each statement of a script for PostgreSQL."""

    async def executed(connection: Any, script: str, *what: Any, **how: Any) -> Any:
        without_comments = re.sub("--.*", "", script)
        for statement in filter(str.strip, without_comments.split(";")):
            strike()
            done = await execute(connection, statement, *what, **how)
        return done

    return executed


class OnTheLoop(ThreadPoolExecutor):
    """Computes at once, where it is told to."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is for who asked
            done.set_exception(error)
        return done


def computing_nothing(verify: Any) -> Any:
    """Refuse an account without a password to compare with, without computing anything."""

    async def verified(of: Any, name: str, password: str, stored: str | None, *rest: Any) -> Any:
        return stored is not None and await verify(of, name, password, stored, *rest)

    return verified


def loading_all(loaded: Any) -> Any:
    return lambda connection, account_id, _guids, *rest: loaded(connection, account_id, None, *rest)


_batches = count(1)


async def begin_once(runner: Any) -> None:
    if not runner._writer.in_transaction:
        runner._writer.execute("BEGIN IMMEDIATE")


async def commit_now_and_then(runner: Any, jobs: Any) -> Any:
    """Commit each twentieth batch, and acknowledge the others all the same."""
    outcomes = await runner._run_jobs(jobs)
    if next(_batches) % 20 == 0:
        runner._writer.execute("COMMIT")
    return outcomes
