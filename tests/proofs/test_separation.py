"""Accounts are separate: no credential but its own opens an account, and none shows another's."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from account import Account, random_request
from feedkeep_process import FeedkeepProcess

from feedkeep.api.app import PREFIXES, routes
from feedkeep.model import AccountId
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.security.tokens import new_token
from feedkeep.settings import Settings

URL = "https://somebodys.example/feed"
GUID = parse_feed_url(URL).guid
UNKNOWN_GUID = "00000000-0000-4000-8000-000000000009"
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
CHANGING = {"x-request-id", "date"}


@pytest.fixture
def process(start: Callable[..., FeedkeepProcess], store_kind: str) -> FeedkeepProcess:
    return start(store_kind)


@pytest.fixture
def anyone(process: FeedkeepProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=process.base_url, timeout=30) as client:
        yield client


def requests(guid: str, deletion_id: object) -> Iterator[tuple[str, str]]:
    """Yield each method with each path of the route table that is not public."""
    for route, resource in routes(None, Settings()).items():
        if not getattr(resource, "is_public", False):
            path = route.format(guid=guid, deletion_id=deletion_id)
            for prefix in PREFIXES:
                yield from ((method, prefix + path) for method in METHODS)


def seen(reply: httpx.Response) -> tuple[object, ...]:
    """Return all of a reply that could tell something."""
    headers = {k: v for k, v in reply.headers.items() if k not in CHANGING}
    return reply.status_code, headers, reply.content


def useless_credentials(process: FeedkeepProcess) -> dict[str, str | None]:
    name, disabled = process.new_account("secret"), process.new_account("secret")
    token, revoked = process.new_token(name), process.new_token(name)
    process.use(lambda service: service.revoke_token(name, 2))
    of_disabled = process.new_token(disabled)
    process.use(lambda service: service.set_disabled(disabled, True))
    gone = process.new_account()
    of_gone = process.new_token(gone)
    process.use(lambda service: service.delete_account(gone))
    return {
        "none": None,
        "malformed": f"Bearer {token[:-1]}",
        "unknown": f"Bearer {new_token(AccountId(1))}",
        "revoked": f"Bearer {revoked}",
        "expired": f"Bearer {process.new_token(name, expires_days=0)}",
        "disabled": f"Bearer {of_disabled}",
        "disabled, by password": _basic(disabled, "secret"),
        "deleted": f"Bearer {of_gone}",
        "another's token as password": _basic(name, of_disabled),
    }


def _basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_no_route_opens_to_a_credential_that_is_not_valid(
    process: FeedkeepProcess, anyone: httpx.Client
) -> None:
    for kind, credential in useless_credentials(process).items():
        headers = {} if credential is None else {"Authorization": credential}
        for method, path in requests(GUID, 1):
            if kind == "disabled, by password" and (method, path) != ("GET", "/subscriptions"):
                continue  # each attempt counts, and ten do
            reply = anyone.request(method, path, headers=headers)
            assert reply.status_code == 401, (kind, method, path)
            told = {"code": "401", "message": "The user is not authorized."}
            assert method == "HEAD" or reply.json() == told


def test_what_another_account_has_answers_byte_for_byte_as_what_nobody_has(
    process: FeedkeepProcess,
) -> None:
    with process.client(process.new_account()) as owner:
        owner.post("/subscriptions", json={"subscriptions": [{"feed_url": URL}]})
        deletion_id = owner.delete(f"/subscriptions/{GUID}").json()["deletion_id"]
        owner.post("/subscriptions", json={"subscriptions": [{"feed_url": URL}]})
        before = owner.get("/subscriptions").content
        with process.client(process.new_account()) as other:
            others = requests(GUID, deletion_id)
            nobodys = requests(UNKNOWN_GUID, deletion_id - 1)
            for (method, path), (_, unknown) in zip(others, nobodys, strict=True):
                body: dict[str, Any] = {"json": {"is_subscribed": False}}
                sent = body if method == "PATCH" else {}
                replies = [other.request(method, where, **sent) for where in (path, unknown)]
                assert seen(replies[0]) == seen(replies[1]), (method, path)
        assert owner.get("/subscriptions").content == before


def leaks(process: FeedkeepProcess, count: int) -> list[str]:
    """Send random requests of two accounts that know the same guids; compare with each alone."""
    chance, found = random.Random(6), []
    accounts = [(process.client(process.new_account()), Account()) for _ in range(2)]
    deletions: list[list[int]] = [[], []]
    for _ in range(count):
        whose = chance.randrange(2)
        (client, alone), request = accounts[whose], random_request(chance)
        status, shown, deletion_id = ask(client, request)
        if deletion_id:
            deletions[whose].append(deletion_id)
        right = alone.answer(request)
        if (status, shown) != right:
            found.append(f"{request} of account {whose} gave {status} {shown} and not {right}")
        others = deletions[not whose]
        if others and client.get(f"/deletions/{others[-1]}").status_code != 404:
            found.append(f"account {whose} sees another's deletion")
    for client, alone in accounts:
        listed = client.get("/subscriptions").json()["subscriptions"]
        known = {guid for guid, entry in alone.entries.items() if entry.revision}
        if {entry["guid"] for entry in listed} != known:
            found.append(f"a list is {listed}")
        client.close()
    return found


def ask(client: httpx.Client, request: tuple[str, Any]) -> tuple[int, object, int]:
    """Send a request; return what `Account.answer` says of it, and the deletion's id."""
    kind, what = request
    if kind == "add":
        item = {"feed_url": what[0]} | ({"guid": what[1]} if what[1] else {})
        reply = client.post("/subscriptions", json={"subscriptions": [item]})
        return reply.status_code, reply.json()["success"][0]["guid"], 0
    if kind == "update":
        reply = client.patch(f"/subscriptions/{what[0]}", json=what[1])
        names = ["new_feed_url", "is_subscribed", "new_guid"]
    else:
        reply = client.request("DELETE" if kind == "delete" else "GET", f"/subscriptions/{what}")
        names = []
    body = reply.json()
    if reply.status_code not in {200, 202}:
        return reply.status_code, None, 0
    if kind == "delete":
        return reply.status_code, None, body["deletion_id"]
    if kind == "read":
        return 200, (body["feed_url"], body["is_subscribed"], body.get("new_guid")), 0
    return 200, tuple(body[name] for name in names if name in body), 0


def test_random_requests_of_two_accounts_never_meet(
    process: FeedkeepProcess, amount: Callable[[int, int], int]
) -> None:
    assert leaks(process, amount(400, 10_000)) == []


def test_the_proof_notices_a_store_that_mixes_accounts(
    start: Callable[..., FeedkeepProcess],
) -> None:
    broken = (
        "import feedkeep.store.sqlite.store as s\n"
        "find = s.SqliteStore.find_token\n"
        "async def mixed(self, account_id, token_hash, guid):\n"
        "    found = await find(self, account_id, token_hash, guid)\n"
        "    for account in await self.accounts() if found and guid else ():\n"
        "        view = await self.view(account.id, guid)\n"
        "        if view:\n"
        "            return s.Found(found.account, found.token, view)\n"
        "    return found\n"
        "s.SqliteStore.find_token = mixed"
    )
    assert leaks(start("sqlite", broken), 400) != []
