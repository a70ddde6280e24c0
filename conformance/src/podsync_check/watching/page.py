"""The page that shows requests of an app; self-contained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from podsync_check.checks.apps.objections import Hint
from podsync_check.watching.exchanges import WatchedExchange
from podsync_check.watching.faults import WHAT_HAPPENS, Fault
from podsync_check.watching.hard_cases import Course, Standing, Verdict

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9de; --dim: #5b626d; --bad: #a32020; --good: #1b6e2c;
  --back: #f4f6f8 }
@media (prefers-color-scheme: dark) { :root { --line: #3a4048; --dim: #a3abb6; --bad: #ff8f87;
  --good: #8bd49a; --back: #22262b } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 1.5rem }
button { font: inherit; padding: .2rem .7rem; cursor: pointer; width: 100% }
code, pre { font: .875rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
pre { white-space: pre-wrap; background: var(--back); padding: .5rem; margin: .25rem 0 }
.faults { display: grid; grid-template-columns: max-content 1fr; gap: .4rem .8rem;
  align-items: center }
article, details { border-top: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
article p { margin: .2rem 0 } .now { background: var(--back); padding: .7rem 1rem }
.dim { color: var(--dim) } .bad { color: var(--bad) } .good { color: var(--good) }
"""
_DEEDS = {
    "keep": "backs up the current list",
    "restore": "restores the backup, at first an empty list; the epoch changes",
}
_KINDS = {Verdict.HELD: "good", Verdict.WRONG: "bad"}


def page(
    exchanges: Sequence[WatchedExchange],
    objection_count: int,
    pending: Sequence[Fault],
    deeds: Sequence[str],
    course: Course,
    *,
    stays: bool,
) -> str:
    """Return the page, with bodies if it `stays`; otherwise it reloads itself."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "" if stays else '<meta http-equiv="refresh" content="3">',
            f"<title>What your app sent</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            "<h1>What your app sent</h1>",
            _summary(objection_count, stays=stays),
            *_cases(course),
            *_faults(pending, deeds),
            "<h2>Requests, the newest first</h2>",
            *(_exchange(one, stays=stays) for one in exchanges),
            "" if exchanges else '<p class="dim">None yet.</p>',
            "</body>\n</html>\n",
        ]
    )


def _summary(count: int, *, stays: bool) -> str:
    many = "" if count == 1 else "s"
    told = (
        f'<strong class="bad">{count} objection{many}</strong> so far.'
        if count
        else "No objection so far."
    )
    reloads = 'It reloads by itself; <a href="/try?stay=1">stop that to read</a>.'
    follow = '<a href="/try">Follow</a>'
    return f"<p>{told} {follow if stays else reloads}</p>"


def _cases(course: Course) -> Iterator[str]:
    if not course.standings:
        return
    if current := course.current:
        yield f'<p class="now"><strong>Now:</strong> {escape(current.case.asks)}</p>'
    yield "<h2>Hard cases</h2>"
    yield from (_case(one, is_current=one is current) for one in course.standings)


def _case(one: Standing, *, is_current: bool) -> str:
    case, kind = one.case, _KINDS.get(one.verdict, "dim")
    verdict = "<strong>now</strong>" if is_current else one.verdict
    said = f'<p class="bad">{escape(one.said)}</p>' if one.said else ""
    return (
        f'<details{" open" if said else ""}><summary><span class="{kind}">{verdict}</span>'
        f" {escape(case.sentence)}</summary>{said}<p>Why it matters: {escape(case.why)}</p>"
        f'<p class="dim">Seen: {escape(case.seen)}. Specified: {escape(case.spec)}</p></details>'
    )


def _faults(pending: Sequence[Fault], deeds: Sequence[str]) -> Iterator[str]:
    yield "<h2>Make the next request fail</h2>"
    if pending:
        yield f"<p>Waiting for the next requests: {', '.join(pending)}.</p>"
    yield '<div class="faults">'
    for fault, what in WHAT_HAPPENS.items():
        field = f'<input type="hidden" name="fault" value="{fault}">'
        yield f'<form method="post" action="/try/faults">{field}<button>{fault}</button></form>'
        yield f"<span>{what}</span>"
    for deed in deeds:
        yield f'<form method="post" action="/try/{deed}"><button>{deed}</button></form>'
        yield f"<span>{_DEEDS[deed]}</span>"
    also = "".join(f", <code>curl -X POST …/try/{deed}</code>" for deed in deeds)
    yield (
        "</div>\n<p class=\"dim\">For a test: <code>curl -d 'fault=lost&amp;times=2' …/try/faults"
        f"</code>{also}; <code>…/try/requests.json</code> has the data below.</p>"
    )


def _exchange(one: WatchedExchange, *, stays: bool) -> str:
    status = one.status or '<span class="dim">no response</span>'
    fault = f' <span class="dim">({one.fault}, as ordered)</span>' if one.fault else ""
    objections = "".join(
        f'<p class="{"dim" if isinstance(text, Hint) else "bad"}">{escape(text)}</p>'
        for text in one.objections
    )
    bodies = "".join(f"<pre>{_text(body)}</pre>" for body in (one.body, one.reply) if body)
    return (
        f'<article><p><code><span class="dim">{one.number}</span> <strong>{escape(one.method)}'
        f"</strong> {escape(one.target)}</code> → {status}{fault}</p>{objections}"
        f"{bodies if stays else ''}</article>"
    )


def _text(body: bytearray) -> str:
    return escape(body.decode("utf-8", "replace"))
