"""Error replies to apps: paths, passwords, uploads, and failures of the server."""

import time

import httpx
from feedkeep_process import FeedkeepProcess
from people import LOGIN, LOGOUT, A, Person, add, basic, log_in, ok
from postgres_server import PostgresServer

from feedkeep.rules.feed_urls import parse_feed_url

PASSWORD = "a good passphrase"


OWN_PATHS = {
    "GET": (
        "/api/2/devices/{}.json", "/api/2/sync-devices/{}.json", "/api/2/subscriptions/{}/d.json",
        "/api/2/updates/{}/d.json", "/api/2/episodes/{}.json", "/api/2/settings/{}/account.json",
        "/api/2/favorites/{}.json", "/api/2/lists/{}.json", "/subscriptions/{}.json",
        "/subscriptions/{}.opml", "/subscriptions/{}/d.txt",
    ),
    "POST": (
        LOGIN, LOGOUT, "/api/2/devices/{}/d.json", "/api/2/sync-devices/{}.json",
        "/api/2/subscriptions/{}/d.json", "/api/2/episodes/{}.json", "/api/2/episodes/{}/d.json",
        "/api/2/settings/{}/account.json",
    ),
    "PUT": ("/subscriptions/{}/d.json",),
}  # fmt: skip


def own_paths(name):
    """Return every request that names an account."""
    return [(method, path.format(name)) for method, paths in OWN_PATHS.items() for path in paths]


def test_without_credentials_everything_of_an_account_is_401_with_basic(person):
    anyone = person.client()
    for method, path in own_paths(person.name):
        reply = anyone.request(method, path)
        assert reply.status_code == 401, path
        assert 'Basic realm="feedkeep"' in reply.headers["WWW-Authenticate"]
        assert "Set-Cookie" not in reply.headers


# C7.4
def test_everything_of_another_account_is_403(person, other):
    add(other, A)
    with_session = person.client()
    ok(with_session.get(person.changes(), headers={"Authorization": person.basic}))
    person.kept_session(with_session)
    for client in (person.app(), person.interface(), with_session):
        for method, path in own_paths(other.name):
            assert client.request(method, path).status_code == 403, path
    assert other.subscribed() == {A}
    assert person.app().get(person.changes().replace(person.name, "stranger")).status_code == 403


def test_names_compare_without_case(person):
    for name in (person.name.upper(), person.name.lower()):
        for path in OWN_PATHS["GET"]:
            assert person.app().get(path.format(name)).status_code == 200, path


def test_what_cannot_be_read_is_400_too_much_is_413_and_coded_415(person):
    app = person.app()
    for path in (person.changes(), person.episodes):
        assert app.post(path, content=b"{").status_code == 400
        assert app.post(path, content=b"[" + b" " * 5_000_000).status_code == 413
        coded = app.post(path, content=b"x", headers={"Content-Encoding": "gzip"})
        assert coded.status_code == 415
    assert app.post(person.changes(), json={"add": ["x"] * 10_001}).status_code == 400
    assert app.post(person.episodes, json=[{}] * 10_001).status_code == 400
    reply = app.delete(person.episodes)
    assert (reply.status_code, reply.headers["Allow"]) == (405, "GET, HEAD, POST")


# C1.2
def test_a_path_that_ends_like_a_format_is_this_protocols_and_a_guid_is_the_interfaces(person):
    add(person, A)
    guid = parse_feed_url(A).guid
    session = person.client()
    ok(session.get(f"/subscriptions/{person.name}.json", headers={"Authorization": person.basic}))
    person.kept_session(session)
    ok(session.get(f"/subscriptions/{person.name}.json"))
    assert session.get(f"/subscriptions/{guid}").status_code == 401  # no cookies there
    assert ok(person.interface().get(f"/subscriptions/{guid}"))["feed_url"] == A
    assert ok(person.interface().get(f"/subscriptions/{person.name}.json"))[0]["url"] == A
    assert person.app().get(f"/subscriptions/{guid}.json").status_code == 403
    assert person.interface().get(f"/v1/subscriptions/{person.name}.json").status_code != 200


def test_by_https_the_cookie_is_for_https_only(person):
    for scheme in ("https", "http"):
        forwarded = {"Authorization": person.basic, "X-Forwarded-Proto": scheme}
        reply = person.client().post(LOGIN.format(person.name), headers=forwarded)
        assert reply.status_code == 200
        assert ("; Secure" in reply.headers["Set-Cookie"]) == (scheme == "https")


def test_wrong_passwords_have_to_wait_and_right_sessions_never_do(feedkeep, stack):
    person = Person.new(feedkeep, stack, PASSWORD)
    client, guesser = log_in(person), person.client()
    wrong = [{"Authorization": basic(person.name, f"wrong {number}")} for number in range(11)]
    for headers in wrong[:10]:
        assert guesser.get(person.changes(), headers=headers).status_code == 401
    held_up = guesser.post(LOGIN.format(person.name), headers=wrong[10])
    assert held_up.status_code == 429
    assert 0 < int(held_up.headers["Retry-After"]) <= 300
    assert client.get(person.changes()).status_code == 200


def test_an_upload_of_another_shape_is_refused_and_not_forgotten_by_the_app(person):
    app = person.app()
    action = {"podcast": A, "episode": f"{A}/1.mp3", "action": "new"}
    for body in (action, {"actions": [action]}, None, "new"):
        assert app.post(person.episodes, json=body).status_code == 400
    for body in ([A], {"add": A}, {"add": {"0": A}, "remove": []}, None):
        assert app.post(person.changes(), json=body).status_code == 400
    for nothing in ({}, {"add": None, "remove": {}}):  # as PHP writes an empty list
        assert app.post(person.changes(), json=nothing).status_code == 200
    assert person.actions(app) == []


def assert_a_fault_is_told(person, client):
    """gPodder switches its sync off for good when what it shows is right and that is 401."""
    for reply in (
        client.get(person.changes()),
        client.post(person.changes(), json={"add": [A], "remove": []}),
        client.get(person.episodes),
        person.app().get(person.changes()),
        person.app().post(LOGIN.format(person.name)),
        client.post(LOGOUT.format(person.name)),
    ):
        assert (reply.status_code, reply.json()["code"]) == (503, "503"), reply.text
        assert int(reply.headers["Retry-After"]) > 0
        assert "WWW-Authenticate" not in reply.headers


# C7.12, C7.16
def test_a_damaged_database_is_503_and_never_401(tmp_path, stack):
    person = Person.new(stack.enter_context(FeedkeepProcess(tmp_path)), stack, PASSWORD)
    client = log_in(person)
    add(person, A)
    database = tmp_path / "feedkeep.db"
    content = database.read_bytes()
    database.write_bytes(b"x" * len(content))
    assert_a_fault_is_told(person, client)
    database.write_bytes(content)


# C7.12, C7.16
def test_a_database_that_is_away_is_503_and_then_the_session_works_again(tmp_path, stack):
    server = stack.enter_context(PostgresServer())
    process = stack.enter_context(FeedkeepProcess(tmp_path, server.url, workers="2"))
    for _ in range(20):  # each on a connection of its own, so that both processes are there
        assert httpx.get(f"{process.base_url}/readyz", timeout=30).status_code == 200
    person = Person.new(process, stack)
    client = log_in(person)
    server.stop()
    for _ in range(3):  # both processes
        assert_a_fault_is_told(person, client)
    server.start()
    deadline = time.monotonic() + 10
    while client.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    while (status := client.get(person.changes()).status_code) == 503:  # the other process
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert status == 200
