"""What apps are told when something is wrong: with their password, or with the server."""

import time
from contextlib import ExitStack

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from people import LOGIN, LOGOUT, A, Person, basic, log_in, ok
from postgres_server import PostgresServer

PASSWORD = "a good passphrase"


@pytest.fixture
def alone(tmp_path_factory):
    """A person on a service of their own that trusts a proxy, so that each test is an address."""
    folder = tmp_path_factory.mktemp("alone")
    process = FeedkeepProcess(folder, trusted_proxies="127.0.0.1")
    with process, ExitStack() as stack:
        yield Person.new(process, stack, PASSWORD)


def test_by_https_the_cookie_is_for_https_only(alone):
    headers = {"Authorization": alone.basic}
    for scheme in ("https", "http"):
        forwarded = {**headers, "X-Forwarded-Proto": scheme}
        reply = alone.client().post(LOGIN.format(alone.name), headers=forwarded)
        assert reply.status_code == 200
        assert ("; Secure" in reply.headers["Set-Cookie"]) == (scheme == "https")


def test_wrong_passwords_have_to_wait_and_right_sessions_never_do(alone):
    client = log_in(alone)
    shown = {"X-Forwarded-For": "192.0.2.7"}
    for number in range(10):
        wrong = {"Authorization": basic(alone.name, f"wrong {number}"), **shown}
        assert alone.client(**wrong).get(alone.changes()).status_code == 401
    wrong = {"Authorization": basic(alone.name, "wrong"), **shown}
    held_up = alone.client(**wrong).post(LOGIN.format(alone.name))
    assert held_up.status_code == 429
    assert 0 < int(held_up.headers["Retry-After"]) <= 300
    assert client.get(alone.changes(), headers=shown).status_code == 200


def test_an_upload_of_another_shape_is_refused_and_not_forgotten_by_the_app(alone):
    app = alone.app()
    action = {"podcast": A, "episode": f"{A}/1.mp3", "action": "new"}
    for body in (action, {"actions": [action]}, None, "new"):
        assert app.post(alone.episodes, json=body).status_code == 400
    for body in ([A], {"add": A}, {"add": {"0": A}, "remove": []}, None):
        assert app.post(alone.changes(), json=body).status_code == 400
    for nothing in ({}, {"add": None, "remove": {}}):  # as PHP writes an empty list
        ok(app.post(alone.changes(), json=nothing))
    assert ok(app.get(alone.episodes))["actions"] == []


def assert_a_fault_is_told(person: Person, client: httpx.Client) -> None:
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
def test_a_damaged_database_is_503_and_never_401(alone):
    client = log_in(alone)
    ok(client.post(alone.changes(), json={"add": [A], "remove": []}))
    database = alone.process.folder / "feedkeep.db"
    content = database.read_bytes()
    database.write_bytes(b"x" * len(content))
    assert_a_fault_is_told(alone, client)
    database.write_bytes(content)


# C7.12, C7.16
def test_a_database_that_is_away_is_503_and_never_401_and_then_the_session_works_again(tmp_path):
    with PostgresServer() as server, ExitStack() as stack:
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
