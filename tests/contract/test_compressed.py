"""Contract, section 1: replies are compressed for clients that take it."""

import gzip
import json

from asking import post, told
from names import G1, A

GZIP, IDENTITY = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}


def as_sent(api, path, headers):
    with api.stream("GET", path, headers=headers) as reply:
        return reply.headers, b"".join(reply.iter_raw())


# C1.20
def test_long_json_is_a_third_for_a_client_that_takes_gzip(api, add):
    add(*(f"https://feeds.example/show-{number}" for number in range(60)))
    for path in (
        "/subscriptions",  # whole
        "/subscriptions?per_page=1000",
        "/openapi.json",  # in slices
        "/v1/docs/gpodder.json",
    ):
        headers, plain = as_sent(api, path, IDENTITY)
        assert "Content-Encoding" not in headers
        coded_headers, coded = as_sent(api, path, GZIP)
        assert coded_headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(coded) == plain
        assert json.loads(plain)
        assert len(coded) < len(plain) / 3
        assert coded_headers.get("ETag") == ("W/" + headers["ETag"] if "ETag" in headers else None)
        assert coded_headers.get("Vary") == headers.get("Vary")
        head = api.head(path, headers=GZIP).headers
        for name in ("Content-Encoding", "Content-Length", "ETag"):
            assert head.get(name) == coded_headers.get(name)


def test_a_weak_tag_is_as_good_as_the_other(api, add):
    add(*(f"https://feeds.example/{'x' * 1_000}{number}" for number in range(3)), (A, G1))
    api.patch(f"/subscriptions/{G1}", json={"new_feed_url": f"https://feeds.example/{'y' * 2_000}"})
    for path in ("/subscriptions", f"/subscriptions/{G1}"):
        plain, weak = (as_sent(api, path, kind)[0]["ETag"] for kind in (IDENTITY, GZIP))
        assert weak == f"W/{plain}"
        for tag in (plain, weak):
            for kind in (IDENTITY, GZIP):
                reply = api.get(path, headers={**kind, "If-None-Match": tag})
                assert (reply.status_code, reply.headers["ETag"]) == (304, plain)
    reply = api.delete(f"/subscriptions/{G1}", headers={"If-Match": weak})
    assert reply.status_code == 202


def test_a_reply_to_a_long_request_is_compressed_too(api):
    reply = post(api, *(f"https://feeds.example/show-{number}" for number in range(3_000)))
    assert reply.headers["Content-Encoding"] == "gzip"
    assert len(told(reply)["success"]) == 3_000
