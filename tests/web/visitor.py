"""A person at a browser: they find things by label, role and text, in the language they read."""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from axe_playwright_python.sync_playwright import Axe
from feedkeep_process import from_elsewhere
from forms import IS_LONG
from page_client import PASSWORD
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Playwright,
    Request,
    WebError,
    expect,
)

from feedkeep.http.pages.languages import Localizer

PATIENCE_MS = 20_000
NARROW, PHONE, WIDE = 320, 360, 1280

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_STATUS = re.compile(r"Failed to load resource: the server responded with a status of (\d+)")
_QUIET = (
    *("--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-quic", "--disable-sync", "--no-first-run"),
)
_AXE = Axe().axe_script
_VIOLATIONS = """(what) => axe.run({runOnly: what, resultTypes: ["violations"]})
  .then((results) => results.violations)"""
_STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_ALL = {"type": "tag", "values": _STANDARDS}
_RULES = ["color-contrast", "scrollable-region-focusable", "target-size"]
_OF_WIDTH_AND_THEME = {"type": "rule", "values": _RULES}
_LOOKS = ((WIDE, "dark", _ALL), (NARROW, "light", _OF_WIDTH_AND_THEME))
_LOADED = """(count) => [...document.querySelectorAll("main img")]
  .filter((image) => image.complete && image.naturalWidth).length >= count"""
_FOCUSED = """(wanted) => {
  const focused = document.activeElement;
  const style = getComputedStyle(focused);
  const box = focused.getBoundingClientRect();
  const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const isOnTop = at && focused.contains(at) && box.width >= 16 && box.height >= 16;
  const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [Boolean(isOnTop && isOutlined), focused === wanted, focused.outerHTML.slice(0, 200)];
}"""
_SCALED = "(size) => { document.documentElement.style.fontSize = size; }"
_TWICE = "212.5%"
"""Twice the size that style.css has."""
_SCROLLS_SIDEWAYS = """() => [...document.querySelectorAll("html, body *")]
  .filter((element) => !element.closest(".unseen"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1
    || element.scrollWidth > element.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(element).overflowX)
    || element.tagName === "HTML" && element.scrollWidth > innerWidth)
  .map((element) => element.outerHTML.slice(0, 120))"""


def chromium_path() -> str | None:
    """Return the path of the system's Chromium; None if it is not installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def launched(playwright: Playwright, path: str) -> Browser:
    """Start a browser with a profile of its own, in a temporary folder."""
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    browser = playwright.chromium.launch(executable_path=path, args=[*_QUIET, *as_root])
    expect.set_options(timeout=PATIENCE_MS)
    return browser


class Contexts:
    """The contexts of a browser: each is one visitor's, and the next one's when that has gone.

    To make one costs more than most of what visitors do in it.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[BrowserContext]] = defaultdict(list)

    def taken(self, **options: object) -> BrowserContext:
        """Return an unused context of that kind, with one blank page."""
        free = self._free[str(options)]
        if free:
            return free.pop()
        context = self._browser.new_context(**options)
        # It stays: with its last page, a context loses what is costly about it.
        context.new_page()
        return context

    def given_back(self, context: BrowserContext, **options: object) -> None:
        """Take from a context all that a visitor has left in it."""
        for page in context.pages[1:]:
            page.close()
        context.clear_cookies()
        self._free[str(options)].append(context)


