"""Verdicts of `feedkeep doctor`. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from enum import StrEnum

from feedkeep.cli.common import day
from feedkeep.config.networks import covers_internet
from feedkeep.model import Stamp, Value
from feedkeep.rules.clock import DAY_US, SECOND_US

MIN_FREE_BYTES = 500_000_000
"""Minimum free space beside a SQLite file; the alert for it has the same value."""

BACKUP_DAYS = 2
"""Days without a backup after which `doctor` warns; the alert for it has the same value."""

MAX_APART_US = 5 * SECOND_US
"""Maximum difference between two machines' clocks, which count failed logins together."""

CERTIFICATE_US = 14 * DAY_US
"""Remaining validity of a certificate below which `doctor` warns."""

OLDEST_TRUE_CLOCK = Stamp(1_793_491_200 * SECOND_US)  # 2026-11-01
"""Time before this release: a correct clock is later."""

NEWEST_TRUE_CLOCK = Stamp(OLDEST_TRUE_CLOCK + 5 * 365 * DAY_US)
"""Time by which this release should no longer be in use."""

MAX_STAMPS_AHEAD_US = 30 * DAY_US
"""Maximum lead of stored stamps: each restore of a backup sets the clocks of lists a day ahead."""


class Verdict(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; the exit status stays 0."""
    FAULT = "fault"


class Finding(Value, frozen=True):
    """Result of one check.

    Attributes:
        subject: Subject of the check, in one word.
        text: Description and, unless the verdict is OK, what to do.
    """

    subject: str
    verdict: Verdict
    text: str


def ok(subject: str, text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(subject, Verdict.OK, text)


def note(subject: str, text: str) -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(subject, Verdict.NOTE, text)


def fault(subject: str, text: str) -> Finding:
    """Return a finding that needs repair."""
    return Finding(subject, Verdict.FAULT, text)


def disk(free_bytes: int) -> Finding:
    """Judge the free space beside a SQLite file."""
    room = f"{free_bytes / 1e6:,.0f} MB are free beside the database"
    if free_bytes < MIN_FREE_BYTES:
        return fault("disk", f"{room}; a full disk stores nothing. Free up space.")
    return ok("disk", f"{room}.")


def backup(last: Stamp | None, now: Stamp) -> Finding:
    """Judge the age of a SQLite file's last backup."""
    if last is None:
        return note(
            "backup",
            "`feedkeep backup` has not run yet. Run it daily: docs/backup.md, Back up.",
        )
    days = (now - last) // DAY_US
    if days >= BACKUP_DAYS:
        return note("backup", f"The last backup is {days} days old. Find out why.")
    return ok("backup", "The last backup is less than two days old.")


def file_rights(files: Collection[str]) -> Finding:
    """Judge the database's files that every user of this machine may read or write."""
    if files:
        names = ", ".join(files)
        return fault(
            "rights",
            f"All users of this machine may read or write {names}. Revoke that:"
            f" chmod o= {' '.join(map(shlex.quote, files))}",
        )
    return ok("rights", "Other users of this machine can neither read nor write the database.")


def connections(workers: int, of_each: int, limit: int) -> Finding:
    """Judge the number of connections to PostgreSQL, which allows `limit`."""
    most = workers * of_each
    if most > limit:
        return fault(
            "connections",
            f"PostgreSQL allows {limit} connections, and this feedkeep may open {most}: workers is"
            f" {workers}, and postgres_connections {of_each}. Lower these, or raise"
            " max_connections, or the limit of the role or the database.",
        )
    return ok("connections", f"PostgreSQL allows {limit}, and this feedkeep opens {most} at most.")


def rights(missing: Collection[str]) -> Finding:
    """Judge the PostgreSQL tables that cannot be both read and written."""
    if missing:
        return fault(
            "rights",
            f"The role lacks rights to read or write {', '.join(sorted(missing))}. Grant them:"
            " docs/postgresql.md, Rights.",
        )
    return ok("rights", "All tables can be read and written.")


def clock(now: Stamp, of_database: Stamp | None, newest: Stamp, is_set: bool | None) -> Finding:
    """Judge the machine's clock.

    Args:
        now: Time of this machine.
        of_database: Time of the database's machine; None if it is this machine.
        newest: Newest stored stamp.
        is_set: Whether a time service sets the clock; None if unknown.
    """
    if now < OLDEST_TRUE_CLOCK:
        return fault(
            "clock",
            f"The clock says {day(now)}, before this feedkeep was released. Set it with a time"
            " service (NTP).",
        )
    if now > NEWEST_TRUE_CLOCK:
        return fault(
            "clock",
            f"The clock says {day(now)}, more than five years after this feedkeep was released. Set"
            " it with a time service (NTP), or install a newer feedkeep.",
        )
    if newest > now + MAX_STAMPS_AHEAD_US:
        return fault(
            "clock",
            f"The clock says {day(now)}, and the database has changes of {day(newest)}. If the"
            " clock is behind, set it with a time service (NTP). If it was ahead then, later"
            " changes have timestamps after those.",
        )
    apart_us = abs(now - of_database) if of_database is not None else 0
    if apart_us > MAX_APART_US:
        return fault(
            "clock",
            f"The clocks here and at PostgreSQL are {apart_us / SECOND_US:,.0f} seconds apart. Set"
            " both with a time service (NTP).",
        )
    if is_set is False:
        return note(
            "clock",
            "No time service is known to set this clock; lists keep a wrong clock's timestamps."
            " `timedatectl` shows the state.",
        )
    return ok("clock", "The clock is not known to be wrong.")


def certificate(ends: Stamp, now: Stamp) -> Finding:
    """Judge the remaining validity of a valid certificate."""
    days = (ends - now) // DAY_US
    if ends - now < CERTIFICATE_US:
        return note(
            "tls", f"The certificate expires in {days} days. Renew it, and restart feedkeep."
        )
    return ok("tls", f"The certificate is valid for {days} more days.")


class Entrance(Value, frozen=True):
    """Settings that determine how clients reach the service.

    Attributes:
        scheme: Scheme of `public_url`; "" if it is not set.
        is_local: Whether only this machine reaches the listener.
        has_certificate: Whether feedkeep itself serves HTTPS.
    """

    scheme: str
    is_local: bool
    has_certificate: bool
    proxies: Collection[str]


def entrance(found: Entrance) -> Iterator[Finding]:
    """Judge whether the settings of proxies and TLS are consistent."""
    if covers_internet(found.proxies):
        yield fault(
            "proxies",
            f"trusted_proxies has {', '.join(found.proxies)}: clients can claim any address. Name"
            " the proxy's own address or network.",
        )
    if found.scheme == "https" and not found.has_certificate and not found.proxies:
        yield fault(
            "proxies",
            "public_url is https and feedkeep has no certificate, so there must be a proxy; but"
            " trusted_proxies names none, so the limits on failed logins treat all clients as one."
            " Set trusted_proxies to the proxy's address.",
        )
    if found.proxies and not found.scheme:
        yield note("proxies", "trusted_proxies is set, but public_url is not: links may be wrong.")
    if found.has_certificate:
        return
    if found.scheme == "http" and not found.is_local:
        yield note(
            "tls",
            "public_url is http: passwords and tokens can be read in transit. Put a proxy with TLS"
            " in front, or set tls_cert.",
        )
    elif not found.scheme and not found.is_local:
        yield note(
            "tls",
            "feedkeep listens to other machines without TLS. Put a proxy with TLS in front and set"
            " public_url, or set tls_cert.",
        )
