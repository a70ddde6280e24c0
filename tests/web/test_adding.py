"""What a person is told who adds a feed: it is looked at while the person waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, PageClient, signed_in
from playwright.sync_api import expect
from visitor import Visit
from web_of_hosts import Host, Request, WebOfHosts, reply, silent

from feedkeep.rules.feed_urls import parse_feed_url

RSS = b"<rss version='2.0'><channel><title>The Night Radio</title></channel></rss>"
HOSTS = 12


@pytest.fixture(scope="module")
def hosts() -> Iterator[list[Host]]:
    with WebOfHosts() as web:
        yield [web.host(f"host-{number}.example") for number in range(HOSTS)]


def service_that_asks(folder: Path, hosts: list[Host]) -> FeedkeepProcess:
    ports = ",".join(str(host.port) for host in hosts)
    return FeedkeepProcess(
        folder,
        trusted_proxies="127.0.0.1",
        fetch="public",
        fetch_allowed="127.0.0.0/8",
        fetch_ports=ports,
    )


@pytest.fixture(scope="module")
def asking(
    tmp_path_factory: pytest.TempPathFactory, hosts: list[Host]
) -> Iterator[FeedkeepProcess]:
    """A service that looks at what these hosts have, however long that takes."""
    process = service_that_asks(tmp_path_factory.mktemp("asking"), hosts)
    process.run_first("people_wait_longer")
    with process:
        process.passwords.append(PASSWORD)
        yield process


@pytest.fixture
def anna(asking: FeedkeepProcess) -> PageClient:
    return signed_in(asking)[0]


@pytest.fixture
def host(hosts: list[Host]) -> Host:
    """A host that no other test asks."""
    return hosts.pop()


def url_of(host: Host, path: str = "/") -> str:
    return f"http://{host.address}:{host.port}{path}"


def page(*paths: str) -> bytes:
    links = [f'<link rel="alternate" type="application/rss+xml" href="{path}">' for path in paths]
    body = f"<!doctype html><html><head>{''.join(links)}</head></html>"
    return reply(body.encode(), content_type="text/html")


def place(url: str) -> str:
    return f"/feeds/{parse_feed_url(url).guid}"


def test_a_feed_that_is_added_is_called_by_its_title_at_once(anna: PageClient, host: Host) -> None:
    host.answers["/feed"] = reply(RSS)
    added = anna.post("/feeds/add", {"urls": url_of(host, "/feed")})
    assert (added.path, added.note) == ("/", "Added The Night Radio. Undo")


def test_of_a_page_that_is_no_feed_one_can_choose_what_it_links_to(
    anna: PageClient, host: Host
) -> None:
    host.answers |= {"/show": page("/one", "/two"), "/two": reply(RSS)}
    url = url_of(host, "/show")
    added = anna.post("/feeds/add", {"urls": url})
    assert added.path == place(url)
    assert added.note.startswith("Added ")
    assert "It links to these feeds. Which one do you want?" in added.text
    choices = [url_of(host, "/one"), url_of(host, "/two")]
    assert added.values("new_url")[:2] == choices
    chosen = anna.post(f"{place(url)}/move", {"new_url": choices[1], "tell_apps": "1"})
    assert "The feed has its new address." in chosen.note
    assert '<h1 dir="auto">The Night Radio</h1>' in chosen.reply.text
    assert anna.get("/export/urls").reply.text.split() == [choices[1]]


def test_a_page_that_links_to_no_feed_tells_what_to_look_for(anna: PageClient, host: Host) -> None:
    host.answers["/"] = page()
    url = url_of(host)
    added = anna.post("/feeds/add", {"urls": url})
    assert added.path == place(url)
    assert "It can't be read. There is a page at its address, but no feed." in added.text
    assert "Look on that page for “RSS” or “Subscribe”" in added.text
    undone = anna.post("/changes/undo", {"stamps": added.values("stamps")[0], "back": "/"})
    assert "Undone: 1 feed is as it was." in undone.note


def test_an_address_where_nothing_is_found_says_so(anna: PageClient, host: Host) -> None:
    url = url_of(host, "/misspelt")
    added = anna.post("/feeds/add", {"urls": url})
    assert added.path == place(url)
    assert "It can't be read. Its server says there is nothing at this address." in added.text


def test_titles_come_into_the_list_by_themselves(
    asking: FeedkeepProcess, visit: Visit, hosts: list[Host]
) -> None:
    asked, answered = (hosts.pop(), hosts.pop())
    may_answer = threading.Event()

    async def late(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(may_answer.wait)
        writer.write(reply(RSS.replace(b"Night", b"Day")))

    answered.answers["/feed"], asked.answers["/feed"] = reply(RSS), late
    anna = visit(asking)
    urls = [url_of(host, "/feed") for host in (asked, answered)]
    anna.is_let_in(asking.new_account(PASSWORD), PASSWORD, *urls)
    hint = anna.page.get_by_text("Titles and pictures: 1 of 2 feeds checked")
    try:
        expect(hint).to_be_visible()
    finally:
        may_answer.set()
    expect(hint).to_have_count(0)
    anna.has_feeds(["The Day Radio", "The Night Radio"])


def test_a_page_asks_whether_more_feeds_were_checked(anna: PageClient, host: Host) -> None:
    host.answers["/feed"] = reply(RSS)
    anna.post("/feeds/add", {"urls": url_of(host, "/feed")})
    page = anna.get("/").reply.text
    assert "data-checked" not in page
    since = "/feeds/changed?since=" + page.split('data-stamp="')[1].split('"')[0]
    assert anna.get(since).reply.json() == {"changed": False}
    assert anna.get(f"{since}&checked=0").reply.json() == {"changed": True}


def test_a_host_that_does_not_answer_keeps_a_person_waiting_for_three_seconds(
    tmp_path: Path, host: Host
) -> None:
    host.answers["/feed"] = silent
    with service_that_asks(tmp_path, [host]) as process:
        anna, _ = signed_in(process)
        added = anna.post("/feeds/add", {"urls": url_of(host, "/feed")})
    assert (added.path, added.note) == ("/", f"Added {host.address}:{host.port}/feed. Undo")
