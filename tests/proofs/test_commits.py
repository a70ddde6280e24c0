"""How many commits a request makes: what belongs together is there together, or not at all."""

import httpx
import pytest

PASSWORD = "correct horse battery"
FEED = "https://example.com/feed"
PLAYED = {"podcast": FEED, "episode": f"{FEED}/1.mp3", "action": "download"}


@pytest.mark.parametrize("store_kind", ["sqlite", "postgres, 2 workers"])
def test_an_upload_is_one_commit_also_from_an_unknown_device(start, store_kind):
    process = start(store_kind, "commits_are_counted")
    name = process.new_account(PASSWORD)
    commits = process.folder / "commits"
    with httpx.Client(base_url=process.base_url) as app:
        login = f"/api/2/auth/{name}/login.json"
        assert app.post(login, auth=(name, PASSWORD)).status_code == httpx.codes.OK
        sent = {"add": [FEED], "remove": []}
        for path, body in (
            (f"/api/2/subscriptions/{name}/new-phone.json", sent),
            (f"/api/2/subscriptions/{name}/new-phone.json", {"add": [], "remove": [FEED]}),
            (f"/subscriptions/{name}/newer-phone.json", [FEED]),
            (f"/api/2/episodes/{name}.json", [PLAYED]),
        ):
            before = count(commits)
            method = "PUT" if path.startswith("/subscriptions/") else "POST"
            assert app.request(method, path, json=body).status_code == httpx.codes.OK
            assert count(commits) - before == 1, path
        devices = app.get(f"/api/2/devices/{name}.json").json()
    assert [device["id"] for device in devices] == ["new-phone", "newer-phone"]


def count(commits):
    return len(commits.read_text().splitlines())
