"""Clients of many accounts that write without a pause, and know what was acknowledged to them."""

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from raw_client import RawClient

PAUSE_SECONDS = 0.1
"""How long a client waits that was answered 503; Retry-After says a second or more."""
_PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Reply:
    """What came of a write: its status (0: the connection was cut), and when."""

    account: int
    status: int
    sent: float
    received: float


@dataclass
class Account:
    """An account, and the guids whose addition was acknowledged."""

    name: str
    token: str
    acknowledged: list[str] = field(default_factory=list)


class Crowd:
    """Clients that write, each with one connection; `clients` of them for each of the accounts.

    Attributes:
        replies: All that was answered.
        unseen: The writes that were answered 404 after they had been acknowledged.
    """

    def __init__(self, process, accounts, clients=1):
        self.process = process
        names = [process.new_account() for _ in range(accounts)]
        self.accounts = [Account(name, process.new_token(name)) for name in names]
        self.replies = []
        self.unseen = []
        self._clients = clients
        self._number = 0
        self._is_over = False

    @property
    def acknowledged(self):
        return sum(len(account.acknowledged) for account in self.accounts)

    @asynccontextmanager
    async def writing(self, *, looks=True):
        """Write meanwhile; with `looks`, each write that is acknowledged is read at once."""
        self._is_over = False
        tasks = [
            asyncio.create_task(self._write(number, looks=looks))
            for number in range(len(self.accounts))
            for _ in range(self._clients)
        ]
        try:
            yield
        finally:
            self._is_over = True
            await asyncio.gather(*tasks)

    async def until(self, is_so):
        """Wait until something is so; a client's reply is what changes it."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, self.told()
            await asyncio.sleep(0.02)

    async def _write(self, number, *, looks):
        account = self.accounts[number]
        while not self._is_over:
            try:
                async with RawClient(self.process.base_url, account.token) as client:
                    while not self._is_over:
                        await self._add(client, number, looks=looks)
            except (OSError, EOFError):
                now = time.monotonic()
                self.replies.append(Reply(number, 0, now, now))
                await asyncio.sleep(PAUSE_SECONDS)

    async def _add(self, client, number, *, looks):
        account = self.accounts[number]
        self._number += 1
        item = {"feed_url": f"https://{self._number}.example/feed"}
        sent = time.monotonic()
        answer = await client.ask("POST", "/subscriptions", {"subscriptions": [item]})
        self.replies.append(Reply(number, answer.status, sent, time.monotonic()))
        if answer.status != httpx.codes.OK:
            assert answer.status == httpx.codes.SERVICE_UNAVAILABLE, answer
            await asyncio.sleep(PAUSE_SECONDS)
            return
        guid = answer.body["success"][0]["guid"]
        account.acknowledged.append(guid)
        if looks:
            self._look(guid, await client.ask("GET", f"/subscriptions/{guid}"))

    def _look(self, guid, answer):
        if answer.status == httpx.codes.NOT_FOUND:
            self.unseen.append(guid)
        assert answer.status in {200, 404, 503}, answer

    async def lost(self):
        """Return the acknowledged writes that are not there, once each account answers again."""
        return [guid for account in self.accounts for guid in await self._lost_of(account)]

    async def _lost_of(self, account):
        seen = set()
        path = "/subscriptions?per_page=100"
        async with RawClient(self.process.base_url, account.token) as client:
            while path is not None:
                answer = await client.ask("GET", path)
                if answer.status == httpx.codes.SERVICE_UNAVAILABLE:
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                seen.update(one["guid"] for one in answer.body["subscriptions"])
                further = answer.body.get("next")
                path = httpx.URL(further).raw_path.decode() if further else None
        return [guid for guid in account.acknowledged if guid not in seen]

    def written(self, began, ended, accounts):
        """Return how many writes of accounts were acknowledged between two moments."""
        return sum(
            reply.status == httpx.codes.OK
            and reply.account in accounts
            and began <= reply.received < ended
            for reply in self.replies
        )

    def told(self):
        """Return how it went so far, in a few words."""
        refused = sum(reply.status != httpx.codes.OK for reply in self.replies)
        slowest = max((reply.received - reply.sent for reply in self.replies), default=0.0)
        return f"{self.acknowledged} acknowledged, {refused} refused, slowest {slowest:.1f} s"
