"""The command `podsync-check client`: a server for an app under test."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from podsync_check import __version__
from podsync_check.checking import as_list, chosen
from podsync_check.checks import all_hard_cases
from podsync_check.connection import secret_in
from podsync_check.messages import CannotRun
from podsync_check.reference.server import OtherDevice, Reference
from podsync_check.watching.exchanges import WatchedExchange
from podsync_check.watching.hard_cases import Course, Standing, Verdict
from podsync_check.watching.serving import application, serving
from podsync_check.watching.watch import PLACE, Watch

ALL_HELD, SOMETHING_WRONG, NOT_ALL_REACHED = 0, 1, 2

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with the option; nothing binds to it
_DIGITS, _MAX_PORT = 6, 65_535
_GRACE_SECONDS = 0.5  # for the app to receive the reply to the last case's request


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="podsync-check client",
        description="Serves an app under test, runs hard cases with it, and reports what the"
        " app did wrong. It speaks gpodder.net's API, Nextcloud's gpoddersync, and the Open Podcast"
        " API under /v1.",
        epilog="Exit status: 0 if all cases held, 1 if one was wrong, 2 if some were not reached.",
    )
    add = made.add_argument
    add("--host", default="127.0.0.1", help="where to listen; 0.0.0.0 for a phone in your network")
    add("--port", type=_port, default=8080, help="0 uses a free port")
    add("--user", default="test", help="the account's name")
    add("--password-file", type=Path, help="a file with its password; default: a random one")
    add("--case", action="append", default=[], metavar="NAME", help="only this case")
    add("--list", action="store_true", help="list the cases and their reasons")
    add("--max-seconds", type=float, default=3_600, help="maximum wait for all cases to end")
    add("--html", type=Path, metavar="FILE", help="write a report as a page")
    add("--json", type=Path, metavar="FILE", help="write the report for programs")
    return made


def client(arguments: Sequence[str], stopped: threading.Event | None = None) -> int:
    """Run the command until all cases have ended or `stopped` is set; return its exit status.

    Raises:
        CannotRun: The port is not available, or a case is unknown.
    """
    options = parser().parse_args(arguments)
    cases = chosen(all_hard_cases(), options.case, "case")
    if options.list:
        print(as_list(cases))
        return ALL_HELD
    password = secret_in(options.password_file) if options.password_file else secrets.token_hex(6)
    server = Reference(options.user, password)
    course = Course(cases, OtherDevice(server))
    watch = Watch(application(server.answer), {}, passed_over=("/favicon.ico",), course=course)
    ended = stopped or threading.Event()
    watch.tell = _teller(course, ended)
    _end_at_sigterm()
    try:
        with suppress(KeyboardInterrupt), serving(watch, options.host, options.port) as (at, port):
            url = f"http://{_own_address() if at == _EVERYWHERE else at}:{port}"
            print(f"podsync-check {__version__}: point your app at {url}")
            print(f"Name {options.user}, password {password}, which is a Bearer token, too.")
            print(f"Use one app, on one device, at a time. {url}{PLACE} shows more.")
            _ask(course.current)
            ended.wait(options.max_seconds)
            time.sleep(_GRACE_SECONDS)
    except OSError as error:
        raise CannotRun(f"Cannot listen on port {options.port}: {error}.") from None
    _summarize(watch)
    if options.html:
        options.html.write_text(watch.shown(), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(watch.told(), indent=2), encoding="utf-8")
    return _status(watch)


def _port(text: str) -> int:
    if not (text.isdecimal() and len(text) < _DIGITS and int(text) <= _MAX_PORT):
        raise argparse.ArgumentTypeError(f"{text} is not a port from 0 to {_MAX_PORT}")
    return int(text)


def _end_at_sigterm() -> None:
    """End on SIGTERM as on Ctrl-C: with a report."""
    if threading.current_thread() is threading.main_thread():  # Python's requirement
        for number in (signal.SIGTERM, signal.SIGINT):  # shells ignore SIGINT for background jobs
            signal.signal(number, signal.default_int_handler)


def _own_address() -> str:
    """Return this machine's address in its network; 0.0.0.0 if unknown."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sought, suppress(OSError):
        sought.connect(("192.0.2.1", 9))  # sends nothing, but selects the route
        return str(sought.getsockname()[0])
    return _EVERYWHERE


def _teller(course: Course, ended: threading.Event) -> Callable[[WatchedExchange], None]:
    """Return a function that prints each exchange and the resulting changes of cases."""
    told: list[Standing] = []

    def tell(exchange: WatchedExchange) -> None:
        fault = f" ({exchange.fault}, to see what it does)" if exchange.fault else ""
        status = exchange.status or "no response"
        print(f"{exchange.number:5} {exchange.method} {exchange.target} -> {status}{fault}")
        for objection in exchange.objections:
            print(f"      {objection}")
        news = [
            one for one in course.standings if one.verdict is not Verdict.OPEN and one not in told
        ]
        for one in news:
            told.append(one)
            print(f"{one.verdict:>14}  {one.case.sentence}" + (f" {one.said}" if one.said else ""))
        if news:
            _ask(course.current)
        if course.current is None:
            ended.set()
        sys.stdout.flush()

    return tell


def _ask(current: Standing | None) -> None:
    if current:
        print(f"         Now:  {current.case.asks}", flush=True)


def _summarize(watch: Watch) -> None:
    for one in watch.course.standings:
        print(f"{one.verdict:>14}  {one.case.name}")
        if one.verdict is Verdict.WRONG:
            print(f"{'':16}{one.said}\n{'':16}Why it matters: {one.case.why}")
            print(f"{'':16}Seen: {one.case.seen}. Specified: {one.case.spec}")
    many = "" if watch.objection_count == 1 else "s"
    print(f"{watch.count} requests, {watch.objection_count} objection{many} to single requests.")


def _status(watch: Watch) -> int:
    verdicts = {one.verdict for one in watch.course.standings}
    if Verdict.WRONG in verdicts or watch.objection_count:
        return SOMETHING_WRONG
    return NOT_ALL_REACHED if Verdict.OPEN in verdicts else ALL_HELD
