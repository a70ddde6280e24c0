"""Accounts are separate: no credential but its own opens an account, and none shows another's."""

import base64
import random
import re
from itertools import islice, product

import httpx
import pytest
from account import Account, random_request, sent, told
from app_requests import random_request_of_apps, show
from forms import IS_LONG, in_the_long_form
from route_table import all_routes, path_of

from feedkeep.http.routing import Route
from feedkeep.model import Admitted
from feedkeep.rules.credentials import SESSION_PREFIX
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.security.tokens import new_token

URL = "https://somebodys.example/feed"
GUID = parse_feed_url(URL).guid
UNKNOWN_GUID = "00000000-0000-4000-8000-000000000009"
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
CHANGING = {"x-request-id", "date"}
PASSWORD = "secret and long"
# Values of path parameters that no account has.
ANY = {"format": "json", "count": "10", "scope": "account", "device": "phone"}
STORES = ["sqlite", "postgres, 2 workers"] if IS_LONG else ["sqlite"]
"""Stores on which routes are tried: access is decided before a store is asked for a list."""


@pytest.fixture
def process(start, store_kind):
    return start(store_kind)


@pytest.fixture
def anyone(process):
    with httpx.Client(base_url=process.base_url, timeout=30) as client:
        yield client


def requests(guid, stamp, user):
    """Yield each method with each path of the route table that is not public."""
    values = {**ANY, "guid": guid, "deletion_id": stamp, "stamp": stamp, "user": user}
    for target in all_routes():
        if isinstance(target.route, Route):
            path = path_of(target.path, values)
            yield from ((method, path) for method in METHODS)


def seen(reply):
    """Return all of a reply that could tell something; from when on lists are known is the time."""
    headers = {k: v for k, v in reply.headers.items() if k not in CHANGING}
    return reply.status_code, headers, re.sub(rb'"known_from":"[-0-9T:.]+Z"', b"", reply.content)


def useless_credentials(process, name):
    """Return headers with rejected credentials; most belonged to the account of that name."""
    disabled, gone = process.new_account(PASSWORD), process.new_account()
    token, revoked = process.new_token(name), process.new_token(name)
    process.use(lambda service: service.tokens.revoke(name, 2))
    of_disabled, in_disabled = process.new_token(disabled), new_session_of(process, disabled)
    process.use(lambda service: service.accounts.set_disabled(disabled, True))
    of_gone, in_gone = process.new_token(gone), new_session_of(process, gone)
    process.use(lambda service: service.accounts.delete(gone))
    session, expired = (new_session_of(process, name) for _ in range(2))
    process.use(lambda service: end_session(service, name, 4))
    revoked_session = new_session_of(process, name)
    process.use(lambda service: service.tokens.revoke_session(name, 5))
    browser, reset = process.use(lambda service: secrets_of_pages(service, name))
    process.tokens += [browser, reset]
    return {
        "none": {},
        "malformed": _bearer(token[:-1]),
        "unknown": _bearer(new_token(1)),
        "revoked": _bearer(revoked),
        "expired": _bearer(process.new_token(name, expires_days=0)),
        "disabled": _bearer(of_disabled),
        "disabled, by password": _basic(disabled, PASSWORD),
        "deleted": _bearer(of_gone),
        "another's token as password": _basic(name, of_disabled),
        "a session as a token": _bearer(session),
        "a malformed session": _cookie(session[:-1]),
        "an unknown session": _cookie(new_token(1, SESSION_PREFIX)),
        "a revoked session": _cookie(revoked_session),
        "an expired session": _cookie(expired),
        "a session of a disabled account": _cookie(in_disabled),
        "a session of a deleted account": _cookie(in_gone),
        "a browser's session": _cookie(browser),
        "a browser's session as an app's": _cookie(f"fs_{browser[3:]}"),
        "a browser's session as a token": _bearer(f"fk_{browser[3:]}"),
        "a browser's session as password": _basic(name, f"fk_{browser[3:]}"),
        "a reset link": _bearer(reset),
        "a reset link as a token": _bearer(f"fk_{reset[3:]}"),
    }


def new_session_of(process, name):
    async def begin(service):
        account = await service.accounts.named(name)
        return await service.logins.begin_session(Admitted(account, "password"), "test")

    text = process.use(begin).text
    process.tokens.append(text)
    return text


async def secrets_of_pages(service, name):
    """Return a session of a browser, and a link to set a password."""
    reset = await service.recovery.reset_link(name)
    session = await service.page_sessions.begin(await service.accounts.named(name), "browser")
    return session.text, reset.text


async def end_session(service, name, session_id):
    """Expire a session, which takes half a year otherwise."""
    account = await service.accounts.named(name)
    await service.store.tokens.extend(account.id, session_id, 1)
    (ended,) = [one for one in await service.tokens.sessions_of(name) if one.id == session_id]
    assert ended.expires == 1


def _basic(name, password):
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


def _bearer(token):
    return {"Authorization": f"Bearer {token}"}


def _cookie(session):
    return {"Cookie": f"sessionid={session}"}


