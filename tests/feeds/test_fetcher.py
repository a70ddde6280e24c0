"""One look at a feed: what is told of what its address answers."""

import asyncio
import errno
import io
import socket
from types import SimpleNamespace

import pytest
from PIL import Image
from web_of_hosts import redirect, reply, silent

from feedkeep.feeds import fetcher as looking
from feedkeep.feeds.fetcher import MAX_BRIEF_BYTES, Fetcher
from feedkeep.feeds.reading import MAX_BYTES
from feedkeep.model import Failure, Feed, FeedContent, FetchResult, replace
from feedkeep.outbound import client as asking
from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.failures import Exhausted
from feedkeep.rules.feed_urls import parse_feed_url

PATIENCE_SECONDS = 20.0
"""Less than a client waits for one answer, and far more than any look here takes."""

MIB = 1024 * 1024
NOW = 1_795_370_000_000_000  # Sun, 22 Nov 2026 17:53:20 GMT
ITEMS = "".join(f"<item><guid>{number}</guid></item>" for number in range(5))
SHOW = FeedContent(title="A Show")


def rss(title="A Show", more=""):
    namespaces = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    channel = f"<channel><title>{title}</title>{more}{ITEMS}</channel>"
    return f'<rss version="2.0" {namespaces}>{channel}</rss>'.encode()


def image(url):
    return f'<itunes:image href="{url}"/>'


def moved(url):
    return f"<itunes:new-feed-url>{url}</itunes:new-feed-url>"


def picture():
    written = io.BytesIO()
    Image.new("RGB", (600, 600), (200, 30, 60)).save(written, "PNG")
    return written.getvalue()


@pytest.fixture
def host(web):
    return web.host("show.example")


@pytest.fixture
def look(web, host):
    """Looks at a feed of the host of which so much is known."""

    async def look(content=None, path="/feed", *, is_brief=False, limit=0, **known):
        url = host.url(path)
        feed = Feed(parse_feed_url(url).guid, url, NOW, NOW, content, is_own=content is not None)
        client = GuardedClient(web.policy(), web.look_up)
        async with asyncio.timeout(PATIENCE_SECONDS), client:
            fetcher = Fetcher(client, limit)
            fetch = fetcher.look_briefly if is_brief else fetcher.look
            return await fetch(replace(feed, **known), NOW)

    return look


async def test_brief_look_requests_the_feed_only_and_tells_whether_it_has_enclosures(
    web, host, look
):
    more = image("/cover") + moved("https://new.example")
    host.answers["/blog"] = reply(rss("A Blog", more))
    host.answers["/show"] = reply(rss(more='<item><enclosure url="/1.mp3"/></item>'))
    blog, show = [await look(path=path, is_brief=True) for path in ("/blog", "/show")]
    assert [one.content.title for one in (blog, show)] == ["A Blog", "A Show"]
    assert [one.has_enclosures for one in (blog, show)] == [False, True]
    assert [request.target for request in host.requests] == ["/blog", "/show"]
    assert web.looked_up == [host.name] * 2
    assert blog.received_bytes == len(rss("A Blog", more))


async def test_brief_look_receives_the_beginning_of_a_feed_and_ends_soon(host, look, monkeypatch):
    long = rss(more=f"<item><description>{'x' * MAX_BYTES}</description></item>")
    host.answers = {"/feed": reply(long), "/silent": silent}
    looked = await look(is_brief=True)
    assert looked.content.title == "A Show"
    assert MAX_BRIEF_BYTES <= looked.received_bytes < MAX_BRIEF_BYTES + MIB
    monkeypatch.setattr(looking, "BRIEF_SECONDS", 0.1)
    looked = await look(path="/silent", is_brief=True)
    assert (looked.failure, looked.content) == (Failure.TOO_SLOW, None)


async def test_feed_is_told_with_its_validators_which_are_sent_once_it_was_read(host, look):
    host.answers["/feed"] = reply(rss(), ETag='"1"', Last_Modified="yesterday")
    looked = await look(etag='"0"')
    assert (looked.content.title, len(looked.content.items)) == ("A Show", 5)
    assert (looked.failure, looked.etag, looked.last_modified) == (None, '"1"', "yesterday")
    assert not looked.is_redirected
    assert (looked.moved_feed, looked.picture, looked.picture_tried) == (None, None, "")
    host.answers["/feed"] = reply(status=304, ETag='"1"')
    unchanged = await look(SHOW, etag='"1"', last_modified="yesterday")
    assert unchanged == FetchResult(etag='"1"')
    names = ("if-none-match", "if-modified-since")
    sent = [[asked.headers.get(name) for name in names] for asked in host.requests]
    assert sent == [[None, None], ['"1"', "yesterday"]]


