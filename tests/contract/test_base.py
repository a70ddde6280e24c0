"""Contract, section 1: what holds of every request and reply."""

import contextlib
import gzip
import socket
import time

import httpx
import pytest
from feedkeep_process import FeedkeepProcess, wait_until_read
from names import G1, A, derived, entries

ADD_A = f'{{"subscriptions": [{{"feed_url": "{A}"}}]}}'.encode()


# C1.1
def test_every_route_is_served_at_the_root_and_under_v1(api, add):
    add(A)
    for path in (f"/subscriptions/{derived(A)}", "/livez", "/readyz", "/openapi.json", "/docs"):
        at_root, under_v1 = api.get(path), api.get(f"/v1{path}")
        assert at_root.status_code == under_v1.status_code == 200
        assert at_root.content == under_v1.content


# C1.3
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml; x=y", "nonsense"]
)
def test_the_content_type_of_a_request_is_not_checked(api, kind):
    reply = api.post("/subscriptions", content=ADD_A, headers={"Content-Type": kind})
    assert len(reply.json()["success"]) == 1


def test_replies_are_json(api):
    for reply in (api.get("/subscriptions"), api.get("/nowhere"), api.get("/livez")):
        assert reply.headers["Content-Type"] == "application/json"


# C1.9, C7.10
@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "GZIP", "gzip, identity"])
def test_a_body_with_a_content_coding_is_415(api, coding):
    reply = api.post(
        "/subscriptions", content=gzip.compress(ADD_A), headers={"Content-Encoding": coding}
    )
    assert (reply.status_code, reply.json()["code"]) == (415, "415")
    assert entries(api) == []


def test_identity_is_no_content_coding(api):
    reply = api.post("/subscriptions", content=ADD_A, headers={"Content-Encoding": "Identity"})
    assert reply.status_code == 200


def padded(size_bytes: int) -> bytes:
    return ADD_A + b" " * (size_bytes - len(ADD_A))


# C1.10, C7.10
def test_a_body_of_4_mib_is_read_and_a_larger_one_is_413(api):
    limit = 4 * 1024 * 1024
    assert api.post("/subscriptions", content=padded(limit)).status_code == 200
    with_length = api.post("/subscriptions", content=padded(limit + 1))
    assert (with_length.status_code, with_length.json()["code"]) == (413, "413")


def test_a_body_that_is_too_large_is_413_also_without_its_length(api):
    def chunks():
        yield ADD_A
        for _ in range(5):
            yield b" " * 1024 * 1024

    assert api.post("/subscriptions", content=chunks()).status_code == 413
    assert entries(api) == []