@pytest.mark.parametrize("store_kind", STORES)
def test_no_route_opens_to_a_credential_that_is_not_valid(process, anyone, amount):
    name, step = process.new_account(PASSWORD), amount(9, 1, 5)  # or some of the methods
    few = {("GET", "/subscriptions"), ("GET", f"/api/2/devices/{name}.json")}
    for number, (kind, headers) in enumerate(useless_credentials(process, name).items()):
        chosen = islice(requests(GUID, 1, name), number % step, None, step)
        # Each attempt with a password counts, and ten do.
        for method, path in few if kind == "disabled, by password" else chosen:
            reply = anyone.request(method, path, headers=headers)
            assert reply.status_code == 401, (kind, method, path)
            assert "Set-Cookie" not in reply.headers
            told = {"code": "401", "message": "The user is not authorized."}
            assert method == "HEAD" or reply.json() == told


# C8.2
def test_what_another_account_has_answers_byte_for_byte_as_what_no_account_has(process, amount):
    name, step = process.new_account(), amount(3, 1, 1)  # or some of the methods for each path
    with process.client(name) as owner:
        owner.post("/subscriptions", json={"subscriptions": [{"feed_url": URL}]})
        deletion_id = owner.delete(f"/subscriptions/{GUID}").json()["deletion_id"]
        owner.post("/subscriptions", json={"subscriptions": [{"feed_url": URL}]})
        before = owner.get("/subscriptions").content
        with process.client(process.new_account()) as other:
            others = requests(GUID, deletion_id, name)
            unknown = requests(UNKNOWN_GUID, deletion_id - 1, "Stranger")
            both = zip(others, unknown, strict=True)
            for (method, path), (_, unknown) in islice(both, 0, None, step):
                body = {"is_subscribed": False} if method == "PATCH" else None
                replies = [other.request(method, where, json=body) for where in (path, unknown)]
                assert seen(replies[0]) == seen(replies[1]), (method, path)
        assert owner.get("/subscriptions").content == before


@pytest.mark.parametrize("store_kind", STORES)
def test_a_path_of_another_user_is_403_for_each_user_and_credential(process, anyone, amount):
    owner, other = process.new_account(PASSWORD), process.new_account(PASSWORD)
    ways = [
        _bearer(process.new_token(other)),
        _basic(other, PASSWORD),
        _basic(other, process.new_token(other)),
        _cookie(new_session_of(process, other)),
    ]
    values = {**ANY, "user": "{user}"}
    templates = [target.path for target in all_routes() if "{user}" in target.path]
    of_users = [path_of(template, values) for template in templates]
    assert len(of_users) == 14
    for path, headers, method in islice(product(of_users, ways, METHODS), 0, None, amount(3, 1, 1)):
        theirs, unknown = (
            anyone.request(method, path.format(user=user), headers=headers)
            for user in (owner, "Stranger")
        )
        assert theirs.status_code == 403, (method, path)
        assert seen(theirs) == seen(unknown), (method, path)
        assert "Set-Cookie" not in theirs.headers
    assert process.use(lambda service: service.tokens.sessions_of(owner)) == []


def leaks(process, count):
    """Send random requests of two accounts that know the same guids; compare with each alone."""
    chance, found = random.Random(6), []
    accounts = [(process.client(process.new_account()), Account()) for _ in range(2)]
    deletions = [[], []]
    for _ in range(count):
        whose = chance.randrange(2)
        (client, alone), request = accounts[whose], random_request(chance)
        method, path, body = sent(request)
        reply = client.request(method, path, json=body)
        if request[0] == "delete" and reply.is_success:
            deletions[whose].append(reply.json()["deletion_id"])
        shown, right = told(request, reply.status_code, reply.json()), alone.answer(request)
        if shown != right:
            found.append(f"{request} of account {whose} gave {shown} and not {right}")
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


def test_random_requests_of_two_accounts_never_meet(process, amount):
    assert leaks(process, amount(60, 10_000, 150)) == []


def app_leaks(process, lonely, count):
    """Send random requests of three accounts' apps; one's lonely twin has to be shown the same."""
    chance, found = random.Random(8), []
    ids = {process.new_account(): 0 for _ in range(3)}
    for name in ids:
        ids[name] = process.use(lambda service, name=name: service.accounts.named(name)).id
    before, one, after = sorted(ids, key=ids.get)  # a mixed statement may show the first or last
    twin = lonely.new_account()
    clients = {name: process.client(name) for name in (before, one, after)}
    with lonely.client(twin) as alone:
        for _ in range(count):
            other = chance.choice([before, after])
            show(clients[other], other, random_request_of_apps(chance), chance.random())
            request, protocol = random_request_of_apps(chance), chance.random()
            shown = show(clients[one], one, request, protocol)
            right = show(alone, twin, request, protocol)
            if shown != right:
                found.append(f"{request} showed {shown} and not {right}")
    for client in clients.values():
        client.close()
    return found


def test_random_requests_of_the_apps_of_accounts_never_meet(process, start, store_kind, amount):
    assert app_leaks(process, start(store_kind), amount(60, 10_000, 150)) == []


@in_the_long_form
def test_the_proof_notices_a_store_that_mixes_accounts(start):
    assert leaks(start("sqlite", "accounts_are_mixed"), 400) != []


@in_the_long_form
@pytest.mark.parametrize(
    "statement",
    [
        "sqlite.entries._CHANGED",
        "portable.episode_actions._PAGE",
        "portable.documents._BODY",
        "portable.documents._OF_KIND",
    ],
)
def test_the_proof_notices_a_statement_for_apps_that_mixes_accounts(start, monkeypatch, statement):
    monkeypatch.setenv("MIXED", statement)
    assert app_leaks(start("sqlite", "a_statement_mixes_accounts"), start(), 200) != []
