"""Contract, section 1: what holds of every request and reply."""

import contextlib
import gzip
import socket
import time

import httpx
import pytest
from asking import entries, patch, post, told
from feedkeep_process import FeedkeepProcess, wait_until_read
from names import G1, NOT_FOUND, A, derived

ADD_A = f'{{"subscriptions": [{{"feed_url": "{A}"}}]}}'.encode()


# C1.1, C1.13
def test_every_route_is_served_at_the_root_and_under_v1_and_head_wherever_get_is(api, add):
    add(A)
    for path in (
        "/subscriptions", f"/subscriptions/{derived(A)}", "/livez", "/readyz", "/openapi.json",
        "/docs", "/docs/gpodder.json",
    ):  # fmt: skip
        at_root, under_v1, head = api.get(path), api.get(f"/v1{path}"), api.head(path)
        assert at_root.status_code == under_v1.status_code == head.status_code == 200
        assert at_root.content == under_v1.content
        assert head.content == b""


# C1.3
def test_the_content_type_of_a_request_is_not_checked_and_replies_are_json(api):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml; x=y", "odd"):
        reply = api.post("/subscriptions", content=ADD_A, headers={"Content-Type": kind})
        assert len(told(reply)["success"]) == 1
    for reply in (api.get("/subscriptions"), api.get("/nowhere"), api.get("/livez")):
        assert reply.headers["Content-Type"] == "application/json"


# C1.9, C7.10
def test_a_body_with_a_content_coding_is_415_and_identity_is_none(api):
    def send(content, coding):
        headers = {"Content-Encoding": coding}
        return api.post("/subscriptions", content=content, headers=headers)

    for coding in ("gzip", "br", "deflate", "GZIP", "gzip, identity"):
        assert told(send(gzip.compress(ADD_A), coding), 415)["code"] == "415"
    assert entries(api) == []
    assert send(ADD_A, "Identity").status_code == 200


def padded(size_bytes):
    return ADD_A + b" " * (size_bytes - len(ADD_A))


# C1.10, C7.10
def test_a_body_of_4_mib_is_read_and_a_larger_one_is_413_also_without_its_length(api):
    def chunks():
        yield ADD_A
        for _ in range(5):
            yield b" " * 1024 * 1024

    limit = 4 * 1024 * 1024
    assert told(api.post("/subscriptions", content=padded(limit + 1)), 413)["code"] == "413"
    assert api.post("/subscriptions", content=chunks()).status_code == 413
    assert entries(api) == []
    assert api.post("/subscriptions", content=padded(limit)).status_code == 200
    in_pieces = api.post("/subscriptions", content=(bytes([byte]) for byte in ADD_A))
    assert len(told(in_pieces)["success"]) == 1


