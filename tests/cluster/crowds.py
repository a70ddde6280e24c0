"""Clients of many accounts that write without a pause, and know what was acknowledged to them."""

import asyncio
import time
from dataclasses import dataclass

import httpx
from raw_client import RawClient
from waiting import until_so
from writers import going_on

PAUSE_SECONDS = 0.1
"""Wait of a client after a 503, in seconds; Retry-After would be a second or more."""


@dataclass(frozen=True)
class Reply:
    """The reply to a write: its status (0 if the connection was cut) and times."""

    account: int
    status: int
    sent: float
    received: float


class Crowd:
    """Clients that write, each with one connection; `clients` of them for each of the accounts."""

    def __init__(self, process, accounts, clients=1):
        self.process = process
        self.names = [process.new_account() for _ in range(accounts)]
        self._tokens = [process.new_token(name) for name in self.names]
        self._acknowledged = [[] for _ in self.names]  # the guids whose addition was, by account
        self.replies = []
        self.unseen = []  # the writes that were answered 404 after they had been acknowledged
        self._clients = clients
        self._number = 0

    @property
    def acknowledged(self):
        return sum(map(len, self._acknowledged))

    @property
    def failed(self):
        return [reply for reply in self.replies if reply.status != httpx.codes.OK]

    def writing(self, *, looks=True):
        """Write meanwhile; with `looks`, each write that is acknowledged is read at once."""

        async def write(number, is_over):
            number %= len(self._tokens)
            while not is_over.is_set():
                try:
                    async with RawClient(self.process.base_url, self._tokens[number]) as client:
                        while not is_over.is_set():
                            await self._add(client, number, looks=looks)
                except (OSError, EOFError):
                    now = time.monotonic()
                    self.replies.append(Reply(number, 0, now, now))
                    await asyncio.sleep(PAUSE_SECONDS)

        return going_on(write, self._clients * len(self._tokens))

    async def until_more(self, count):
        enough = self.acknowledged + count
        await until_so(lambda: self.acknowledged > enough, seconds=300)

    async def _add(self, client, number, *, looks):
        self._number += 1
        sent = time.monotonic()
        answer = await client.add(f"https://{self._number}.example/feed")
        self.replies.append(Reply(number, answer.status, sent, time.monotonic()))
        if answer.status != httpx.codes.OK:
            assert answer.status == httpx.codes.SERVICE_UNAVAILABLE, answer
            await asyncio.sleep(PAUSE_SECONDS)
            return
        guid = answer.body["success"][0]["guid"]
        self._acknowledged[number].append(guid)
        if looks:
            answer = await client.ask("GET", f"/subscriptions/{guid}")
            assert answer.status in {200, 404, 503}, answer
            if answer.status == httpx.codes.NOT_FOUND:
                self.unseen.append(guid)

    async def lost(self):
        """Return the acknowledged writes that are not there, once each account answers again."""
        lost = []
        for token, acknowledged in zip(self._tokens, self._acknowledged, strict=True):
            async with RawClient(self.process.base_url, token) as client:
                seen, path = set(), "/subscriptions?per_page=100"
                while path is not None:
                    answer = await client.ask("GET", path)
                    if answer.status == httpx.codes.SERVICE_UNAVAILABLE:
                        await asyncio.sleep(PAUSE_SECONDS)
                        continue
                    seen.update(one["guid"] for one in answer.body["subscriptions"])
                    further = answer.body.get("next")
                    path = httpx.URL(further).raw_path.decode() if further else None
            lost += [guid for guid in acknowledged if guid not in seen]
        return lost

    def written(self, began, ended, accounts):
        return sum(
            reply.status == httpx.codes.OK
            and reply.account in accounts
            and began <= reply.received < ended
            for reply in self.replies
        )

    def told(self):
        slowest = max((reply.received - reply.sent for reply in self.replies), default=0.0)
        refused = f"{len(self.failed)} refused, slowest {slowest:.1f} s"
        return f"{self.acknowledged} acknowledged, {len(self.unseen)} unseen, {refused}"
