"""Contract, section 2: who is asking."""

import base64
import hashlib

import httpx
import pytest
from feedkeep_process import from_elsewhere
from names import G1, UNKNOWN, A

CHALLENGES = ['Basic realm="feedkeep", charset="UTF-8"', 'Bearer realm="feedkeep"']
PASSWORD = "correct hörse: battery"


@pytest.fixture
def name(feedkeep):
    return feedkeep.new_account(PASSWORD)


@pytest.fixture
def anyone(feedkeep):
    """A client that shows nothing by itself."""
    with httpx.Client(base_url=feedkeep.base_url, headers=from_elsewhere(), timeout=30) as client:
        yield client


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def ask(client: httpx.Client, authorization: str | None) -> httpx.Response:
    headers = {} if authorization is None else {"Authorization": authorization}
    return client.get("/subscriptions", headers=headers)


def assert_refused(reply: httpx.Response) -> None:
    assert reply.status_code == 401
    assert reply.json() == {"code": "401", "message": "The user is not authorized."}
    assert reply.headers.get_list("WWW-Authenticate") == CHALLENGES
    assert reply.headers["Cache-Control"] == "no-store"


# C2.1
def test_a_token_lets_in_as_bearer_and_as_the_password_of_its_account(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    for authorization in (f"Bearer {token}", f"bearer {token}", basic(name, token)):
        assert ask(anyone, authorization).status_code == 200
    assert ask(anyone, basic(name.upper(), token)).status_code == 200


# C2.6
def test_a_token_is_shown_once_and_only_its_sha_256_is_stored(feedkeep, anyone, name):
    token = feedkeep.must("token", "create", name).split()[0]
    assert ask(anyone, f"Bearer {token}").status_code == 200
    (stored,) = feedkeep.use(lambda service: service.tokens.of(name))
    assert stored.hash == hashlib.sha256(token.encode()).digest()
    assert token not in repr(stored)
    assert token not in feedkeep.must("token", "list", name)


def test_a_token_is_no_password_of_another_account(feedkeep, anyone, name):
    token = feedkeep.new_token(feedkeep.new_account())
    assert_refused(ask(anyone, basic(name, token)))


# C2.1, C2.2
def test_a_password_lets_in_and_names_compare_without_case(anyone, name):
    for written in (name, name.upper(), name.lower()):
        assert ask(anyone, basic(written, PASSWORD)).status_code == 200


# C2.12, C7.2, C7.3, C7.18
def test_a_missing_and_a_wrong_credential_get_the_same_reply(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    wrong = [
        None,
        "",
        "Bearer",
        "Bearer x",
        f"Bearer {token[:-1]}",
        f"Bearer {token} x",
        f"Token {token}",
        token,
        "Basic",
        "Basic !",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        basic(name, "wrong"),
        basic(name, ""),
        basic("", ""),
        basic("stranger", PASSWORD),
        basic(name, PASSWORD + "\x00"),
        basic(name + "\x00", PASSWORD),
    ]
    bodies = {ask(anyone, authorization).content for authorization in wrong}
    assert len(bodies) == 1
    for authorization in wrong:
        assert_refused(ask(anyone, authorization))


def test_basic_is_understood_in_the_alphabet_for_urls_too(feedkeep, anyone):
    password = "passphrase ~~~ \u00ff\u00ff ???"
    name = feedkeep.new_account(password)
    usual = basic(name, password)
    for_urls = usual.replace("+", "-").replace("/", "_")
    assert for_urls != usual
    assert ask(anyone, for_urls).status_code == ask(anyone, usual).status_code == 200


# C2.4
def test_credentials_in_the_url_or_a_cookie_are_ignored(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    assert_refused(anyone.get("/subscriptions", params={"token": token, "access_token": token}))
    assert_refused(anyone.get("/subscriptions", headers={"Cookie": f"token={token}"}))


def test_two_credentials_at_once_are_rejected(api, anyone):
    good = api.headers["Authorization"]
    for other in (good, "Bearer nonsense"):
        headers = [("Authorization", good), ("Authorization", other)]
        assert anyone.get("/subscriptions", headers=headers).status_code == 401


# C2.8
def test_revoking_takes_effect_with_the_next_request(feedkeep, anyone, name):
    token, other = feedkeep.new_token(name), feedkeep.new_token(name)
    assert ask(anyone, f"Bearer {token}").status_code == 200
    feedkeep.use(lambda service: service.tokens.revoke(name, 1))
    assert_refused(ask(anyone, f"Bearer {token}"))
    assert_refused(ask(anyone, basic(name, token)))
    assert ask(anyone, f"Bearer {other}").status_code == 200


# C2.8
def test_an_expired_token_is_rejected(feedkeep, anyone, name):
    assert_refused(ask(anyone, f"Bearer {feedkeep.new_token(name, expires_days=0)}"))
    assert ask(anyone, f"Bearer {feedkeep.new_token(name, expires_days=1)}").status_code == 200


# C2.8
def test_disabling_takes_effect_with_the_next_request_and_enabling_too(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    credentials = (f"Bearer {token}", basic(name, PASSWORD))
    assert [ask(anyone, c).status_code for c in credentials] == [200, 200]
    feedkeep.use(lambda service: service.accounts.set_disabled(name, True))
    for credential in credentials:
        assert_refused(ask(anyone, credential))
    feedkeep.use(lambda service: service.accounts.set_disabled(name, False))
    assert [ask(anyone, c).status_code for c in credentials] == [200, 200]


# C2.8
def test_a_new_password_takes_effect_with_the_next_request(feedkeep, anyone, name):
    assert ask(anyone, basic(name, PASSWORD)).status_code == 200
    feedkeep.use(lambda service: service.accounts.set_password(name, "another one"))
    assert_refused(ask(anyone, basic(name, PASSWORD)))
    assert ask(anyone, basic(name, "another one")).status_code == 200


def test_a_deleted_account_is_let_in_no_more(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    feedkeep.use(lambda service: service.accounts.delete(name))
    assert_refused(ask(anyone, f"Bearer {token}"))
    assert_refused(ask(anyone, basic(name, PASSWORD)))


def as_latin1(name: str, password: str) -> str:
    """Return what OkHttp sends, whatever charset the challenge names."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode("latin-1")).decode()


# C2.3
def test_names_and_passwords_in_latin_1_let_in_too(feedkeep, anyone):
    name = f"{feedkeep.new_account()}-Ünïcode"
    feedkeep.use(lambda service: service.accounts.create(name, PASSWORD))
    token = feedkeep.new_token(name)
    for secret in (PASSWORD, token):
        for _ in range(4):  # in each process, and once it is remembered
            assert ask(anyone, as_latin1(name, secret)).status_code == 200
            assert ask(anyone, as_latin1(name.upper(), secret)).status_code == 200
            assert ask(anyone, basic(name, secret)).status_code == 200
        path = f"/api/2/subscriptions/{name}/phone.json"
        headers = {"Authorization": as_latin1(name, secret)}
        for _ in range(4):
            assert anyone.get(path, headers=headers).status_code == 200
            anyone.cookies.clear()
    assert_refused(ask(anyone, as_latin1(name, "wröng")))
    assert_refused(ask(anyone, as_latin1(f"{name}é", PASSWORD)))


# C2.3
def test_a_name_in_utf_8_is_not_read_as_latin_1(feedkeep, anyone):
    first = f"{feedkeep.new_account()}ê"
    second = first.encode().decode("latin-1")  # the same bytes
    feedkeep.use(lambda service: service.accounts.create(second, "of the second"))
    assert ask(anyone, basic(first, "of the second")).status_code == 200
    feedkeep.use(lambda service: service.accounts.create(first, PASSWORD))
    assert ask(anyone, basic(first, PASSWORD)).status_code == 200
    assert_refused(ask(anyone, basic(first, "of the second")))
    assert ask(anyone, basic(second, "of the second")).status_code == 200


def test_an_account_without_a_password_is_let_in_by_tokens_only(feedkeep, anyone):
    name = feedkeep.new_account()
    assert_refused(ask(anyone, basic(name, "")))
    assert_refused(ask(anyone, basic(name, "x")))
    assert ask(anyone, f"Bearer {feedkeep.new_token(name)}").status_code == 200


# C2.14
def test_authentication_comes_before_everything_else(anyone):
    for method, path, body in [
        ("GET", f"/subscriptions/{UNKNOWN}", b""),
        ("GET", "/subscriptions/no-guid", b""),
        ("GET", "/subscriptions?page=0", b""),
        ("GET", "/deletions/1", b""),
        ("GET", "/deletions/x", b""),
        ("POST", "/subscriptions", b"not json"),
        ("POST", "/subscriptions", b"x" * 5_000_000),
        ("PATCH", f"/subscriptions/{G1}", b"not json"),
        ("DELETE", f"/subscriptions/{G1}", b""),
        ("PUT", "/subscriptions", b""),
        ("OPTIONS", "/subscriptions", b""),
        ("TRACE", "/deletions/1", b""),
    ]:
        for prefix in ("", "/v1"):
            reply = anyone.request(method, prefix + path, content=body)
            assert_refused(reply)
    coded = {"Content-Encoding": "gzip"}
    assert_refused(anyone.post("/subscriptions", content=b"x", headers=coded))


# C8.2
def test_accounts_do_not_see_one_another(feedkeep, api):
    item = {"feed_url": A, "guid": G1}
    api.post("/subscriptions", json={"subscriptions": [item]})
    with feedkeep.client(feedkeep.new_account()) as other:
        unknown = other.get(f"/subscriptions/{UNKNOWN}")
        for reply in (
            other.get(f"/subscriptions/{G1}"),
            other.patch(f"/subscriptions/{G1}", json={}),
            other.delete(f"/subscriptions/{G1}"),
        ):
            assert (reply.status_code, reply.content) == (404, unknown.content)
        assert other.get("/subscriptions").json()["total"] == 0
        other.post("/subscriptions", json={"subscriptions": [item]})
        other.delete(f"/subscriptions/{G1}")
    assert api.get(f"/subscriptions/{G1}").json()["is_subscribed"] is True


# C2.15, C2.17, C7.11
def test_too_many_wrong_passwords_have_to_wait_but_valid_credentials_never_do(
    feedkeep, anyone, name
):
    token = feedkeep.new_token(name)
    assert ask(anyone, basic(name, PASSWORD)).status_code == 200
    replies = [ask(anyone, basic(name, f"wrong {number}")) for number in range(11)]
    assert [reply.status_code for reply in replies] == [401] * 10 + [429]
    held_up = replies[-1]
    assert held_up.json()["code"] == "429"
    assert 0 < int(held_up.headers["Retry-After"]) <= 300
    assert ask(anyone, f"Bearer {token}").status_code == 200
    assert ask(anyone, basic(name, token)).status_code == 200
    assert ask(anyone, basic(name, PASSWORD)).status_code == 200


# C2.17
def test_missing_credentials_and_bad_tokens_are_not_counted(anyone):
    for authorization in [None, "Bearer x", "Basic !"] * 20:
        assert ask(anyone, authorization).status_code == 401
