"""What a poll with nothing new asks of the database."""

import httpx
from people import basic
from stores import service_on

from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore

PASSWORD = "a good passphrase"


def statements_of(store: SqliteStore) -> list[str]:
    """Return a list that grows by each statement that the store is sent."""
    sent: list[str] = []

    def note(_: object, statement: str, __: object) -> bool:
        sent.append(statement)
        return True

    runner = store._runner
    for connection in (runner._reader, runner._scanner, runner._writer):
        connection.exec_trace = note
    return sent


async def test_a_poll_with_a_password_asks_one_thing_more_in_the_same_transaction(tmp_path):
    store = await SqliteStore.open(tmp_path / "feedkeep.db", wall_clock.now)
    service = service_on(store, wall_clock.now)
    await service.accounts.create("alice", PASSWORD)
    transport = httpx.ASGITransport(Application(edges(service, Settings()), Settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

        async def poll(**headers):
            client.cookies.clear()
            path = "/api/2/subscriptions/alice/phone.json?since=5"
            reply = await client.get(path, headers=headers)
            assert reply.status_code == 200
            return reply

        shown = {"Authorization": basic("alice", PASSWORD)}
        given = await poll(**shown)
        given = await poll(Cookie=given.headers["Set-Cookie"].partition(";")[0])
        cookie = given.headers["Set-Cookie"].partition(";")[0]
        await poll(Cookie=cookie)

        sent = statements_of(store)
        await poll(Cookie=cookie)
        with_cookie = list(sent)
        sent.clear()
        await poll(**shown)
        # One more: how far the app knows what changed is no part of its session.
        assert with_cookie[0] == sent[0] == "BEGIN"
        assert [line for line in with_cookie if "SELECT" in line] == sent[1:2]
        assert "FROM document" in sent[2]
        assert sent[:2] + sent[3:] == with_cookie
    await service.close()
