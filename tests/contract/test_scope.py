"""A token that may only read changes nothing, whichever protocol it is sent in."""

import pytest
from asking import basic, told
from names import G1, A
from route_table import all_routes, path_of

from feedkeep.gpodder import SessionAuthenticator
from feedkeep.http.authenticators import HeaderAuthenticator
from feedkeep.http.routing import READING, Route
from feedkeep.model import DocumentKind, Scope

MESSAGE = "This credential may only read; use one that may write, too."
ACTION = {"podcast": A, "episode": f"{A}/1", "action": "new", "device": "tablet"}
AT = "2999-01-01T00:00:00Z"
QUERIES = {"/restore": f"?at={AT}", "/api/2/data/podcast.json": "?url=https://a.example"}
BODIES = {
    "/subscriptions": {"subscriptions": [{"feed_url": "https://new.example"}]},
    "/subscriptions/{guid}": {"is_subscribed": False},
    "/restore": {"at": AT},
    "/api/2/devices/{user}/{device}.json": {"caption": "new"},
    "/api/2/episodes/{user}.json": [ACTION],
    "/api/2/settings/{user}/{scope:account|device|podcast|episode}.json": {"set": {"a": 1}},
    "/index.php/apps/gpoddersync/episode_action/create": [ACTION],
}
CHANGES = {"add": ["https://new.example"], "remove": [A]}


@pytest.fixture
def name(feedkeep):
    """An account that a token that may write, too, has subscribed to a feed."""
    name = feedkeep.new_account()
    with feedkeep.client(name) as client:
        body = {"subscriptions": [{"feed_url": A, "guid": G1}]}
        assert client.post("/subscriptions", json=body).status_code == 200
    return name


@pytest.fixture
def reader(feedkeep, name):
    return feedkeep.new_token(name, scope=Scope.READ)


def session_of(anyone, name, token):
    """Log in as gPodder does; return the header with the cookie."""
    reply = anyone.post(
        f"/api/2/auth/{name}/login.json", headers={"Authorization": basic(name, token)}
    )
    assert reply.status_code == 200
    anyone.cookies.clear()
    return {"Cookie": reply.headers["Set-Cookie"].partition(";")[0]}


def kept(feedkeep, name):
    """Return all of an account that a client could change."""

    async def read(service):
        account, store = await service.accounts.named(name), service.store
        documents = [await store.documents.of(account.id, kind) for kind in DocumentKind]
        return account, (await store.entries.whole(account.id)).entries, documents

    return feedkeep.use(read)


def newest_change(anyone, token):
    reply = anyone.get("/history", headers={"Authorization": f"Bearer {token}"})
    return reply.json()["changes"][0]["stamp"]


def requests(name, stamp):
    """Yield each method of each route that is not public.

    Also whether it takes the cookies of apps, and whether it may change something.
    """
    values = {"format": "json", "count": "10", "scope": "account", "device": "tablet"}
    for target in all_routes():
        of_apps = isinstance(target.edge.authenticator, SessionAuthenticator)
        if isinstance(target.route, Route) and (
            of_apps or isinstance(target.edge.authenticator, HeaderAuthenticator)
        ):
            named = {"guid": G1, "deletion_id": 1, "stamp": stamp, "user": name}
            path = path_of(target.path, {**values, **named})
            template = target.path.removeprefix("/v1")
            path += QUERIES.get(template, "")
            for method in target.route.methods:
                may_change = method not in READING and not target.route.changes_nothing
                yield of_apps, may_change, method, path, BODIES.get(template, CHANGES)


# C2.10, C7.4
@pytest.mark.parametrize("way", ["a token", "a token as password", "a session"])
def test_writes_are_refused_on_every_route_and_change_nothing(feedkeep, anyone, name, reader, way):
    headers = {
        "a token": lambda: {"Authorization": f"Bearer {reader}"},
        "a token as password": lambda: {"Authorization": basic(name, reader)},
        "a session": lambda: session_of(anyone, name, reader),
    }[way]()
    before, refused = kept(feedkeep, name), set()
    stamp = newest_change(anyone, reader)
    for of_apps, may_change, method, path, body in requests(name, stamp):
        if not may_change or (way == "a session" and not of_apps):
            continue
        reply = anyone.request(method, path, json=body, headers=headers)
        assert told(reply, 403) == {"code": "403", "message": MESSAGE}, (method, path)
        refused.add((method, path))
    assert len(refused) == (11 if way == "a session" else 23)
    assert kept(feedkeep, name) == before


def test_what_reads_is_answered_and_creates_no_device(feedkeep, anyone, name, reader):
    count, stamp = 0, newest_change(anyone, reader)
    for authorization in (f"Bearer {reader}", basic(name, reader)):
        headers = {"Authorization": authorization}
        for _, _, method, path, _ in requests(name, stamp):
            if method in READING:
                reply = anyone.request(method, path, headers=headers)
                assert reply.status_code in {200, 404}, (method, path, reply.text)
                count += 1
    assert count > 40
    _, entries, (devices, settings, *_) = kept(feedkeep, name)
    assert (len(entries), devices, settings) == (2, [], [])


# C2.10
def test_with_a_token_that_may_only_read_an_app_logs_in_and_out(anyone, name, reader):
    headers = session_of(anyone, name, reader)
    path = f"/api/2/subscriptions/{name}/tablet.json"
    assert anyone.get(path, headers=headers).json()["add"] == [A]
    out = anyone.post(f"/api/2/auth/{name}/logout.json", headers=headers)
    assert out.status_code == 200
    assert anyone.get(path, headers=headers).status_code == 401


def test_a_session_that_a_client_gets_for_a_shared_one_may_do_no_more(anyone, name, reader):
    """Kasts sends the token each time; a client that sends the cookie back gets one of its own."""
    path = f"/api/2/subscriptions/{name}/tablet.json"
    ways = [{"Authorization": basic(name, reader)}]
    for _ in range(2):
        reply = anyone.get(path, headers=ways[-1])
        ways.append({"Cookie": reply.headers["Set-Cookie"].partition(";")[0]})
        anyone.cookies.clear()
    for headers in ways:
        assert anyone.post(path, json=CHANGES, headers=headers).status_code == 403
        anyone.cookies.clear()
