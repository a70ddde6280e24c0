"""The pages of the login: plain HTML, which needs no script."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from starlette.responses import HTMLResponse

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 24rem; margin: 4rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
h1 { font-size: 1.4rem; }
label { display: block; margin-top: 1rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; }
button { font: inherit; margin-top: 1.5rem; padding: .6rem 1.2rem; }
[role=alert] { border-left: .25rem solid #b00020; padding-left: .75rem; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #16181c; } }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>feedkeep</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
_FORM = """<h1>Let an app in</h1>
<p><strong>{app}</strong> asks for your account. It will see and change your subscriptions, and what
you have listened to. If you ever want to take that back, ask the person who runs this feedkeep.</p>
{problem}<form method="post">
<input type="hidden" name="secret" value="{secret}">
<label>Name <input name="name" autocomplete="username" autocapitalize="none" required autofocus>
</label>
<label>Password <input name="password" type="password" autocomplete="current-password" required>
</label>
<button>Log in and let it in</button>
</form>
<p>If no app of yours brought you here just now, close this page.</p>"""
_GRANTED = """<h1>Done</h1>
<p><strong>{app}</strong> is let in. You can close this page and go back to it.</p>"""
_TOO_OLD = """<h1>This link is too old</h1>
<p>Go back to the app and log in there once more: it will bring you to a new page.</p>"""
_USED = """<h1>This link was used before</h1>
<p>A link lets an app in once. If it was you who used it, all is done: close this page and go back
to the app.</p>
<p role="alert">If it was not you, somebody else let that app into an account of theirs. Log out in
the app, if it is logged in, and begin again there.</p>"""

# No script, nothing from elsewhere, no frame around it; this one style by its hash.
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
}


def form(app: str, secret: str, problem: str) -> str:
    """Return the page on which a person logs in and lets an app in."""
    alert = f'<p role="alert">{escape(problem)}</p>\n' if problem else ""
    return _FORM.format(app=escape(app), secret=escape(secret), problem=alert)


def granted(app: str) -> str:
    """Return the page that says that it is done."""
    return _GRANTED.format(app=escape(app))


def too_old() -> str:
    """Return the page that says that a link cannot be used any more."""
    return _TOO_OLD


def used() -> str:
    """Return the page that says that a link was used before."""
    return _USED


def response(body: str, status: int = 200) -> HTMLResponse:
    """Return a page as a response."""
    return HTMLResponse(_PAGE.format(style=_STYLE, body=body), status, _HEADERS)
