"""`feedkeep try`: a real process answers as the real service, and fails when it is told to."""

import subprocess
import sys
import time

import httpx
import pytest
from podsync_check.watching.exchanges import WHAT_HAPPENS, Fault
from trying import Trial, trial

__all__ = ["trial"]

FEED = {"subscriptions": [{"feed_url": "https://feeds.example/one"}]}


def test_it_answers_as_the_real_one_until_it_ends_and_all_of_it_is_gone(tmp_path):
    with Trial(tmp_path) as trial, trial.app() as app:
        assert len(app.post("/subscriptions", json=FEED).json()["success"]) == 1
        assert app.get("/v1/subscriptions").json()["total"] == 1
        assert app.get("/docs").status_code == 200
        assert app.post("/subscriptions", content=b"no").status_code == 405
        assert [one["status"] for one in trial.requests()["requests"]] == [200, 200, 405]
        typed = {"name": "try", "password": trial.password}
        assert httpx.post(f"{trial.base_url}/sign-in", data=typed).is_redirect

        # 304 waits for a request with a condition.
        trial.do("faults", fault=Fault.UNCHANGED)
        assert app.get("/subscriptions").status_code == 200
        reply = app.get("/subscriptions", headers={"If-None-Match": '"other", "more"'})
        assert (reply.status_code, reply.headers["ETag"], reply.content) == (304, '"other"', b"")
        assert app.get("/subscriptions").status_code == 200

        # The kept list comes back with another epoch.
        trial.do("keep")
        app.post("/subscriptions", json={"subscriptions": [{"feed_url": "https://two.example"}]})
        replies = [app.get("/subscriptions")]
        for _ in range(2):
            trial.do("restore")
            replies.append(app.get("/subscriptions"))
        assert [one.json()["total"] for one in replies] == [2, 1, 1]
        assert len({one.headers["Feedkeep-Epoch"] for one in replies}) == 3
        assert list(tmp_path.glob("feedkeep-try-*/*.db"))
    assert not list(tmp_path.glob("feedkeep-try-*"))


REFUSALS = [(Fault.UNAVAILABLE, 503, "2"), (Fault.TOO_MANY, 429, "3"), (Fault.EXPIRED, 401, None)]


def test_what_is_refused_is_not_done_and_what_gets_no_whole_reply_is(trial):
    with trial.app() as app:
        for fault, status, retry_after in REFUSALS:
            trial.do("faults", fault=fault, times="2")
            for _ in range(2):
                reply = app.post("/subscriptions", json=FEED)
                assert (reply.status_code, reply.json()["code"]) == (status, str(status))
                assert reply.headers.get("Retry-After") == retry_after
                assert reply.headers["X-Request-Id"]
            assert app.get("/subscriptions").json()["total"] == 0
        faults = [one["fault"] for one in trial.requests()["requests"]]
        assert faults == [one for fault, _, _ in REFUSALS for one in (fault, fault, None)]
        for number, fault in enumerate((Fault.LOST, Fault.TORN), 1):
            trial.do("faults", fault=fault)
            body = {"subscriptions": [{"feed_url": f"https://{number}.example"}]}
            with pytest.raises(httpx.TransportError):
                app.post("/subscriptions", json=body)
            assert app.get("/subscriptions").json()["total"] == number
    trial.do("faults", fault=Fault.SLOW)
    with trial.app() as app, pytest.raises(httpx.ReadTimeout):
        app.get("/subscriptions", timeout=1)
    with trial.app() as app:  # others do not wait for it
        began = time.monotonic()
        assert app.get("/subscriptions").status_code == 200
        assert time.monotonic() - began < 10
    trial.process.kill()  # a stop would wait for the slow reply


WRONG = (
    *({"fault": "lost", "times": times} for times in ("0", "x", "101")),
    *({"fault": "fire"}, {}, [1]),
)


def test_its_page_shows_requests_and_objections_and_never_what_lets_in(trial):
    trial.do("faults", fault=Fault.UNCHANGED)
    with trial.app() as app:
        app.patch("/subscriptions/<b>", json={"<i>": 1})
    told = f"{trial.base_url}/try"
    page = httpx.get(told).text
    assert all(fault in page for fault in WHAT_HAPPENS)
    assert "Waiting for the next requests: unchanged." in page
    assert "PATCH ignores &lt;i&gt;" in page
    assert "<i>" not in page
    assert trial.token not in page + httpx.get(f"{told}/requests.json").text
    browser = {"Accept": "text/html"}
    sent = httpx.post(f"{told}/faults", data={"fault": "lost"}, headers=browser)
    assert httpx.URL(sent.url).join(sent.headers["Location"]).path == "/try"
    for path, form, status in (("elsewhere", {}, 404), *(("faults", form, 400) for form in WRONG)):
        reply = httpx.post(f"{told}/{path}", json=form)
        assert (reply.status_code, reply.json()["code"]) == (status, str(status)), form
    assert httpx.post(f"{told}/faults", json={"fault": "lost", "times": 3}).json() == {}


def test_without_the_kit_it_says_what_to_install():
    hidden = "import sys; sys.modules['podsync_check'] = None; sys.argv = ['feedkeep', 'try']"
    program = f"{hidden}; from feedkeep.cli import main; sys.exit(main())"
    command, options = [sys.executable, "-c", program], {"capture_output": True, "text": True}
    done = subprocess.run(command, **options, check=False)
    assert done.returncode == 1
    assert "feedkeep: This needs podsync-check: pip install 'feedkeep[try]'" in done.stderr
    assert done.stderr.count("\n") == 1
