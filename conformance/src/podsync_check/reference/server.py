"""Request handlers of the reference server, for all protocols."""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from podsync_check.messages import Reply
from podsync_check.reference.lists import ActionLog, FeedList, SecondClock
from podsync_check.reference.subscriptions import Entry, Subscriptions

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_PER_PAGE = 1_000
MAX_GUESSES = 20
"""Number of wrong passwords that get 401; further ones get 429."""
MAX_LOGINS = 1_000
"""Maximum number of started logins in a browser: they need no password."""

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="reference", charset="UTF-8"'}
_OPML = '<?xml version="1.0"?><opml version="2.0"><body>{}</body></opml>'
_LET_IN = b"<!doctype html><title>Signed in</title><p>The app is signed in. Go back to it."
_WORDS = {
    400: "The body is not what was expected.",
    401: "The name or the password is wrong.",
    404: "There is nothing here.",
    405: "The input is not valid.",
    410: "It was deleted.",
    412: "It was changed meanwhile.",
    413: "The body is too long.",
    429: "There were too many wrong passwords.",
}


class Refused(Exception):
    """A request gets another status than 200."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers or {}


@dataclass(frozen=True)
class Asked:
    """A request as seen by handlers.

    Attributes:
        path: Decoded path.
        app: Name and device of the app, which identify it.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    app: str

    def json(self, kind: type) -> Any:
        """Decode the JSON body; `Refused` if it is too long, or not JSON of that type."""
        if len(self.body) > MAX_BODY_BYTES:
            raise Refused(413)
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            raise Refused(400) from None
        if not isinstance(found, kind):
            raise Refused(400)
        return found

    @property
    def cookie(self) -> str:
        """Session in the cookie; "" without one."""
        cookies = self.headers.get("cookie", "").split(";")
        found = [one.strip().removeprefix("sessionid=") for one in cookies if "sessionid=" in one]
        return found[0] if found else ""

    @property
    def session(self) -> str:
        """Key that also separates apps with the same name."""
        return f"{self.app} {self.headers.get('authorization', '')} {self.cookie}"

    @property
    def base(self) -> str:
        """Address of the server, as the app knows it."""
        return f"http://{self.headers.get('host', 'reference.invalid')}"

    @property
    def since(self) -> int:
        text = self.query.get("since", "0")
        return int(text) if text.isdecimal() else 0


_APP = r"(/index\.php)?/+apps/gpoddersync"
_MINE = r"(?P<user>[^/]+)/(?P<device>[^/]+)"
ROUTES = [  # path, whether it is public, method
    (r"/api/2/auth/(?P<user>[^/]+)/login\.json", False, "log_in"),
    (r"/api/2/auth/(?P<user>[^/]+)/logout\.json", False, "log_out"),
    (r"/api/2/devices/(?P<user>[^/]+)\.json", False, "device_list"),
    (rf"/api/2/devices/{_MINE}\.json", False, "device"),
    (rf"/api/2/subscriptions/{_MINE}\.json", False, "feeds"),
    (rf"/api/2/updates/{_MINE}\.json", False, "updates"),
    (r"/api/2/episodes/(?P<user>[^/]+)\.json", False, "actions"),
    (r"/api/2/sync-devices/(?P<user>[^/]+)\.json", False, "links"),
    (r"/api/2/settings/(?P<user>[^/]+)/(?P<scope>[^/]+)\.json", False, "setting"),
    (r"/api/2/favorites/(?P<user>[^/]+)\.json", False, "favorites"),
    (rf"/subscriptions/{_MINE}\.(?P<form>json|opml|txt)", False, "whole_list"),
    (rf"{_APP}/(subscriptions|subscription_change/create)", False, "feeds"),
    (rf"{_APP}/(episode_action|episode_action/create)", False, "actions"),
    (r"(/index\.php)?/login/v2", True, "begin_login"),
    (r"(/index\.php)?/login/v2/poll", True, "poll_login"),
    (r"/login/(?P<token>[0-9a-f]+)", True, "grant_login"),
    (r"/v1/subscriptions", False, "subscription_list"),
    (r"/v1/subscriptions/(?P<guid>[^/]+)", False, "subscription"),
    (r"/v1/deletions/(?P<number>[0-9]+)", False, "deletion"),
]


