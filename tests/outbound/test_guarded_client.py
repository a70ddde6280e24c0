"""The guarded client: what it asks, what it refuses, and what an answer may cost."""

import asyncio
import contextlib
import gzip
import socket
import ssl
import time
import tracemalloc
import zlib
from functools import partial

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from web_of_hosts import Request, WebOfHosts, got, redirect, reply

from feedkeep.config.networks import AddressRule, network
from feedkeep.outbound import client as client_module
from feedkeep.outbound.client import GuardedClient, Hop
from feedkeep.outbound.failures import Failure, RequestError, RequestRefused, Unreachable, Unusable
from feedkeep.outbound.policy import ClientPolicy

MIB = 1024 * 1024
gzipped = partial(gzip.compress, mtime=0)  # the same in each process that collects these tests
CHUNK = 65_536


def failure(web, url, policy=None):
    with pytest.raises(RequestError) as raised:
        got(web, url, policy)
    return raised.value


# Requests and answers


def test_answer_has_what_there_is_to_know_of_a_feed(web, a):
    modified = "Sat, 21 Nov 2026 07:28:24 GMT"
    told = {"ETag": '"1"', "Content_Type": "text/xml", "Retry_After": "120"}
    a.answers["/feed?x=1"] = reply(b"<rss/>", Last_Modified=modified, **told)
    answer = got(web, a.url("/feed?x=1#chapter"))
    assert (answer.status, answer.url, answer.hops) == (200, a.url("/feed?x=1"), ())
    assert (answer.body, answer.etag, answer.content_type) == (b"<rss/>", '"1"', "text/xml")
    assert (answer.last_modified, answer.retry_after) == (modified, "120")
    assert web.looked_up == ["a.example"]
    a.answers["/"] = reply(b"", ETag='"ü"', Last_Modified="\x7f", Content_Type="text/xml")
    answer = got(web, a.url())  # what could not be sent again is taken for missing
    assert (answer.etag, answer.last_modified, answer.content_type) == ("", "", "text/xml")


