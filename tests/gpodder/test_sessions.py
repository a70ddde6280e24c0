"""Sessions of apps: a cookie that lives as long as it is used, and ends when it should."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from people import LOGIN, LOGOUT, Person, basic, log_in, ok

from feedkeep.model import Stamp, Token
from feedkeep.rules.credentials import token_hash
from feedkeep.service import Service

DAY_US = 86_400_000_000
PASSWORD = "a good passphrase"


@pytest.fixture
def person(feedkeep: FeedkeepProcess) -> Iterator[Person]:
    """Somebody whose apps use the account's password: a token is its own session."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack, PASSWORD)


def sessions(person: Person) -> list[Token]:
    return list(person.process.use(lambda service: service.sessions(person.name)))


def status(person: Person, client: httpx.Client) -> int:
    return client.get(person.changes()).status_code


def let_end(person: Person, text: str, expires: Stamp) -> None:
    """Set the end of a session in the store, as time would."""

    async def work(service: Service) -> None:
        account = await service.account(person.name)
        found = await service._store.find_token(account.id, token_hash(text))
        assert found is not None
        await service._store.extend_token(account.id, found.token.id, expires)

    person.process.use(work)


def now() -> Stamp:
    return time.time_ns() // 1_000


def test_the_cookie_is_for_all_paths_for_180_days_and_for_no_script(person: Person) -> None:
    reply = person.client().post(LOGIN.format(person.name), headers={"Authorization": person.basic})
    given = reply.headers["Set-Cookie"]
    value, *attributes = given.split("; ")
    assert re.fullmatch(r"sessionid=fs_[\w-]{44}", value)
    person.process.tokens.append(value.removeprefix("sessionid="))
    assert set(attributes) == {"Path=/", "Max-Age=15552000", "HttpOnly", "SameSite=Lax"}
    assert reply.headers["Cache-Control"] == "no-store"


def test_every_basic_begins_a_session_and_a_session_begins_no_other(person: Person) -> None:
    client = person.client()
    ok(client.get(person.changes(), headers={"Authorization": person.basic}))
    text = person.kept_session(client)
    for _ in range(3):
        ok(client.get(person.episodes, headers={"Authorization": person.basic}))
    assert client.cookies["sessionid"] == text
    assert len(sessions(person)) == 1


def test_a_token_in_place_of_the_password_is_its_own_session_and_ends_when_it_is_revoked(
    person: Person,
) -> None:
    token, client = person.process.new_token(person.name), person.client()
    shown = {"Authorization": basic(person.name, token)}
    ok(client.get(person.changes(), headers=shown))
    assert client.cookies["sessionid"] == token
    assert sessions(person) == []
    assert status(person, client) == 200
    (kept,) = person.process.use(lambda service: service.tokens(person.name))
    person.process.use(lambda service: service.revoke_token(person.name, kept.id))
    assert status(person, client) == 401


def test_a_token_that_comes_as_bearer_begins_no_session(person: Person) -> None:
    reply = person.interface().get(person.changes())
    assert reply.status_code == 200
    assert "Set-Cookie" not in reply.headers


def test_logging_out_ends_the_session_and_takes_the_cookie_back(person: Person) -> None:
    client, another = log_in(person), log_in(person)
    text = client.cookies["sessionid"]
    reply = client.post(LOGOUT.format(person.name))
    assert (reply.status_code, reply.content) == (200, b"")
    assert "sessionid" not in client.cookies
    shown = person.client(Cookie=f"sessionid={text}")
    assert status(person, shown) == 401
    assert status(person, another) == 200


def test_a_new_password_ends_all_sessions_and_no_token(feedkeep: FeedkeepProcess) -> None:
    with ExitStack() as stack:
        person = Person.new(feedkeep, stack, PASSWORD)
        with_password = log_in(person)
        api = person.interface()
        assert status(person, with_password) == 200
        feedkeep.must("account", "password", person.name, "--password-stdin", stdin="another one\n")
        assert status(person, with_password) == 401
        assert status(person, api) == 200
        person.secret = "another one"
        assert status(person, log_in(person)) == 200


def test_sessions_are_listed_and_revoked_by_command_and_are_no_tokens(person: Person) -> None:
    feedkeep = person.process
    client = log_in(person, **{"User-Agent": "AntennaPod/3.9"})
    listed = feedkeep.must("session", "list", person.name)
    assert "active" in listed
    assert "AntennaPod/3.9" in listed
    number = str(sessions(person)[0].id)
    tokens = feedkeep.use(lambda service: service.tokens(person.name))
    assert number not in {str(token.id) for token in tokens}
    assert feedkeep.run("token", "revoke", person.name, number).returncode == 1
    assert status(person, client) == 200
    feedkeep.must("session", "revoke", person.name, number)
    assert status(person, client) == 401
    assert sessions(person)[0].revoked is not None
    unknown = feedkeep.run("session", "revoke", person.name, "999")
    assert unknown.returncode == 1
    assert "has no session 999" in unknown.stderr


