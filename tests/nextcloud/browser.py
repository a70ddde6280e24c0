"""What an app and its owner's browser do to log in, as far as a server sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import httpx
from feedkeep_process import FeedkeepProcess


@dataclass(frozen=True)
class Owner:
    """A person with an account and a password."""

    process: FeedkeepProcess
    name: str
    password: str


class Page(HTMLParser):
    """A page as a browser without scripts sees it: its one form, and what it loads."""

    def __init__(self, reply: httpx.Response) -> None:
        super().__init__()
        self.reply = reply
        self.fields: dict[str, str] = {}
        self.method = self.action = ""
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(reply.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= set(values)
        self.loaded += [values[name] for name in ("src", "href") if name in values]
        if tag == "form":
            self.method = values.get("method", "get")
            self.action = urljoin(str(self.reply.url), values.get("action", ""))
        if tag == "input":
            self.fields[values["name"]] = values.get("value", "")

    @property
    def alert(self) -> str:
        found = re.search(r'role="alert">([^<]*)<', self.reply.text)
        return found[1] if found else ""


@dataclass(frozen=True)
class Login:
    """A login that an app has begun."""

    app: httpx.Client
    token: str
    endpoint: str
    page: str

    @classmethod
    def begin(cls, app: httpx.Client, /, **asked: str) -> Login:
        reply = app.post("/index.php/login/v2", params=asked)
        assert reply.status_code == 200, reply.text
        told = reply.json()
        return cls(app, told["poll"]["token"], told["poll"]["endpoint"], told["login"])

    def poll(self) -> httpx.Response:
        return self.app.post(self.endpoint, data={"token": self.token})

    def poll_by_json(self) -> httpx.Response:
        """Poll as Cardo and PinePods do."""
        return self.app.post(self.endpoint, json={"token": self.token})

    def is_waiting(self) -> bool:
        return self.poll().status_code != 200


def open_page(browser: httpx.Client, address: str) -> Page:
    reply = browser.get(address)
    assert reply.status_code == 200, reply.text
    return Page(reply)


def submit(browser: httpx.Client, page: Page, **typed: str) -> Page:
    """Send the form of a page, and follow where it leads; what is typed replaces what is in it."""
    data = {**page.fields, **typed}
    return Page(browser.request(page.method, page.action, data=data, follow_redirects=True))


def let_in(app: httpx.Client, browser: httpx.Client, owner: Owner) -> dict[str, Any]:
    """Do the whole login; return what the app gets to know."""
    login = Login.begin(app)
    page = open_page(browser, login.page)
    done = submit(browser, page, name=owner.name, password=owner.password)
    assert done.reply.status_code == 200, done.reply.text
    reply = login.poll()
    assert reply.status_code == 200, reply.text
    told: dict[str, Any] = reply.json()
    owner.process.tokens.append(told["appPassword"])
    return told
