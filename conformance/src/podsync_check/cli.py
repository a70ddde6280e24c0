"""The command `podsync-check`."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from podsync_check import __version__
from podsync_check.catalogue import all_checks
from podsync_check.checking import BY_DEFAULT, MEANING, Check, Level
from podsync_check.connection import (
    CannotRun,
    Connection,
    Credential,
    Limits,
    Spent,
    read_address,
    secret_in,
)
from podsync_check.discovery import discover, linked
from podsync_check.reports.as_json import as_json
from podsync_check.reports.junit import as_junit
from podsync_check.reports.page import as_page
from podsync_check.reports.terminal import line_of, whole
from podsync_check.running import Report, Run
from podsync_check.watching.command import client

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
            _list(_chosen(options))
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
    add = parser.add_argument
    add("url", nargs="?", help="the server's address, including its path")
    add("--user", default="", help="the account's name; without one, the secret is a token")
    add(
        "--password-file",
        type=Path,
        help="a file with the password or token; - reads standard input",
    )
    levels = ", ".join(f"{level} ({MEANING[level]})" for level in Level)
    add("--level", action="append", choices=list(Level), help=f"{levels}; by default the first 4")
    add(
        "--check",
        action="append",
        default=[],
        metavar="LEVEL/NAME",
        help="only this check, as reports show it; may be repeated",
    )
    add("--list", action="store_true", help="list the checks and their reasons")
    add(
        "--strict",
        action="store_true",
        help=f"fail on decisions otherwise than feedkeep's (level {Level.FEEDKEEP})",
    )
    add(
        "--allow",
        action="append",
        default=[],
        metavar="LEVEL/NAME",
        help="with --strict: a difference that is no failure; may be repeated",
    )
    add(
        "--read-only",
        action="store_true",
        help="only checks that change nothing, for servers in use",
    )
    add(
        "--destroy-this-account",
        action="store_true",
        help="accept an account that has feeds or episode actions, and change them",
    )
    add(
        "--seed",
        type=int,
        default=secrets.randbelow(10**6),
        help="seed of the random interleavings",
    )
    add("--max-requests", type=int, default=10_000, help="maximum number of requests")
    add("--max-seconds", type=int, default=900, help="maximum duration")
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
    checks = all_checks()
    if options.check:
        names = _names(options.check)
        checks = [check for check in checks if check.name in names]
    elif not options.list or options.level:
        levels = options.level or BY_DEFAULT
        checks = [check for check in checks if check.level in levels]
    if options.read_only:
        checks = [check for check in checks if check.only_reads]
    return list(checks)


def _names(texts: Sequence[str]) -> set[str]:
    """Return the names of checks given with or without their level.

    Raises:
        CannotRun: There is no such check.
    """
    known = {text: check.name for check in all_checks() for text in (check.name, check.path)}
    if unknown := sorted(set(texts) - known.keys()):
        raise CannotRun(f"There is no check {', '.join(unknown)}; --list shows all.")
    return {known[text] for text in texts}


def _list(checks: Sequence[Check]) -> None:
    for check in checks:
        print(f"{check.path}\n    {check.sentence}\n    {check.why} ({check.seen})")


def _score(options: argparse.Namespace) -> int:
    if not options.url:
        raise CannotRun("Name the server: podsync-check URL --user NAME --password-file FILE.")
    address = read_address(options.url)
    credential = Credential(options.user, secret_in(options.password_file))
    limits = Limits(options.max_requests, time.monotonic() + options.max_seconds)
    connection = Connection(address, limits, verifies=not options.insecure)
    checks, allowed = _chosen(options), _names(options.allow)
    try:
        found = discover(connection, credential)
    except Spent:
        raise CannotRun("--max-requests or --max-seconds is too low to start.") from None
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
    run = Run(connection, credential, found, report, lambda result: print(line_of(result)))
    run.is_strict, run.allowed = options.strict, allowed
    run.go(checks)
    print(f"\n{whole(report)}")
    for path, write in (
        (options.html, as_page),
        (options.json, as_json),
        (options.junit, as_junit),
    ):
        if path:
            path.write_text(write(report), encoding="utf-8")
    return ALL_PASSED if report.is_complete else SOMETHING_FAILED
