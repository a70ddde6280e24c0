"""Feedback to a person who adds a feed: it is fetched while the person waits."""

import asyncio
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, guid_of, place_of, signed_in
from playwright.sync_api import Locator, expect
from visitor import PHONE, Visitor
from web_of_hosts import Host, WebOfHosts, reply, silent


def rss(title: str, *, is_podcast: bool = False) -> bytes:
    item = "<item><enclosure url='https://a.example/1.mp3'/></item>" if is_podcast else ""
    return f"<rss version='2.0'><channel><title>{title}</title>{item}</channel></rss>".encode()


RSS, SHOW = rss("The Night Radio"), rss("The Day Show", is_podcast=True)
HOSTS = 24
PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def hosts():
    with WebOfHosts() as web:
        yield [web.host(f"host-{number}.example") for number in range(HOSTS)]


def service_that_asks(folder: Path, hosts: list[Host]) -> FeedkeepProcess:
    return FeedkeepProcess(
        folder,
        trusted_proxies="127.0.0.1",
        fetch="public",
        fetch_allowed="127.0.0.0/8",
        fetch_ports=",".join(str(host.port) for host in hosts),
    )


@pytest.fixture(scope="module")
def asking(tmp_path_factory, hosts):
    """A service that looks at what these hosts have, however long that takes."""
    process = service_that_asks(tmp_path_factory.mktemp("asking"), hosts)
    process.run_first("people_wait_longer", "hashes_are_cheap")
    with process:
        yield process


@pytest.fixture
def anna(asking):
    return signed_in(asking)[0]


@pytest.fixture
def name(asking):
    return asking.new_account(PASSWORD)


@pytest.fixture
def host(hosts):
    """A host that no other test asks."""
    return hosts.pop()


def url_of(host: Host, path: str = "/") -> str:
    return f"http://{host.address}:{host.port}{path}"


def page(*paths: str) -> bytes:
    links = [f'<link rel="alternate" type="application/rss+xml" href="{path}">' for path in paths]
    body = f"<!doctype html><html><head>{''.join(links)}</head></html>"
    return reply(body.encode(), content_type="text/html")


def test_a_feed_that_is_added_is_called_by_its_title_at_once_and_known_as_checked(anna, host):
    host.answers["/feed"] = reply(RSS)
    added = anna.add(url_of(host, "/feed"))
    assert (added.path, added.note) == ("/", "Added The Night Radio. Undo")
    page = anna.get("/").reply.text
    assert "data-checked" not in page
    since = "/feeds/changed?since=" + page.split('data-stamp="')[1].split('"')[0]
    assert anna.get(since).reply.json() == {"changed": False}
    assert anna.get(f"{since}&checked=0").reply.json() == {"changed": True}


def stored(process: FeedkeepProcess, *urls: str) -> set[str]:
    """Return the guids of the addresses that have a row in the table of feeds."""
    return set(process.use(lambda service: service.store.feeds.known(list(map(guid_of, urls)))))


def test_adding_a_page_with_several_feeds_asks_and_stores_nothing(anna, host):
    host.answers |= {"/show": page("/one", "/two"), "/one": reply(SHOW), "/two": reply(SHOW)}
    url, one, two = (url_of(host, path) for path in ("/show", "/one", "/two"))
    asked = anna.add(url)
    assert "Which feed do you want?" in asked.text
    assert asked.text.count("The Day Show Podcast") == 2
    assert asked.values("feed0") == [one, two]
    assert url in asked.text
    assert stored(anna.process, url, one, two) == set()
    assert anna.exported() == []
    assert anna.get("/changes").text.count("Undo") == 0
    added = anna.post("/feeds/add", {"feed0": two})
    assert (added.path, added.note) == ("/", "Added The Day Show. Undo")
    assert anna.exported() == [two]


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({"/feed": SHOW}, "/feed"),
        ({"/posts": RSS, "/feed": SHOW}, "/feed"),
        ({"/gone": b"", "/feed": RSS}, "/feed"),
    ],
)
def test_adding_a_page_with_one_feed_adds_the_feed(anna, host, named, found):
    host.answers["/show"] = page(*named)
    host.answers |= {path: reply(body) for path, body in named.items() if body}
    added = anna.add(url_of(host, "/show"))
    assert added.path == "/"
    assert added.note.startswith("Added The ")
    assert anna.exported() == [url_of(host, found)]


