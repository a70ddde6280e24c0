"""HTML pages: reports of servers, and requests of apps. Each is one file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

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