@dataclass
class Reference:
    """The server with one account, in memory.

    Attributes:
        begun: Sessions started by passwords, by app.
        logins: Started logins in a browser, by token; the value is the app's password once granted.
        max_changes: Maximum number of feeds in an upload; None accepts all.
        max_per_page: Maximum number of subscriptions on a page.
    """

    name: str
    password: str
    now: Callable[[], float] = time.time
    sessions: set[str] = field(default_factory=set)
    begun: dict[str, str] = field(default_factory=dict)
    logins: dict[str, str] = field(default_factory=dict)
    devices: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    linked: list[list[str]] = field(default_factory=list)
    guesses: int = 0
    max_changes: int | None = None
    max_per_page: int = MAX_PER_PAGE
    routes: ClassVar[Sequence[tuple[str, bool, str]]] = ROUTES

    def __post_init__(self) -> None:
        self.list = FeedList(SecondClock(self.now))
        self.log = ActionLog(SecondClock(self.now))
        self.subscriptions = Subscriptions(self.now)
        self._lock = threading.Lock()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Handle a request; header names are in lower case."""
        parts = urlsplit("/" + target.lstrip("/"))
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path)
        device = re.search(r"/([^/]+)\.json", path)
        app = f"{headers.get('user-agent', '')} {device[1] if device else ''}"
        method = "GET" if method == "HEAD" else method  # the HTTP server omits the body
        asked = Asked(method, path, query, headers, body, app)
        try:
            with self._lock:
                return self._route(asked)
        except Refused as refused:
            return _refusal(refused)
        except (AttributeError, LookupError, TypeError, ValueError):
            return _refusal(Refused(400))  # the body has an unexpected shape

    def _route(self, asked: Asked) -> Reply:
        for pattern, is_public, handler in self.routes:
            if found := re.fullmatch(pattern, asked.path):
                is_by_password = not is_public and self._admit(asked)
                named = found.groupdict()
                if named.get("user", self.name) != self.name:
                    raise Refused(401, _CHALLENGE)
                reply: Reply = getattr(self, handler)(asked, named)
                return self._remembered(asked, reply) if is_by_password else reply
        raise Refused(404)

    def _admit(self, asked: Asked) -> bool:
        """Authenticate a request; return whether by its password instead of its session."""
        if asked.cookie in self.sessions:
            return False
        scheme, _, sent = asked.headers.get("authorization", "").partition(" ")
        if not self._is_right(scheme.lower(), sent.strip()):
            self.guesses += bool(scheme)
            if self.guesses > MAX_GUESSES:
                raise Refused(429, {"Retry-After": "60"})
            raise Refused(401, _CHALLENGE)
        self.guesses = 0
        return True

    def _is_right(self, scheme: str, sent: str) -> bool:
        known = {self.password, *filter(None, self.logins.values())}
        if scheme == "bearer":
            return sent in known
        try:
            pair = _read(base64.b64decode(sent.replace("-", "+").replace("_", "/")))
        except ValueError:
            return False
        return scheme == "basic" and pair in {f"{self.name}:{one}" for one in known}

    def _remembered(self, asked: Asked, reply: Reply) -> Reply:
        """Start a session for a password, as gpodder.net did.

        mygpoclient sends the password three times.
        """
        is_login = asked.path.startswith("/api/2/auth/")
        if is_login or not asked.path.startswith(("/api/2/", "/subscriptions/")):
            return reply
        session = self.begun[asked.app] = self._begin_session(self.begun.get(asked.app))
        return replace(reply, headers={**_cookie(session), **reply.headers})

    def _begin_session(self, known: str | None = None) -> str:
        session = known or secrets.token_hex(16)
        self.sessions.add(session)
        return session

    def log_in(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        return _reply({}, 200, _cookie(self._begin_session()))

    def log_out(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        self.sessions.discard(asked.cookie)
        return _reply({})

    def device(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        self.devices.setdefault(named["device"], {}).update(asked.json(dict))
        return Reply(200, {}, b"")

    def device_list(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        count = len(self.list.subscribed())
        found = [
            {"id": one, "caption": "", "type": "other", **told, "subscriptions": count}
            for one, told in self.devices.items()
        ]
        return _reply(found)

    def feeds(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        if device := named.get("device"):
            self.devices.setdefault(device, {})
        clock = self.list.clock
        if asked.method == "GET":
            add, remove = self.list.changes(asked.app, asked.since)
            second = clock.tell(asked.app, asked.session)
            return _reply({"add": add, "remove": remove, "timestamp": second})
        sent = asked.json(dict)
        add, remove = sent.get("add") or [], sent.get("remove") or []
        if not all(isinstance(urls, list) for urls in (add, remove)):
            raise Refused(400)
        if not all(isinstance(url, str) for url in [*add, *remove]):
            raise Refused(400)
        self._limit([*add, *remove])
        changed = self.list.change(add, remove)
        return _reply({"timestamp": self._after_upload(clock, asked), "update_urls": changed})

    def _limit(self, changes: Sequence[Any]) -> None:
        if self.max_changes is not None and len(changes) > self.max_changes:
            raise Refused(413)

    def _after_upload(self, clock: SecondClock, asked: Asked) -> int:
        """Return the app's last timestamp: other devices may have changed something since."""
        return clock.last_told.get(asked.session, 1)

    def actions(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        if asked.method == "POST":
            sent = asked.json(list)
            if not all(isinstance(action, dict) for action in sent):
                raise Refused(400)
            self.log.record(sent, "")
            second = self._after_upload(self.log.clock, asked)
            return _reply({"timestamp": second, "update_urls": []})
        found = self.log.since(asked.app, asked.since)
        for name in ("podcast", "device"):
            if wanted := asked.query.get(name):
                found = [action for action in found if action.get(name) == wanted]
        if asked.query.get("aggregated") == "true":
            found = list({action["episode"]: action for action in found}.values())
        second = self.log.clock.tell(asked.app, asked.session)
        return _reply({"actions": found, "timestamp": second})

    def whole_list(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        feeds = self.list.subscribed()
        if asked.method == "PUT":
            wanted = _urls_in(asked, named["form"])
            self.list.change(wanted, set(feeds) - set(wanted))
            return Reply(200, {}, b"")
        if named["form"] == "json":
            return _reply(feeds)
        lines = "\n".join(feeds)
        if named["form"] == "opml":
            lines = _OPML.format("".join(f'<outline xmlUrl="{escape(feed)}"/>' for feed in feeds))
        return Reply(200, {}, lines.encode())

    def links(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        if asked.method == "POST":
            self.linked = asked.json(dict).get("synchronize", [])
        return _reply({"synchronized": self.linked, "not-synchronized": []})

    def setting(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        kept = self.settings.setdefault(named["scope"], {})
        if asked.method == "POST":
            sent = asked.json(dict)
            kept.update(sent.get("set", {}))
            for name in sent.get("remove", []):
                kept.pop(name, None)
        return _reply(kept)

    def favorites(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        # The reference server has none.
        return _reply([])

    def updates(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        add, remove = self.list.changes(asked.app, asked.since)
        told = {"add": [{"url": url} for url in add], "rem": remove, "updates": []}
        return _reply({**told, "timestamp": self.list.clock.tell(asked.app, asked.session)})

    def begin_login(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        """Start a login, which is granted as soon as its page is opened."""
        if len(self.logins) >= MAX_LOGINS:
            raise Refused(429, {"Retry-After": "60"})
        token = secrets.token_hex(16)
        self.logins[token] = ""
        poll = {"token": token, "endpoint": f"{asked.base}/index.php/login/v2/poll"}
        return _reply({"poll": poll, "login": f"{asked.base}/login/{token}"})

    def grant_login(self, _: Asked, named: Mapping[str, str]) -> Reply:
        """Grant a login without a password: it gives access to a test account only."""
        token = named["token"]
        if token not in self.logins:
            raise Refused(404)
        self.logins[token] = self.logins[token] or secrets.token_hex(16)  # the page may be reloaded
        return Reply(200, {"content-type": "text/html; charset=utf-8"}, _LET_IN)

    def poll_login(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        token = parse_qs(asked.body.decode("utf-8", "replace")).get("token", [""])[-1]
        if not (password := self.logins.get(token)):
            raise Refused(404)
        return _reply({"server": asked.base, "loginName": self.name, "appPassword": password})

    def subscription_list(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        if asked.method == "POST":
            return self._add_subscriptions(asked)
        page = int(asked.query.get("page", 1))
        size = min(int(asked.query.get("per_page", 50)), self.max_per_page)
        found = self.subscriptions.since(asked.query.get("since", ""))
        shown = found[(page - 1) * size : page * size]
        told: dict[str, Any] = {"total": len(found), "page": page, "per_page": size}
        told |= {"subscriptions": [entry.shown() for entry in shown]}
        if page * size < len(found):
            since = asked.query.get("since", "")
            query = f"page={page + 1}&per_page={size}" + (f"&since={since}" if since else "")
            told |= {"next": f"{asked.base}{asked.path}?{query}"}
        return _reply(told, 200, {"feedkeep-epoch": self.subscriptions.epoch})

    def _add_subscriptions(self, asked: Asked) -> Reply:
        items = asked.json(dict).get("subscriptions")
        if not isinstance(items, list):
            raise Refused(405)
        self._limit(items)
        done = [(item, self.subscriptions.add(item)) for item in items]
        failure = [
            {"feed_url": item["feed_url"], "message": "No protocol present"}
            for item, added in done
            if added is None
        ]
        return _reply({"success": [added for _, added in done if added], "failure": failure})

    def subscription(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        guid = named["guid"].lower()
        try:
            uuid.UUID(guid)
        except ValueError:
            raise Refused(405) from None
        own = self.subscriptions.entries.get(guid)
        entry = self.subscriptions.find(guid)
        if own is None or entry is None:
            raise Refused(404)
        if asked.method == "GET":
            if entry.deleted:
                raise Refused(410)
            return _reply(own.shown(), 200, {"etag": _etag(entry)})
        if entry.deleted:
            raise Refused(404)
        if (tag := asked.headers.get("if-match")) and tag != _etag(entry):
            raise Refused(412)
        if asked.method == "PATCH":
            return _reply(self.subscriptions.change(entry, asked.json(dict)))
        number = self.subscriptions.delete(entry)
        return _reply({"deletion_id": number, "message": "It will be deleted."}, 202)

    def deletion(self, asked: Asked, named: Mapping[str, str]) -> Reply:
        number = int(named["number"])
        return _reply({"deletion_id": number, "status": "SUCCESS", "message": "It is deleted."})


class OtherDevice:
    """Another device of the account, which changes both lists during a hard case."""

    def __init__(self, server: Reference) -> None:
        self._server = server

    def add(self, *urls: str) -> None:
        self._server.list.change(urls, [])
        for url in urls:
            self._server.subscriptions.add({"feed_url": url})

    def remove(self, url: str) -> None:
        self._server.list.change([], [url])
        if entry := self._server.subscriptions.find_url(url):
            self._server.subscriptions.change(entry, {"is_subscribed": False})

    def move(self, old: str, new: str) -> None:
        self._server.list.change([new], [old])
        if entry := self._server.subscriptions.find_url(old):
            self._server.subscriptions.change(entry, {"new_feed_url": new})

    def rename(self, url: str) -> None:
        self._become(url, str(uuid.uuid4()))

    def merge(self, url: str, other: str) -> None:
        """Make one subscription of two, with the guid of the other one."""
        if entry := self._server.subscriptions.find_url(other):
            self._become(url, entry.guid)

    def _become(self, url: str, guid: str) -> None:
        if entry := self._server.subscriptions.find_url(url):
            self._server.subscriptions.change(entry, {"new_guid": guid})

    def restore_without(self, url: str) -> None:
        """Restore a backup of the server from before a feed was added."""
        self._server.subscriptions.forget(url)

    def limit_uploads(self, feeds: int | None) -> None:
        """Make the server refuse uploads of more feeds with 413; None accepts all."""
        self._server.max_changes = feeds

    def limit_pages(self, entries: int | None) -> None:
        self._server.max_per_page = entries or MAX_PER_PAGE

    def correct(self, url: str, to: str) -> None:
        """Make the server replace a URL in uploads, and report that in `update_urls`."""
        self._server.list.corrected[url] = to

    def end_sessions(self) -> None:
        self._server.sessions.clear()


def _cookie(session: str) -> Mapping[str, str]:
    return {"set-cookie": f"sessionid={session}; Path=/"}


def _urls_in(asked: Asked, form: str) -> list[str]:
    if form == "json":
        return list(asked.json(list))
    text = asked.body.decode("utf-8", "replace")
    if form == "opml":
        return [unescape(url) for url in re.findall(r'xmlUrl="([^"]*)"', text)]
    return text.split()


def _read(credential: bytes) -> str:
    try:
        return credential.decode()
    except UnicodeDecodeError:
        return credential.decode("latin-1")


def _refusal(refused: Refused) -> Reply:
    error = {"code": str(refused.status), "message": _WORDS.get(refused.status, "It failed.")}
    return _reply(error, refused.status, refused.headers)


def _etag(entry: Entry) -> str:
    return f'"{entry.revision}"'


def _reply(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    kind = {"content-type": "application/json"}
    lower = {name.lower(): text for name, text in (headers or {}).items()}
    return Reply(status, kind | lower, json.dumps(body).encode())
