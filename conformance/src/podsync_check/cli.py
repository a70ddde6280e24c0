"""The command `podsync-check`."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podsync_check import __version__
from podsync_check.checking import BY_DEFAULT, MEANING, Check, Level, as_list, chosen
from podsync_check.checks import all_checks
from podsync_check.connection import (
    Connection,
    Credential,
    Limits,
    Spent,
    read_address,
    secret_in,
)
from podsync_check.discovery import discover, linked
from podsync_check.messages import CannotRun
from podsync_check.reporting import as_json, as_junit, as_page, as_text, line_of
from podsync_check.running import Report, Result, Run
from podsync_check.servers import PROTOCOLS
from podsync_check.watching.command import client

USUAL, THOROUGH = (10_000, 600), (100_000, 3_600)
"""Maximum number of requests, and of seconds, of a run."""

CLEARED = "\r\033[K"
"""Clears the line of a terminal."""

ALL_PASSED, SOMETHING_FAILED, COULD_NOT_RUN = 0, 1, 2

_EPILOG = (
    "Exit status: 0 if every check passed, 1 if one failed, 2 if it could not run."
    " `podsync-check client --help` is about testing apps instead."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given[:1] == ["client"]:
            return client(given[1:])
        options = _parser().parse_args(given)
        if options.list:
            print(as_list(_chosen(options)))
            return ALL_PASSED
        return _score(options)
    except CannotRun as reason:
        print(f"podsync-check: {reason}", file=sys.stderr)
    except KeyboardInterrupt:
        print("podsync-check: stopped", file=sys.stderr)
    return COULD_NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="podsync-check",
        description="Scores a podcast sync server by the effects on its users.",
        epilog=_EPILOG,
    )
    levels = ", ".join(f"{level} ({MEANING[level]})" for level in Level)
    several: dict[str, Any] = {"action": "append", "default": []}
    add = parser.add_argument
    add("url", nargs="?", help="the server's address, including its path")
    add("--user", default="", help="the account's name; without one, the secret is a token")
    add("--password-file", type=Path, help="a file with the password or token; - is standard input")
    about_levels = f"{levels}; default: the first 4; repeatable"
    add("--level", **several, choices=list(Level), help=about_levels)
    add("--protocol", **several, choices=PROTOCOLS, help="only this protocol; repeatable")
    add("--check", **several, metavar="LEVEL/NAME", help="only this check; repeatable")
    add("--list", action="store_true", help="list the checks and their reasons")
    add("--strict", action="store_true", help="fail if it differs from feedkeep's decisions")
    add("--allow", **several, metavar="LEVEL/NAME", help="not fail in this check; repeatable")
    add("--read-only", action="store_true", help="only checks that change nothing")
    add("--destroy-this-account", action="store_true", help="accept an account that has data")
    add("--thorough", action="store_true", help="more random interleavings, up to an hour in all")
    add("--seed", type=int, default=secrets.randbelow(10**6), help="seed of the interleavings")
    add("--max-requests", type=int, help="maximum number of requests; default: 10,000")
    add("--max-seconds", type=int, help="maximum duration; default: 600")
    add("--insecure", action="store_true", help="accept any certificate, for your own server")
    add("--html", type=Path, metavar="FILE", help="write the report as a page")
    add("--json", type=Path, metavar="FILE", help="write the report for programs")
    add("--junit", type=Path, metavar="FILE", help="write the report for CI services")
    add("--version", action="version", version=__version__)
    return parser


def _chosen(options: argparse.Namespace) -> list[Check]:
    """Return the requested checks.

    Raises:
        CannotRun: A name is unknown.
    """
    checks = chosen(all_checks(), options.check)
    if not options.check and (options.level or not options.list):
        levels = options.level or BY_DEFAULT
        checks = [check for check in checks if check.level in levels]
    return [check for check in checks if check.only_reads or not options.read_only]


def _begin(number: int, count: int, path: str) -> None:
    """Show the check in progress, where a terminal can replace it by the result."""
    if sys.stdout.isatty():
        print(f"{CLEARED}{number} of {count}: {path}", end="", flush=True)


def _tell(result: Result) -> None:
    print(f"{CLEARED if sys.stdout.isatty() else ''}{line_of(result)}", flush=True)


def _score(options: argparse.Namespace) -> int:
    if not options.url:
        raise CannotRun("Name the server: podsync-check URL --user NAME --password-file FILE.")
    address = read_address(options.url)
    credential = Credential(options.user, secret_in(options.password_file))
    requests, seconds = THOROUGH if options.thorough else USUAL
    limits = Limits(
        requests if options.max_requests is None else options.max_requests,
        time.monotonic() + (seconds if options.max_seconds is None else options.max_seconds),
    )
    connection = Connection(address, limits, verifies=not options.insecure)
    checks, allowed = _chosen(options), options.allow and chosen(all_checks(), options.allow)
    try:
        found = discover(connection, credential)
    except Spent:
        raise CannotRun("--max-requests or --max-seconds is too low to start.") from None
    if options.protocol:
        spoken = [one for one in found.protocols if one.protocol in options.protocol]
        if missing := set(options.protocol) - {one.protocol for one in spoken}:
            raise CannotRun(f"The server does not speak {', '.join(sorted(missing))}.")
        found = replace(found, protocols=spoken)
    if found.has_data and not (options.destroy_this_account or options.read_only):
        raise CannotRun(
            f"The account has {found.has_data}. Use an empty account, or pass"
            " --destroy-this-account if its data may be lost."
        )
    if not options.read_only:
        found = linked(connection, credential, found)
    began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    protocols = [protocol.protocol for protocol in found.protocols]
    report = Report(str(address), protocols, __version__, began, options.seed)
    report.notes += found.notes
    run = Run(connection, credential, found, report, _begin, _tell)
    run.is_strict, run.allowed, run.is_thorough = options.strict, allowed, options.thorough
    run.go(checks)
    print(f"\n{as_text(report)}")
    files = ((options.html, as_page), (options.json, as_json), (options.junit, as_junit))
    for path, write in files:
        if path:
            path.write_text(write(report), encoding="utf-8")
    return ALL_PASSED if report.is_complete else SOMETHING_FAILED
