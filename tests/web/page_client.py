"""A browser without scripts, as far as the service sees it: pages, forms, cookies, redirects."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
from feedkeep_process import FeedkeepProcess, from_elsewhere

from feedkeep.rules.feed_urls import parse_feed_url

PASSWORD = "correct horse battery"
_SECRETS = re.compile(r"f[kpir]_[\w-]{40,}|(?<=<code>)[\w-]{19}(?=</code>)")


def plain(markup: str) -> str:
    markup = re.sub(r"</?bdi>", "", markup)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", markup))).strip()


def guid_of(url: str) -> str:
    return str(parse_feed_url(url).guid)


def place_of(url: str) -> str:
    """Return the path of a feed's page."""
    return f"/feeds/{guid_of(url)}"


@dataclass(frozen=True)
class Shown:
    """A page that came."""

    reply: httpx.Response

    @property
    def status(self) -> int:
        return self.reply.status_code

    @property
    def path(self) -> str:
        return self.reply.url.path

    @property
    def text(self) -> str:
        """Visible text of the page."""
        return plain(re.sub(r"<head.*?</head>", "", self.reply.text, flags=re.DOTALL))

    def values(self, name: str) -> list[str]:
        """Return the values of all fields and buttons with a name."""
        found = []
        for tag in re.findall(r"<(?:input|button|textarea)\b[^>]*>", self.reply.text):
            attributes = dict(re.findall(r'(\w+)="?([^">\s]*)"?', tag))
            if attributes.get("name") == name:
                found.append(unescape(attributes.get("value", "")))
        return found

    def problem(self, field: str) -> str:
        """Return the problem beside a field."""
        return self._within(rf'id="{field}-problem"[^>]*>(.*?)</(?:p|div)>')

    @property
    def note(self) -> str:
        """Note on the page after an action."""
        return self._within(r'<div class="note" role="status">(.*?)</div>')

    @property
    def secrets(self) -> list[str]:
        """Secrets that the page shows once."""
        shown = re.findall(r'class="secret" id="\w+">([^<]*)<', self.reply.text)
        return [unescape(text) for text in shown]

    def _within(self, pattern: str) -> str:
        found = re.search(pattern, self.reply.text, re.DOTALL)
        return plain(found[1]) if found else ""


_opened: list[httpx.Client] = []


def close_all() -> None:
    """Close every browser and app of a test."""
    while _opened:
        _opened.pop().close()


def app_of(process: FeedkeepProcess, name: str, user_agent: str) -> httpx.Client:
    """Return an app that has the password of an account; `close_all` closes it."""
    headers = {**from_elsewhere(), "User-Agent": user_agent}
    auth = (name, PASSWORD)
    _opened.append(httpx.Client(base_url=process.base_url, headers=headers, auth=auth, timeout=30))
    return _opened[-1]


class PageClient:
    """A person's browser; `close_all` closes it. What pages show once, the process may not keep.

    Attributes:
        name: Of the account that was signed in to.
    """

    def __init__(
        self,
        process: FeedkeepProcess,
        base_url: str = "",
        through: httpx.BaseTransport | None = None,
        **headers: str,
    ) -> None:
        """Be at another `base_url` than the process's own if a proxy is in between."""
        self.process = process
        self.http = httpx.Client(
            transport=through,
            base_url=base_url or process.base_url,
            headers={**from_elsewhere(), "Accept": "text/html", **headers},
            timeout=30,
        )
        self.name = ""
        _opened.append(self.http)

    def get(self, path: str, **options: Any) -> Shown:
        return self._shown(self.http.get(path, follow_redirects=True, **options))

    def until(self, path: str, text: str) -> Shown:
        """Return a page once it says something that is stored after a reply."""
        deadline = time.monotonic() + 30
        while text not in (page := self.get(path)).text:
            assert time.monotonic() < deadline, page.text
        return page

    def post(self, path: str, data: Any = None, **options: Any) -> Shown:
        """Send a form, and follow where it leads."""
        return self._shown(self.http.post(path, data=data, follow_redirects=True, **options))

    def _shown(self, reply: httpx.Response) -> Shown:
        self.process.tokens += _SECRETS.findall(reply.text)
        return Shown(reply)

    def bare_post(self, path: str, data: Any = None, **options: Any) -> httpx.Response:
        """Send a form, and do not follow."""
        return self.http.post(path, data=data, **options)

    def sign_in(self, name: str, password: str = PASSWORD) -> Shown:
        self.name = name
        return self.post("/sign-in", {"name": name, "password": password})

    def add(self, *urls: str) -> Shown:
        return self.post("/feeds/add", {"urls": "\r\n".join(urls)})

    def undo(self, page: Shown, number: int = 0, **more: Any) -> Shown:
        """Press a button that takes a change back."""
        fields = {field: page.values(field)[number] for field in ("stamps", "back")}
        return self.post("/changes/undo", {**fields, **more})

    def listed(self, path: str = "/") -> set[str]:
        """Return the GUIDs of the feeds on a page of the list."""
        return set(self.get(path).values("feed"))

    def titles(self, path: str = "/") -> list[str]:
        """Return the titles of the feeds on a page of the list, in their order."""
        found = re.findall(r"<a id=f\d+ [^>]*>([^<]*)</a>", self.get(path).reply.text)
        return [unescape(title) for title in found]

    def exported(self) -> list[str]:
        """Return the URLs of all feeds."""
        return self.get("/export/urls").reply.text.split()


def signed_in(process: FeedkeepProcess, **headers: str) -> tuple[PageClient, str]:
    """Return the browser of a new account, and its name."""
    name = process.new_account(PASSWORD)
    client = PageClient(process, **headers)
    assert client.sign_in(name).path == "/"
    return client, name


def administrator(process: FeedkeepProcess) -> tuple[PageClient, str]:
    """Return the browser of an administrator, and the name."""
    client, name = signed_in(process)
    process.use(lambda service: service.accounts.set_admin(name, True))
    return client, name
