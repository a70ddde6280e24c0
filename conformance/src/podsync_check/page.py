"""HTML pages: reports of servers, and requests of apps. Each is one file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from html import escape

from podsync_check.checks.apps.objections import Hint
from podsync_check.watching.exchanges import WHAT_HAPPENS, Fault, WatchedExchange
from podsync_check.watching.hard_cases import Course, Standing, Verdict

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9de; --dim: #5b626d; --bad: #a32020; --good: #1b6e2c;
  --back: #f4f6f8 }
@media (prefers-color-scheme: dark) { :root { --line: #3a4048; --dim: #a3abb6; --bad: #ff8f87;
  --good: #8bd49a; --back: #22262b } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 1.5rem } h3 { font-size: 1rem }
button { font: inherit; padding: .2rem .7rem; cursor: pointer; width: 100% }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
pre { white-space: pre-wrap; background: var(--back); padding: .5rem; margin: .25rem 0 }
.table { overflow-x: auto; overflow-wrap: normal } table { border-collapse: collapse }
td, th { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid var(--line) }
.faults { display: grid; grid-template-columns: max-content 1fr; gap: .4rem .8rem;
  align-items: center }
details { border-top: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
details p { margin: .2rem 0 } .now { background: var(--back); padding: .7rem 1rem }
.dim { color: var(--dim) } .bad { color: var(--bad) } .good { color: var(--good) }
"""

_DEEDS = {
    "keep": "backs up the current list",
    "restore": "restores the backup, at first an empty list; the epoch changes",
}
_KINDS = {Verdict.HELD: "good", Verdict.WRONG: "bad"}


def document(title: str, body: Iterable[str]) -> str:
    """Return a page with a title."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"'
        f' content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
    )
    return head + "\n".join(body) + "\n</body>\n</html>\n"


def unfolding(title: str, body: str, *, is_open: bool = False) -> str:
    """Return a title in HTML that unfolds its body."""
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{body}</details>"


def paragraphs(texts: Iterable[str], kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return "".join(f"<p{of_kind}>{escape(text)}</p>" for text in texts if text)


def page_of_requests(
    exchanges: Collection[WatchedExchange],
    objection_count: int,
    pending: Collection[Fault],
    deeds: Collection[str],
    course: Course,
) -> str:
    """Return the page; it shows what was there when it was loaded."""
    kind, many = "bad" if objection_count else "good", "" if objection_count == 1 else "s"
    return document(
        "What your app sent",
        [
            f'<p><strong class="{kind}">{objection_count} objection{many}</strong> so far.'
            ' <a href="/try">Show the newest requests</a></p>',
            *_cases(course),
            "<h2>Requests, the newest first</h2>",
            *map(_exchange, exchanges),
            "" if exchanges else '<p class="dim">None yet.</p>',
            *_faults(pending, deeds),
        ],
    )


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
    told = paragraphs([one.said], "bad") + paragraphs(
        [f"Why it matters: {case.why}", f"Seen: {case.seen}. Specified: {case.spec}"]
    )
    title = f'<span class="{kind}">{verdict}</span> {escape(case.sentence)}'
    return unfolding(title, told, is_open=bool(one.said))


def _faults(pending: Collection[Fault], deeds: Collection[str]) -> Iterator[str]:
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
        f"</code>{also}; <code>…/try/requests.json</code> has the data above.</p>"
    )


def _exchange(one: WatchedExchange) -> str:
    status = one.status or '<span class="dim">no response</span>'
    fault = f' <span class="dim">({one.fault}, as ordered)</span>' if one.fault else ""
    objections = "".join(
        paragraphs([text], "dim" if isinstance(text, Hint) else "bad") for text in one.objections
    )
    bodies = "".join(
        f"<pre>{escape(body.decode('utf-8', 'replace'))}</pre>"
        for body in (one.body, one.reply)
        if body
    )
    title = (
        f'<code><span class="dim">{one.number}</span> <strong>{escape(one.method)}</strong>'
        f" {escape(one.target)}</code> → {status}{fault}{objections}"
    )
    return unfolding(title, bodies)