def test_adding_a_page_without_a_feed_says_so_and_adds_it_anyway(anna, host):
    host.answers["/"] = page()
    url = url_of(host)
    asked = anna.add(url)
    assert asked.path == "/feeds/add"
    assert "No feed found" in asked.text
    assert "This page does not link to a feed." in asked.problem("urls")
    assert "Look for “RSS” or “Subscribe” on that page" in asked.text
    assert f">\n{url}</textarea>" in asked.reply.text
    assert stored(anna.process, url) == set()
    added = anna.post("/feeds/add", {"urls": url, "anyway": "1"})
    assert added.path == place_of(url)
    assert "It can't be read. There is a page at its address, but no feed." in added.text
    assert "Look for “RSS” or “Subscribe” on that page" in added.text
    assert "Undone: 1 feed is as it was." in anna.undo(added).note


def test_adding_an_address_without_anything_says_so_but_not_if_it_cannot_be_read_now(anna, host):
    url, down = url_of(host, "/misspelt"), url_of(host, "/feed")
    asked = anna.add(url)
    assert "Its server says there is nothing at this address." in asked.problem("urls")
    added = anna.post("/feeds/add", {"urls": url, "anyway": "1"})
    assert added.path == place_of(url)
    assert "It can't be read. Its server says there is nothing at this address." in added.text
    host.answers["/feed"] = reply(status=503)
    assert anna.add(down).note.startswith("Added ")
    assert set(anna.exported()) == {url, down}


def test_adding_several_lines_adds_what_is_sure_and_asks_about_the_rest(anna, host):
    host.answers |= {
        "/show": page("/one", "/two"), "/one": reply(RSS), "/two": reply(RSS),
        "/blog": page("/three"), "/three": reply(RSS), "/none": page(),
    }  # fmt: skip
    show, blog, none, three = (url_of(host, f"/{p}") for p in ("show", "blog", "none", "three"))
    asked = anna.add(show, blog, "nonsense", none)
    assert asked.note == "Added The Night Radio. Undo"
    assert asked.values("feed0") == [url_of(host, "/one"), url_of(host, "/two")]
    assert f">\n{none}\nnonsense</textarea>" in asked.reply.text
    assert "nonsense This is not an address." in asked.text
    assert anna.exported() == [three]
    chosen = {"feed0": url_of(host, "/two"), "urls": none, "anyway": "1"}
    assert anna.post("/feeds/add", chosen).note == "Added 2 feeds. Undo"


def test_adding_many_lines_looks_at_the_first_twenty(anna, host):
    urls = [url_of(host, f"/{number}") for number in range(21)]
    asked = anna.add(*urls)
    assert asked.text.count("Its server says there is nothing at this address.") == 20
    assert anna.exported() == urls[20:]


def test_adding_a_feed_that_the_account_has_does_not_look_at_it(anna, host):
    host.answers["/feed?a=1&b=2"] = reply(RSS)
    url = url_of(host, "/feed?a=1&b=2")
    anna.add(url)
    count = len(host.requests)
    for spelling in (url, f"{url}#top", url.replace("&", "&amp;")):
        again = anna.add(spelling)
        assert again.note.startswith("You already subscribe to ")
    assert len(host.requests) == count
    host.answers.clear()
    anna.post("/feeds/unsubscribe", {"only": guid_of(url)})
    assert anna.add(url).note.startswith("Added ")


