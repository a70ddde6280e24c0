"""Contract, section 2: who is asking."""

import hashlib

import pytest
from asking import basic, told
from names import G1, UNKNOWN, A

CHALLENGES = ['Basic realm="feedkeep", charset="UTF-8"', 'Bearer realm="feedkeep"']
PASSWORD = "correct hörse: battery"


@pytest.fixture
def name(feedkeep):
    return feedkeep.new_account(PASSWORD)


def ask(client, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    return client.get("/subscriptions", headers=headers)


def assert_let_in(client, *credentials):
    for credential in credentials:
        assert ask(client, credential).status_code == 200


def assert_refused(reply):
    assert told(reply, 401) == {"code": "401", "message": "The user is not authorized."}
    assert reply.headers.get_list("WWW-Authenticate") == CHALLENGES
    assert reply.headers["Cache-Control"] == "no-store"


def assert_not_let_in(client, *credentials):
    for credential in credentials:
        assert_refused(ask(client, credential))


# C2.1, C2.2
def test_tokens_and_passwords_let_in_and_names_compare_without_case(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    assert_let_in(anyone, f"Bearer {token}", f"bearer {token}")
    for written in (name, name.upper(), name.lower()):
        assert_let_in(anyone, basic(written, token), basic(written, PASSWORD))
    without_password = feedkeep.new_account()
    other_token = feedkeep.new_token(without_password)
    assert_not_let_in(anyone, *(basic(without_password, secret) for secret in ("", "x")))
    assert_let_in(anyone, f"Bearer {other_token}")
    assert_not_let_in(anyone, basic(name, other_token))


# C2.6
def test_a_token_is_shown_once_and_only_its_sha_256_is_stored(feedkeep, anyone, name):
    token = feedkeep.must("token", "create", name).split()[0]
    assert_let_in(anyone, f"Bearer {token}")
    (stored,) = feedkeep.use(lambda service: service.tokens.of(name))
    assert stored.hash == hashlib.sha256(token.encode()).digest()
    assert token not in repr(stored)
    assert token not in feedkeep.must("token", "list", name)


# C2.12, C7.2, C7.3, C7.18
def test_a_missing_and_a_wrong_credential_get_the_same_reply(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    no_colon = "Basic bm8gY29sb24="
    wrong = [
        None, "", "Bearer", "Bearer x", f"Bearer {token[:-1]}", f"Bearer {token} x",
        f"Token {token}", token, "Basic", "Basic !", no_colon, basic("\xff", "\xff", "latin-1"),
        basic(name, "wrong"), basic(name, ""), basic("", ""), basic("stranger", PASSWORD),
        basic(name, PASSWORD + "\x00"), basic(name + "\x00", PASSWORD),
    ]  # fmt: skip
    assert len({ask(anyone, authorization).content for authorization in wrong}) == 1
    assert_not_let_in(anyone, *wrong)


def test_basic_is_understood_in_the_alphabet_for_urls_too(feedkeep, anyone):
    password = "passphrase ~~~ \u00ff\u00ff ???"
    name = feedkeep.new_account(password)
    usual = basic(name, password)
    for_urls = usual.replace("+", "-").replace("/", "_")
    assert for_urls != usual
    assert_let_in(anyone, for_urls, usual)


# C2.4
def test_credentials_in_the_url_or_a_cookie_are_ignored(feedkeep, anyone, name):
    token = feedkeep.new_token(name)
    assert_refused(anyone.get("/subscriptions", params={"token": token, "access_token": token}))
    assert_refused(anyone.get("/subscriptions", headers={"Cookie": f"token={token}"}))
    good = f"Bearer {token}"
    for other in (good, "Bearer nonsense"):  # two at once
        headers = [("Authorization", good), ("Authorization", other)]
        assert anyone.get("/subscriptions", headers=headers).status_code == 401


# C2.8
def test_what_ends_a_credential_takes_effect_with_the_next_request(feedkeep, anyone, name):
    def use(method, *arguments):
        feedkeep.use(lambda service: getattr(service.accounts, method)(name, *arguments))

    revoked, token = feedkeep.new_token(name), feedkeep.new_token(name)
    assert_let_in(anyone, f"Bearer {revoked}")
    feedkeep.use(lambda service: service.tokens.revoke(name, 1))
    assert_not_let_in(anyone, f"Bearer {revoked}", basic(name, revoked))
    assert_not_let_in(anyone, f"Bearer {feedkeep.new_token(name, expires_days=0)}")
    assert_let_in(anyone, f"Bearer {feedkeep.new_token(name, expires_days=1)}")
    credentials = (f"Bearer {token}", basic(name, PASSWORD))
    assert_let_in(anyone, *credentials)
    use("set_disabled", True)
    assert_not_let_in(anyone, *credentials)
    use("set_disabled", False)
    assert_let_in(anyone, *credentials)
    use("set_password", "another one")
    assert_not_let_in(anyone, basic(name, PASSWORD))
    credentials = (f"Bearer {token}", basic(name, "another one"))
    assert_let_in(anyone, *credentials)
    use("delete")
    assert_not_let_in(anyone, *credentials)


# C2.3
def test_names_and_passwords_in_latin_1_let_in_too(feedkeep, anyone):
    """OkHttp sends them so, whatever charset the challenge names."""
    name = f"{feedkeep.new_account()}-Ünïcode"
    feedkeep.use(lambda service: service.accounts.create(name, PASSWORD))
    token = feedkeep.new_token(name)
    for secret in (PASSWORD, token):
        in_latin_1 = basic(name, secret, "latin-1")
        for _ in range(4):  # in each process, and once it is remembered
            assert_let_in(anyone, in_latin_1, basic(name.upper(), secret, "latin-1"))
            assert_let_in(anyone, basic(name, secret))
        path = f"/api/2/subscriptions/{name}/phone.json"
        for _ in range(4):
            assert anyone.get(path, headers={"Authorization": in_latin_1}).status_code == 200
            anyone.cookies.clear()
    assert_not_let_in(anyone, basic(name, "wröng", "latin-1"))
    assert_not_let_in(anyone, basic(f"{name}é", PASSWORD, "latin-1"))


# C2.3
def test_a_name_in_utf_8_is_not_read_as_latin_1(feedkeep, anyone):
    first = f"{feedkeep.new_account()}ê"
    second = first.encode().decode("latin-1")  # the same bytes
    feedkeep.use(lambda service: service.accounts.create(second, "of the second"))
    assert_let_in(anyone, basic(first, "of the second"))
    feedkeep.use(lambda service: service.accounts.create(first, PASSWORD))
    assert_let_in(anyone, basic(first, PASSWORD), basic(second, "of the second"))
    assert_not_let_in(anyone, basic(first, "of the second"))


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
            assert_refused(anyone.request(method, prefix + path, content=body))
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
        assert told(other.get("/subscriptions"))["total"] == 0
        other.post("/subscriptions", json={"subscriptions": [item]})
        other.delete(f"/subscriptions/{G1}")
    assert api.get(f"/subscriptions/{G1}").json()["is_subscribed"] is True


# C2.15, C2.17, C7.11
def test_too_many_wrong_passwords_wait_but_valid_credentials_never_do(feedkeep, anyone, name):
    valid = (f"Bearer {feedkeep.new_token(name)}", basic(name, feedkeep.new_token(name)))
    valid += (basic(name, PASSWORD),)
    assert_let_in(anyone, basic(name, PASSWORD))
    for authorization in [None, "Bearer x", "Basic !"] * 20:  # which are not counted
        assert ask(anyone, authorization).status_code == 401
    replies = [ask(anyone, basic(name, f"wrong {number}")) for number in range(11)]
    assert [reply.status_code for reply in replies] == [401] * 10 + [429]
    assert told(replies[-1], 429)["code"] == "429"
    assert 0 < int(replies[-1].headers["Retry-After"]) <= 300
    assert_let_in(anyone, *valid)