@contextlib.contextmanager
def connected(api):
    url = httpx.URL(api.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        yield connection


def rest(connection):
    """Return all that comes until the server hangs up."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def talk(api, *pieces):
    """Send pieces, each once the last one was read; return all that comes back."""
    with connected(api) as connection:
        for piece in pieces[:-1]:
            connection.sendall(piece)
            wait_until_read(connection)
        connection.sendall(pieces[-1])
        return rest(connection)


def head_of(method, path, *headers):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def written(api, body, *headers):
    shown = f"Authorization: {api.headers['Authorization']}"
    return head_of("POST", "/subscriptions", *headers, shown, f"Content-Length: {len(body)}") + body


CLOSING = head_of("GET", "/livez", "Connection: close")


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
    api, path, size_bytes, status
):
    """urllib, by which gPodder sends, asks for the end of the connection with each request."""
    shown = [] if status == 401 else [f"Authorization: {api.headers['Authorization']}"]
    head = head_of("POST", path, "Connection: close", *shown, f"Content-Length: {size_bytes}")
    for pause_seconds in (0.0, 0.05):  # before the refusal, and after it
        with connected(api) as connection:
            connection.sendall(head)
            time.sleep(pause_seconds)
            for _ in range(size_bytes // 100_000):
                connection.sendall(b" " * 100_000)
            reply = rest(connection)
        assert reply.startswith(f"HTTP/1.1 {status} ".encode())
        assert reply.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("header", "begun", "endless"),
    [
        ("Content-Length: 99999999", b"", b" " * 90_000_000),
        # Each trailer takes memory, where two connections had taken 900 MB.
        ("Transfer-Encoding: chunked", b"0\r\n" + b"a:\r\n" * 4_000, b"a:\r\n" * 4_000_000),
    ],
    ids=["body", "trailers"],
)
def test_what_has_no_end_is_cut_after_its_refusal(api, header, begun, endless):
    with connected(api) as connection:
        connection.sendall(head_of("POST", "/nowhere", "Connection: close", header))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")
        connection.sendall(begun)
        with pytest.raises(ConnectionError):
            connection.sendall(endless)


def test_a_request_that_is_sent_ahead_of_the_last_reply_does_not_hold_the_connection(api):
    origin = str(api.base_url).rstrip("/")
    form = "Content-Type: application/x-www-form-urlencoded"
    refused = head_of("POST", "/sign-in", f"Origin: {origin}", form, "Content-Length: 17000")
    refused = refused.replace(b"Host: x", f"Host: {origin.removeprefix('http://')}".encode())
    begun = head_of("POST", "/subscriptions", "Content-Length: 1000000") + b"ab"
    with connected(api) as connection:
        connection.sendall(refused + b"x" * 17_000 + begun)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 30_000_000)


def test_what_follows_the_last_reply_of_a_connection_is_not_carried_out(api):
    with connected(api) as connection:
        connection.sendall(head_of("POST", "/nowhere", "Connection: close", "Content-Length: 9"))
        reply = connection.recv(65_536)
        connection.sendall(b"123456789" + written(api, ADD_A))
        with contextlib.suppress(ConnectionError):
            reply += rest(connection)
    assert reply.startswith(b"HTTP/1.1 404 ")
    assert reply.count(b"HTTP/1.1") == 1
    assert entries(api) == []


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
        api.head("/history"),
        api.head("/restore?at=2999-01-01T00:00:00Z"),
        api.delete(f"/subscriptions/{derived(A)}"),
    ):
        assert reply.headers["Cache-Control"] == "no-store"
        assert "ETag" not in reply.headers or reply.request.method == "PATCH"
        if reply.request.method == "HEAD":
            assert (reply.status_code, reply.content) == (200, b"")


# C1.19
def test_every_reply_forbids_sniffing_and_tells_its_request_id(api):
    replies = [api.get(path) for path in ("/subscriptions", "/nowhere", "/docs", "/livez")]
    assert {reply.headers["X-Content-Type-Options"] for reply in replies} == {"nosniff"}
    assert len({reply.headers["X-Request-Id"] for reply in replies}) == 4
    assert not any("server" in reply.headers for reply in replies)


METHODS = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "SOURCE",
    "BREW",
}  # fmt: skip


# C7.6
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/subscriptions", "GET, HEAD, POST"),
        (f"/subscriptions/{G1}", "GET, HEAD, PATCH, DELETE"),
        (f"/subscriptions/{G1}/feed", "GET, HEAD"),
        ("/deletions/1", "GET, HEAD"),
        ("/history", "GET, HEAD"),
        ("/history/1/undo", "POST"),
        ("/restore", "GET, HEAD, POST"),
        ("/livez", "GET, HEAD"),
        ("/readyz", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/docs", "GET, HEAD"),
        ("/docs/gpodder.json", "GET, HEAD"),
    ],
)
def test_a_method_that_a_route_does_not_have_is_405_and_told_what_it_has(api, path, allowed):
    for method in METHODS - set(allowed.split(", ")):
        reply = api.request(method, path)
        assert (reply.status_code, reply.headers["Allow"]) == (405, allowed), method
        assert method == "HEAD" or reply.json()["code"] == "405"
        assert len(reply.headers["X-Request-Id"]) == 16


# C7.1, C7.2, C7.5
def test_a_route_that_there_is_not_is_404(api):
    for path in ("/v1", "/nowhere", "/docs/x/", f"/subscriptions/{G1}/x", "/v2/livez", "/docs/x"):
        assert told(api.get(path), 404) == NOT_FOUND


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
            problem = told(client.get(path), status)
            assert problem["code"] == str(status)
            assert "A part of the address is too long, or has a char" in problem["message"]
        longest = client.get(f"/subscriptions/{'x' * 200}")
        assert "Not a guid" in longest.json()["message"]


# C1.14
def test_no_origin_is_allowed_unless_configured_and_links_use_the_public_url(api, tmp_path):
    headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
    for reply in (
        api.get("/subscriptions", headers=headers),
        api.options("/subscriptions", headers=headers),
    ):
        assert not any(name.startswith("access-control") for name in reply.headers)
    origins, public = "https://app.example, https://b.example", "https://feeds.example/keep/"
    with FeedkeepProcess(tmp_path, cors_origins=origins, public_url=public) as process:
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
        with process.client(process.new_account()) as client:
            post(client, *(f"https://{number}.example" for number in range(3)))
            body = told(client.get("/v1/subscriptions?per_page=1&page=2"))
            statuses = [
                client.post("/subscriptions", content=ADD_A, headers={"Origin": origin}).status_code
                for origin in ("https://b.example", "https://feeds.example", "https://evil.example")
            ]
        for name in ("next", "previous"):
            assert body[name].startswith(f"{public}v1/subscriptions?")
        assert statuses == [200, 200, 403]


# C3.13, C3.14, C3.15
def test_a_list_whose_urls_are_long_is_full_sooner_and_can_be_left(tmp_path):
    a, b = f"https://a.example/{'a' * 8_000}", f"https://b.example/{'b' * 600}"
    c = "https://c.example/ccccccccc"
    with FeedkeepProcess(tmp_path, max_subscriptions="2") as process:
        with process.client(process.new_account()) as client:
            reply = told(post(client, a, b, c))
            added, (refused,) = reply["success"], reply["failure"]
            assert [it["feed_url"] for it in added] == [a, c]
            assert refused["message"].startswith("This account's list has 9 entries, including")

            path = f"/subscriptions/{added[0]['guid']}"
            moved = client.patch(path, json={"new_feed_url": f"{a}a"})
            assert moved.status_code == 405
            assert client.patch(path, json={"is_subscribed": False}).status_code == 200
            assert client.delete(path).status_code == 202
        assert process.must("check").endswith("is intact.\n")


# C1.10, C3.12, C3.14
def test_limits_are_as_configured_and_a_full_list_says_so(tmp_path):
    limits = {"max_subscriptions": "2", "max_items": "3", "max_body_bytes": "1000"}
    with FeedkeepProcess(tmp_path, **limits) as process:
        name = process.new_account()
        a, b, c = (f"https://{letter}.example" for letter in "abc")
        with process.client(name) as client:
            assert client.post("/subscriptions", content=padded(1_001)).status_code == 413
            assert post(client, *[""] * 4).status_code == 405
            reply = told(post(client, a, b, c))
            added, (refused,) = reply["success"], reply["failure"]
            assert (len(added), refused["feed_url"]) == (2, c)
            assert refused["message"].startswith("This account has 2 subscriptions, which is")

            patch(client, added[0]["guid"], is_subscribed=False)
            post(client, c)
            again = client.patch(f"/subscriptions/{added[0]['guid']}", json={"is_subscribed": True})
            assert "This account has 2 subscriptions, which is" in told(again, 405)["message"]

            sent = client.post(f"/api/2/subscriptions/{name}/phone.json", json={"add": [a]})
            assert told(sent)["update_urls"] == [[a, ""]]
            put = client.put(f"/subscriptions/{name}/phone.json", json=[a, b, c])
            assert "So nothing was changed." in told(put, 400)["message"]
        printed = process.must("import", name, "-", stdin=f"{b}\n{a}\n").splitlines()
        assert printed[0] == "0 added, 1 already there, 1 refused."
        assert printed[1].startswith("line 2: This account has 2 subscriptions, which is")


# C7.1, C7.14
@pytest.mark.parametrize(
    "request_line",
    [
        b"GARBAGE\r\n\r\n",
        b"BREW /livez\r\n\r\n",
        b"BREW /livez HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /livez HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /livez HTTP/2.0\r\nHost: x\r\n\r\n",
        b"GET /livez\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_in_the_one_shape_of_errors(api, request_line):
    head, _, body = talk(api, request_line).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body.startswith(b'{"code":"400","message":"')
    assert b"allow: " not in head.lower()


def test_a_wish_to_speak_another_protocol_is_ignored(api):
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ")
    reply = talk(api, written(api, ADD_A, *upgrade) + CLOSING)
    assert reply.count(b"HTTP/1.1 200 OK") == 2
    assert [entry["feed_url"] for entry in entries(api)] == [A]


def test_a_body_is_never_taken_for_a_second_request(api):
    request = written(api, CLOSING, "Connection: Upgrade", "Upgrade: h2c")
    middle = request.index(b"grade: h2c")
    reply = talk(api, request[:middle], request[middle:])
    assert reply.startswith(b"HTTP/1.1 400 Bad Request")
    assert reply.count(b"HTTP/1.1") == 1
    request = written(api, b"\nupgrade:" * (len(CLOSING) // 2) + CLOSING, "Connection: close")
    for place in range(6):  # no byte of it is moved into one
        cut = request.index(b"\r\n\r\n") + place
        reply = talk(api, request[:cut], request[cut:])
        assert reply.startswith(b"HTTP/1.1 405 ")
        assert reply.count(b"HTTP/1.1") == 1


def test_whole_requests_are_answered_before_nonsense_ends_the_connection(api):
    broken = written(api, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"%x\r\n%s\r\n" % (len(ADD_A), ADD_A)
    reply = talk(api, broken + chunk + b"nonsense\r\n")
    assert reply.startswith(b"HTTP/1.1 400 Bad Request")
    assert entries(api) == []
    whole = written(api, ADD_A)
    for number, begun in ((1, b""), (1, broken), (3, broken)):
        reply = talk(api, whole * number + begun + b"nonsense\r\n\r\n")
        assert reply.count(b"HTTP/1.1 200 OK") == reply.count(b"HTTP/1.1") == number
        assert len(entries(api)) == 1


def test_a_client_that_waits_to_be_told_to_go_on_is_told_that_or_refused(api):
    shown = f"Authorization: {api.headers['Authorization']}"
    for headers, status in (([], b"401"), ([shown], b"413")):
        headers += ["Expect: 100-continue", "Content-Length: 99999999"]
        with connected(api) as connection:
            connection.sendall(head_of("POST", "/subscriptions", *headers))
            assert connection.recv(65_536).startswith(b"HTTP/1.1 " + status)
    head = written(api, ADD_A, "Expect: 100-continue", "Connection: close").removesuffix(ADD_A)
    with connected(api) as connection:
        connection.sendall(head)
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(ADD_A)
        assert rest(connection).startswith(b"HTTP/1.1 200 OK")
    assert len(entries(api)) == 1


def test_a_connection_goes_on_after_a_body_that_the_application_did_not_read(api):
    refused = head_of("POST", "/subscriptions", "Content-Length: 9")
    second = written(api, ADD_A, "Connection: close, Upgrade", "Upgrade: h2c")
    reply = talk(api, refused + b"1234", b"56789", second)
    assert reply.startswith(b"HTTP/1.1 401 ")
    assert reply.count(b"HTTP/1.1 200 OK") == 1
