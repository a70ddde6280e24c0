"""One look at a feed: what is told of what its address answers."""

import asyncio
import errno
import io
import socket
from functools import partial
from types import SimpleNamespace

import pytest
from PIL import Image
from web_of_hosts import WebOfHosts, redirect, reply, silent

from feedkeep.feeds import fetcher as looking
from feedkeep.feeds.fetcher import MAX_BRIEF_BYTES, Fetcher
from feedkeep.feeds.reading import MAX_BYTES
from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Stamp, replace
from feedkeep.outbound import client as asking
from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.failures import Exhausted
from feedkeep.rules.feed_urls import parse_feed_url

PATIENCE_SECONDS = 20.0
"""Less than a client waits for one answer, and far more than any look here takes."""

NOW = Stamp(1_795_370_000_000_000)  # Sun, 22 Nov 2026 17:53:20 GMT
ITEMS = "".join(f"<item><guid>{number}</guid></item>" for number in range(5))


def rss(title: str, more: str = "") -> bytes:
    namespaces = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    channel = f"<channel><title>{title}</title>{more}{ITEMS}</channel>"
    return f'<rss version="2.0" {namespaces}>{channel}</rss>'.encode()


def picture(side: int = 600) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (side, side), (200, 30, 60)).save(written, "PNG")
    return written.getvalue()


@pytest.fixture
def web():
    with WebOfHosts() as web:
        yield web


@pytest.fixture
def host(web):
    return web.host("show.example")


def feed_at(url: str, content: FeedContent | None = None, **known: object) -> Feed:
    feed = Feed(parse_feed_url(url).guid, url, NOW, NOW, content, is_own=content is not None)
    return replace(feed, **known)


def look(web: WebOfHosts, feed: Feed, episode_limit: int = 0) -> FetchResult:
    async def go() -> FetchResult:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            GuardedClient(web.policy(), web.look_up) as client,
        ):
            return await Fetcher(client, episode_limit).look(feed, NOW)

    return asyncio.run(go())


def look_briefly(web: WebOfHosts, url: str) -> FetchResult:
    async def go() -> FetchResult:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            GuardedClient(web.policy(), web.look_up) as client,
        ):
            return await Fetcher(client).look_briefly(feed_at(url), NOW)

    return asyncio.run(go())


def test_brief_look_requests_the_feed_only_and_tells_whether_it_has_enclosures(web, host):
    more = '<itunes:image href="/cover"/><itunes:new-feed-url>https://new.example</itunes:new-feed-url>'
    host.answers["/blog"] = reply(rss("A Blog", more))
    host.answers["/show"] = reply(rss("A Show", '<item><enclosure url="/1.mp3"/></item>'))
    blog, show = (look_briefly(web, host.url(path)) for path in ("/blog", "/show"))
    assert [one.content and one.content.title for one in (blog, show)] == ["A Blog", "A Show"]
    assert [one.has_enclosures for one in (blog, show)] == [False, True]
    assert [request.target for request in host.requests] == ["/blog", "/show"]
    assert web.looked_up == [host.name] * 2
    assert blog.received_bytes == len(rss("A Blog", more))


def test_brief_look_receives_the_beginning_of_a_feed(web, host):
    long = rss("A Show", f"<item><description>{'x' * MAX_BYTES}</description></item>")
    host.answers["/feed"] = reply(long)
    looked = look_briefly(web, host.url("/feed"))
    assert looked.content is not None
    assert looked.content.title == "A Show"
    assert MAX_BRIEF_BYTES <= looked.received_bytes < MAX_BRIEF_BYTES + MIB


def test_brief_look_at_a_silent_host_ends_soon(web, host, monkeypatch):
    monkeypatch.setattr(looking, "BRIEF_SECONDS", 0.1)
    host.answers["/feed"] = silent
    looked = look_briefly(web, host.url("/feed"))
    assert (looked.failure, looked.content) == (Failure.TOO_SLOW, None)


def test_what_a_feed_says_is_told_with_what_the_next_fetch_can_name(web, host):
    host.answers["/feed"] = reply(rss("A Show"), ETag='"1"', Last_Modified="yesterday")
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.content.title, len(looked.content.items)) == ("A Show", 5)
    assert (looked.failure, looked.etag, looked.last_modified) == (None, '"1"', "yesterday")
    assert not looked.is_redirected
    assert (looked.moved_feed, looked.picture, looked.picture_tried) == (None, None, "")


