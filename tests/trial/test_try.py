"""`feedkeep try`: a real process answers as the real service, and fails when it is told to."""

import subprocess
import sys
import time

import httpx
import pytest
from podsync_check.watching.exchanges import WHAT_HAPPENS, Fault
from trying import Trial

FEED = {"subscriptions": [{"feed_url": "https://feeds.example/one"}]}


def test_it_answers_as_the_real_one_with_the_token_that_it_printed(trial):
    with trial.app() as app:
        assert len(app.post("/subscriptions", json=FEED).json()["success"]) == 1
        assert app.get("/v1/subscriptions").json()["total"] == 1
        assert app.get("/docs").status_code == 200
        assert app.post("/subscriptions", content=b"no").status_code == 405
    assert [one["status"] for one in trial.requests()["requests"]] == [200, 200, 405]
    signed_in = httpx.post(
        f"{trial.base_url}/sign-in", data={"name": "try", "password": trial.password}
    )
    assert signed_in.is_redirect


def test_all_of_it_is_gone_when_it_ends(tmp_path):
    with Trial(tmp_path) as trial, trial.app() as app:
        app.post("/subscriptions", json=FEED)
        assert list(tmp_path.glob("feedkeep-try-*/*.db"))
    assert not list(tmp_path.glob("feedkeep-try-*"))


@pytest.mark.parametrize(
    ("fault", "status", "retry_after"),
    [(Fault.UNAVAILABLE, 503, "2"), (Fault.TOO_MANY, 429, "3"), (Fault.EXPIRED, 401, None)],
)
def test_what_is_refused_is_not_done_and_the_next_request_is_served(
    trial, fault, status, retry_after
):
    trial.do("faults", fault=fault, times="2")
    with trial.app() as app:
        for _ in range(2):
            reply = app.post("/subscriptions", json=FEED)
            assert (reply.status_code, reply.json()["code"]) == (status, str(status))
            assert reply.headers.get("Retry-After") == retry_after
            assert reply.headers["X-Request-Id"]
        assert app.get("/subscriptions").json()["total"] == 0
    assert [one["fault"] for one in trial.requests()["requests"]] == [fault, fault, None]


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.TORN])
def test_what_gets_no_whole_reply_is_done(trial, fault):
    trial.do("faults", fault=fault)
    with trial.app() as app:
        with pytest.raises(httpx.TransportError):
            app.post("/subscriptions", json=FEED)
        assert app.get("/subscriptions").json()["total"] == 1


def test_a_slow_reply_comes_in_the_end(trial):
    trial.do("faults", fault=Fault.SLOW)
    with trial.app() as app, pytest.raises(httpx.ReadTimeout):
        app.get("/subscriptions", timeout=1)
    with trial.app() as app:  # others do not wait for it
        began = time.monotonic()
        assert app.get("/subscriptions").status_code == 200
        assert time.monotonic() - began < 10


def test_304_waits_for_a_request_with_a_condition(trial):
    trial.do("faults", fault=Fault.UNCHANGED)
    with trial.app() as app:
        assert app.get("/subscriptions").status_code == 200
        reply = app.get("/subscriptions", headers={"If-None-Match": '"other", "more"'})
        assert (reply.status_code, reply.headers["ETag"], reply.content) == (304, '"other"', b"")
        assert app.get("/subscriptions").status_code == 200


def test_the_kept_list_comes_back_with_another_epoch(trial):
    with trial.app() as app:
        app.post("/subscriptions", json=FEED)
        trial.do("keep")
        body = {"subscriptions": [{"feed_url": "https://feeds.example/two"}]}
        app.post("/subscriptions", json=body)
        before = app.get("/subscriptions")
        trial.do("restore")
        after = app.get("/subscriptions")
        assert (before.json()["total"], after.json()["total"]) == (2, 1)
        assert before.headers["Feedkeep-Epoch"] != after.headers["Feedkeep-Epoch"]
        trial.do("restore")
        assert (
            app.get("/subscriptions").headers["Feedkeep-Epoch"] != after.headers["Feedkeep-Epoch"]
        )


def test_its_page_shows_requests_and_objections_and_never_what_lets_in(trial):
    trial.do("faults", fault=Fault.UNCHANGED)
    with trial.app() as app:
        app.patch("/subscriptions/<b>", json={"<i>": 1})
    page = httpx.get(f"{trial.base_url}/try").text
    assert all(fault in page for fault in WHAT_HAPPENS)
    assert "Waiting for the next requests: unchanged." in page
    assert "PATCH ignores &lt;i&gt;" in page
    assert "<i>" not in page
    assert trial.token not in page + httpx.get(f"{trial.base_url}/try/requests.json").text
    browser = {"Accept": "text/html"}
    sent = httpx.post(f"{trial.base_url}/try/faults", data={"fault": "lost"}, headers=browser)
    assert httpx.URL(sent.url).join(sent.headers["Location"]).path == "/try"


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("faults", {"fault": "fire"}, 400),
        ("faults", {}, 400),
        ("faults", {"fault": "lost", "times": "0"}, 400),
        ("faults", {"fault": "lost", "times": "x"}, 400),
        ("faults", {"fault": "lost", "times": "101"}, 400),
        ("faults", [1], 400),
        ("elsewhere", {}, 404),
    ],
)
def test_what_it_is_told_wrongly_is_refused(trial, path, form, status):
    reply = httpx.post(f"{trial.base_url}/try/{path}", json=form)
    assert (reply.status_code, reply.json()["code"]) == (status, str(status))
    assert (
        httpx.post(f"{trial.base_url}/try/faults", json={"fault": "lost", "times": 3}).json() == {}
    )


def test_without_the_kit_it_says_what_to_install():
    hidden = "import sys; sys.modules['podsync_check'] = None; sys.argv = ['feedkeep', 'try']"
    program = f"{hidden}; from feedkeep.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "feedkeep: This needs podsync-check: pip install 'feedkeep[try]'" in done.stderr
    assert done.stderr.count("\n") == 1