def test_request_says_who_asks_and_nothing_else_and_no_cookie_comes_back(web, a, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    a.answers["/"] = reply(b"", 302, Set_Cookie="session=1", Location="/next")
    agent = "feedkeep/1 (+mailto:me@home.example)"
    assert got(web, a.url(), web.policy(user_agent=agent)).status == 404
    headers = {"host": f"a.example:{a.port}", "user-agent": agent, "accept": "*/*"}
    headers |= {"accept-encoding": "gzip, deflate", "connection": "close"}
    assert a.requests == [Request("GET", path, headers) for path in ("/", "/next")]


def test_what_an_earlier_answer_said_is_sent_with_the_next_request(web, a):
    a.answers["/"] = reply(b"", 304, ETag='"1"')
    sent = {"etag": '"1"', "last_modified": "yesterday", "accept": "text/xml"}
    answer = got(web, a.url(), **sent)
    assert (answer.status, answer.body) == (304, b"")
    headers = a.requests[0].headers
    names = ("if-none-match", "if-modified-since", "accept")
    assert [headers[name] for name in names] == list(sent.values())


@pytest.mark.parametrize("value", ['"\r\nX: y"', '"ü"', '"\x00"', ""])
def test_what_is_no_value_of_a_header_is_not_sent(web, a, value):
    got(web, a.url(), etag=value, last_modified=value)
    (request,) = a.requests
    assert {"if-none-match", "if-modified-since", "x"}.isdisjoint(request.headers)


def test_body_of_a_failure_is_not_read(web, a):
    a.answers["/"] = reply(b"x" * 9 * MIB, 410)
    assert (got(web, a.url()).status, got(web, a.url()).body) == (410, b"")


def test_name_in_any_script_is_asked_in_ascii(web):
    host = web.host("xn--bcher-kva.example")
    host.answers["/%C3%BC?q%20r"] = reply(b"books")
    answer = got(web, f"HTTP://BÜCHER。example.:{host.port}/ü?q r ")
    assert (answer.body, answer.url) == (b"books", host.url("/%C3%BC?q%20r"))


# Redirects


def test_redirects_are_followed_and_told(web, a, b):
    a.answers["/1"] = redirect("2?x", 308)
    a.answers["/2?x"] = redirect(b.url("/3"), 302)
    b.answers["/3"] = redirect(f"//{a.name}:{a.port}/4 5", 307)
    a.answers["/4%205"] = reply(b"here")
    answer = got(web, a.url("/1"), etag='"1"')
    assert (answer.body, answer.url) == (b"here", a.url("/4%205"))
    assert answer.hops == (
        Hop(308, a.url("/2?x")), Hop(302, b.url("/3")), Hop(307, a.url("/4%205"))
    )  # fmt: skip
    assert all("referer" not in one.headers for one in (*a.requests, *b.requests))
    conditions = [one.headers.get("if-none-match") for one in (*a.requests, *b.requests)]
    assert conditions == ['"1"', None, None, None]


def test_ten_redirects_are_followed(web, a, b):
    for number in range(11):
        a.answers[f"/{number}"] = redirect(f"/{number + 1}")
    assert len(got(web, a.url("/1")).hops) == 10
    assert failure(web, a.url("/0")).kind is Failure.TOO_MANY_REDIRECTS
    assert len(a.requests) == 2 * 11
    a.answers["/"], b.answers["/"] = redirect(b.url()), redirect(a.url())
    assert failure(web, a.url()).kind is Failure.TOO_MANY_REDIRECTS


@pytest.mark.parametrize("status", [300, 304, 305, 301])
def test_what_leads_nowhere_is_an_answer(web, a, status):
    a.answers["/"] = reply(b"", status, Location="" if status == 301 else "/elsewhere")
    answer = got(web, a.url())
    assert (answer.status, answer.hops, answer.is_redirect) == (status, (), False)


@pytest.mark.parametrize(
    "location",
    ["ftp://a.example/", "file:///etc/passwd", "javascript:1", "http://[", "http://127.1/",
     "http://x.example\\@a.example/", "http://a.example:22/", "http://10.0.0.1/", "/\x7f",
     "/" + "x" * 8_192],
)  # fmt: skip
def test_redirect_is_judged_like_any_url(web, a, location):
    a.answers["/"] = redirect(location)
    assert isinstance(failure(web, a.url()), RequestRefused)
    assert len(a.requests) == 1


def test_user_info_goes_to_its_own_host_only(web, a, b):
    a.answers["/1"] = redirect("/2")
    a.answers["/2"] = redirect(a.url("/3"))
    a.answers["/3"] = redirect(b.url("/4"))
    b.answers["/4"] = redirect(a.url("/5"))
    a.answers["/5"] = redirect(b.url("/6", "else%40where:x:y@"))
    answer = got(web, a.url("/1", "me:secret@"))
    sent = [one.headers.get("authorization") for one in (*a.requests, *b.requests)]
    mine = "Basic bWU6c2VjcmV0"
    assert sent == [mine, mine, mine, None, None, "Basic ZWxzZUB3aGVyZTp4Onk="]
    assert [hop.url for hop in answer.hops] == [
        a.url("/2", "me:secret@"), a.url("/3"), b.url("/4"), a.url("/5"),
        b.url("/6", "else%40where:x:y@"),
    ]  # fmt: skip


def test_another_port_is_another_host(web, a):
    other = web.host("a.example")
    web.names["a.example"] = [a.address, other.address]
    a.answers["/"] = redirect(other.url())
    got(web, a.url("/", "me:secret@"))
    assert [one.headers.get("authorization") for one in other.requests] == [None]


async def test_one_request_alone_follows_nothing(web, a):
    a.answers["/login"] = reply(b"", 302, Location="/x", Set_Cookie="session=1; Path=/")
    async with GuardedClient(web.policy(), web.look_up) as client:
        url = a.url("/login", "me:secret@")
        answer = await client.ask("POST", url, headers={"Cookie": "x=1"})
    assert (answer.is_redirect, answer.location) == (True, "/x")
    assert answer.set_cookies == ("session=1; Path=/",)
    (request,) = a.requests
    assert (request.method, request.headers["cookie"]) == ("POST", "x=1")
    assert request.headers["authorization"] == "Basic bWU6c2VjcmV0"


# TLS


@pytest.fixture(scope="session")
def authority():
    return trustme.CA()


def trusting(authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def secured(authority, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_https_is_asked_by_name_and_only_with_a_valid_certificate(web, a, authority):
    host = web.host("c.example", tls=secured(authority, "c.example"))
    other = web.host("d.example", tls=secured(authority, "c.example"))
    host.answers["/"] = reply(b"private")
    policy = web.policy(tls=trusting(authority))
    assert got(web, host.url(), policy).body == b"private"
    error = failure(web, host.url())  # no authority that is trusted has signed it
    assert error.kind is Failure.TLS_FAULT
    assert str(error) == "The certificate of c.example is not valid."
    assert failure(web, other.url(), policy).kind is Failure.TLS_FAULT
    assert failure(web, a.url().replace("http:", "https:")).kind is Failure.TLS_FAULT
    assert [len(one.requests) for one in (host, other, a)] == [1, 0, 0]


def test_user_info_never_goes_from_https_to_http(web, a, authority):
    host = web.host("b.example", tls=secured(authority, "b.example"))
    host.answers["/"] = redirect(a.url())
    host.answers["/other"] = redirect(a.url("/", "you@"))
    policy = web.policy(tls=trusting(authority))
    assert "give the password away" in str(failure(web, host.url("/", "me:secret@"), policy))
    assert got(web, host.url(), policy).status == 404
    assert isinstance(failure(web, host.url("/other"), policy), RequestRefused)
    assert ["authorization" in one.headers for one in a.requests] == [False]


@pytest.mark.parametrize(
    ("here", "there", "is_kept"),
    [
        ("http://a/", "https://a/", True),
        ("http://a:8080/", "https://a/", False),
        ("http://a:8080/", "https://a:8080/", True),
        ("http://a/", "https://a:8443/", False),
        ("http://a/", "http://a.b/", False),
    ],
)
def test_user_info_is_kept_where_a_host_moves_to_https(here, there, is_kept):
    parse = client_module.FetchTarget.parse
    kept = client_module._authorization_after(parse(here), "Basic x", parse(there))
    assert (kept == "Basic x") is is_kept


# Permitted addresses and ports


def test_host_on_a_private_address_is_refused_and_never_hears_of_it(web, a):
    url, policy = f"http://{a.address}:{a.port}/", web.policy(addresses=AddressRule())
    assert got(web, url).status == 404
    assert isinstance(failure(web, url, policy), RequestRefused)
    assert web.looked_up == []
    error = failure(web, a.url(), policy)
    assert (error.kind, a.connections) == (Failure.REFUSED, 1)
    assert str(error) == "a.example is not on the public internet, and may not be asked."


def test_of_many_addresses_only_those_are_asked_that_may_be(web, a, b):
    both = socket.create_server(("127.0.0.9", a.port))
    web.names["a.example"] = ["10.0.0.1", "127.0.0.9", "::1", a.address, "fe80::1%lo", "nonsense"]
    policy = web.policy(addresses=AddressRule(allowed=(network(a.address),)))
    assert got(web, a.url(), policy).status == 404
    both.setblocking(False)
    with pytest.raises(BlockingIOError):
        both.accept()
    both.close()


async def test_name_that_means_another_address_the_next_time_is_judged_anew(web, a, b):
    policy = web.policy(addresses=AddressRule(allowed=(network(a.address),)))
    answers = iter([[a.address], [b.address]])

    async def rebinds(_):
        return next(answers)

    async with GuardedClient(policy, rebinds) as client:
        assert (await client.get(a.url())).status == 404
        with pytest.raises(RequestRefused):
            await client.get(a.url())
    assert (a.connections, b.connections) == (1, 0)


def test_there_is_no_way_to_a_socket_but_through_the_wall(web, a, monkeypatch):
    monkeypatch.setattr(GuardedClient, "_judge", lambda *_: None)
    policy = web.policy(addresses=AddressRule())
    error = failure(web, f"http://{a.address}:{a.port}/", policy)
    assert (error.kind, a.connections) == (Failure.NO_CONNECTION, 0)
    assert failure(web, a.url(), web.policy(ports=frozenset())).kind is Failure.NO_CONNECTION
    assert a.connections == 0


@pytest.mark.parametrize("port", [0, 1, 22, 25, 81, 6_379, 65_535])
def test_other_ports_are_refused(web, port):
    error = failure(web, f"http://a.example:{port}/", ClientPolicy())
    assert (error.kind, web.looked_up) == (Failure.REFUSED, [])
    assert str(error) == f"Port {port} is not one that may be asked."


async def test_name_with_many_addresses_is_tried_at_a_few(web, a):
    few = [*(f"127.0.1.{n}" for n in range(1, 5)), *(f"fd00::{n}" for n in range(4))]
    web.names["a.example"] = [
        *few[:4], *(f"127.0.1.{n}" for n in range(5, 200)), *few[4:], *(f"fd00::{n}" for n in "456")
    ]  # fmt: skip
    rule = AddressRule(allowed=(network("127.0.0.0/8"), network("fd00::/8")))
    names = client_module._JudgedNames(web.policy(addresses=rule), web.look_up)
    assert [one["host"] for one in await names.resolve("a.example", 80)] == few
    async with GuardedClient(web.policy(), web.look_up) as client:
        with pytest.raises(RequestError) as raised:
            await client.get(a.url())
    assert raised.value.kind is Failure.NO_CONNECTION


# Failures, told apart


async def unreachable(resolver, **policy):
    """Return the error for a host whose name is resolved by `resolver`."""
    async with GuardedClient(ClientPolicy(**policy), resolver) as client:
        with pytest.raises(Unreachable) as raised:
            await client.get("http://a.example/")
    return raised.value


NO_HOST = "There is no host a.example."
UNANSWERED = "The address of a.example could not be found out."


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (socket.EAI_NONAME, Failure.NO_SUCH_HOST, NO_HOST),
        (socket.EAI_NODATA, Failure.NO_SUCH_HOST, NO_HOST),
        (socket.EAI_AGAIN, Failure.NAME_UNANSWERED, UNANSWERED),
        (socket.EAI_FAIL, Failure.NAME_UNANSWERED, UNANSWERED),
    ],
)
async def test_missing_name_is_told_from_one_that_gets_no_answer(number, kind, text):
    async def fails(_):
        raise socket.gaierror(number, "whatever it says")

    error = await unreachable(fails)
    assert (error.kind, str(error)) == (kind, text)


def test_host_without_an_address_or_a_listener_is_told(web, a):
    web.names |= {"empty.example": [], "a.example": ["127.0.0.200"]}
    assert failure(web, "http://empty.example/").kind is Failure.NO_SUCH_HOST
    error = failure(web, a.url())
    assert error.kind is Failure.NO_CONNECTION
    assert str(error) == "There is no connection to a.example: connection refused."


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"\x00" * 99, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nX", b"HTTP/9\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
     b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab",
     reply(b"abc", Content_Encoding="gzip"),
     reply(b"abc", Content_Encoding="deflate"), reply(b"abc", Content_Encoding="gzip, gzip"),
     reply(gzipped(b"abc")[:10], Content_Encoding="gzip"),
     reply(gzipped(b"") * 1_001, Content_Encoding="gzip")],
)  # fmt: skip
def test_what_is_no_answer_is_told(web, a, answer):
    a.answers["/"] = answer
    error = failure(web, a.url())
    assert isinstance(error, Unusable)
    assert error.kind is Failure.BROKEN_ANSWER
    assert str(error) == "a.example sends no valid answer."


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_encoding_that_nobody_asked_for_is_named(web, a, encoding):
    a.answers["/"] = reply(b"abc", Content_Encoding=encoding)
    assert f"by {encoding}, which nobody asked for" in str(failure(web, a.url()))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"])
