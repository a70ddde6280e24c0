"""Report for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from podsync_check.checking import MEANING, Level
from podsync_check.curl import commands
from podsync_check.running import BAD, Outcome, Report, Result

_SIGNS = {
    Outcome.PASSED: "ok  ",
    Outcome.FAILED: "FAIL",
    Outcome.DIFFERS: "diff",
    Outcome.NOT_APPLICABLE: "n/a ",
    Outcome.NOT_RUN: "----",
}
_WIDTH = 100


def line_of(result: Result) -> str:
    return f"{_SIGNS[result.outcome]} {result.protocol:16} {result.check.sentence}"


def table(report: Report) -> str:
    """Return the scores: a line for each level, a column for each protocol."""
    head = f"{'':10}" + "".join(f"{protocol:>18}" for protocol in report.protocols)
    lines = [head]
    for level in Level:
        scores = [report.score(level, protocol) for protocol in report.protocols]
        if any(of for _, of in scores):
            cells = "".join(f"{f'{got} of {of}' if of else '':>18}" for got, of in scores)
            lines.append(f"{level:10}{cells}   {MEANING[level]}")
    return "\n".join(lines)


def details(report: Report) -> str:
    """Return each failure with its reason and curl commands."""
    return "\n\n".join("\n".join(_detail(one)) for one in report.results if one.said)


def _detail(result: Result) -> Iterator[str]:
    check = result.check
    yield f"{_SIGNS[result.outcome]} {check.path} ({result.protocol})"
    yield from _wrapped(check.sentence)
    yield from _wrapped(result.said)
    if result.outcome not in BAD:
        return
    yield from _wrapped(f"Why it matters: {check.why}")
    yield from _wrapped(f"Seen: {check.seen}. Specified: {check.spec}")
    for line in commands(result.exchanges):
        yield f"      {line}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def whole(report: Report) -> str:
    """Return the report that follows the lines of the checks."""
    parts = [details(report), table(report)]
    notes = [*report.notes]
    notes += [
        f"{result.check.name} ({result.protocol}): {note}"
        for result in report.results
        for note in result.notes
    ]
    if notes:
        parts.append("Notes\n" + "\n".join(f"  - {note}" for note in notes))
    if report.left_behind:
        left = "\n".join(f"  - {one}" for one in report.left_behind)
        parts.append(f"Left behind\n{left}")
    count = report.requests
    parts.append(f"{report.address}: {count} requests in {report.seconds:.0f} seconds.")
    return "\n\n".join(part for part in parts if part)