def test_episodes_are_told_if_they_are_new_and_read_again_with_another_limit(web, host):
    items = "".join(f"<item><title>{number}</title></item>" for number in range(3))
    host.answers["/feed"] = reply(rss("A Show", items), ETag='"1"')
    first = look(web, feed_at(host.url("/feed")), 2)
    assert first.episodes is not None
    assert [episode.title for episode in first.episodes.episodes] == ["0", "1"]
    known = feed_at(host.url("/feed"), first.content, etag='"1"', episodes=first.episodes.validator)
    assert look(web, known, 2) == replace(first, episodes=None)
    assert host.requests[-1].headers["if-none-match"] == '"1"'
    for limit, titles in ((3, ["0", "1", "2"]), (0, [])):
        again = look(web, known, limit)
        assert "if-none-match" not in host.requests[-1].headers
        assert again.episodes is not None
        assert [episode.title for episode in again.episodes.episodes] == titles


def test_what_is_known_is_named_and_an_unchanged_feed_is_not_read(web, host):
    host.answers["/feed"] = reply(status=304, ETag='"1"')
    known = FeedContent(title="A Show")
    looked = look(web, feed_at(host.url("/feed"), known, etag='"1"', last_modified="yesterday"))
    assert looked == FetchResult(etag='"1"')
    (asked,) = host.requests
    assert asked.headers["if-none-match"] == '"1"'
    assert asked.headers["if-modified-since"] == "yesterday"


def test_a_feed_that_is_too_large_is_read_as_far_as_it_may_be(web, host):
    items = b"<item><guid>more</guid></item>" * (MAX_BYTES // 30)
    host.answers["/feed"] = reply(rss("A Show").replace(b"</channel>", items + b"</channel>"))
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.content.title, len(looked.content.items)) == ("A Show", 50)


def test_what_cannot_be_read_as_far_as_it_may_be_is_too_large(web, host):
    feed = b'{"version": "https://jsonfeed.org/version/1", "title": "A Show", "items": ['
    host.answers["/feed"] = reply(feed + b'"x",' * (MAX_BYTES // 4) + b"0]}")
    looked = look(web, feed_at(host.url("/feed")))
    assert (looked.failure, looked.content) == (Failure.TOO_LARGE, None)


MIB = 1024 * 1024
BINARY = b"ID3\x04" + bytes(range(256)) * 255


@pytest.mark.parametrize(
    ("begin", "kind", "failure", "least", "most"),
    [(BINARY, "application/rss+xml", Failure.NOT_A_FEED, 4_096, MIB),
     (b"<rss>" + b" " * 65_536, "audio/mpeg", Failure.TOO_LARGE, 8 * MIB, 9 * MIB)],
)  # fmt: skip
def test_endless_answer_is_received_as_far_as_it_may_be_a_feed(
    web, host, begin, kind, failure, least, most
):
    sent = 0

    async def endless(_, writer):
        nonlocal sent
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode())
        part = begin
        while True:
            writer.write(part)
            await writer.drain()
            sent, part = sent + len(part), begin[5:]

    host.answers["/feed"] = endless
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.failure is failure
    assert least <= looked.received_bytes <= most
    assert sent <= most + 8 * MIB  # as much fits into the buffers of the kernel


def test_a_machine_that_cannot_ask_says_nothing_of_a_feed(web, host, monkeypatch):
    def no_socket(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(asking, "socket", SimpleNamespace(**vars(socket) | {"socket": no_socket}))
    with pytest.raises(Exhausted):
        look(web, feed_at(host.url("/feed")))


def test_a_picture_that_this_machine_cannot_ask_for_was_not_tried(web, host, monkeypatch):
    art = web.host("art.example").url("/cover.png")
    host.answers["/feed"] = reply(rss("A Show", f"<image><url>{art}</url></image>"))
    first = iter([True])

    def one_socket(*asked):
        if next(first, False):
            return socket.socket(*asked)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(asking, "socket", SimpleNamespace(**vars(socket) | {"socket": one_socket}))
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.picture, looked.picture_tried) == (None, "")


def test_a_picture_that_this_machine_has_no_memory_for_was_not_tried(web, host, monkeypatch):
    def no_memory(*_):
        raise MemoryError

    more = f"<image><url>{host.url('/cover.png')}</url></image>"
    host.answers = {"/feed": reply(rss("A Show", more)), "/cover.png": reply(picture())}
    monkeypatch.setattr(Image.Image, "resize", no_memory)
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.picture, looked.picture_tried) == (None, "")


