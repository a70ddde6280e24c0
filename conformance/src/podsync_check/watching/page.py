"""The page that shows requests of an app."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from podsync_check.checks.apps.objections import Hint
from podsync_check.page import document, paragraphs, unfolding
from podsync_check.watching.exchanges import WatchedExchange
from podsync_check.watching.faults import WHAT_HAPPENS, Fault
from podsync_check.watching.hard_cases import Course, Standing, Verdict

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
