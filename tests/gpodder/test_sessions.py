"""Sessions of apps: a cookie that lives as long as it is used, and ends when it should."""

import hashlib
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from people import LOGIN, LOGOUT, NEXTCLOUD, A, B, C, Person, add, assert_empty, basic, log_in, ok
from podcast_apps import AntennaPod

from feedkeep.model import Admitted
from feedkeep.rules.credentials import token_hash

DAY_US = 86_400_000_000
PASSWORD = "a good passphrase"


@pytest.fixture
def person(feedkeep, stack):
    """A person whose apps use the account's password."""
    return Person.new(feedkeep, stack, PASSWORD)


def sessions(person):
    return list(person.process.use(lambda service: service.tokens.sessions_of(person.name)))


def shared(person):
    return [session for session in sessions(person) if session.is_shared]


def set_disabled(person, is_disabled):
    person.process.use(lambda service: service.accounts.set_disabled(person.name, is_disabled))


def status(person, client):
    return client.get(person.changes()).status_code


def statuses(person, texts):
    """Return the status codes of requests with these session cookies."""
    return {status(person, person.client(Cookie=f"sessionid={text}")) for text in texts}


def let_end(person, text, expires):
    """Set the end of a session in the store, as time would."""

    async def work(service):
        account = await service.accounts.named(person.name)
        found = await service.store.tokens.find(account.id, token_hash(text))
        await service.store.tokens.extend(account.id, found.token.id, expires)

    person.process.use(work)


def now():
    return time.time_ns() // 1_000


def extended(person):
    """Return the end of the one session, which has just been moved by 180 days."""
    (session,) = sessions(person)
    assert abs(session.expires - (now() + 180 * DAY_US)) < DAY_US / 24
    return session.expires


def show_password(person, **headers):
    """Ask with name and password and no cookie; return the session that was given."""
    client = person.client(Authorization=person.basic, **headers)
    ok(client.get(person.changes()))
    return person.kept_session(client)


def shown_often(person, **headers):
    """Return the sessions that each process gave."""
    return {show_password(person, **headers) for _ in range(8)}


def test_who_shows_the_password_each_time_is_given_one_session_by_each_process(person):
    """Kasts, which keeps no cookies."""
    kasts = {"User-Agent": "Kasts"}
    with ThreadPoolExecutor(12) as pool:
        given = set(pool.map(lambda _: show_password(person, **kasts), range(12)))
    given |= shown_often(person, **kasts)
    assert {token_hash(text) for text in given} == {one.hash for one in sessions(person)}
    assert shared(person) == sessions(person)
    assert 1 <= len(given) <= int(person.process.environment.get("FEEDKEEP_WORKERS", "1"))
    assert given.isdisjoint(shown_often(person, **{"User-Agent": "another app"}))


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


def test_a_shared_session_ends_where_it_is_revoked_or_logged_out(person, other):
    given = shown_often(person)
    assert person.app().get(other.changes()).status_code == 403
    assert person.app().post(LOGOUT.format(person.name)).status_code == 200  # without a cookie
    assert statuses(person, given) == {200}
    for session in sessions(person):
        number = session.id
        person.process.use(lambda service, n=number: service.tokens.revoke_session(person.name, n))
    again = shown_often(person)
    assert given.isdisjoint(again)
    assert len(again) <= int(person.process.environment.get("FEEDKEEP_WORKERS", "1"))
    assert statuses(person, given) == {401}
    for text in again:
        logged_out = person.client(Cookie=f"sessionid={text}").post(LOGOUT.format(person.name))
        assert logged_out.status_code == 200
    assert statuses(person, again) == {401}
    assert show_password(person) not in again


def test_a_password_shown_before_is_refused_once_the_account_is_disabled_or_has_another(person):
    with_password, api, given = log_in(person), person.interface(), shown_often(person)
    set_disabled(person, True)
    app = person.app()
    assert {status(person, app) for _ in range(4)} == {401}
    assert status(person, with_password) == 401
    set_disabled(person, False)
    assert [status(person, client) for client in (app, with_password, api)] == [200] * 3
    command = ("account", "password", person.name, "--password-stdin")
    person.process.must(*command, stdin="another one\n")
    for _ in range(4):
        app.cookies.clear()
        assert status(person, app) == 401
    assert status(person, with_password) == 401
    assert status(person, api) == 200
    assert sessions(person) == []
    assert statuses(person, given) == {401}
    person.secret = "another one"
    assert status(person, log_in(person)) == 200


