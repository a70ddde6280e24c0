"""Operations on one account happen one after the other, each between its request and its reply.

Many clients write to and read from one account at once. The stamps in the replies give the order of
the writes. It must agree with real time, and carrying the writes out again in that order, by the
rules alone, must give every reply; a reply without a stamp must be right at some moment between its
request and itself. Then the history is linearizable (Herlihy and Wing, 1990).
"""

import asyncio
import random
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heappop, heappush
from itertools import accumulate
from typing import Any

import pytest
from account import (
    BEFOREHAND,
    KINDS,
    KINDS_OF_APPS,
    KINDS_OF_HISTORY,
    Account,
    random_request,
)
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from raw_client import Answer, RawClient

from feedkeep.model import Stamp
from feedkeep.model.stamps import write_stamp

CLIENTS = 16
STAMPED = "uploads_tell_their_stamps"
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True)
class Operation:
    """One request with its reply, and when they were sent and received."""

    request: tuple[str, Any]
    answer: Answer
    sent: float
    received: float
    told: int | None = None  # the stamp of what an app uploaded, which no reply says

    @property
    def stamp(self) -> int | None:
        """The stamp that the account's clock gave to this write."""
        kind, body = self.request[0], self.answer.body
        if self.answer.status not in {200, 202} or kind in {"read", "poll"}:
            return None
        if kind in {"put", "upload"}:
            return self.told
        if kind in KINDS_OF_HISTORY:
            return None if body["stamp"] is None else int(body["stamp"])
        if kind == "delete":
            return int(body["deletion_id"])
        told = body["success"][0] if kind == "add" else body
        texts = [told[name] for name in ("subscription_changed", "guid_changed") if name in told]
        return max(_microseconds(text) for text in texts)


def _microseconds(text: str) -> int:
    since = datetime.fromisoformat(text) - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


async def perform(
    client: RawClient, request: tuple[str, Any], name: str, device: str, changes_made: list[int]
) -> Answer:
    """Send a request; `changes_made` are the stamps of the changes to begin with."""
    kind, what = request
    if kind == "undo":
        number, when_changed = what
        path = f"/history/{changes_made[number]}/undo"
        return await client.ask("POST", path, {"changed_since": when_changed})
    if kind == "restore":
        moment = {"at": write_stamp(Stamp(changes_made[-1])), "keep_added": what}
        return await client.ask("POST", "/restore", moment)
    changes = f"/api/2/subscriptions/{name}/{device}.json"
    if kind == "put":
        return await client.ask("PUT", f"/subscriptions/{name}/{device}.json", what)
    if kind == "upload":
        return await client.ask("POST", changes, {"add": what[0], "remove": what[1]})
    if kind == "poll":
        return await client.ask("GET", f"{changes}?since=1")
    if kind == "add":
        item = {"feed_url": what[0]} | ({"guid": what[1]} if what[1] else {})
        return await client.ask("POST", "/subscriptions", {"subscriptions": [item]})
    if kind == "update":
        return await client.ask("PATCH", f"/subscriptions/{what[0]}", what[1])
    method = "DELETE" if kind == "delete" else "GET"
    return await client.ask(method, f"/subscriptions/{what}")


def history(process: FeedkeepProcess, operations: int, seed: int) -> list[Operation]:
    """Let the clients do their operations at once, on a new account."""
    name = process.new_account()
    token = process.new_token(name)

    async def begin() -> list[int]:
        async with RawClient(process.base_url, token) as client:
            for request in BEFOREHAND:
                await perform(client, request, name, "", [])
            listed = (await client.ask("GET", "/history")).body["changes"]
        return [change["stamp"] for change in reversed(listed)]

    async def one(number: int, changes_made: list[int]) -> list[tuple[str, Operation]]:
        chance = random.Random(seed * 1_000 + number)
        done = []
        async with RawClient(process.base_url, token) as client:
            for turn in range(operations):
                request = random_request(chance, KINDS + KINDS_OF_APPS + KINDS_OF_HISTORY)
                sent = time.monotonic()
                device = f"{name}-{number}-{turn}"
                answer = await perform(client, request, name, device, changes_made)
                received = time.monotonic()
                done.append((device, Operation(request, answer, sent, received)))
        return done

    async def all_of_them() -> list[tuple[str, Operation]]:
        changes_made = await begin()
        found = await asyncio.gather(*(one(number, changes_made) for number in range(CLIENTS)))
        return [operation for operations in found for operation in operations]

    performed = asyncio.run(all_of_them())
    stamps = stamps_of_uploads(process)
    return [replace(operation, told=stamps.get(device)) for device, operation in performed]


def stamps_of_uploads(process: FeedkeepProcess) -> dict[str, int]:
    """Return the stamp of what each device has uploaded, if that changed anything."""
    stamps = process.folder / "stamps"
    told = [line.split() for line in stamps.read_text().splitlines()] if stamps.is_file() else []
    return {device: int(ended) for device, began, ended in told if began != ended}