async def test_episodes_are_told_if_they_are_new_and_read_again_with_another_limit(host, look):
    items = "".join(f"<item><title>{number}</title></item>" for number in range(3))
    host.answers["/feed"] = reply(rss(more=items), ETag='"1"')
    first = await look(limit=2)
    assert [episode.title for episode in first.episodes.episodes] == ["0", "1"]
    known = {"content": first.content, "etag": '"1"', "episodes": first.episodes.validator}
    assert await look(limit=2, **known) == replace(first, episodes=None)
    assert host.requests[-1].headers["if-none-match"] == '"1"'
    for limit, titles in ((3, ["0", "1", "2"]), (0, [])):
        again = await look(limit=limit, **known)
        assert "if-none-match" not in host.requests[-1].headers
        assert [episode.title for episode in again.episodes.episodes] == titles


async def test_feed_that_is_too_large_is_read_as_far_as_it_may_be_or_refused(host, look):
    items = b"<item><guid>more</guid></item>" * (MAX_BYTES // 30)
    host.answers["/feed"] = reply(rss().replace(b"</channel>", items + b"</channel>"))
    looked = await look()
    assert (looked.content.title, len(looked.content.items)) == ("A Show", 50)
    feed = b'{"version": "https://jsonfeed.org/version/1", "title": "A Show", "items": ['
    host.answers["/feed"] = reply(feed + b'"x",' * (MAX_BYTES // 4) + b"0]}")
    looked = await look()
    assert (looked.failure, looked.content) == (Failure.TOO_LARGE, None)


BINARY = b"ID3\x04" + bytes(range(256)) * 255


@pytest.mark.parametrize(
    ("begin", "kind", "failure", "least", "most"),
    [(BINARY, "application/rss+xml", Failure.NOT_A_FEED, 4_096, MIB),
     (b"<rss>" + b" " * 65_536, "audio/mpeg", Failure.TOO_LARGE, 8 * MIB, 9 * MIB)],
)  # fmt: skip
async def test_endless_answer_is_received_as_far_as_it_may_be_a_feed(
    host, look, begin, kind, failure, least, most
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
    looked = await look()
    assert looked.failure is failure
    assert least <= looked.received_bytes <= most
    assert sent <= most + 8 * MIB  # as much fits into the buffers of the kernel


async def test_lack_of_sockets_or_memory_says_nothing_of_a_feed_or_picture(
    web, host, look, monkeypatch
):
    art = web.host("art.example")
    host.answers["/feed"] = reply(rss(more=image(art.url("/cover.png"))))
    art.answers["/cover.png"] = reply(picture())

    def sockets(count):
        left = iter(range(count))

        def one_socket(*asked):
            if next(left, None) is None:
                raise OSError(errno.EMFILE, "Too many open files")
            return socket.socket(*asked)

        return SimpleNamespace(**vars(socket) | {"socket": one_socket})

    def no_memory(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(asking, "socket", sockets(0))
        with pytest.raises(Exhausted):
            await look()
        patch.setattr(asking, "socket", sockets(1))
        looked = await look()
        assert (looked.content.title, looked.picture, looked.picture_tried) == ("A Show", None, "")
    monkeypatch.setattr(Image.Image, "resize", no_memory)
    looked = await look()
    assert (looked.content.title, looked.picture, looked.picture_tried) == ("A Show", None, "")
    assert len(art.requests) == 1


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
async def test_move_is_told_only_if_every_redirect_is_permanent(
    host, look, statuses, is_moved, is_redirected
):
    for number, status in enumerate(statuses):
        host.answers[f"/{number}"] = redirect(host.url(f"/{number + 1}"), status)
    there = f"/{len(statuses)}"
    host.answers[there] = reply(rss(), ETag='"2"')
    looked = await look(SHOW, "/0", etag='"1"')
    assert looked.content is not None
    assert (looked.is_moved, looked.is_redirected) == (is_moved, is_redirected)
    assert (looked.moved_feed.url if looked.moved_feed else "") == (host.url(there) * is_moved)
    assert looked.etag == ""
    assert ["if-none-match" in asked.headers for asked in host.requests] == [
        number == 0 for number in range(len(statuses) + 1)
    ]


async def test_feed_is_looked_at_where_it_says_that_it_moved_to(web, host, look):
    other = web.host("other.example")
    url, nowhere = other.url("/feed"), web.host("new.example").url("/feed")
    other.answers["/feed"] = reply(rss())
    host.answers["/feed"] = reply(rss(more=moved(url)))
    looked = await look()
    assert (looked.moved_feed.url, looked.moved_feed.content.title) == (url, "A Show")
    host.answers["/feed"] = reply(status=304)
    assert (await look(looked.content)).moved_feed == looked.moved_feed
    assert (await look(replace(looked.content, new_feed_url=nowhere))).moved_feed is None


@pytest.mark.parametrize(
    "why", ["behind a temporary redirect", "leads back by a redirect", "leads back in its words"]
)
async def test_feed_has_not_moved_to_an_address_that_is_not_sure(web, host, look, why):
    other = web.host("other.example")
    here, there = host.url("/feed"), other.url("/feed")
    host.answers["/feed"] = reply(rss(more=moved(there)))
    other.answers["/feed"] = reply(rss(more=moved(here)))
    if why == "behind a temporary redirect":
        host.answers["/feed"] = redirect(there, 302)
        other.answers["/feed"] = reply(rss(more=moved(there)))
    elif why == "leads back by a redirect":
        other.answers["/feed"] = redirect(here, 301)
    assert (await look()).moved_feed is None


# C10.7
async def test_of_the_urls_in_a_feed_its_new_one_and_its_picture_are_asked_and_no_other(
    web, host, look
):
    new, art, site, item = (web.host(f"{name}.example") for name in ("new", "art", "site", "item"))
    new.answers["/feed"] = reply(rss())
    art.answers["/cover.png"] = reply(picture())
    said = f"<link>{site.url('/')}</link>{image(art.url('/cover.png'))}{moved(new.url('/feed'))}"
    said += f'<item><link>{item.url("/")}</link><enclosure url="{item.url("/1.mp3")}"/></item>'
    host.answers["/feed"] = reply(rss(more=said))
    looked = await look()
    assert looked.content.site_url == site.url("/")
    assert (looked.moved_feed is not None, looked.picture is not None) == (True, True)
    asked = [one.connections for one in (host, new, art, site, item)]
    assert asked == [1, 1, 1, 0, 0]


async def test_what_a_feed_leads_to_is_waited_for_together_so_long_only(
    web, host, look, monkeypatch
):
    monkeypatch.setattr(looking, "_MORE_SECONDS", 0.5)
    slow, art = web.host("slow.example"), web.host("art.example")
    slow.answers["/feed"] = art.answers["/cover"] = silent
    cover = image(art.url("/cover"))
    host.answers["/feed"] = reply(rss(more=cover + moved(slow.url("/feed"))))
    looked = await look()
    assert looked.content is not None
    assert (looked.moved_feed, looked.picture, looked.picture_tried) == (None, None, "")
    assert art.connections == 0
    host.answers["/feed"] = reply(rss(more=cover))
    looked = await look()
    assert looked.content is not None
    assert (looked.picture, looked.picture_tried) == (None, art.url("/cover"))


@pytest.mark.parametrize(("redirects", "is_found"), [(2, True), (3, False)])
async def test_what_a_feed_leads_to_may_redirect_a_few_times(web, host, look, redirects, is_found):
    other = web.host("other.example")
    host.answers["/feed"] = reply(rss(more=image(other.url("/0.png")) + moved(other.url("/0.xml"))))
    for number in range(redirects):
        for kind in ("png", "xml"):
            other.answers[f"/{number}.{kind}"] = redirect(other.url(f"/{number + 1}.{kind}"))
    other.answers[f"/{redirects}.png"] = reply(picture())
    other.answers[f"/{redirects}.xml"] = reply(rss())
    looked = await look()
    assert (looked.moved_feed is not None, looked.picture is not None) == (is_found, is_found)
    assert len(other.requests) == 6


LINK = b'<link rel="alternate" type="application/rss+xml" href="feed.xml">'


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
        (reply(b"<!doctype html><html>" + LINK), Failure.NOT_A_FEED, 0),
        (b"no HTTP\r\n\r\n", Failure.BROKEN_ANSWER, 0),
    ],
)
async def test_failure_is_told_with_its_reason(web, host, look, answer, failure, seconds):
    host.answers["/feed"] = answer
    looked = await look(SHOW)
    assert (looked.failure, looked.content) == (failure, None)
    assert looked.reason.endswith(".")
    assert looked.retry_after_seconds == seconds
    assert looked.page_feeds == ((host.url("/feed.xml"),) if LINK in answer else ())
    web.names.clear()
    assert (await look()).failure is Failure.NO_SUCH_HOST


async def test_picture_is_made_small_and_a_broken_one_is_told_as_tried(host, look):
    host.answers = {"/feed": reply(rss(more=image("/cover"))), "/cover": reply(picture())}
    url = host.url("/cover")
    looked = await look()
    assert (looked.picture.media_type, looked.picture_tried) == ("image/webp", url)
    known = {"content": looked.content, "picture_url": url}
    there = await look(**known, picture=looked.picture.digest, picture_looked=NOW)
    assert (there.picture, there.picture_tried) == (None, "")
    for broken in (reply(b"no picture"), reply(status=404)):
        host.answers["/cover"] = broken
        again = await look(**known)
        assert (again.picture, again.picture_tried) == (None, url)