def test_connection_that_is_reset_is_no_answer(web, a, answer):
    async def reset(_, writer):
        writer.write(answer)
        await writer.drain()
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    a.answers["/"] = reset
    assert failure(web, a.url()).kind is Failure.BROKEN_ANSWER


@given(st.binary(max_size=300))
def test_whatever_a_host_sends_is_an_answer_or_an_error_of_the_door(junk):
    with WebOfHosts() as web:
        host = web.host("a.example")
        host.answers = {"/1": junk, "/2": b"HTTP/1.1 200 OK\r\n" + junk,
                        "/3": reply(junk, Content_Encoding="deflate")}  # fmt: skip
        for path in host.answers:
            with contextlib.suppress(RequestError):
                got(web, host.url(path))


# Limits of answers


def endless(first, again, seconds_between=0.0):
    async def script(_, writer):
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(seconds_between)

    return script


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("first", "again"),
    [(b"", b""), (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (OK + b"X: ", b"x"), (OK + b"\r\n", b"x"),
     (OK + b"Content-Length: 9999\r\n\r\n", b"x"),
     (OK + b"Content-Encoding: gzip\r\n\r\n", gzipped(b"")),
     (OK + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x")],
)  # fmt: skip
def test_drops_are_waited_for_so_long_only(web, a, first, again):
    a.answers["/"] = endless(first, again, 0.02)
    error = failure(web, a.url(), web.policy(whole_seconds=0.3))
    assert (error.kind, str(error)) == (Failure.TOO_SLOW, "a.example takes too long to answer.")


def test_silence_is_waited_for_so_long_only(web, a):
    a.answers["/"] = endless(OK + b"Content-Length: 5\r\n\r\nab", b"", 0.02)
    assert failure(web, a.url(), web.policy(silent_seconds=0.1)).kind is Failure.TOO_SLOW


@pytest.mark.parametrize(
    ("pause_seconds", "connect_seconds"), [(0.0, 0.1), (0.05, 0.01)], ids=["", "all at once"]
)
async def test_resolver_is_waited_for_so_long_only(pause_seconds, connect_seconds):
    async def hangs(_):
        time.sleep(pause_seconds)  # noqa: ASYNC251 - the loop stands still, as on a slow machine
        await asyncio.Event().wait()

    times = {"connect_seconds": connect_seconds, "whole_seconds": 2 * connect_seconds}
    assert (await unreachable(hangs, **times)).kind is Failure.TOO_SLOW


async def test_who_gives_a_name_up_goes_on_when_no_thread_looks_it_up_any_more():
    under_way = []
    asking = asyncio.current_task()

    async def slow(host):
        under_way.append(host)
        while not asking.cancelling():  # until its connect timeout  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        for _ in range(10):
            await asyncio.sleep(0)
        under_way.remove(host)
        return []

    async with GuardedClient(ClientPolicy(connect_seconds=0.01), slow) as client:
        with pytest.raises(Unreachable):
            await client.get("http://a.example/")
        assert not under_way


def test_all_redirects_together_have_the_same_time(web, a):
    async def later(_, writer):
        await asyncio.sleep(0.2)
        writer.write(redirect("/"))

    a.answers["/"] = later
    assert failure(web, a.url(), web.policy(whole_seconds=0.5)).kind is Failure.TOO_SLOW
    assert len(a.requests) < 5


def bomb(bytes_inside, wbits):
    packer = zlib.compressobj(9, wbits=wbits)
    zeros = bytes(MIB)
    return b"".join(packer.compress(zeros) for _ in range(bytes_inside // MIB)) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "wbits"), [("gzip", 31), ("x-gzip", 31), ("deflate", 15), ("deflate", -15)]
)
def test_bomb_costs_no_more_than_a_large_body(web, a, encoding, wbits):
    packed = bomb(64 * MIB, wbits)
    assert len(packed) < 70_000
    a.answers["/"] = reply(packed, Content_Encoding=encoding)
    tracemalloc.start()
    try:
        error = failure(web, a.url())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.kind is Failure.TOO_LARGE
    assert peak < 12 * MIB


@pytest.mark.parametrize(
    ("first", "again"),
    [(OK + b"\r\n", b"x" * CHUNK),
     (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * CHUNK + b"\r\n"),
     (OK + b"Content-Encoding: gzip\r\n\r\n" + gzipped(b"abc") + b"\0", b"\0" * CHUNK),
     (OK + b"Content-Length: 8388609\r\n\r\n", b"")],
)  # fmt: skip
def test_body_that_has_no_end_or_says_that_it_is_too_large_is_too_large(web, a, first, again):
    a.answers["/"] = endless(first, again)
    error = failure(web, a.url())
    assert (error.kind, str(error)) == (Failure.TOO_LARGE, "a.example sends more than is taken.")


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("length", [100_000, 100_001, 1_000_000])
def test_of_a_body_that_is_too_large_the_beginning_is_returned_to_who_asks_for_it(
    web, a, encoding, length
):
    body = bytes(range(250)) * (length // 250) + b"x" * (length % 250)
    a.answers["/"] = reply(gzipped(body) if encoding else body, Content_Encoding=encoding)
    answer = got(web, a.url(), max_bytes=100_000, may_cut=True)
    assert answer.body == body[:100_000]
    assert answer.is_cut is (length > 100_000)


def test_body_without_an_end_is_cut_for_who_asks_for_its_beginning(web, a):
    a.answers["/"] = endless(OK + b"\r\n", b"x" * CHUNK)
    answer = got(web, a.url(), may_cut=True)
    assert (answer.body, answer.is_cut) == (b"x" * 8 * MIB, True)


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_body_may_be_as_large_as_is_said(web, a, encoding):
    body = bytes(8 * MIB)
    packed = gzipped(body) if encoding else body
    a.answers["/"] = reply(packed, Content_Encoding=encoding)
    assert got(web, a.url()).body == body
    assert got(web, a.url(), max_bytes=len(body)).body == body
    with pytest.raises(Unusable) as raised:
        got(web, a.url(), max_bytes=len(body) - 1)
    assert raised.value.kind is Failure.TOO_LARGE


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzipped(b"abc")), ("GZIP ", gzipped(b"a") + gzipped(b"bc")),
     ("x-gzip", gzipped(b"abc") + b"junk"), ("deflate", zlib.compress(b"abc")),
     ("deflate", zlib.compress(b"abc", wbits=-15)), ("deflate", zlib.compress(b"abc") + b"x"),
     ("identity", b"abc"), ("UTF-8", b"abc"), ("none", b"abc"), ("", gzipped(b"abc")),
     ("none", gzipped(b"abc")), ("gzip", gzipped(b"abc")[:-9]), ("gzip", gzipped(b"abc")[:-4]),
     ("gzip", b"")],
)  # fmt: skip
def test_body_is_unpacked_as_servers_pack_it(web, a, encoding, packed):
    a.answers["/"] = reply(packed, Content_Encoding=encoding)
    assert got(web, a.url()).body == (b"abc" if packed else b"")


def test_headers_have_a_bound_together_and_alone(web, a):
    def with_headers(count, length):
        return reply(b"", **{f"X-{number}": "x" * length for number in range(count)})

    a.answers = {"/small": with_headers(100, 100), "/long": with_headers(1, 20_000),
                 "/many": with_headers(200, 1), "/large": with_headers(8, 9_000)}  # fmt: skip
    assert got(web, a.url("/small")).status == 200
    assert failure(web, a.url("/large")).kind is Failure.TOO_LARGE
    for again in (b"X: yyyyyyyy\r\n", b"x" * CHUNK):
        a.answers[f"/endless-{len(again)}"] = endless(OK + b"X: ", again)
    for path in ("/long", "/many", "/endless-13", f"/endless-{CHUNK}"):
        assert failure(web, a.url(path)).kind is Failure.BROKEN_ANSWER, path
