"""No web page of another origin writes with the password or cookie that a browser remembers."""

import httpx
import pytest
from asking import told
from feedkeep_process import FeedkeepProcess

EVIL = {"Origin": "https://evil.example"}
ADD = b'{"subscriptions": [{"feed_url": "https://evil.example/feed"}]}'


# C7.4
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/subscriptions"),
        ("PATCH", "/subscriptions/9b024349-ccf0-5f69-a609-6b82873eab3c"),
        ("POST", "/history/1/undo"),
        ("POST", "/restore"),
        ("PUT", "/subscriptions/stranger/phone.txt"),
        ("POST", "/subscriptions/stranger/phone.txt"),
        ("POST", "/index.php/login/v2"),
    ],
)
def test_what_a_page_of_another_origin_sends_is_refused_and_does_nothing(api, method, path):
    refused = {"code": "403", "message": "A web page of another origin may not do that."}
    for headers in (
        EVIL,
        EVIL | {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "tauri://localhost", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://tauri.localhost.evil.example"},
        {"Origin": "https://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert told(api.request(method, path, content=ADD, headers=headers), 403) == refused
    reply = api.get("/subscriptions", headers=EVIL | {"Sec-Fetch-Site": "cross-site"})
    assert told(reply)["total"] == 0  # it may read as little as before
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_a_page_of_our_own_and_what_is_no_browser_may_write(api):
    host = httpx.URL(api.base_url).netloc.decode()
    for headers in (
        {},
        {"Origin": f"http://{host}"},
        {"Origin": "https://public.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "tauri://localhost"},  # Cardo on Linux and macOS
        {"Origin": "https://tauri.localhost"},  # and on Windows
        {"Origin": "capacitor://localhost"},
    ):
        assert api.post("/subscriptions", content=ADD, headers=headers).status_code == 200


# C1.15
def test_where_all_origins_may_call_only_a_token_that_the_page_itself_holds_lets_write(tmp_path):
    """A browser adds what it remembers by itself: a password or a cookie, and never a token."""
    with FeedkeepProcess(tmp_path, cors_origins="*") as process:
        reply = httpx.get(f"{process.base_url}/livez", headers=EVIL)
        assert reply.headers["Access-Control-Allow-Origin"] == "*"
        assert "Origin" in reply.headers["Vary"]
        name = process.new_account("opensesame")
        device = f"/subscriptions/{name}/phone.txt"
        with httpx.Client(base_url=process.base_url) as browser:
            assert browser.post(
                f"/api/2/auth/{name}/login.json", auth=(name, "opensesame")
            ).cookies.get("sessionid")
            token = {"Authorization": f"Bearer {process.new_token(name)}"}
            for path in ("/subscriptions", device, "/index.php/login/v2"):
                for auth in (None, (name, "opensesame")):
                    reply = browser.post(path, content=ADD, headers=EVIL, auth=auth)
                    assert reply.status_code == 403
                    assert reply.headers["Access-Control-Allow-Origin"] == "*"
            browser.cookies.clear()
            assert browser.get("/subscriptions", headers=token).json()["total"] == 0
            reply = browser.post("/subscriptions", content=ADD, headers=EVIL | token)
            assert reply.status_code == 200
            own, own_login = {"Origin": process.base_url}, (name, "opensesame")
            reply = browser.put(device, content=b"https://a.example", headers=own, auth=own_login)
            assert reply.status_code == 200
