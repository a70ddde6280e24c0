"""Long work beside the event loop, and the database statements of polls."""

import asyncio
import threading
from functools import partial

import httpx
import pytest
from commands import CHEAP
from people import basic
from stores import service_on

from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.gpodder import subscriptions
from feedkeep.http import routing
from feedkeep.http.application import Application
from feedkeep.openpodcast import resources
from feedkeep.runtime import wall_clock
from feedkeep.security import argon2id
from feedkeep.store.sqlite import SqliteStore
from feedkeep.url_sync import handlers as syncing

PASSWORD = "a good passphrase"
SHOWN = {"Authorization": basic("alice", PASSWORD)}
URLS = [f"https://a.example/{number}" for number in range(1_000)]
LINES = "".join(f"{url}\n" for url in URLS)
OUTLINES = "".join(f'<outline xmlUrl="{url}"/>' for url in URLS)
ACTION = {"podcast": URLS[0], "episode": URLS[0], "action": "delete"}


@pytest.fixture
async def store(tmp_path):
    return await SqliteStore.open(tmp_path / "feedkeep.db", wall_clock.now)


@pytest.fixture
async def client(store, monkeypatch):
    monkeypatch.setattr(argon2id, "OURS", CHEAP)
    service = service_on(store, wall_clock.now)
    await service.accounts.create("alice", PASSWORD)
    transport = httpx.ASGITransport(Application(edges(service, Settings()), Settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client
    await service.close()


@pytest.fixture
def long_ones(monkeypatch):
    """The names of what was done beside the loop, each only after the loop went on."""
    done = []

    async def watched(in_thread_if, is_long, work, *arguments):
        if not is_long:
            return work(*arguments)
        went_on = threading.Event()

        def waiting():
            went_on.wait()
            done.append(work.__name__)
            return work(*arguments)

        asyncio.get_running_loop().call_soon(went_on.set)
        return await in_thread_if(True, waiting)

    for module in (resources, routing, syncing, subscriptions):
        monkeypatch.setattr(module, "in_thread_if", partial(watched, module.in_thread_if))
    return done


async def test_long_bodies_and_lists_are_read_and_written_beside_the_loop(client, long_ones):
    client.headers.update(SHOWN)
    one = {"subscriptions": [{"feed_url": URLS[0]}]}
    assert (await client.post("/subscriptions", json=one)).status_code == 200
    assert (await client.get("/subscriptions/alice.opml")).status_code == 200
    assert long_ones == []
    items = [{"feed_url": url} for url in URLS]
    for method, path, content in (
        ("POST", "/subscriptions", {"json": {"subscriptions": items}}),
        ("PUT", "/subscriptions/alice/phone.json", {"json": URLS}),
        ("PUT", "/subscriptions/alice/phone.txt", {"content": LINES}),
        ("PUT", "/subscriptions/alice/phone.opml", {"content": f"<opml>{OUTLINES}</opml>"}),
        ("POST", "/api/2/subscriptions/alice/phone.json", {"json": {"add": URLS}}),
        ("POST", "/api/2/episodes/alice.json", {"json": [ACTION] * 500}),
        ("GET", "/subscriptions/alice/phone.json", {}),
        ("GET", "/subscriptions/alice.json", {}),
        ("GET", "/subscriptions/alice.opml", {}),
        ("GET", "/api/2/subscriptions/alice/phone.json?since=0", {}),
        ("GET", "/api/2/updates/alice/phone.json?since=0", {}),
    ):
        before = len(long_ones)
        reply = await client.request(method, path, **content)
        assert reply.status_code == 200, reply.text
        assert len(long_ones) > before, path
    assert long_ones[:2] == ["_wanted", "<lambda>"]


def statements_of(store):
    """Return a list that grows by each statement that the store is sent."""
    sent = []

    def note(_, statement, __):
        sent.append(statement)
        return True

    runner = store._runner
    for connection in (runner._reader, runner._scanner, runner._writer):
        connection.exec_trace = note
    return sent


async def test_a_poll_with_a_password_asks_one_thing_more_in_the_same_transaction(client, store):
    async def poll(**headers):
        client.cookies.clear()
        reply = await client.get("/api/2/subscriptions/alice/phone.json?since=5", headers=headers)
        assert reply.status_code == 200
        return reply.headers.get("Set-Cookie", "").partition(";")[0]

    cookie = await poll(Cookie=await poll(**SHOWN))
    await poll(Cookie=cookie)

    sent = statements_of(store)
    await poll(Cookie=cookie)
    with_cookie = list(sent)
    sent.clear()
    await poll(**SHOWN)
    # One more: how far the app knows what changed is no part of its session.
    assert with_cookie[0] == sent[0] == "BEGIN"
    assert [line for line in with_cookie if "SELECT" in line] == sent[1:2]
    assert "FROM document" in sent[2]
    assert sent[:2] + sent[3:] == with_cookie