def test_what_was_never_read_is_asked_for_without_conditions(web, host):
    host.answers["/feed"] = reply(rss("A Show"))
    look(web, feed_at(host.url("/feed"), None, etag='"1"'))
    assert "if-none-match" not in host.requests[0].headers


@pytest.mark.parametrize(
    ("statuses", "is_moved", "is_redirected"),
    [
        ([301], True, True),
        ([301, 308], True, True),
        ([302], False, False),
        ([301, 302], False, True),
        ([307, 303], False, False),
    ],
)
def test_a_move_is_told_only_if_every_redirect_is_permanent(
    web, host, statuses, is_moved, is_redirected
):
    for number, status in enumerate(statuses):
        host.answers[f"/{number}"] = redirect(host.url(f"/{number + 1}"), status)
    there = f"/{len(statuses)}"
    host.answers[there] = reply(rss("A Show"), ETag='"2"')
    looked = look(web, feed_at(host.url("/0"), FeedContent(title="A Show"), etag='"1"'))
    assert looked.content is not None
    assert (looked.is_moved, looked.is_redirected) == (is_moved, is_redirected)
    assert (looked.moved_feed.url if looked.moved_feed else "") == (host.url(there) * is_moved)
    assert looked.etag == ""
    assert ["if-none-match" in asked.headers for asked in host.requests] == [
        number == 0 for number in range(len(statuses) + 1)
    ]


def test_what_a_feed_behind_a_temporary_redirect_says_of_its_address_is_no_move(web, host):
    other = web.host("other.example")
    said = f"<itunes:new-feed-url>{other.url('/feed')}</itunes:new-feed-url>"
    other.answers["/feed"] = reply(rss("A Show", said))
    host.answers["/feed"] = redirect(other.url("/feed"), 302)
    assert look(web, feed_at(host.url("/feed"))).moved_feed is None


@pytest.mark.parametrize("leads_back", ["by a redirect", "in its own words"])
def test_where_a_feed_is_said_to_be_it_must_not_lead_back(web, host, leads_back):
    other = web.host("other.example")
    back = f"<itunes:new-feed-url>{host.url('/feed')}</itunes:new-feed-url>"
    other.answers["/feed"] = reply(rss("A Show", back))
    if leads_back == "by a redirect":
        other.answers["/feed"] = redirect(host.url("/feed"), 301)
    said = f"<itunes:new-feed-url>{other.url('/feed')}</itunes:new-feed-url>"
    host.answers["/feed"] = reply(rss("A Show", said))
    assert look(web, feed_at(host.url("/feed"))).moved_feed is None


def test_where_a_feed_says_that_it_moved_to_is_looked_at(web, host):
    new = web.host("new.example").url("/feed")
    web_of = {"/feed": reply(rss("A Show"))}
    other = web.host("other.example")
    other.answers = web_of
    said = rss("A Show", f"<itunes:new-feed-url>{other.url('/feed')}</itunes:new-feed-url>")
    host.answers["/feed"] = reply(said)
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.moved_feed is not None
    assert (looked.moved_feed.url, looked.moved_feed.content.title) == (
        other.url("/feed"),
        "A Show",
    )
    host.answers["/feed"] = reply(status=304)
    again = look(web, feed_at(host.url("/feed"), looked.content))
    assert again.moved_feed == looked.moved_feed
    nowhere = replace(looked.content or FeedContent(), new_feed_url=new)
    assert look(web, feed_at(host.url("/feed"), nowhere)).moved_feed is None


# C10.7
def test_of_the_urls_in_a_feed_its_new_one_and_its_picture_are_asked_and_no_other(web, host):
    new, art, site, item = (web.host(f"{name}.example") for name in ("new", "art", "site", "item"))
    new.answers["/feed"] = reply(rss("A Show"))
    art.answers["/cover.png"] = reply(picture())
    said = f'<link>{site.url("/")}</link><itunes:image href="{art.url("/cover.png")}"/>'
    said += f"<itunes:new-feed-url>{new.url('/feed')}</itunes:new-feed-url>"
    said += f'<item><link>{item.url("/")}</link><enclosure url="{item.url("/1.mp3")}"/></item>'
    host.answers["/feed"] = reply(rss("A Show", said))
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert looked.content.site_url == site.url("/")
    assert (looked.moved_feed is not None, looked.picture is not None) == (True, True)
    asked = [one.connections for one in (host, new, art, site, item)]
    assert asked == [1, 1, 1, 0, 0]


