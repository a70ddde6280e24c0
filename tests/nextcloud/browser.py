"""Login steps of an app and its owner's browser, as a server sees them."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin


@dataclass(frozen=True)
class Owner:
    """A person with an account and a password."""

    process: Any
    name: str
    password: str

    @classmethod
    def new(cls, process, password):
        return cls(process, process.new_account(password), password)


class Page(HTMLParser):
    """A page as a browser without scripts sees it: its one form, and what it loads."""

    def __init__(self, reply):
        super().__init__()
        self.reply = reply
        self.fields = {}
        self.method = self.action = ""
        self.loaded = []
        self.attributes = set()
        self.feed(reply.text)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.attributes |= set(values)
        self.loaded += [values[name] for name in ("src", "href") if name in values]
        if tag == "form":
            self.method = values.get("method", "get")
            self.action = urljoin(str(self.reply.url), values.get("action", ""))
        if tag == "input":
            self.fields[values["name"]] = values.get("value", "")

    @property
    def alert(self):
        found = re.search(r'role="alert">([^<]*)<', self.reply.text)
        return found[1] if found else ""


@dataclass(frozen=True)
class Login:
    """A login that an app has begun."""

    app: Any
    token: str
    endpoint: str
    page: str

    @classmethod
    def begin(cls, app, /, **asked):
        reply = app.post("/index.php/login/v2", params=asked)
        assert reply.status_code == 200, reply.text
        told = reply.json()
        return cls(app, told["poll"]["token"], told["poll"]["endpoint"], told["login"])

    def poll(self):
        return self.app.post(self.endpoint, data={"token": self.token})

    def is_waiting(self):
        return self.poll().status_code != 200

    def fetched(self, owner, **how):
        """Return the fetched credentials; register the token, which must not be found anywhere."""
        reply = self.app.post(self.endpoint, **how or {"data": {"token": self.token}})
        assert reply.status_code == 200, reply.text
        owner.process.tokens.append(reply.json()["appPassword"])
        return reply.json()


def open_page(browser, address):
    reply = browser.get(address)
    assert reply.status_code == 200, reply.text
    return Page(reply)


def submit(browser, page, **typed):
    """Send the form of a page, and follow where it leads; what is typed replaces what is in it."""
    data = {**page.fields, **typed}
    return Page(browser.request(page.method, page.action, data=data, follow_redirects=True))


def grant(browser, page, owner, status=200):
    """Type name and password into a page; return the next one."""
    done = submit(browser, page, name=owner.name, password=owner.password)
    assert done.reply.status_code == status, done.reply.text
    return done


def let_in(app, browser, owner):
    """Do the whole login; return what the app gets to know."""
    login = Login.begin(app)
    grant(browser, open_page(browser, login.page), owner)
    return login.fetched(owner)
