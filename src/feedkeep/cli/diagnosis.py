"""What `feedkeep doctor` concludes from what it has seen of a machine. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from enum import StrEnum

from feedkeep.cli.common import day
from feedkeep.config.networks import covers_internet
from feedkeep.model import Stamp, Value
from feedkeep.rules.clock import DAY_US, SECOND_US

MIN_FREE_BYTES = 500_000_000
"""How much room there has to be on the disk of a SQLite file; the alert for it says the same."""

BACKUP_DAYS = 2
"""After how many days without a backup `doctor` warns; the alert for it has the same."""

MAX_APART_US = 5 * SECOND_US
"""How far the clocks of two machines may be apart: wrong passwords are counted together."""

CERTIFICATE_US = 14 * DAY_US
"""How long before a certificate expires `doctor` warns."""

OLDEST_TRUE_CLOCK = Stamp(1_793_491_200 * SECOND_US)  # 2026-11-01
"""A time that was over when this was released."""

NEWEST_TRUE_CLOCK = Stamp(OLDEST_TRUE_CLOCK + 5 * 365 * DAY_US)
"""A time by which nobody should run this release."""

MAX_STAMPS_AHEAD_US = 30 * DAY_US
"""Maximum lead of stored stamps: each restore of a backup sets the clocks of lists a day ahead."""


class Verdict(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    NOTE = "note"
    """Worth to know, and no reason to stop a script."""
    FAULT = "fault"


class Finding(Value, frozen=True):
    """What was found of one subject.

    Attributes:
        subject: What was looked at, in one word.
        verdict: How bad it is.
        text: What was found and, unless it is OK, what to do.
    """

    subject: str
    verdict: Verdict
    text: str


def ok(subject: str, text: str) -> Finding:
    """Return that all is well."""
    return Finding(subject, Verdict.OK, text)


def note(subject: str, text: str) -> Finding:
    """Return something worth to know."""
    return Finding(subject, Verdict.NOTE, text)


def fault(subject: str, text: str) -> Finding:
    """Return something that has to be repaired."""
    return Finding(subject, Verdict.FAULT, text)


def disk(free_bytes: int) -> Finding:
    """Judge the room beside a SQLite file."""
    room = f"{free_bytes / 1e6:,.0f} MB are free beside the database"
    if free_bytes < MIN_FREE_BYTES:
        return fault("disk", f"{room}; on a full disk nothing is stored. Make room.")
    return ok("disk", f"{room}.")


def backup(last: Stamp | None, now: Stamp) -> Finding:
    """Judge when a SQLite file was backed up."""
    if last is None:
        return note(
            "backup",
            "`feedkeep backup` has not run yet. Let it run each day: docs/backup.md, Back up.",
        )
    days = (now - last) // DAY_US
    if days >= BACKUP_DAYS:
        return note("backup", f"The last backup is {days} days old. Look why none was made since.")
    return ok("backup", "The last backup is less than two days old.")


def file_rights(files: Collection[str]) -> Finding:
    """Judge which files of the database every user of this machine may read or write."""
    if files:
        names = ", ".join(files)
        return fault(
            "rights",
            f"All users of this machine may read or write {names}. Take that away:"
            f" chmod o= {' '.join(map(shlex.quote, files))}",
        )
    return ok("rights", "Other users of this machine can neither read nor write the database.")


def connections(workers: int, of_each: int, limit: int) -> Finding:
    """Judge the number of connections to PostgreSQL, of which it admits `limit`."""
    most = workers * of_each
    if most > limit:
        return fault(
            "connections",
            f"PostgreSQL admits {limit} connections, and this feedkeep may open {most}: workers is"
            f" {workers}, and postgres_connections {of_each}. Lower these, or raise"
            " max_connections, or the limit of the role or the database.",
        )
    return ok("connections", f"PostgreSQL admits {limit}, and this feedkeep opens {most} at most.")


def rights(missing: Collection[str]) -> Finding:
    """Judge which tables of PostgreSQL cannot be both read and written."""
    if missing:
        return fault(
            "rights",
            f"The role may not read and write {', '.join(sorted(missing))}. Grant that:"
            " docs/postgresql.md, Rights.",
        )
    return ok("rights", "All tables can be read and written.")


def clock(now: Stamp, of_database: Stamp | None, newest: Stamp, is_set: bool | None) -> Finding:
    """Judge the machine's clock.

    Args:
        now: Its time.
        of_database: The time of the database's machine; None if that is this one.
        newest: The newest stored stamp.
        is_set: Whether a time service sets it; None if that is not known.
    """
    if now < OLDEST_TRUE_CLOCK:
        return fault(
            "clock",
            f"The clock says {day(now)}, before this feedkeep was made. Set it, by a time service"
            " (NTP).",
        )
    if now > NEWEST_TRUE_CLOCK:
        return fault(
            "clock",
            f"The clock says {day(now)}, more than five years after this feedkeep was made. Set it,"
            " by a time service (NTP), or install a newer feedkeep.",
        )
    if newest > now + MAX_STAMPS_AHEAD_US:
        return fault(
            "clock",
            f"The clock says {day(now)}, and the database has changes of {day(newest)}. If the"
            " clock is behind, set it, by a time service (NTP). If it was ahead then, changes since"
            " are stamped as if they came after these.",
        )
    apart_us = abs(now - of_database) if of_database is not None else 0
    if apart_us > MAX_APART_US:
        return fault(
            "clock",
            f"The clocks here and at PostgreSQL are {apart_us / SECOND_US:,.0f} seconds apart. Set"
            " both by a time service (NTP).",
        )
    if is_set is False:
        return note(
            "clock",
            "No time service says that it sets this clock; each list keeps what a wrong clock has"
            " stamped. `timedatectl` shows it.",
        )
    return ok("clock", "The clock is not known to be wrong.")


def certificate(ends: Stamp, now: Stamp) -> Finding:
    """Judge how long a certificate that is valid now will be so."""
    days = (ends - now) // DAY_US
    if ends - now < CERTIFICATE_US:
        return note("tls", f"The certificate ends in {days} days. Renew it, and restart feedkeep.")
    return ok("tls", f"The certificate is valid for {days} more days.")


class Entrance(Value, frozen=True):
    """How clients come to the service, as the settings say.

    Attributes:
        scheme: That of `public_url`; "" if it is not set.
        is_local: Whether only this machine reaches what is listened on.
        has_certificate: Whether feedkeep itself serves HTTPS.
        proxies: The trusted proxies.
    """

    scheme: str
    is_local: bool
    has_certificate: bool
    proxies: Collection[str]


def entrance(found: Entrance) -> Iterator[Finding]:
    """Judge whether what the settings say of proxies and TLS fits together."""
    if covers_internet(found.proxies):
        yield fault(
            "proxies",
            f"trusted_proxies has {', '.join(found.proxies)}: clients can claim any address. Name"
            " the proxy's own address or network.",
        )
    if found.scheme == "https" and not found.has_certificate and not found.proxies:
        yield fault(
            "proxies",
            "public_url is https, and feedkeep has no certificate, so a proxy is in front; but"
            " trusted_proxies names none, and the limits on wrong passwords take all clients for"
            " one. Set trusted_proxies to the proxy's address.",
        )
    if found.proxies and not found.scheme:
        yield note("proxies", "trusted_proxies is set and public_url is not: links may be wrong.")
    if found.has_certificate:
        return
    if found.scheme == "http" and not found.is_local:
        yield note(
            "tls",
            "public_url is http: passwords and tokens can be read on the way. Put a proxy with TLS"
            " in front, or set tls_cert.",
        )
    elif not found.scheme and not found.is_local:
        yield note(
            "tls",
            "feedkeep listens to other machines without TLS. Put a proxy with TLS in front and set"
            " public_url, or set tls_cert.",
        )
