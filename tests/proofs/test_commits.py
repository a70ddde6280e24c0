"""Number of commits of a request: changes that belong together are committed together."""

import httpx
import pytest

PASSWORD = "correct horse battery"
FEED = "https://example.com/feed"
PLAYED = {"podcast": FEED, "episode": f"{FEED}/1.mp3", "action": "download"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres, 2 workers"])
def test_an_upload_is_one_commit_also_from_an_unknown_device(start, monkeypatch, tmp_path, kind):
    commits = tmp_path / "commits"
    monkeypatch.setenv("COMMITS", str(commits))
    process = start(kind, "commits_are_counted")
    name = process.new_account(PASSWORD)
    with httpx.Client(base_url=process.base_url) as app:
        login = f"/api/2/auth/{name}/login.json"
        assert app.post(login, auth=(name, PASSWORD)).status_code == httpx.codes.OK
        for path, body in (
            (f"/api/2/subscriptions/{name}/new-phone.json", {"add": [FEED], "remove": []}),
            (f"/api/2/subscriptions/{name}/new-phone.json", {"add": [], "remove": [FEED]}),
            (f"/subscriptions/{name}/newer-phone.json", [FEED]),
            (f"/api/2/episodes/{name}.json", [PLAYED]),
        ):
            before = commits.stat().st_size
            method = "PUT" if path.startswith("/subscriptions/") else "POST"
            assert app.request(method, path, json=body).status_code == httpx.codes.OK
            assert commits.stat().st_size - before == 1, path
        devices = app.get(f"/api/2/devices/{name}.json").json()
    assert [device["id"] for device in devices] == ["new-phone", "newer-phone"]