class Visitor:
    """A person whose browser shares nothing with other visitors, and who has an own address.

    Attributes:
        page: Page in the browser.
        words: Texts in their language.
        expected: The statuses of errors that a test brings about on purpose.
    """

    def __init__(
        self,
        contexts: Contexts,
        base_url: str,
        *,
        language: str = "en",
        has_script: bool = True,
        width: int = WIDE,
        is_phone: bool = False,
        expected: Iterable[int] = (),
        **options: object,
    ) -> None:
        self.base_url = base_url
        self.words = Localizer(language)
        self.has_script = has_script
        self.expected = set(expected)
        self._odd: list[str] = []
        self._has_own_clock = False
        self._looks = 0
        self._contexts = contexts
        self._kind = {
            "locale": language,
            "java_script_enabled": has_script,
            "viewport": {"width": width, "height": 800},
            "is_mobile": is_phone,
            "has_touch": is_phone,
            **options,
        }
        self._listeners = {
            "request": self._look_at_request,
            "console": self._look_at_console,
            "weberror": self._look_at_error,
        }
        self.context = contexts.taken(**self._kind)
        self.context.set_extra_http_headers(from_elsewhere())
        self.context.set_default_timeout(PATIENCE_MS)
        for event, listener in self._listeners.items():
            self.context.on(event, listener)
        self.page = self.context.new_page()

    def close(self) -> None:
        """Leave; nothing odd may have happened in the browser."""
        if self._odd or self._has_own_clock:
            self.context.close()
        else:
            for event, listener in self._listeners.items():
                self.context.remove_listener(event, listener)
            self._contexts.given_back(self.context, **self._kind)
        assert not self._odd, "\n".join(self._odd)

    def _look_at_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self.base_url:
            self._odd.append(f"a connection to {request.url}")

    def _look_at_console(self, message: ConsoleMessage) -> None:
        status = _STATUS.match(message.text)
        is_expected = status and int(status[1]) in self.expected
        if message.type in {"error", "warning"} and not is_expected:
            self._odd.append(f"on the console: {message.text} {message.location}")

    def _look_at_error(self, error: WebError) -> None:
        self._odd.append(str(error.error))

    # Reading.

    def say(self, text: str, **values: object) -> str:
        """Return a text of the pages in the visitor's language."""
        said = self.words.gettext(text)
        return said % values if values else said

    def say_many(self, one: str, many: str, count: int) -> str:
        """Return a text with a count in it, in the visitor's language."""
        said = self.words.ngettext(one, many, count)
        return said % {"count": count, "number": self.words.number(count)}

    def reads(self, text: str) -> None:
        """Wait until a text, in the visitor's language already, can be read on the page."""
        expect(self.page.get_by_text(text).locator("visible=true").first).to_be_visible()

    def sees(self, text: str, **values: object) -> None:
        """Wait until a text of the pages can be read."""
        self.reads(self.say(text, **values))

    def sees_heading(self, text: str, **values: object) -> None:
        name = self.say(text, **values)
        expect(self.page.get_by_role("heading", name=name, exact=True)).to_be_visible()

    def sees_many(self, one: str, many: str, count: int) -> None:
        self.reads(self.say_many(one, many, count))

    def secret_beside(self, text: str) -> str:
        """Return the secret to be copied below a text."""
        item = self.page.get_by_role("listitem").filter(has_text=self.say(text))
        return item.locator(".secret").inner_text().strip()

    # Actions.

    def open(self, place: str) -> None:
        """Open an address of the service, or a whole link."""
        self.page.goto(urljoin(self.base_url, place))

    def holds_the_clock(self) -> None:
        """From now on, time passes on pages only where a test lets it pass."""
        self._has_own_clock = True
        self.page.clock.install()

    def button(self, text: str) -> Locator:
        return self.page.get_by_role("button", name=self.say(text), exact=True)

    def link(self, text: str) -> Locator:
        return self.page.get_by_role("link", name=self.say(text), exact=True)

    def field(self, text: str, **values: object) -> Locator:
        return self.page.get_by_label(self.say(text, **values), exact=True)

    def press(self, text: str) -> None:
        self.button(text).click()

    def follow(self, text: str) -> None:
        self.link(text).click()

    def type(self, label: str, text: str, **values: object) -> None:
        self.field(label, **values).fill(text)

    def unfold(self, heading: str) -> None:
        self.page.get_by_role("heading", name=self.say(heading), exact=True).click()

    def fill_in(self, fields: Mapping[str, str]) -> None:
        for label, text in fields.items():
            self.type(label, text)

    def sign_up(self, link: str, name: str, password: str) -> None:
        self.open(link)
        self.fill_in({"Name": name, "Password": password})
        self.press("Create my account")

    def sign_in(self, name: str, password: str) -> None:
        self.open("/sign-in")
        self.fill_in({"Name": name, "Password": password})
        self.press("Sign in")

    def is_let_in(self, name: str, *urls: str) -> Self:
        """Sign in and add feeds by the same forms, but without a look at them."""
        forms = {"/sign-in": {"name": name, "password": PASSWORD}}
        if urls:
            forms["/feeds/add"] = {"urls": "\n".join(urls), "anyway": "1"}
        for path, fields in forms.items():
            url = self.base_url + path
            sent = self.context.request.post(url, form=fields, max_redirects=0)
            assert sent.status == 303
        self.open("/")
        return self

    def add(self, *urls: str) -> None:
        self.type("Add a feed", "\n".join(urls))
        self.press("Add")

    def chosen_file(self, file: Path | Mapping[str, object]) -> None:
        """Choose a file and ask for its preview."""
        self.field("File").set_input_files(file)
        self.press("Preview changes")

    # The list.

    def feed(self, title: str) -> Locator:
        """Return a feed in the list."""
        return self.page.get_by_role("link", name=title, exact=True)

    def choose(self, title: str) -> None:
        self.page.get_by_role("checkbox", name=title, exact=True).check()

    def has_feeds(self, titles: list[str]) -> None:
        """Wait until the list has these feeds and no other ones."""
        expect(self.page.locator("#feeds").get_by_role("link")).to_have_text(titles)

    def has_feeds_of(self, folder: str, titles: list[str]) -> None:
        """Wait until a folder has these feeds and no other ones."""
        group = self.page.locator("#feeds details").filter(
            has=self.page.get_by_text(self.say(folder), exact=True)
        )
        expect(group.locator("li").get_by_role("link")).to_have_text(titles)

    def has_pictures(self, count: int) -> None:
        """Wait until at least so many pictures of feeds are loaded."""
        self.page.wait_for_function(_LOADED, arg=count)

    # Layout.

    def scrolls_sideways(self) -> list[str]:
        """Return the elements that do not fit into the width of the window."""
        return self.page.evaluate(_SCROLLS_SIDEWAYS)

    def axe_finds(self, what: dict[str, object]) -> list[str]:
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_AXE)
        found: list[dict[str, Any]] = self.page.evaluate(_VIOLATIONS, what)
        return [
            f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for one in found
            for node in one["nodes"]
        ]

    def looks_well(self) -> None:
        """Nothing may be wrong with how this page looks, on a light phone and a dark computer.

        On a phone, it is looked at with its text at twice the size, too (WCAG 2.2, 1.4.4).
        In the short form, axe-core looks at one page on the one, and at the next one on the other.
        """
        self._looks += 1
        found = []
        for number, (width, scheme, rules) in enumerate(_LOOKS):
            # So high that what stays in sight is above nothing.
            self.page.set_viewport_size({"width": width, "height": 2_000})
            named = f"{self.page.title()} ({width}, {scheme})"
            found += [f"{named}: wider than the window: {one}" for one in self.scrolls_sideways()]
            if IS_LONG or number == self._looks % len(_LOOKS):
                self.page.emulate_media(color_scheme=scheme)
                asked = rules if IS_LONG else _ALL
                found += [f"{named}: {one}" for one in self.axe_finds(asked)]
        self.page.set_viewport_size({"width": PHONE, "height": 2_000})
        self.page.evaluate(_SCALED, _TWICE)
        named = f"{self.page.title()}, text at 200 %"
        found += [f"{named}: wider than the window: {one}" for one in self.scrolls_sideways()]
        self.page.evaluate(_SCALED, "")
        assert not found, "\n".join(found)

    # Without a mouse.

    def tab_to(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab until something has the focus; wherever it is on the way, it can be seen."""
        element = wanted.element_handle()
        for _ in range(200):
            self.page.keyboard.press(key)
            is_shown, is_wanted, text = self.page.evaluate(_FOCUSED, element)
            assert is_shown, f"The focus cannot be seen: {text}"
            if is_wanted:
                return
        raise AssertionError(f"Tab does not lead to {wanted}")


def title_of(url: str) -> str:
    """Return the title of a feed in the list."""
    return url.partition("://")[2].rstrip("/")
