"""Bodies sent to a page that are no form, or an unreadable one; over HTTP."""

import pytest
from page_client import PageClient

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="urls"\r\n\r\n%b\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"urls": "https://a.example"}'),
        ("", b"urls=https://a.example"),
        (MULTIPART, b"no part of a form"),
        (MULTIPART, b"--x\r\n\r\n--x--"),
        ("multipart/form-data", b"--x"),
        (f"{MULTIPART}; charset=unicode_escape", PART % rb"https://a.example/\ud800"),
        (f"{MULTIPART}; Charset=punycode", PART % b"https://a.example/-a"),
        (f"{MULTIPART}; charset=undefined", PART % b"https://a.example"),
        (FORM, b"&".join(b"a=1" for _ in range(50))),
    ],
)
def test_what_is_no_form_is_refused_and_changes_nothing(anna, kind, body):
    page = anna.post("/feeds/add", content=body, headers={"Content-Type": kind})
    assert page.status == 400
    assert "That did not work" in page.text
    assert anna.get("/").values("feed") == []


def test_a_form_is_read_as_far_as_it_can_be(anna):
    body = PART % "https://a.example/ü".encode()
    page = anna.post("/feeds/add", content=body, headers={"Content-Type": MULTIPART})
    assert page.status == 200
    assert anna.exported() == ["https://a.example/ü"]
    assert anna.post("/feeds/add").problem("urls")  # nothing was typed
    page = anna.post("/feeds/add", content=b"urls=%ff%fe", headers={"Content-Type": FORM})
    assert page.status == 400


@pytest.mark.parametrize("data", [{}, {"text": " \r\n"}, {"text": "# no feed"}])
def test_an_import_without_a_list_says_what_to_do(anna, data):
    page = anna.post("/import", data)
    assert page.status == 400
    assert page.problem("file")
    assert page.values("text") is not None


def test_a_body_that_is_larger_than_any_form_of_a_stranger_is_not_read(feedkeep):
    page = PageClient(feedkeep).post("/sign-in", {"name": "x" * 20_000})
    assert page.status == 413
    assert "too large" in page.text