def test_the_sessions_of_a_token_end_with_it_and_no_use_moves_that(person):
    clients = []
    for logs_in in (True, False):
        token = person.process.new_token(person.name, 30)
        client, shown = person.client(), {"Authorization": basic(person.name, token)}
        if logs_in:
            assert_empty(client.post(LOGIN.format(person.name), headers=shown))
        else:
            ok(client.get(person.changes(), headers=shown))
        person.kept_session(client)
        assert [status(person, client) for _ in range(2)] == [200, 200]
        clients.append(client)
    tokens = person.process.use(lambda service: service.tokens.of(person.name))
    ends = {token.id: token.expires for token in tokens}
    assert {session.of_token: session.expires for session in sessions(person)} == ends
    assert {session.expires for session in sessions(person)} == set(ends.values())
    for number in ends:
        person.process.use(lambda service, n=number: service.tokens.revoke(person.name, n))
    assert [status(person, client) for client in clients] == [401, 401]
    assert all(session.revoked for session in sessions(person))


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


def test_a_login_begins_a_session_of_its_own_of_which_the_hash_is_stored(person):
    clients = [log_in(person) for _ in range(3)]
    texts = [client.cookies["sessionid"] for client in clients]
    kept = sessions(person)
    hashes = {hashlib.sha256(text.encode()).digest() for text in texts}
    assert {session.hash for session in kept} == hashes
    assert (len(hashes), len(kept), shared(person)) == (3, 3, [])
    assert not any(text in repr(kept) for text in texts)
    assert_empty(clients[0].post(LOGOUT.format(person.name)))
    assert "sessionid" not in clients[0].cookies
    assert statuses(person, texts[:1]) == {401}
    assert status(person, clients[1]) == 200
    reply = person.client().post(LOGIN.format(person.name), headers={"Authorization": person.basic})
    value, *attributes = reply.headers["Set-Cookie"].split("; ")
    assert re.fullmatch(r"sessionid=fs_[\w-]{44}", value)
    person.process.tokens.append(value.removeprefix("sessionid="))
    assert set(attributes) == {"Path=/", "Max-Age=15552000", "HttpOnly", "SameSite=Lax"}
    assert reply.headers["Cache-Control"] == "no-store"


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
    for path in ("/subscriptions", f"{NEXTCLOUD}/subscriptions"):
        for shown in ({"Cookie": f"sessionid={text}"}, {"Authorization": f"Bearer {text}"}):
            assert person.client(**shown).get(path).status_code == 401
    reply = person.interface().get(person.changes())  # a token as bearer begins no session
    assert (reply.status_code, "Set-Cookie" in reply.headers) == (200, False)


def test_a_session_that_does_not_count_does_not_hide_a_secret_that_is_right(person, other):
    client = log_in(person)
    text = client.cookies["sessionid"]
    let_end(person, text, now() - 1)
    assert status(person, client) == 401
    for cookie in (text, log_in(other).cookies["sessionid"], "nonsense", ""):
        shown = person.client(Authorization=person.basic, Cookie=f"sessionid={cookie}")
        reply = shown.get(person.changes())
        assert reply.status_code == 200
        assert "sessionid=fs_" in reply.headers["Set-Cookie"]


def test_a_session_that_is_used_lives_on_and_is_written_once_a_day_at_most(person):
    client = log_in(person)
    text, fresh = client.cookies["sessionid"], extended(person)
    assert "Set-Cookie" not in client.get(person.changes()).headers
    assert extended(person) == fresh
    let_end(person, text, now() + 10 * DAY_US)
    assert f"sessionid={text}; " in client.get(person.changes()).headers["Set-Cookie"]
    end = extended(person)
    assert "Set-Cookie" not in client.get(person.changes()).headers
    assert extended(person) == end


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
    extended(person)


def test_an_account_has_a_hundred_sessions_and_those_that_end_first_make_room(person):
    client = log_in(person)
    first = log_in(person)
    let_end(person, first.cookies["sessionid"], now() + DAY_US)

    async def many(service):
        account = await service.accounts.named(person.name)
        for number in range(99):
            await service.logins.begin_session(Admitted(account, "password"), f"app {number % 5}")

    person.process.use(many)
    assert len(sessions(person)) == 100
    assert [status(person, one) for one in (client, first, person.app())] == [200, 401, 200]
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
