"""Requests for every route and page action, each as large as its account and the limits allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from largest_account import NAME
from route_table import all_pages, all_routes, bare, path_of

from feedkeep.http.pages.static import StaticFiles
from feedkeep.model.stamps import write_stamp

PASSWORD = "correct horse battery"
# Number of feeds in a small request: the first ones are the largest.
FEW = 40
VALUES = {
    "user": NAME, "device": "device0", "scope": "account", "count": "100", "tag": "news",
    "login": "0" * 64, "app": "antennapod", "name": NAME, "link": "x", "deletion_id": 1,
    "secret": "fn_x",
}  # fmt: skip
STYLE = StaticFiles().path("style.css").rpartition("/")[2]
FILES = {"/docs/{name}": "gpodder.json", "/static/{name}": STYLE}
UNKNOWN = {"guid": "00000000-0000-4000-8000-000000000009", "stamp": 1, "deletion_id": 10**9}


def _actions(urls):
    played = {"action": "play", "position": 9, "timestamp": "2026-01-01T00:00:00"}
    return {"json": [{"podcast": url, "episode": f"{url}/e", **played} for url in urls]}


def _object(urls):
    items = [{"feed_url": url} for url in urls]
    half = len(urls) // 2
    some = {"add": urls[:half], "remove": urls[half:], "set": {"b": 1}}
    return {"json": {"subscriptions": items, "is_subscribed": True, **some}}


def _lines(urls):
    return {"data": {"text": "\n".join(urls), "list": "\n".join(urls), "urls": "\n".join(urls)}}


NAMING = {
    "/api/2/subscriptions/{user}/{device}.json": _object,
    "/api/2/episodes/{user}.json": _actions,
    "/api/2/episodes/{user}/{device}.json": _actions,
    "/subscriptions/{user}.{format}": lambda urls: {"json": urls},
    "/subscriptions/{user}/{device}.{format}": lambda urls: {"json": urls},
    "/index.php/apps/gpoddersync/subscription_change/create": _object,
    "/index.php/apps/gpoddersync/episode_action/create": _actions,
    "/subscriptions": _object,
    "/feeds/add": lambda urls: _lines(urls[:500]),
    "/import": _lines,
    "/import/carry-out": _lines,
    "/import/from/carry-out": _lines,
}
"""Routes that receive many feeds by URL: each is tested with all, and with few."""

# Requests that change the whole list by its history precede those that add history.
FIRST = ("/history/{stamp}/undo", "/restore", "/changes/undo", "/changes/restore")
LAST = ("/sign-out", "/account/password", "/account/sign-out-others", "/account/delete")
"""Page actions that each begin with a sign-in, since one before may have ended all sessions."""


@dataclass(frozen=True)
class Asked:
    """A request; its name is its method, its route and what is special about it."""

    name: str
    method: str
    template: str
    path: str
    is_page: bool  # it needs the session of a browser
    sent: Mapping[str, Any] = field(default_factory=dict)


def largest_requests(account):
    """Return requests for each method of each route, without its prefix: first those that read."""
    targets = [t for t in (*all_routes(), *all_pages()) if not t.path.startswith("/v1/")]
    found = [asked for target in targets for asked in _requests(account, target)]
    return sorted(found, key=lambda asked: (asked.method != "GET", _place(asked.template)))


def _place(template):
    if template in LAST:
        return len(FIRST) + 1 + LAST.index(template)
    return FIRST.index(template) if template in FIRST else len(FIRST)


def _requests(account, target):
    template, is_page = bare(target.path), target.edge.is_for_own_pages
    values = {**VALUES, "guid": account.guids[0], "stamp": account.newest}
    values |= {"format": "opml" if is_page else "json"}
    values |= {"name": FILES[template]} if template in FILES else {}
    for method in target.route.methods:
        if method == "HEAD":  # GET without its body
            continue
        path = path_of(target.path, values)
        for special, sent in _sent(account, template, method, is_page=is_page):
            name = f"{method} {template}{special}"
            yield Asked(name, method, template, path, is_page, sent)
        if any(f"{{{name}}}" in template for name in UNKNOWN):
            path = path_of(target.path, {**values, **UNKNOWN})
            sent = {"json": {}} if method == "PATCH" else {}
            yield Asked(f"{method} {template}, unknown", method, template, path, is_page, sent)


def _sent(account, template, method, *, is_page):
    """Yield the suffix of a request's name and its arguments, for each request of a route."""
    if method == "GET":
        yield "", {"params": _query(account, is_page=is_page)}
    elif template in NAMING:
        yield "", NAMING[template](account.urls)
        yield ", few", NAMING[template](account.urls[:FEW])
    elif template in {"/feeds/subscribe", "/feeds/unsubscribe", "/feeds/file"}:
        yield "", {"data": {"feed": account.guids, "to": "News / Weekly"}}
        yield ", few", {"data": {"feed": account.guids[:FEW], "to": "News / Daily"}}
    elif template == "/history/{stamp}/undo":
        yield "", {}
    elif template == "/changes/undo":
        asked = {"stamps": f"{account.newest}"}
        yield ", changed since", {"data": asked}
        yield "", {"data": {**asked, "when": "overwrite"}}
    elif is_page:
        yield "", {"data": _form(account)}
    else:
        some = {"is_subscribed": True, "set": {"b": 1}, "at": write_stamp(account.last)}
        yield "", {"json": some}


def _query(account, *, is_page):
    """Return a query of which routes understand something each."""
    before = account.newest - 1
    at = f"{before}" if is_page else write_stamp(before)
    return {"per_page": "1000", "at": at, "url": account.urls[0], "q": "title", "show": "all"}


def _form(account):
    """Return a form of which pages understand something each."""
    passwords = ("password", "new_password", "delete_password", "codes_password")
    return {
        "stamps": f"{account.newest}", "at": f"{account.last}", "keep": "1",
        "other_url": account.urls[1], "other": account.guids[2], "title": "Title", "folder": "News",
        "new_url": "https://new.example/feed", "label": "app", "id": "3", "by": NAME, "name": NAME,
        "typed": NAME, "language": "de", "time_zone": "UTC", "theme": "dark", "scope": "read",
        "episode": account.played, "action": "enable", **dict.fromkeys(passwords, PASSWORD),
    }  # fmt: skip
