"""Sessions of apps: a cookie that lives as long as it is used, and ends when it should."""

import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
from people import LOGIN, LOGOUT, A, B, C, Person, add, basic, log_in, ok
from podcast_apps import AntennaPod

from feedkeep.model import Admitted, Stamp, Token
from feedkeep.rules.credentials import token_hash
from feedkeep.service import Service

DAY_US = 86_400_000_000
PASSWORD = "a good passphrase"


@pytest.fixture
def person(feedkeep):
    """A person whose apps use the account's password."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack, PASSWORD)


def sessions(person: Person) -> list[Token]:
    return list(person.process.use(lambda service: service.tokens.sessions_of(person.name)))


def status(person: Person, client: httpx.Client) -> int:
    return client.get(person.changes()).status_code


def let_end(person: Person, text: str, expires: Stamp) -> None:
    """Set the end of a session in the store, as time would."""

    async def work(service: Service) -> None:
        account = await service.accounts.named(person.name)
        found = await service.store.tokens.find(account.id, token_hash(text))
        assert found is not None
        await service.store.tokens.extend(account.id, found.token.id, expires)

    person.process.use(work)


def now() -> Stamp:
    return time.time_ns() // 1_000


def test_the_cookie_is_for_all_paths_for_180_days_and_for_no_script(person):
    reply = person.client().post(LOGIN.format(person.name), headers={"Authorization": person.basic})
    given = reply.headers["Set-Cookie"]
    value, *attributes = given.split("; ")
    assert re.fullmatch(r"sessionid=fs_[\w-]{44}", value)
    person.process.tokens.append(value.removeprefix("sessionid="))
    assert set(attributes) == {"Path=/", "Max-Age=15552000", "HttpOnly", "SameSite=Lax"}
    assert reply.headers["Cache-Control"] == "no-store"


def shared(person: Person) -> list[Token]:
    return [session for session in sessions(person) if session.is_shared]


def processes(person: Person) -> int:
    return int(person.process.environment.get("FEEDKEEP_WORKERS", "1"))


def show_password(person: Person, **headers: str) -> str:
    """Ask with name and password and no cookie; return the session that was given."""
    client = person.client(Authorization=person.basic, **headers)
    ok(client.get(person.changes()))
    return person.kept_session(client)


def test_who_shows_the_password_each_time_is_given_one_session_by_each_process(person):
    """Kasts, which keeps no cookies."""
    given = {show_password(person, **{"User-Agent": "Kasts"}) for _ in range(12)}
    assert {token_hash(text) for text in given} == {one.hash for one in sessions(person)}
    assert shared(person) == sessions(person)
    assert 1 <= len(given) <= processes(person)
    others = {show_password(person, **{"User-Agent": "another app"}) for _ in range(12)}
    assert given.isdisjoint(others)


def test_many_that_show_the_password_at_once_are_given_one_session(person):
    with ThreadPoolExecutor(12) as pool:
        given = set(pool.map(lambda _: show_password(person), range(12)))
    assert 1 <= len(given) <= processes(person)
    assert len(sessions(person)) == len(given)


def test_who_keeps_the_cookie_is_given_a_session_of_their_own_once(person):
    """gPodder: what was told to others that show the same password says nothing of it."""
    client = person.client()
    ok(client.get(person.changes(), headers={"Authorization": person.basic}))
    first = person.kept_session(client)
    ok(client.get(person.changes()))
    own = person.kept_session(client)
    assert own != first
    for _ in range(3):
        reply = client.get(person.episodes, headers={"Authorization": person.basic})
        assert reply.status_code == 200
        assert "Set-Cookie" not in reply.headers
    assert [one.hash for one in sessions(person) if not one.is_shared] == [token_hash(own)]


def test_a_login_begins_a_session_of_its_own_each_time(person):
    given = {log_in(person).cookies["sessionid"] for _ in range(3)}
    assert len(given) == len(sessions(person)) == 3
    assert shared(person) == []


def test_another_begins_where_the_shared_session_was_revoked(person):
    given = {show_password(person) for _ in range(8)}
    for session in sessions(person):
        number = session.id
        person.process.use(lambda service, n=number: service.tokens.revoke_session(person.name, n))
    again = {show_password(person) for _ in range(8)}
    assert given.isdisjoint(again)
    assert len(again) <= processes(person)
    for text in given:
        assert status(person, person.client(Cookie=f"sessionid={text}")) == 401


def test_logging_out_with_the_cookie_of_a_shared_session_ends_it(person):
    given = show_password(person)
    client = person.client(Cookie=f"sessionid={given}")
    assert client.post(LOGOUT.format(person.name)).status_code == 200
    assert status(person, person.client(Cookie=f"sessionid={given}")) == 401
    assert show_password(person) != given


def test_logging_out_without_a_cookie_ends_no_session(person):
    given = {show_password(person) for _ in range(8)}
    assert person.app().post(LOGOUT.format(person.name)).status_code == 200
    for text in given:
        assert status(person, person.client(Cookie=f"sessionid={text}")) == 200


def test_a_password_that_was_shown_before_is_refused_once_it_is_another(feedkeep):
    with ExitStack() as stack:
        person = Person.new(feedkeep, stack, PASSWORD)
        app = person.app()
        given = {show_password(person) for _ in range(8)}
        feedkeep.use(lambda service: service.accounts.set_password(person.name, "another one"))
        for _ in range(8):
            app.cookies.clear()
            assert status(person, app) == 401
        assert sessions(person) == []
        for text in given:
            assert status(person, person.client(Cookie=f"sessionid={text}")) == 401


def test_a_password_that_was_shown_before_is_refused_while_the_account_is_disabled(person):
    for _ in range(8):
        show_password(person)
    person.process.use(lambda service: service.accounts.set_disabled(person.name, True))
    app = person.app()
    for _ in range(8):
        assert status(person, app) == 401
    person.process.use(lambda service: service.accounts.set_disabled(person.name, False))
    assert status(person, app) == 200


def test_the_shared_session_of_another_person_opens_no_path_of_another(person, other):
    for _ in range(8):
        show_password(person)
    assert person.app().get(other.changes()).status_code == 403


def of_token(person: Person, *, log_in: bool, expires_days: int | None = None) -> httpx.Client:
    """Return a client with a cookie that it was given for a token in place of the password."""
    token = person.process.new_token(person.name, expires_days)
    client = person.client()
    shown = {"Authorization": basic(person.name, token)}
    if log_in:
        assert client.post(LOGIN.format(person.name), headers=shown).status_code == 200
    else:
        ok(client.get(person.changes(), headers=shown))
    person.kept_session(client)
    return client


@pytest.mark.parametrize("log_in", [True, False], ids=["login", "basic"])
def test_the_sessions_of_a_token_end_when_it_is_revoked(person, log_in):
    client = of_token(person, log_in=log_in)
    assert status(person, client) == 200
    (token,) = person.process.use(lambda service: service.tokens.of(person.name))
    assert {session.of_token for session in sessions(person)} == {token.id}
    assert status(person, client) == 200
    person.process.use(lambda service: service.tokens.revoke(person.name, token.id))
    assert status(person, client) == 401
    assert all(session.revoked for session in sessions(person))


def test_the_sessions_of_a_token_end_with_it_at_the_latest_and_no_use_moves_that(person):
    clients = [of_token(person, log_in=choice, expires_days=30) for choice in (True, False)]
    for client in clients:
        assert status(person, client) == 200
    ends = {token.id: token.expires for token in person.process.use(tokens_of(person))}
    for session in sessions(person):
        assert session.of_token is not None
        assert session.expires == ends[session.of_token]


def tokens_of(person: Person) -> Callable[[Service], Awaitable[Sequence[Token]]]:
    return lambda service: service.tokens.of(person.name)


def test_what_one_phone_was_told_hides_nothing_from_another_with_the_same_token(person):
    """The README has one token for all devices. AntennaPod takes what an upload is answered."""
    person.secret = person.process.new_token(person.name)
    first, second, third = (AntennaPod(person, name) for name in ("one", "two", "three"))
    for phone in (first, second, third):
        phone.sync()
    third.add(A)
    third.sync()
    second.sync()
    assert second.feeds == {A}
    # While the first one syncs, the second is told of a change and the first uploads its own.
    first.log_in()
    told = first.ask("GET", person.changes("one"), since=first.since)
    assert told["add"] == [A]
    add(person, B)
    second.sync()
    uploaded = first.send(person.changes("one"), {"add": [C], "remove": []}).json()
    assert B in first.ask("GET", person.changes("one"), since=uploaded["timestamp"])["add"]


def test_a_token_that_comes_as_bearer_begins_no_session(person):
    reply = person.interface().get(person.changes())
    assert reply.status_code == 200
    assert "Set-Cookie" not in reply.headers


def test_logging_out_ends_the_session_and_takes_the_cookie_back(person):
    client, another = log_in(person), log_in(person)
    text = client.cookies["sessionid"]
    reply = client.post(LOGOUT.format(person.name))
    assert (reply.status_code, reply.content) == (200, b"")
    assert "sessionid" not in client.cookies
    shown = person.client(Cookie=f"sessionid={text}")
    assert status(person, shown) == 401
    assert status(person, another) == 200


def test_a_new_password_ends_all_sessions_and_no_token(feedkeep):
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


def test_sessions_are_listed_and_revoked_by_command_and_are_no_tokens(person):
    feedkeep = person.process
    client = log_in(person, **{"User-Agent": "AntennaPod/3.9"})
    listed = feedkeep.must("session", "list", person.name)
    assert "active" in listed
    assert "AntennaPod/3.9" in listed
    number = str(sessions(person)[0].id)
    tokens = feedkeep.use(lambda service: service.tokens.of(person.name))
    assert number not in {str(token.id) for token in tokens}
    assert feedkeep.run("token", "revoke", person.name, number).returncode == 1
    assert status(person, client) == 200
    told = feedkeep.must("session", "revoke", person.name, number)
    assert f"feedkeep account password {person.name}" in " ".join(told.split())
    assert status(person, client) == 401
    assert sessions(person)[0].revoked is not None
    unknown = feedkeep.run("session", "revoke", person.name, "999")
    assert unknown.returncode == 1
    assert "has no session 999" in unknown.stderr


def test_a_disabled_account_is_let_in_by_no_session(person):
    client = log_in(person)
    person.process.use(lambda service: service.accounts.set_disabled(person.name, True))
    assert status(person, client) == 401
    person.process.use(lambda service: service.accounts.set_disabled(person.name, False))
    assert status(person, client) == 200


def test_only_the_hash_of_a_session_is_stored(person):
    text = log_in(person).cookies["sessionid"]
    kept = sessions(person)[0]
    assert kept.hash == hashlib.sha256(text.encode()).digest()
    assert text not in repr(kept)


def test_a_session_is_no_token_and_a_token_is_no_session(person):
    text = log_in(person).cookies["sessionid"]
    for headers in (
        {"Authorization": f"Bearer {text}"},
        {"Cookie": f"sessionid={person.secret}"},
        {"Cookie": f"sessionid={person.process.new_token(person.name)}"},
        {"Cookie": f"sessionid={text[:-1]}"},
        {"Cookie": f"other={text}"},
    ):
        assert status(person, person.client(**headers)) == 401
    for path in ("/subscriptions", "/index.php/apps/gpoddersync/subscriptions"):
        shown = {"Cookie": f"sessionid={text}"}
        assert person.client(**shown).get(path).status_code == 401
        shown = {"Authorization": f"Bearer {text}"}
        assert person.client(**shown).get(path).status_code == 401


def test_a_session_that_ended_does_not_hide_a_secret_that_is_right(person):
    client = log_in(person)
    text = client.cookies["sessionid"]
    let_end(person, text, now() - 1)
    assert status(person, client) == 401
    for ended in (text, "nonsense", ""):
        shown = person.client(Authorization=person.basic, Cookie=f"sessionid={ended}")
        reply = shown.get(person.changes())
        assert reply.status_code == 200
        assert "sessionid=fs_" in reply.headers["Set-Cookie"]


def test_the_session_of_another_account_does_not_hide_a_secret_that_is_right(person, other):
    text = log_in(other).cookies["sessionid"]
    shown = person.client(Authorization=person.basic, Cookie=f"sessionid={text}")
    reply = shown.get(person.changes())
    assert reply.status_code == 200
    assert "sessionid=fs_" in reply.headers["Set-Cookie"]


def test_a_session_that_is_used_lives_on_and_is_written_once_a_day_at_most(person):
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


def test_a_session_that_several_share_lives_on_as_well(person):
    client = person.client(Authorization=person.basic)  # one connection: it stays at one process

    def poll():
        client.cookies.clear()
        reply = client.get(person.changes())
        assert reply.status_code == 200
        return reply.headers["Set-Cookie"].partition("=")[2].partition(";")[0]

    text = poll()
    let_end(person, text, now() + 10 * DAY_US)
    assert poll() == text
    extended = sessions(person)[0].expires
    assert extended is not None
    assert abs(extended - (now() + 180 * DAY_US)) < DAY_US / 24


def test_an_account_has_a_hundred_sessions_and_those_that_end_first_make_room(person):
    client = log_in(person)
    first = log_in(person)
    let_end(person, first.cookies["sessionid"], now() + DAY_US)

    async def many(service):
        account = await service.accounts.named(person.name)
        for number in range(99):
            admitted = Admitted(account, "password")
            await service.logins.begin_session(admitted, f"app {number % 5}")

    person.process.use(many)
    assert len(sessions(person)) == 100
    assert status(person, client) == 200
    assert status(person, first) == 401
    assert status(person, person.app()) == 200
    assert len(sessions(person)) == 100


def test_an_app_that_logs_in_with_each_sync_does_not_end_the_session_of_another(person):
    """AntennaPod keeps no cookie; gPodder answers three challenges, and then gives up for good."""
    desk = log_in(person, **{"User-Agent": "mygpoclient/1.10"})
    phone = person.client(Authorization=person.basic, **{"User-Agent": "AntennaPod/3.9"})
    for _ in range(101):
        phone.cookies.clear()
        assert phone.post(LOGIN.format(person.name)).status_code == 200
    assert len(sessions(person)) <= 100
    assert status(person, desk) == 200
