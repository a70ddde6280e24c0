"""Reports of a run: for the terminal, as a page, as JSON, and as JUnit's XML.

All of them show the same: failures by their cause with curl commands, scores, notes, and what was
left behind.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from xml.etree import ElementTree as ET

from podsync_check.checking import MEANING, Level
from podsync_check.connection import Exchange
from podsync_check.messages import shortened
from podsync_check.page import document, paragraphs, unfolding
from podsync_check.running import BAD, Outcome, Report, Result

MAX_SHOWN, MAX_WRITTEN = 12, 300
"""Maximum number of requests of a failure, on the terminal and in files."""

_MAX_BODY_CHARACTERS = 2_000
_LOGIN = 'curl -sS {} -u "$LOGIN" -X POST "$URL/api/2/auth/${{LOGIN%%:*}}/login.json"'
_SIGNS = {
    Outcome.PASSED: "ok  ",
    Outcome.FAILED: "FAIL",
    Outcome.DIFFERS: "diff",
    Outcome.NOT_APPLICABLE: "n/a ",
    Outcome.NOT_RUN: "----",
}
_WIDTH = 100
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def line_of(result: Result) -> str:
    return f"{_SIGNS[result.outcome]} {result.protocol:12} {result.check.sentence}"


def as_text(report: Report) -> str:
    """Return the report that follows the lines of the checks."""
    parts = ["\n".join(_group(results)) for results in by_cause(report.results)]
    head = f"{'':10}" + "".join(f"{protocol:>18}" for protocol in report.protocols)
    rows = (
        f"{level:10}" + "".join(f"{score:>18}" for score in scores) + f"   {MEANING[level]}"
        for level, scores in _scores(report)
    )
    parts.append("\n".join([head, *rows]))
    parts += [
        "\n".join([title, *(f"  - {text}" for text in texts)]) for title, texts in _lists(report)
    ]
    return "\n\n".join([*parts, _summary(report)])


def _group(results: Sequence[Result]) -> Iterator[str]:
    """Yield one result of a cause with everything, and the names of the others."""
    first, *others = results
    if others:
        yield f"1 cause, {len(results)} checks: {first.cause}"
    yield f"{_SIGNS[first.outcome]} {first.check.path} ({first.protocol})"
    for text in _told(first):
        yield from textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    yield from (f"      {line}" for line in commands(first.exchanges))
    yield from (f"{_SIGNS[one.outcome]} {one.check.path} ({one.protocol})" for one in others)


def by_cause(results: Sequence[Result]) -> list[list[Result]]:
    """Return results other than passed ones, grouped by cause, in the order of the first ones."""
    groups = dict[str, list[Result]]()
    for one in results:
        if one.said:
            groups.setdefault(one.cause, []).append(one)
    return list(groups.values())


def _told(result: Result) -> Iterator[str]:
    check = result.check
    yield check.sentence
    yield result.said
    if result.outcome in BAD:
        yield f"Why it matters: {check.why}"
        yield f"Seen: {check.seen}. Specified: {check.spec}"


def _scores(report: Report) -> Iterator[tuple[Level, Sequence[str]]]:
    """Yield the levels that were checked, with the score of each protocol."""
    for level in Level:
        scores = [report.score(level, protocol) for protocol in report.protocols]
        if any(of for _, of in scores):
            yield level, [f"{got} of {of}" if of else "" for got, of in scores]


def _lists(report: Report) -> Sequence[tuple[str, Sequence[str]]]:
    notes = {(result.check.name, note): None for result in report.results for note in result.notes}
    told = [*report.notes, *(f"{name}: {note}" for name, note in notes)]
    return [one for one in (("Notes", told), ("Left behind", report.left_behind)) if one[1]]


def _summary(report: Report) -> str:
    bad = [one for one in report.results if one.outcome in BAD]
    counted = f"{_many(len(by_cause(bad)), 'cause')}, {_many(len(bad), 'check')} not passed. "
    took = f"{report.requests} requests in {report.seconds:.0f} seconds."
    return f"{counted if bad else ''}{report.address}: {took}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def as_json(report: Report) -> str:
    scores = {
        protocol: {level: report.score(level, protocol) for level in Level}
        for protocol in report.protocols
    }
    found = {
        "server": report.address,
        "podsync-check": report.version,
        "began": report.began,
        "seed": report.seed,
        "requests": report.requests,
        "seconds": round(report.seconds, 1),
        "scores": scores,
        "notes": report.notes,
        "left_behind": report.left_behind,
        "checks": [
            {
                "name": one.check.name,
                "level": one.check.level,
                "protocol": one.protocol,
                "outcome": one.outcome,
                "sentence": one.check.sentence,
                "said": one.said,
                "cause": one.cause,
                "why": one.check.why,
                "seen": one.check.seen,
                "spec": one.check.spec,
                "notes": one.notes,
                "seconds": round(one.seconds, 3),
                "curl": commands(one.exchanges, MAX_WRITTEN),
            }
            for one in report.results
        ],
    }
    return json.dumps(found, indent=2)


def as_junit(report: Report) -> str:
    """Return the report with a test suite for each protocol."""
    suites = ET.Element("testsuites", name="podsync-check")
    in_order = sorted(report.results, key=lambda one: report.protocols.index(one.protocol))
    for protocol, group in groupby(in_order, key=lambda one: one.protocol):
        results = list(group)
        outcomes = [one.outcome for one in results]
        failures = outcomes.count(Outcome.FAILED)
        skipped = len(results) - failures - outcomes.count(Outcome.PASSED)
        counts = {"tests": len(results), "failures": failures, "skipped": skipped}
        texts = {name: str(count) for name, count in counts.items()}
        suite = ET.SubElement(suites, "testsuite", texts, name=protocol)
        suite.extend(map(_case, results))
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def _case(result: Result) -> ET.Element:
    check = result.check
    case = ET.Element(
        "testcase",
        name=check.sentence,
        classname=f"{check.level}.{check.name}",
        time=f"{result.seconds:.3f}",
    )
    if result.outcome is Outcome.FAILED:
        failure = ET.SubElement(case, "failure", message=_clean(result.said))
        failure.text = _clean("\n".join(commands(result.exchanges, MAX_WRITTEN)))
    elif result.outcome is not Outcome.PASSED:
        ET.SubElement(case, "skipped", message=_clean(f"{result.outcome}: {result.said}"))
    return case


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)


def as_page(report: Report) -> str:
    return document(report.address, _page(report))


def _page(report: Report) -> Iterator[str]:
    made = f"podsync-check {report.version}, {report.began}. {_summary(report)}"
    yield paragraphs([made], "dim")
    heads = "".join(f"<th>{escape(one)}</th>" for one in report.protocols)
    # Focusable, since keyboard users have to scroll it on a narrow screen.
    yield '<div class="table" tabindex="0" role="region" aria-label="Scores">'
    yield f"<table>\n<tr><th></th>{heads}<th></th></tr>"
    for level, scores in _scores(report):
        cells = "".join(f"<td>{score}</td>" for score in scores)
        yield f"<tr><th>{level}</th>{cells}<td>{escape(MEANING[level])}</td></tr>"
    yield "</table></div>\n<h2>Not passed</h2>"
    for group in by_cause(report.results):
        if len(group) > 1:
            yield f"<h3>1 cause, {len(group)} checks: {escape(group[0].cause)}</h3>"
        yield from map(_details, group)
    yield "<h2>Passed</h2>"
    yield from (_details(one) for one in report.results if not one.said)
    for title, texts in _lists(report):
        items = "".join(f"<li>{escape(text)}</li>" for text in texts)
        yield f"<h2>{title}</h2>\n<ul>{items}</ul>"


def _details(result: Result) -> str:
    kind = {Outcome.PASSED: "good", Outcome.FAILED: "bad"}.get(result.outcome, "dim")
    title = (
        f'<span class="{kind}">{result.outcome}</span> {escape(result.check.sentence)}'
        f' <span class="dim">{escape(result.protocol)}, {escape(result.check.path)}</span>'
    )
    by_hand = "\n".join(commands(result.exchanges, MAX_WRITTEN))
    shown = f"<pre>{escape(by_hand)}</pre>" if by_hand else ""
    _, *told = _told(result)  # the title has the sentence
    return unfolding(title, paragraphs(told) + shown)


def commands(exchanges: Sequence[Exchange], at_most: int = MAX_SHOWN) -> list[str]:
    """Return a command for each request, followed by its time and its reply as a comment.

    The commands use `$URL` for the server's address and `$LOGIN` for `name:password`. Of more than
    `at_most` requests, only the first and the last ones are shown.
    """
    if not exchanges:
        return []
    began = exchanges[0].at_seconds
    logins = sorted({one.log_in for one in exchanges if one.log_in})
    shown = [_LOGIN.format(options) for options in logins]
    last = min(at_most, len(exchanges)) * 2 // 3
    first = at_most - last if len(exchanges) > at_most else len(exchanges) - last
    for one in exchanges[:first]:
        shown += _command(one, began)
    if left_out := len(exchanges) - first - last:
        shown.append(f"# ... {left_out} more requests: --json and --html have them")
    for one in exchanges[len(exchanges) - last :]:
        shown += _command(one, began)
    return shown


def _command(exchange: Exchange, began_seconds: float) -> list[str]:
    request = exchange.request
    words = ["curl -sS"]
    if request.method not in {"GET", "POST"} or (request.method == "POST" and not request.body):
        words.append(f"-X {request.method}")
    if exchange.shown_as:
        words.append(exchange.shown_as)
    headers = dict(request.headers)
    if request.body and not headers:
        headers = {"Content-Type": ""}  # curl would declare a form
    words += [f"-H {shlex.quote(f'{name}: {text}'.rstrip())}" for name, text in headers.items()]
    if request.body:
        text = request.body.decode("utf-8", "backslashreplace")
        if len(text) > _MAX_BODY_CHARACTERS:
            text = text[:_MAX_BODY_CHARACTERS] + f"...({len(request.body)} bytes in all)"
        words.append(f"--data-raw {shlex.quote(text)}")
    words.append(f'"$URL"{shlex.quote(request.target)}')
    reply = exchange.reply
    answer = "no reply" if reply is None else f"{reply.status} {shortened(reply.text)}"
    at = f"{exchange.at_seconds - began_seconds:.2f} s"
    return [" ".join(words), f"# {at}: {' '.join(answer.split())}"]
