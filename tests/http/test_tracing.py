"""The id of a trace (W3C Trace Context) is in the log, if it is valid."""

import json

import httpx
import pytest

from feedkeep.http.application import trace_id_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    "traceparent",
    [
        f"00-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-00",
        f"cc-{TRACE}-{PARENT}-01",
        f"cc-{TRACE}-{PARENT}-01-what-comes-later",
    ],
)
def test_a_valid_header_names_its_trace(traceparent):
    assert trace_id_of(traceparent) == TRACE


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "00",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-01-",
        f"00-{TRACE}-{PARENT}-01-more",
        f"cc-{TRACE}-{PARENT}-01.more",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE[:-1]}g-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01,00-{TRACE}-{PARENT}-01",
        f" 00-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01\n",
        "00-" + "a" * 16_000,
    ],
)
def test_any_other_header_names_none(traceparent):
    assert trace_id_of(traceparent) == ""


def test_the_log_has_the_trace_of_a_request(feedkeep):
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    ids = [
        httpx.get(f"{feedkeep.base_url}/livez", headers=sent).headers["x-request-id"]
        for sent in (headers, {}, {"traceparent": f"00-{TRACE}-nonsense-{'x' * 900}"})
    ]
    lines = [feedkeep.wait_for_line(request_id) for request_id in ids]
    assert [line.get("trace_id") for line in lines] == [TRACE, None, None]
    assert "nonsense" not in json.dumps(lines)
