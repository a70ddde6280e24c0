"""Inputs that break careless decoders, each with the one right reply (contract, section 7)."""

import socket
from contextlib import suppress

import httpx
import pytest
from asking import entries, get, told
from names import G1, A

DEEP = 100_000
LONG = "1" * 5_000


def post(api, body):
    return api.post("/subscriptions", content=body)


def item(fields):
    return f'{{"subscriptions": [{{{fields}}}]}}'


# C1.3, C1.4, C7.2, C7.6
def test_a_body_that_is_not_valid_is_405_and_stores_nothing(api):
    for body in (
        item('"feed_url": "https://a.example/\\ud800"'),
        item(f'"feed_url": "{A}", "title": "\\ud800"'),
        item(f'"feed_url": "{A}", "\\udc00": 1'),
        item('"feed_url": "https://a.example/').encode() + b'\xff"}]}',
        item(f'"feed_url": "{A}"')[:-1].encode() + b', "x": "\xff"}',
        item(f'"feed_url": "{A}"')[:-1].encode() + b', "\xc3": 1}',
        item('"feed_url": NaN'),
        item(f'"feed_url": "{A}", "x": NaN'),
        item(f'"feed_url": "{A}", "x": Infinity'),
        item(f'"feed_url": {LONG}'),
        item(f'"feed_url": {2**63}'),
        item(f'"feed_url": "{A}", "guid": {2**63}'),
        item('"feed_url": "https://a.example/\u0000"'),
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP + "1" + "}" * DEEP,
        item(f'"feed_url": "{A}", "x": ' + "[" * DEEP + "]" * DEEP),
        "",
        " ",
        "{",
        '{"subscriptions": [',
        item(f'"feed_url": "{A}"') + "x",
        "\ufeff" + item(f'"feed_url": "{A}"'),
        item(f'"feed_url": "{A}",'),
        item(f"'feed_url': '{A}'"),
    ):
        reply = post(api, body)
        problem = told(reply, 405)
        assert (problem["code"], reply.headers["Allow"]) == ("405", "GET, HEAD, POST")
        assert problem["message"].startswith("The input could not be validated. ")
        assert len(problem["message"]) < 300
    assert entries(api) == []
    problem = told(api.patch(f"/subscriptions/{G1}", content=b""), 405)
    assert problem["message"].endswith("The body is not valid JSON: it is empty.")


# C1.11
@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_json_is_nested_64_levels_deep_at_most_and_that_is_said(api, opened):
    closed = "]" if opened == "[" else "}"
    bodies = [item(f'"feed_url": "{A}", "x": {opened * n}0{closed * n}') for n in (62, 61)]
    refused, accepted = (post(api, body) for body in bodies)
    assert (refused.status_code, accepted.status_code) == (405, 200)
    assert refused.json()["message"].endswith("The JSON is nested deeper than 64 levels.")
    patch = api.patch(f"/subscriptions/{G1}", content=bodies[0])
    assert (patch.status_code, patch.json()["message"]) == (405, refused.json()["message"])


# C3.1
def test_a_control_character_or_a_broken_host_is_a_failure_item(api):
    for escape in ("\\u0000", "\\u001f", "\\u007f", "\\u0085"):
        body = told(post(api, item(f'"feed_url": "https://a.example/{escape}x"')))
        assert body["failure"][0]["message"].startswith("White space or a control character")
    for fields in (
        f'"feed_url": "{A}", "guid": "{G1}\\u0000"',
        '"feed_url": "http://[::1"',
        '"feed_url": "https://a.example:99999/feed"',
        '"feed_url": "https://feeds..example.org/feed"',
    ):
        body = told(post(api, item(fields)))
        assert (body["success"], len(body["failure"])) == ([], 1)
    assert entries(api) == []


# C1.4
def test_the_last_of_duplicate_keys_has_to_be_valid_and_other_fields_do_not(api):
    post(api, f'{{"subscriptions": [], "subscriptions": [{{"feed_url": "x", "feed_url": "{A}"}}]}}')
    assert [entry["feed_url"] for entry in entries(api)] == [A]
    guid = entries(api)[0]["guid"]
    api.patch(f"/subscriptions/{guid}", content='{"is_subscribed": true, "is_subscribed": false}')
    assert get(api, guid)["is_subscribed"] is False
    assert post(api, '{"subscriptions": 5, "subscriptions": []}').status_code == 200
    assert post(api, '{"subscriptions": [], "subscriptions": 5}').status_code == 405
    body = item(f'"feed_url": 1, "guid": [], "feed_url": "{A}", "guid": null')
    assert len(post(api, body).json()["success"]) == 1
    for number in (LONG, str(2**63), "1e999", "-0.0"):  # of any size, in a field that is not ours
        assert len(told(post(api, item(f'"feed_url": "{A}", "x": {number}')))["success"]) == 1


def cut_off(api, headers, body):
    """Send the start of a request, hang up, and wait until the server does."""
    url = httpx.URL(api.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\n{headers}\r\n"
        head += f"Authorization: {api.headers['Authorization']}\r\n\r\n"
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while connection.recv(65_536):
                pass


# C8.3
def test_a_body_cut_in_the_middle_stores_nothing(api):
    body = item(f'"feed_url": "{A}"').encode()
    cut_off(api, f"Content-Length: {len(body)}", body[:-5])
    cut_off(api, f"Content-Length: {len(body) + 5}", body)
    cut_off(api, "Transfer-Encoding: chunked", b"%x\r\n%s" % (len(body), body[:-5]))
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    cut_off(api, "Transfer-Encoding: chunked", chunk)
    cut_off(api, "Transfer-Encoding: chunked", chunk + b"nonsense")
    assert entries(api) == []


def test_a_body_on_a_request_that_needs_none_is_ignored(api, add):
    guid = add(A)["guid"]
    assert api.request("GET", f"/subscriptions/{guid}", content=b"\xff[").status_code == 200
    assert api.request("DELETE", f"/subscriptions/{guid}", content=b"\xff[").status_code == 202
    assert api.get("/livez").status_code == 200