@pytest.mark.parametrize(
    ("path", "size_bytes", "status"),
    [
        ("/subscriptions", 8_000_000, 413),
        ("/nowhere", 4_000_000, 404),
        ("/livez", 4_000_000, 405),
        ("/api/2/auth/stranger/login.json", 4_000_000, 401),
    ],
)
def test_a_refusal_is_seen_by_a_client_that_sends_its_whole_body_first_and_then_closes(
    api, feedkeep, path, size_bytes, status
):
    """urllib, by which gPodder sends, asks for the end of the connection with each request."""
    url = httpx.URL(feedkeep.base_url)
    authorization = "" if status == 401 else f"Authorization: {api.headers['Authorization']}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{authorization}"
    for pause_seconds in (0.0, 0.05):  # before the refusal, and after it
        with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
            connection.sendall(f"{head}Content-Length: {size_bytes}\r\n\r\n".encode())
            time.sleep(pause_seconds)
            for _ in range(size_bytes // 100_000):
                connection.sendall(b" " * 100_000)
            reply = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert reply.startswith(f"HTTP/1.1 {status} ".encode())
        assert reply.count(b"HTTP/1.1") == 1


def test_a_body_without_an_end_is_cut_after_its_refusal(feedkeep):
    url = httpx.URL(feedkeep.base_url)
    head = "POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99999999"
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")
        with pytest.raises(ConnectionError):
            connection.sendall(b" " * 90_000_000)


def test_trailers_without_an_end_are_cut_after_a_refusal(feedkeep):
    """Each one takes memory, where two connections had taken 900 MB."""
    url = httpx.URL(feedkeep.base_url)
    head = "POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked"
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")
        connection.sendall(b"0\r\n" + b"a:\r\n" * 4_000)
        with pytest.raises(ConnectionError):
            connection.sendall(b"a:\r\n" * 4_000_000)


def test_a_request_that_is_sent_ahead_of_the_last_reply_does_not_hold_the_connection(feedkeep):
    url = httpx.URL(feedkeep.base_url)
    refused = f"POST /sign-in HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
    refused += f"Origin: {feedkeep.base_url}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 17000\r\n\r\n"
    begun = "POST /subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nab"
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall((refused + form + "x" * 17_000 + begun).encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 30_000_000)


def test_what_follows_the_last_reply_of_a_connection_is_not_carried_out(api, feedkeep):
    refused = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(refused)
        reply = connection.recv(65_536)
        connection.sendall(b"123456789" + written(api, ADD_A))
        with contextlib.suppress(ConnectionError):
            reply += b"".join(iter(lambda: connection.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 404 ")
    assert reply.count(b"HTTP/1.1") == 1
    assert entries(api) == []


def test_a_body_that_came_in_pieces_is_read_whole(api):
    reply = api.post("/subscriptions", content=(bytes([byte]) for byte in ADD_A))
    assert len(reply.json()["success"]) == 1


# C1.16
def test_nothing_is_cached_but_what_has_an_etag(api, add):
    add(A)
    for reply in (
        api.post("/subscriptions", content=ADD_A),
        api.patch(f"/subscriptions/{derived(A)}", json={}),
        api.get(f"/subscriptions/{G1}"),
        api.get("/nowhere"),
        api.get("/livez"),
        api.get("/readyz"),
        api.delete(f"/subscriptions/{derived(A)}"),
    ):
        assert reply.headers["Cache-Control"] == "no-store"
        assert "ETag" not in reply.headers or reply.request.method == "PATCH"


# C1.19
def test_every_reply_forbids_sniffing_and_tells_its_request_id(api):
    replies = [api.get(path) for path in ("/subscriptions", "/nowhere", "/docs", "/livez")]
    assert {reply.headers["X-Content-Type-Options"] for reply in replies} == {"nosniff"}
    assert len({reply.headers["X-Request-Id"] for reply in replies}) == 4
    assert not any("server" in reply.headers for reply in replies)


# C7.6
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/subscriptions", "GET, HEAD, POST"),
        (f"/subscriptions/{G1}", "GET, HEAD, PATCH, DELETE"),
        ("/deletions/1", "GET, HEAD"),
        ("/livez", "GET, HEAD"),
        ("/readyz", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/docs", "GET, HEAD"),
        ("/docs/gpodder.json", "GET, HEAD"),
    ],
)
def test_a_method_that_a_route_does_not_have_is_405_and_told_what_it_has(api, path, allowed):
    methods = {
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "OPTIONS",
        "TRACE",
        "PROPFIND",
        "SOURCE",
        "BREW",
    }
    for method in methods - set(allowed.split(", ")):
        reply = api.request(method, path)
        assert (reply.status_code, reply.headers["Allow"]) == (405, allowed), method
        assert (reply.json()["code"], len(reply.headers["X-Request-Id"])) == ("405", 16)


# C1.13
def test_head_is_wherever_get_is(api):
    for path in (
        "/subscriptions",
        "/livez",
        "/readyz",
        "/openapi.json",
        "/docs",
        "/docs/gpodder.json",
    ):
        reply = api.head(path)
        assert (reply.status_code, reply.content) == (200, b"")


# C7.1, C7.2, C7.5
@pytest.mark.parametrize(
    "path",
    ["/v1", "/nowhere", "/docs/x/", f"/subscriptions/{G1}/x", "/v2/livez", "/docs/x"],
)
def test_a_route_that_there_is_not_is_404(api, path):
    reply = api.get(path)
    assert reply.status_code == 404
    assert reply.json() == {"code": "404", "message": "The resource was not found."}


# C1.8
@pytest.mark.parametrize("text", ["x" * 201, "%00", "a%1F", "%7F", "%C2%85"])
def test_a_name_in_a_path_that_is_too_long_or_has_a_control_character_is_refused(feedkeep, text):
    user = feedkeep.new_account()
    with feedkeep.client(user) as client:
        for path, status in (
            (f"/subscriptions/{text}", 405),
            (f"/v1/deletions/{text}", 405),
            (f"/api/2/subscriptions/{user}/{text}.json", 400),
        ):
            reply = client.get(path)
            assert (reply.status_code, reply.json()["code"]) == (status, str(status)), path
            assert "A part of the address is too long, or has a char" in reply.json()["message"]
        longest = client.get(f"/subscriptions/{'x' * 200}")
        assert "Not a guid" in longest.json()["message"]


# C1.14
def test_no_origin_is_allowed_unless_configured(api):
    headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
    for reply in (
        api.get("/subscriptions", headers=headers),
        api.options("/subscriptions", headers=headers),
    ):
        assert not any(name.startswith("access-control") for name in reply.headers)


# C1.14
def test_a_configured_origin_may_call_and_another_may_not(tmp_path):
    with FeedkeepProcess(
        tmp_path, cors_origins="https://app.example, https://b.example"
    ) as process:
        preflight = {
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization",
        }
        url = f"{process.base_url}/subscriptions/{G1}"
        allowed = httpx.options(url, headers=preflight | {"Origin": "https://app.example"})
        assert allowed.status_code == 200
        assert allowed.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "PATCH" in allowed.headers["Access-Control-Allow-Methods"]
        other = httpx.options(url, headers=preflight | {"Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in other.headers
        refused = httpx.get(url, headers={"Origin": "https://app.example"})
        assert refused.status_code == 401
        assert refused.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "Feedkeep-Epoch" in refused.headers["Access-Control-Expose-Headers"]


def test_with_a_wildcard_every_origin_may_call_and_caches_are_told_of_origins(tmp_path):
    with FeedkeepProcess(tmp_path, cors_origins="*") as process:
        reply = httpx.get(f"{process.base_url}/livez", headers={"Origin": "https://any.example"})
        assert reply.headers["Access-Control-Allow-Origin"] == "*"
        assert "Origin" in reply.headers["Vary"]


def test_links_use_the_public_url_where_it_is_configured(tmp_path):
    with FeedkeepProcess(tmp_path, public_url="https://feeds.example/keep/") as process:
        with process.client(process.new_account()) as client:
            items = [{"feed_url": f"https://{number}.example"} for number in range(3)]
            client.post("/subscriptions", json={"subscriptions": items})
            body = client.get("/v1/subscriptions?per_page=1&page=2").json()
        for name in ("next", "previous"):
            assert body[name].startswith("https://feeds.example/keep/v1/subscriptions?")


# C1.10
def test_limits_can_be_configured(tmp_path):
    with (
        FeedkeepProcess(tmp_path, max_body_bytes="100", max_items="1") as process,
        process.client(process.new_account()) as client,
    ):
        assert client.post("/subscriptions", content=padded(101)).status_code == 413
        two = '{"subscriptions": [{"feed_url": ""}, {"feed_url": ""}]}'
        assert client.post("/subscriptions", content=two).status_code == 405
        assert client.post("/subscriptions", content=ADD_A).status_code == 200


# C3.13, C3.14, C3.15
def test_a_list_whose_urls_are_long_is_full_sooner_and_can_be_left(tmp_path):
    with FeedkeepProcess(tmp_path, max_subscriptions="2") as process:
        name = process.new_account()
        a, b, c = (
            f"https://{x}.example/{x * size}" for x, size in (("a", 8_000), ("b", 600), ("c", 9))
        )
        with process.client(name) as client:
            items = {"subscriptions": [{"feed_url": url} for url in (a, b, c)]}
            reply = client.post("/subscriptions", json=items)
            added, (refused,) = reply.json()["success"], reply.json()["failure"]
            assert [it["feed_url"] for it in added] == [a, c]
            assert refused["message"].startswith("This account's list has 9 entries, including")

            path = f"/subscriptions/{added[0]['guid']}"
            moved = client.patch(path, json={"new_feed_url": f"{a}a"})
            assert moved.status_code == 405
            assert client.patch(path, json={"is_subscribed": False}).status_code == 200
            assert client.delete(path).status_code == 202
        assert process.must("check").endswith("is intact.\n")


# C3.12, C3.14
def test_a_list_is_as_long_as_is_configured_and_says_so_when_it_is_full(tmp_path):
    with FeedkeepProcess(tmp_path, max_subscriptions="2") as process:
        name = process.new_account()
        a, b, c = (f"https://{letter}.example" for letter in "abc")
        with process.client(name) as client:
            items = {"subscriptions": [{"feed_url": url} for url in (a, b, c)]}
            reply = client.post("/subscriptions", json=items)
            added, (refused,) = reply.json()["success"], reply.json()["failure"]
            assert (reply.status_code, len(added), refused["feed_url"]) == (200, 2, c)
            assert refused["message"].startswith("This account has 2 subscriptions, which is")

            path = f"/subscriptions/{added[0]['guid']}"
            client.patch(path, json={"is_subscribed": False})
            client.post("/subscriptions", json={"subscriptions": [{"feed_url": c}]})
            again = client.patch(path, json={"is_subscribed": True})
            assert again.status_code == 405
            assert "This account has 2 subscriptions, which is" in again.json()["message"]

            sent = client.post(f"/api/2/subscriptions/{name}/phone.json", json={"add": [a]})
            assert (sent.status_code, sent.json()["update_urls"]) == (200, [[a, ""]])
            put = client.put(f"/subscriptions/{name}/phone.json", json=[a, b, c])
            assert put.status_code == 400
            assert "So nothing was changed." in put.json()["message"]
        printed = process.must("import", name, "-", stdin=f"{b}\n{a}\n").splitlines()
        assert printed[0] == "0 added, 1 already there, 1 refused."
        assert printed[1].startswith("line 2: This account has 2 subscriptions, which is")


# C7.1, C7.14
@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"BREW /livez\r\n\r\n", 400),
        (b"BREW /livez HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        (b"GET /livez HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        (b"GET /livez HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        (b"GET /livez\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400),
    ],
)
def test_what_is_not_http_is_refused_in_the_one_shape_of_errors(feedkeep, request_line, status):
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(request_line)
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert body.startswith(b'{"code":"%d","message":"' % status)
    assert b"allow: " not in head.lower()


def talk(feedkeep: FeedkeepProcess, request: bytes) -> bytes:
    """Send bytes, and return all that comes back until the server hangs up."""
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def written(api: httpx.Client, body: bytes, *headers: str) -> bytes:
    lines = ["POST /subscriptions HTTP/1.1", "Host: x", *headers]
    lines += [f"Authorization: {api.headers['Authorization']}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_a_wish_to_speak_another_protocol_is_ignored(api, feedkeep):
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ")
    closing = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    reply = talk(feedkeep, written(api, ADD_A, *upgrade) + closing)
    assert reply.count(b"HTTP/1.1 200 OK") == 2
    assert [entry["feed_url"] for entry in entries(api)] == [A]


def test_a_body_is_never_taken_for_a_second_request(api, feedkeep):
    hidden = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    request = written(api, hidden, "Connection: Upgrade", "Upgrade: h2c")
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        middle = request.index(b"grade: h2c")
        connection.sendall(request[:middle])
        wait_until_read(connection)
        connection.sendall(request[middle:])
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 400 Bad Request")
    assert reply.count(b"HTTP/1.1") == 1


def test_a_whole_request_is_answered_also_when_nonsense_follows_it(api, feedkeep):
    reply = talk(feedkeep, written(api, ADD_A) + b"nonsense\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert reply.count(b"HTTP/1.1") == 1
    assert len(entries(api)) == 1


def test_a_body_that_breaks_off_into_nonsense_is_refused_and_stores_nothing(api, feedkeep):
    head = written(api, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"%x\r\n%s\r\n" % (len(ADD_A), ADD_A)
    reply = talk(feedkeep, head + chunk + b"nonsense\r\n")
    assert reply.startswith(b"HTTP/1.1 400 Bad Request")
    assert entries(api) == []


def talk_in_pieces(feedkeep: FeedkeepProcess, *pieces: bytes) -> bytes:
    """Send each piece by itself, and return all that comes back until the server hangs up."""
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
            wait_until_read(connection)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_no_byte_of_a_body_is_moved_into_a_second_request(api, feedkeep):
    hidden = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    request = written(api, b"\nupgrade:" * (len(hidden) // 2) + hidden, "Connection: close")
    for place in range(6):
        cut = request.index(b"\r\n\r\n") + place
        reply = talk_in_pieces(feedkeep, request[:cut], request[cut:])
        assert reply.startswith(b"HTTP/1.1 405 ")
        assert reply.count(b"HTTP/1.1") == 1


def test_whole_requests_are_answered_before_a_broken_one_ends_the_connection(api, feedkeep):
    broken = written(api, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    whole = written(api, ADD_A)
    for number in (1, 3):
        reply = talk(feedkeep, whole * number + broken + b"nonsense\r\n")
        assert reply.count(b"HTTP/1.1 200 OK") == reply.count(b"HTTP/1.1") == number


def test_who_is_not_let_in_or_sends_too_much_is_told_before_the_body(api, feedkeep):
    url = httpx.URL(feedkeep.base_url)
    known = f"Authorization: {api.headers['Authorization']}\r\n"
    for authorization, status in (("", b"401"), (known, b"413")):
        with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
            head = "POST /subscriptions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            connection.sendall(f"{head}{authorization}Content-Length: 99999999\r\n\r\n".encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 " + status)


def test_a_client_that_waits_to_be_told_to_go_on_is_told(api, feedkeep):
    head = written(api, ADD_A, "Expect: 100-continue", "Connection: close").removesuffix(ADD_A)
    url = httpx.URL(feedkeep.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(ADD_A)
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert len(entries(api)) == 1


def test_a_connection_goes_on_after_a_body_that_the_application_did_not_read(api, feedkeep):
    refused = b"POST /subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
    second = written(api, ADD_A, "Connection: close, Upgrade", "Upgrade: h2c")
    reply = talk_in_pieces(feedkeep, refused + b"1234", b"56789", second)
    assert reply.startswith(b"HTTP/1.1 401 ")
    assert reply.count(b"HTTP/1.1 200 OK") == 1
