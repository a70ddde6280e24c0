"""Self-contained HTML report."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from podsync_check.checking import MEANING, Level
from podsync_check.curl import MAX_WRITTEN, commands
from podsync_check.running import Outcome, Report, Result

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .3rem .8rem; text-align: left;
  border-bottom: 1px solid var(--line); } td.score { font-variant-numeric: tabular-nums; }
details { border-bottom: 1px solid var(--line); padding: .4rem 0; } summary { cursor: pointer; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: .4rem;
  font-size: .85rem; } .failed { color: light-dark(#b00020, #ff8a80); font-weight: 600; }
.passed { color: light-dark(#1b6e2c, #8bd49a); } .muted { opacity: .75; }
"""


def as_page(report: Report) -> str:
    return "\n".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>podsync-check: {escape(report.address)}</title>"
    yield f"<style>{_STYLE}</style>\n</head>"
    yield f"<body>\n<h1>{escape(report.address)}</h1>"
    yield (
        f'<p class="muted">podsync-check {report.version}, {report.began}, {report.requests}'
        f" requests in {report.seconds:.0f} seconds.</p>"
    )
    yield "<table>\n<tr><th></th>"
    yield "".join(f"<th>{escape(one)}</th>" for one in report.protocols) + "<th></th></tr>"
    for level in Level:
        scores = [report.score(level, protocol) for protocol in report.protocols]
        if any(of for _, of in scores):
            cells = "".join(
                f'<td class="score">{f"{got} of {of}" if of else ""}</td>' for got, of in scores
            )
            yield f"<tr><th>{level}</th>{cells}<td>{escape(MEANING[level])}</td></tr>"
    yield "</table>"
    for level in Level:
        if results := [one for one in report.results if one.check.level is level]:
            yield f"<h2>{level.capitalize()}</h2>"
            yield from map(_result, results)
    for title, texts in (("Notes", report.notes), ("Left behind", report.left_behind)):
        if texts:
            items = "".join(f"<li>{escape(text)}</li>" for text in texts)
            yield f"<h2>{title}</h2>\n<ul>{items}</ul>"
    yield "</body>\n</html>"


def _result(result: Result) -> str:
    check = result.check
    kind = {Outcome.PASSED: "passed", Outcome.FAILED: "failed"}.get(result.outcome, "muted")
    paragraphs = [result.said] if result.said else []
    paragraphs += [
        f"Why it matters: {check.why}",
        f"Seen: {check.seen}. Specified: {check.spec}",
        *result.notes,
    ]
    told = "".join(f"<p>{escape(text)}</p>" for text in paragraphs)
    by_hand = "\n".join(commands(result.exchanges, MAX_WRITTEN))
    shown = f"<pre>{escape(by_hand)}</pre>" if by_hand else ""
    return (
        f'<details><summary><span class="{kind}">{result.outcome}</span>'
        f' {escape(check.sentence)} <span class="muted">{escape(result.protocol)},'
        f" {escape(check.name)}</span></summary>{told}{shown}</details>"
    )