def test_a_disabled_account_is_let_in_by_no_session(person: Person) -> None:
    client = log_in(person)
    person.process.use(lambda service: service.set_disabled(person.name, True))
    assert status(person, client) == 401
    person.process.use(lambda service: service.set_disabled(person.name, False))
    assert status(person, client) == 200


def test_only_the_hash_of_a_session_is_stored(person: Person) -> None:
    text = log_in(person).cookies["sessionid"]
    kept = sessions(person)[0]
    assert kept.hash == hashlib.sha256(text.encode()).digest()
    assert text not in repr(kept)


def test_a_session_is_no_token_and_a_token_is_no_session(person: Person) -> None:
    text = log_in(person).cookies["sessionid"]
    for headers in (
        {"Authorization": f"Bearer {text}"},
        {"Cookie": f"sessionid={person.secret}"},
        {"Cookie": f"sessionid={text[:-1]}"},
        {"Cookie": f"other={text}"},
    ):
        assert status(person, person.client(**headers)) == 401
    for path in ("/subscriptions", "/index.php/apps/gpoddersync/subscriptions"):
        shown = {"Cookie": f"sessionid={text}"}
        assert person.client(**shown).get(path).status_code == 401
        shown = {"Authorization": f"Bearer {text}"}
        assert person.client(**shown).get(path).status_code == 401


def test_a_session_that_ended_does_not_hide_a_secret_that_is_right(person: Person) -> None:
    client = log_in(person)
    text = client.cookies["sessionid"]
    let_end(person, text, now() - 1)
    assert status(person, client) == 401
    for ended in (text, "nonsense", ""):
        shown = person.client(Authorization=person.basic, Cookie=f"sessionid={ended}")
        reply = shown.get(person.changes())
        assert reply.status_code == 200
        assert "sessionid=fs_" in reply.headers["Set-Cookie"]


def test_the_session_of_another_account_does_not_hide_a_secret_that_is_right(
    person: Person, other: Person
) -> None:
    text = log_in(other).cookies["sessionid"]
    shown = person.client(Authorization=person.basic, Cookie=f"sessionid={text}")
    reply = shown.get(person.changes())
    assert reply.status_code == 200
    assert "sessionid=fs_" in reply.headers["Set-Cookie"]


def test_a_session_that_is_used_lives_on_and_is_written_once_a_day_at_most(
    person: Person,
) -> None:
    client = log_in(person)
    text = client.cookies["sessionid"]
    fresh = sessions(person)[0].expires
    assert fresh is not None
    assert "Set-Cookie" not in client.get(person.changes()).headers
    assert sessions(person)[0].expires == fresh
    let_end(person, text, now() + 10 * DAY_US)
    assert f"sessionid={text}; " in client.get(person.changes()).headers["Set-Cookie"]
    extended = sessions(person)[0].expires
    assert extended is not None
    assert abs(extended - (now() + 180 * DAY_US)) < DAY_US / 24
    assert "Set-Cookie" not in client.get(person.changes()).headers
    assert sessions(person)[0].expires == extended


def test_a_session_that_nobody_asked_for_ends_soon_unless_it_is_used(person: Person) -> None:
    client = person.client()
    ok(client.get(person.changes(), headers={"Authorization": person.basic}))
    person.kept_session(client)
    ends = sessions(person)[0].expires
    assert ends is not None
    assert ends < now() + 2 * DAY_US
    ok(client.get(person.changes()))
    ends = sessions(person)[0].expires
    assert ends is not None
    assert ends > now() + 179 * DAY_US


def test_an_account_has_a_hundred_sessions_and_those_that_end_first_make_room(
    person: Person,
) -> None:
    client = log_in(person)
    first = log_in(person)
    let_end(person, first.cookies["sessionid"], now() + DAY_US)

    async def many(service: Service) -> None:
        account = await service.account(person.name)
        for number in range(99):
            await service.apps.begin_session(account, f"app {number % 5}", is_asked_for=True)

    person.process.use(many)
    assert len(sessions(person)) == 100
    assert status(person, client) == 200
    assert status(person, first) == 401
    assert status(person, person.app()) == 200
    assert len(sessions(person)) == 100


def test_an_app_that_logs_in_with_each_sync_does_not_end_the_session_of_another(
    person: Person,
) -> None:
    """AntennaPod keeps no cookie; gPodder answers three challenges, and then gives up for good."""
    desk = log_in(person, **{"User-Agent": "mygpoclient/1.10"})
    phone = person.client(Authorization=person.basic, **{"User-Agent": "AntennaPod/3.9"})
    for _ in range(101):
        phone.cookies.clear()
        assert phone.post(LOGIN.format(person.name)).status_code == 200
    assert len(sessions(person)) <= 100
    assert status(person, desk) == 200