def test_what_a_feed_leads_to_is_waited_for_together_so_long_only(web, host, monkeypatch):
    monkeypatch.setattr(looking, "_MORE_SECONDS", 0.5)
    slow, art = web.host("slow.example"), web.host("art.example")
    slow.answers["/feed"] = art.answers["/cover"] = silent
    image = f'<itunes:image href="{art.url("/cover")}"/>'
    moved = f"<itunes:new-feed-url>{slow.url('/feed')}</itunes:new-feed-url>"
    host.answers["/feed"] = reply(rss("A Show", image + moved))
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.moved_feed, looked.picture, looked.picture_tried) == (None, None, "")
    assert art.connections == 0
    host.answers["/feed"] = reply(rss("A Show", image))
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.content is not None
    assert (looked.picture, looked.picture_tried) == (None, art.url("/cover"))


@pytest.mark.parametrize(("redirects", "is_found"), [(2, True), (3, False)])
def test_what_a_feed_leads_to_may_redirect_a_few_times(web, host, redirects, is_found):
    other = web.host("other.example")
    image = f'<itunes:image href="{other.url("/0.png")}"/>'
    moved = f"<itunes:new-feed-url>{other.url('/0.xml')}</itunes:new-feed-url>"
    host.answers["/feed"] = reply(rss("A Show", image + moved))
    for number in range(redirects):
        for kind in ("png", "xml"):
            other.answers[f"/{number}.{kind}"] = redirect(other.url(f"/{number + 1}.{kind}"))
    other.answers[f"/{redirects}.png"] = reply(picture())
    other.answers[f"/{redirects}.xml"] = reply(rss("A Show"))
    looked = look(web, feed_at(host.url("/feed")))
    assert (looked.moved_feed is not None, looked.picture is not None) == (is_found, is_found)
    assert len(other.requests) == 6


@pytest.mark.parametrize(
    ("answer", "failure", "seconds"),
    [
        (reply(status=404), Failure.NOT_FOUND, 0),
        (reply(status=410), Failure.GONE, 0),
        (reply(status=503, Retry_After="120"), Failure.ERROR_STATUS, 120),
        (reply(status=429, Retry_After="Sun, 22 Nov 2026 17:54:20 GMT"), Failure.ERROR_STATUS, 60),
        (reply(status=429, Retry_After="Sun, 22 Nov 2026 17:00:00 GMT"), Failure.ERROR_STATUS, 0),
        (reply(status=500, Retry_After="soon"), Failure.ERROR_STATUS, 0),
        (reply(status=599), Failure.ERROR_STATUS, 0),
        (reply(status=204), Failure.ERROR_STATUS, 0),
        (reply(b"<html><title>Log in</title></html>"), Failure.NOT_A_FEED, 0),
        (b"no HTTP\r\n\r\n", Failure.BROKEN_ANSWER, 0),
    ],
)
def test_a_failure_is_told_with_its_reason(web, host, answer, failure, seconds):
    host.answers["/feed"] = answer
    looked = look(web, feed_at(host.url("/feed"), FeedContent(title="A Show")))
    assert (looked.failure, looked.content) == (failure, None)
    assert looked.reason.endswith(".")
    assert looked.retry_after_seconds == seconds


def test_a_web_page_is_told_with_the_feeds_that_it_names(web, host):
    link = b'<link rel="alternate" type="application/rss+xml" href="feed.xml">'
    host.answers["/show"] = reply(b"<!doctype html><html><head>" + link + b"</head></html>")
    looked = look(web, feed_at(host.url("/show")))
    assert (looked.failure, looked.page_feeds) == (Failure.NOT_A_FEED, (host.url("/feed.xml"),))


def test_that_there_is_no_such_host_is_told(web):
    looked = look(web, feed_at("http://nowhere.example/feed"))
    assert looked.failure is Failure.NO_SUCH_HOST


def test_a_new_picture_is_made_small_and_a_broken_one_is_told_as_tried(web, host):
    host.answers["/feed"] = reply(rss("A Show", '<itunes:image href="/cover"/>'))
    host.answers["/cover"] = reply(picture())
    url = host.url("/cover")
    looked = look(web, feed_at(host.url("/feed")))
    assert looked.picture is not None
    assert (looked.picture.media_type, looked.picture_tried) == ("image/webp", url)
    known = partial(feed_at, host.url("/feed"), looked.content, picture_url=url)
    there = look(web, known(picture=looked.picture.digest, picture_looked=NOW))
    assert (there.picture, there.picture_tried) == (None, "")
    for broken in (reply(b"no picture"), reply(status=404)):
        host.answers["/cover"] = broken
        again = look(web, known())
        assert (again.picture, again.picture_tried) == (None, url)