def told(operation: Operation) -> tuple[int, object]:
    """Return what the service answered, in the form of `Account.answer`."""
    kind, status, body = operation.request[0], operation.answer.status, operation.answer.body
    if status not in {200, 202}:
        return status, None
    if kind == "add":
        return status, body["success"][0]["guid"]
    if kind == "upload":
        return status, body["update_urls"]
    if kind == "poll":
        return status, (sorted(body["add"]), sorted(body["remove"]))
    if kind == "update":
        names = ("new_feed_url", "is_subscribed", "new_guid")
        return status, tuple(body[name] for name in names if name in body)
    if kind in KINDS_OF_HISTORY:
        return status, (body["stamp"] is not None, body["changed"], body["left"])
    if kind == "read":
        return status, (body["feed_url"], body["is_subscribed"], body.get("new_guid"))
    return status, None


def violations(operations: list[Operation]) -> Iterator[str]:
    """Yield a sentence for everything that no order of the operations could explain."""
    writes = sorted((o for o in operations if o.stamp), key=lambda o: o.stamp or 0)
    newest_sent = 0.0
    for write, following in zip(writes, [*writes[1:], None], strict=True):
        if following and write.stamp == following.stamp:
            yield f"stamp {write.stamp} was given twice"
        if write.received < newest_sent:
            yield f"{write} ended before one was sent that is older by its stamp"
        newest_sent = max(newest_sent, write.sent)
    others = [operation for operation in operations if not operation.stamp]
    places = _explaining_places(writes, others)
    if isinstance(places, str):
        yield places
        return
    yield from _order(others, places)


def _explaining_places(writes: list[Operation], others: list[Operation]) -> list[list[int]] | str:
    """Carry the writes out in order; say after how many of them each other answer would be right.

    Returns a sentence instead if a write itself was answered wrongly.
    """
    # The writes that ended before an operation was sent come before it; those that were sent after
    # it ended come after it.
    ended = [write.received for write in writes]
    for index in reversed(range(len(ended) - 1)):
        ended[index] = min(ended[index], ended[index + 1])
    sent = list(accumulate((write.sent for write in writes), max))
    windows = [(bisect_left(ended, o.sent), bisect_right(sent, o.received)) for o in others]
    beginning: dict[int, list[int]] = defaultdict(list)
    for index, (first, _) in enumerate(windows):
        beginning[first].append(index)

    places: list[list[int]] = [[] for _ in others]
    account, possible = Account(), set[int]()
    for request in BEFOREHAND:
        account.answer(request)
    for place in range(len(writes) + 1):
        possible |= set(beginning[place])
        for index in tuple(possible):
            before = account.entries.copy(), account.last_stamp, account.counts
            states, stamps = account.kept.states, list(account.kept.stamps)
            if account.answer(others[index].request) == told(others[index]):
                places[index].append(place)
            account.entries, account.last_stamp, account.counts = before
            account.kept.states, account.kept.stamps = states, stamps
            if place == windows[index][1]:
                possible.discard(index)
        if place < len(writes) and (right := account.answer(writes[place].request)) != told(
            writes[place]
        ):
            return f"{writes[place]} should have been {right}"
    return places


def _order(others: list[Operation], places: list[list[int]]) -> Iterator[str]:
    """Give each other operation a place; of two that follow one another, neither goes back."""
    by_sending = sorted(range(len(others)), key=lambda index: others[index].sent)
    ended: list[tuple[float, int]] = []  # when, and at which place
    lowest = 0
    for index in by_sending:
        while ended and ended[0][0] < others[index].sent:
            lowest = max(lowest, heappop(ended)[1])
        possible = [place for place in places[index] if place >= lowest]
        if not possible:
            yield f"{others[index]} was never right"
            continue
        heappush(ended, (others[index].received, possible[0]))


def prove(process: FeedkeepProcess, histories: int, operations: int) -> list[str]:
    """Return what is wrong with some histories, until one of them shows something."""
    for number in range(histories):
        if found := list(violations(history(process, operations, number))):
            return found
    return []


# C8.2
def test_operations_on_one_account_are_linearizable(start, each_kind, amount):
    process = start(each_kind, STAMPED)
    assert prove(process, amount(1, 500, 2), amount(25, 200, 40)) == []
    # Of lists so short, some are emptied.
    lines = process.log.read_text().splitlines()
    assert [line for line in lines if "app unsubscribed most" not in line] == []


@in_the_long_form
@pytest.mark.parametrize(
    ("store_kind", "broken"),
    [
        ("postgres, 2 workers", "no_upload_locks_the_account"),
        ("postgres, 2 workers", "reads_are_stale"),
        ("sqlite", "a_change_after_its_reply"),
        ("sqlite", "lists_are_read_then_written"),
    ],
)
def test_the_proof_notices(start, store_kind, broken):
    assert prove(start(store_kind, STAMPED, broken), 40, 25) != []