def test_adding_by_a_person_who_leaves_meanwhile_adds_the_address_as_typed(anna, host):
    asked = threading.Event()

    async def late(_, writer):
        asked.set()
        await silent(_, writer)

    host.answers |= {"/show": page("/one", "/two"), "/one": late}
    url = url_of(host, "/show")
    request = anna.http.build_request("POST", "/feeds/add", data={"urls": url})
    head = b"".join(b"%s: %s\r\n" % header for header in request.headers.raw)
    with socket.create_connection((request.url.host, request.url.port)) as connection:
        connection.sendall(b"POST /feeds/add HTTP/1.1\r\n" + head + b"\r\n" + request.read())
        assert asked.wait(PATIENCE_SECONDS)
    anna.until("/export/urls", url)
    assert anna.exported() == [url]


@pytest.mark.parametrize("has_script", [True, False])
def test_person_who_shares_a_page_chooses_its_feed_by_the_keyboard(
    asking, visit, name, host, has_script
):
    titles = ("The Evening News", "חדשות הערב", "Posts")
    feeds = {f"/{number}": rss(title, is_podcast=number < 2) for number, title in enumerate(titles)}
    host.answers |= {path: reply(feed) for path, feed in feeds.items()}
    host.answers["/show"] = page(*reversed(feeds))
    anna = visit(asking, width=PHONE, has_script=has_script).is_let_in(name)
    shared = urlencode({"text": f"Listen to this: {url_of(host, '/show')}"})
    anna.open(f"/?{shared}")
    anna.press("Add")
    anna.sees_heading("Which feed do you want?")
    choices = anna.page.get_by_role("radio")
    expect(choices).to_have_count(3)
    expect(choices.first).to_be_focused()
    expect(choices.first).to_be_checked()
    if has_script:
        anna.looks_well()
    names = anna.page.locator("label strong").all_inner_texts()
    assert names == ["חדשות הערב", "The Evening News", "Posts"]
    anna.page.keyboard.press("ArrowDown")
    anna.page.keyboard.press("Enter")
    anna.has_feeds(["The Evening News"])


def test_person_sees_that_an_address_is_looked_at_and_adds_it_anyway(asking, visit, name, host):
    host.answers["/show"] = page()
    url = url_of(host, "/show")
    anna = visit(asking).is_let_in(name)
    # The answer never comes: the browser waits for one before it lets anybody look.
    anna.page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
    anna.type("Add a feed", url)
    anna.page.keyboard.press("Enter")
    expect(anna.button("Looking…")).to_be_disabled()
    anna.open("/")
    anna.add(url)
    anna.sees_heading("No feed found")
    expect(anna.field("Address")).to_have_value(url)
    expect(anna.field("Address")).to_be_focused()
    anna.looks_well()
    anna.press("Add anyway")
    anna.sees("Look for “RSS” or “Subscribe” on that page, and copy the address of that link.")


def test_titles_come_into_the_list_by_themselves(asking, visit, name, hosts):
    asked, answered = (hosts.pop(), hosts.pop())
    may_answer = threading.Event()

    async def late(_, writer):
        await asyncio.to_thread(may_answer.wait)
        writer.write(reply(RSS.replace(b"Night", b"Day")))

    answered.answers["/feed"], asked.answers["/feed"] = reply(RSS), late
    anna = visit(asking)
    anna.holds_the_clock()
    urls = [url_of(host, "/feed") for host in (asked, answered)]
    anna.is_let_in(name, *urls)
    hint = anna.page.get_by_text("Titles and pictures: 1 of 2 feeds checked")
    try:
        wait_for(anna, hint, 1)
    finally:
        may_answer.set()
    wait_for(anna, hint, 0)
    anna.has_feeds(["The Day Radio", "The Night Radio"])


def wait_for(anna: Visitor, text: Locator, count: int) -> None:
    """Advance the clock of a page, which polls for changes, until a text is on it, or is not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while text.count() != count:
        assert time.monotonic() < deadline
        anna.page.clock.run_for(6_000)


def test_a_host_that_does_not_answer_keeps_a_person_waiting_for_seconds(tmp_path, host):
    host.answers["/feed"] = silent
    with service_that_asks(tmp_path, [host]) as process:
        anna, _ = signed_in(process)
        added = anna.add(url_of(host, "/feed"))
    assert (added.path, added.note) == ("/", f"Added {host.address}:{host.port}/feed. Undo")
