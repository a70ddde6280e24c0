"""Stand-ins for the servers that people come from: the replies of each have its shapes.

Read from mygpo, oPodSync 18095b1, gpodder2go, goPodder, podsync and Nextcloud's gpoddersync. What
they have in common is here once: an account with devices, feeds, removed feeds and actions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

BASIC = "Basic YWxpY2U6c2VjcmV0"  # alice:secret
FEEDS = ["https://a.example/feed", "https://b.example/feed?x=é"]
REMOVED = "https://removed.example/feed"
NOW = 1_760_000_000
LATER = NOW + 100
NOT_THERE = 404, "<html>Page not found</html>"

Answer = tuple[int, Any]


def play(number: int) -> dict[str, Any]:
    return {
        "podcast": FEEDS[0],
        "episode": f"https://a.example/{number}.mp3",
        "action": "play",
        "timestamp": "2026-01-01T12:00:00",
        "started": 0,
        "position": 1 + number,
        "total": 3_600,
    }


@dataclass
class OtherServer:
    """An account's things, and how they are told; goPodder does it so.

    Attributes:
        failures: Statuses of the replies to the next requests for episode actions.
        asked: Methods and targets of all requests.
    """

    devices: list[str] = field(default_factory=lambda: ["phone", "laptop"])
    plays: int = 250
    failures: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def answer(self, method: str, target: str, authorization: str, cookie: str) -> Answer:
        self.asked.append(f"{method} {target}")
        if not self.admits(authorization, cookie):
            return 401, {"code": 401, "message": "\x1b[31mno\x1b[0m"}
        if "/episodes/" in target and self.failures:
            return self.failures.pop(0), {}
        parts = urlsplit(target)
        since = int(parse_qs(parts.query).get("since", ["0"])[0])
        return self.reply(parts.path, since)

    def admits(self, authorization: str, _cookie: str) -> bool:
        return authorization == BASIC

    def reply(self, path: str, since: int) -> Answer:
        if path == "/api/2/devices/alice.json":
            return 200, [self.device(name) for name in self.devices]
        if path == "/subscriptions/alice.json":
            return self.whole_list()
        if path == "/api/2/episodes/alice.json":
            return 200, self.actions(since)
        name = path.removeprefix("/api/2/subscriptions/alice/").removesuffix(".json")
        return self.changes(name) if "/" not in name else NOT_THERE

    def device(self, name: str) -> dict[str, Any]:
        return {"id": name, "caption": name.title(), "type": "mobile", "subscriptions": 2}

    def whole_list(self) -> Answer:
        return 200, FEEDS

    def changes(self, _device: str) -> Answer:
        return 200, {"add": FEEDS, "remove": [REMOVED], "timestamp": NOW}

    def actions(self, since: int) -> dict[str, Any]:
        if since >= NOW:
            return {"actions": [], "timestamp": LATER}
        return {"actions": [play(number) for number in range(self.plays)], "timestamp": NOW}


class GpodderNet(OtherServer):
    """It has URLs that no app fetches, and a device with an id that no app sends."""

    def changes(self, _device: str) -> Answer:
        add = [FEEDS[0], f"feed:{FEEDS[1]}", "file:///c"]
        return 200, {"add": add, "remove": [], "timestamp": NOW}


class Mygpo(OtherServer):
    """Each device has feeds of its own, and a reply has 100 actions at most."""

    def whole_list(self) -> Answer:
        told = {"title": "A", "description": "", "subscribers": 1, "logo_url": None, "website": ""}
        return 200, [{"url": url, **told} for url in FEEDS]

    def changes(self, device: str) -> Answer:
        if device not in self.devices:
            return NOT_THERE
        add, remove = ([FEEDS[0]], [REMOVED]) if device == "phone" else ([FEEDS[1]], [FEEDS[0]])
        return 200, {"add": add, "remove": remove, "timestamp": NOW}

    def actions(self, since: int) -> dict[str, Any]:
        """The time of an action, which is its number, is what `since` is compared with."""
        some = [play(number) for number in range(since, min(since + 100, self.plays))]
        return {"actions": some, "timestamp": since + len(some) - 1 if some else NOW}


class Opodsync(OtherServer):
    """The whole list holds removed feeds, and names a URL `feed`."""

    def device(self, name: str) -> dict[str, Any]:
        return {"id": name, "user": 1, "deviceid": name, "name": None, "subscriptions": 0}

    def whole_list(self) -> Answer:
        return 200, [{"feed": url, "title": None, "website": None} for url in [*FEEDS, REMOVED]]

    def changes(self, _device: str) -> Answer:
        return 200, {"add": FEEDS, "remove": [REMOVED], "update_urls": [], "timestamp": NOW}


class Gpodder2go(OtherServer):
    """It takes a password at its login only; its whole list is OPML, its empty lists are null."""

    def admits(self, _authorization: str, cookie: str) -> bool:
        return "sessionid=theirs" in cookie

    def answer(self, method: str, target: str, authorization: str, cookie: str) -> Answer:
        if target == "/api/2/auth/alice/login.json":
            return (200, None) if (method, authorization) == ("POST", BASIC) else (401, None)
        return super().answer(method, target, authorization, cookie)

    def whole_list(self) -> Answer:
        return 200, '<?xml version="1.0"?><opml version="2.0"/>'

    def changes(self, _device: str) -> Answer:
        return 200, {"add": FEEDS, "remove": None, "timestamp": NOW}

    def actions(self, _since: int) -> dict[str, Any]:
        return {"actions": None, "timestamp": NOW}


class Podsync(OtherServer):
    """It has no whole list."""

    def whole_list(self) -> Answer:
        return NOT_THERE


class Nextcloud(OtherServer):
    """It has gpoddersync only: no devices, and actions as AntennaPod sends them there."""

    def reply(self, path: str, since: int) -> Answer:
        match path:
            case "/index.php/apps/gpoddersync/subscriptions":
                return self.changes("")
            case "/index.php/apps/gpoddersync/episode_action":
                return 200, self.actions(since)
        return NOT_THERE

    def actions(self, since: int) -> dict[str, Any]:
        found = super().actions(since)
        for one in found["actions"]:
            one |= {"action": "PLAY", "guid": f"guid of {one['episode']}"}
        return found


KINDS = [Mygpo, Opodsync, Gpodder2go, OtherServer, Podsync, Nextcloud]


@contextmanager
def serving(server: OtherServer) -> Iterator[str]:
    """Serve on loopback; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookie = self.headers["Cookie"] or ""
            authorization = self.headers["Authorization"] or ""
            status, body = server.answer(self.command, self.path, authorization, cookie)
            self.send_response(status)
            if status == 301:
                self.send_header("Location", "https://elsewhere.example/x")
            if self.path.endswith("/login.json") and status == 200:
                self.send_header("Set-Cookie", "sessionid=theirs; Path=/; SameSite=Lax")
            self.end_headers()
            text = body if isinstance(body, str) else json.dumps(body, indent=2)
            self.wfile.write(text.encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler) as url:
        yield url


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
