"""What takes long to read or to write is done beside the event loop, which goes on meanwhile."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from people import basic
from stores import service_on

from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.gpodder import subscriptions
from feedkeep.http import routing
from feedkeep.http.application import Application
from feedkeep.openpodcast import resources
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore
from feedkeep.url_sync import handlers as syncing

PASSWORD = "a good passphrase"
URLS = [f"https://a.example/{number}" for number in range(1_000)]
LINES = "".join(f"{url}\n" for url in URLS)
OUTLINES = "".join(f'<outline xmlUrl="{url}"/>' for url in URLS)
ACTION = {"podcast": URLS[0], "episode": URLS[0], "action": "delete"}


@pytest.fixture
async def client(path):
    service = service_on(await SqliteStore.open(path, wall_clock.now), wall_clock.now)
    await service.accounts.create("alice", PASSWORD)
    transport = httpx.ASGITransport(Application(edges(service, Settings()), Settings()))
    headers = {"Authorization": basic("alice", PASSWORD)}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", headers=headers
    ) as client:
        yield client
    await service.close()


def run(path: Path, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def go() -> None:
        service = service_on(await SqliteStore.open(path, wall_clock.now), wall_clock.now)
        await service.accounts.create("alice", PASSWORD)
        transport = httpx.ASGITransport(Application(edges(service, Settings()), Settings()))
        headers = {"Authorization": basic("alice", PASSWORD)}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", headers=headers
        ) as client:
            await work(client)
        await service.close()

    asyncio.run(go())


@pytest.fixture
def long_ones(monkeypatch):
    """The names of what was done beside the loop, each only after the loop went on."""
    done: list[str] = []

    def watch(module):
        async def watched(is_long, work, *arguments):
            if not is_long:
                return work(*arguments)
            went_on = threading.Event()

            def waiting():
                went_on.wait()
                done.append(work.__name__)
                return work(*arguments)

            asyncio.get_running_loop().call_soon(went_on.set)
            return await in_thread_if(True, waiting)

        in_thread_if = module.in_thread_if
        monkeypatch.setattr(module, "in_thread_if", watched)

    for module in (resources, routing, syncing, subscriptions):
        watch(module)
    return done


def test_long_bodies_and_lists_are_read_and_written_beside_the_loop(tmp_path, long_ones):
    async def work(client):
        items = [{"feed_url": url} for url in URLS]
        asked: list[tuple[str, str, dict[str, Any]]] = [
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
        ]
        for method, path, content in asked:
            before = len(long_ones)
            reply = await client.request(method, path, **content)
            assert (reply.status_code, reply.is_success) == (200, True), reply.text
            assert len(long_ones) > before, path
        assert long_ones[:2] == ["_wanted", "<lambda>"]

    run(tmp_path / "feedkeep.db", work)


def test_short_ones_are_read_and_written_at_once(tmp_path, long_ones):
    async def work(client):
        one = {"subscriptions": [{"feed_url": URLS[0]}]}
        assert (await client.post("/subscriptions", json=one)).status_code == 200
        assert (await client.get("/subscriptions/alice.opml")).status_code == 200
        assert long_ones == []

    run(tmp_path / "feedkeep.db", work)
