"""Whose path it is: everything that names an account is that account's alone."""

from people import A, add, ok

from feedkeep.rules.feed_urls import parse_feed_url


def own_paths(name):
    """Return every request that names an account."""
    return [
        ("POST", f"/api/2/auth/{name}/login.json"),
        ("POST", f"/api/2/auth/{name}/logout.json"),
        ("GET", f"/api/2/devices/{name}.json"),
        ("POST", f"/api/2/devices/{name}/d.json"),
        ("GET", f"/api/2/sync-devices/{name}.json"),
        ("POST", f"/api/2/sync-devices/{name}.json"),
        ("GET", f"/api/2/subscriptions/{name}/d.json"),
        ("POST", f"/api/2/subscriptions/{name}/d.json"),
        ("GET", f"/api/2/updates/{name}/d.json"),
        ("GET", f"/api/2/episodes/{name}.json"),
        ("POST", f"/api/2/episodes/{name}.json"),
        ("POST", f"/api/2/episodes/{name}/d.json"),
        ("GET", f"/api/2/settings/{name}/account.json"),
        ("POST", f"/api/2/settings/{name}/account.json"),
        ("GET", f"/api/2/favorites/{name}.json"),
        ("GET", f"/api/2/lists/{name}.json"),
        ("GET", f"/subscriptions/{name}.json"),
        ("GET", f"/subscriptions/{name}.opml"),
        ("GET", f"/subscriptions/{name}/d.txt"),
        ("PUT", f"/subscriptions/{name}/d.json"),
    ]


def test_without_credentials_everything_of_an_account_is_401_with_basic(person):
    anyone = person.client()
    for method, path in own_paths(person.name):
        reply = anyone.request(method, path)
        assert reply.status_code == 401, path
        assert 'Basic realm="feedkeep"' in reply.headers["WWW-Authenticate"]


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
        for _, path in [pair for pair in own_paths(name) if pair[0] == "GET"]:
            assert person.app().get(path).status_code == 200, path


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
