"""Signing in with a provider: what is asked, what is made of it, and every way to lie about it."""

import base64
import hashlib
import hmac
import json
import random
import re
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fake_provider import CLIENT, SECRET, FakeProvider, browser_of, new_key, signing_in
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG
from joserfc import jws, jwt

from feedkeep.config.settings import Settings
from feedkeep.oidc import provider as asked_provider
from feedkeep.oidc.claims import ProviderAway
from feedkeep.oidc.flow import Flow, FlowCookies
from feedkeep.security.address_queue import AddressQueue
from feedkeep.security.throttle import CODES_PER_ADDRESS

BACK = "/sign-in/provider/back"
PASSWORD = "correct horse battery"


def begin(browser: httpx.Client, place: str = "/") -> str:
    reply = browser.get("/sign-in/provider", params={"next": place})
    assert reply.status_code == 303, reply.text
    return str(reply.headers["Location"])


def sign_in(browser: httpx.Client, provider: FakeProvider, **other: str) -> httpx.Response:
    """Go to the provider and back, with some of the answer replaced."""
    return browser.get(BACK, params=provider.answer_to(begin(browser)) | other)


def name_in(browser: httpx.Client) -> str:
    """Return the name of the account that a browser is signed in to; "" if it is not."""
    reply = browser.get("/account")
    found = re.search(r"<h1>([^<]*)</h1>", reply.text)
    return found[1] if reply.status_code == 200 and found else ""


def is_refused(browser: httpx.Client, reply: httpx.Response, told: str = "did not work") -> bool:
    return reply.status_code == 403 and told in reply.text and name_in(browser) == ""


def test_person_signs_in_and_has_the_same_account_each_time(service, browser, provider):
    location = begin(browser)
    sent = parse_qs(urlsplit(location).query)
    assert (sent["client_id"], sent["scope"]) == ([CLIENT], ["openid profile"])
    assert sent["redirect_uri"] == [service.base_url + BACK]
    reply = browser.get(BACK, params=provider.answer_to(location))
    assert (reply.status_code, reply.headers["Location"]) == (303, "/")
    name = provider.name
    assert name_in(browser) == name
    (form,) = [form for path, form in provider.asked if path == "/realm/token"]
    pair = base64.b64decode(form["credential"].removeprefix("Basic ")).decode()
    assert pair == f"{CLIENT}:s%3Ae%2Fcret"
    assert "client_secret" not in form
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert sent["code_challenge"] == [challenge]
    browser.post("/sign-out")
    provider.person["preferred_username"] = "another"
    sign_in(browser, provider)
    assert name_in(browser) == name  # by who it is, not by what it is called
    assert SECRET not in service.log.read_text()


def test_new_accounts_get_a_name_that_is_free_and_no_rights(service, browser, provider):
    names = []
    for number, claims in enumerate(
        ({"preferred_username": "éva"}, {"preferred_username": "éva"}, {"email": "b o@b.example"},
         {"preferred_username": "../"}, {"name": 5})
    ):  # fmt: skip
        provider.person = {"sub": f"new-{number}", **claims}
        assert sign_in(browser, provider).status_code == 303
        assert browser.get("/people").status_code == 403
        names.append(name_in(browser))
    assert names == ["éva", "éva-2", "b-o", "listener", "listener-2"]
    assert "éva-2" in service.must("account", "list")


def test_without_new_accounts_a_person_is_told_what_to_do(provider, tmp_path):
    with signing_in(provider, tmp_path, oidc_new_accounts="false") as (_, browser):
        assert is_refused(browser, sign_in(browser, provider), "You have no account here yet")


def claims_with(**changed):
    def lie(provider):
        provider.change = lambda claims: {
            name: value for name, value in (claims | changed).items() if value is not None
        }

    return lie


def signed_by(sign):
    def lie(provider):
        provider.sign = lambda claims: sign(provider, claims)

    return lie


def part(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def hmac_with_the_public_key(provider, claims):
    signed = f"{part({'alg': 'HS256', 'kid': provider.key.kid})}.{part(claims)}"
    key = provider.key.as_pem(private=False)
    mac = hmac.digest(key, signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def changed_afterwards(provider, claims):
    head, _, signature = provider.signed(claims).split(".")
    return f"{head}.{part(claims | {'sub': 'person-2'})}.{signature}"


PAST, FUTURE = 1_000_000_000, 4_000_000_000
NONE, RS, PS = {"alg": "none"}, {"alg": "RS256"}, {"alg": "PS256"}
WRONG_CLAIMS = [
    {"nonce": "foreign"}, {"nonce": None}, {"aud": "another-client"}, {"azp": "another-client"},
    {"aud": [CLIENT, "another-client"]}, {"azp": [CLIENT]}, {"iss": "https://auth.example"},
    {"iss": None}, {"exp": PAST}, {"exp": None}, {"exp": "tomorrow"}, {"exp": float("nan")},
    {"exp": float("inf")}, {"nbf": FUTURE}, {"sub": None}, {"sub": ""}, {"sub": 5},
    {"sub": "x" * 256},
]  # fmt: skip
WRONG_TOKENS = {
    "nested too deeply": lambda told, _: jws.serialize_compact(RS, b"[" * 20_000, told.key),
    "alg none": lambda _, claims: f"{part(NONE)}.{part(claims)}.",
    "alg none, a key": lambda p, claims: f"{part(NONE | {'kid': p.key.kid})}.{part(claims)}.",
    "alg HS256 with the public key": hmac_with_the_public_key,
    "another key": lambda _, claims: jwt.encode(RS, claims, new_key()),
    "same name": lambda p, claims: jwt.encode(RS | {"kid": p.key.kid}, claims, new_key()),
    "changed afterwards": changed_afterwards,
    "JWS JSON": lambda _, claims: json.dumps({"payload": part(claims), "signatures": []}),
    "no ID token": lambda _, __: None,
    "no token": lambda _, __: "x.y.z",
    "a very long token": lambda told, claims: told.signed(claims | {"x": "y" * 40_000}),
}
LIES = {str(claims): claims_with(**claims) for claims in WRONG_CLAIMS}
LIES |= {name: signed_by(sign) for name, sign in WRONG_TOKENS.items()}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_cannot_be_believed_lets_nobody_in(service, browser, provider, lie):
    lie(provider)
    assert is_refused(browser, sign_in(browser, provider))
    provider.change, provider.sign = lambda claims: claims, provider.signed
    assert sign_in(browser, provider).status_code == 303
    assert name_in(browser) == provider.name
    service.wait_for_line("sign-in rejected", browser.headers["X-Forwarded-For"])


@pytest.mark.parametrize(
    "truth",
    [
        claims_with(azp=CLIENT),
        claims_with(aud=[CLIENT]),
        claims_with(aud=[CLIENT, "other"], azp=CLIENT),
        signed_by(lambda told, claims: told.signed(claims | {"exp": int(time.time()) - 10})),
        signed_by(lambda told, claims: jwt.encode(PS, claims, told.key, algorithms=["PS256"])),
    ],
)
def test_what_an_honest_provider_may_send_is_believed(browser, provider, truth):
    truth(provider)
    assert sign_in(browser, provider).status_code == 303
    assert name_in(browser) == provider.name


def test_answer_counts_once_and_in_the_browser_that_began(service, browser, provider):
    answer = provider.answer_to(begin(browser))
    with browser_of(service) as victim, browser_of(service) as other:
        begin(victim)  # an attacker brings their own answer to a person who is about to sign in
        assert is_refused(victim, victim.get(BACK, params=answer))
        assert is_refused(victim, victim.get(BACK, params=answer), "was too old")
        assert is_refused(other, other.get(BACK, params=answer), "was too old")
    assert browser.get(BACK, params=answer).status_code == 303
    browser.post("/sign-out")
    assert is_refused(browser, browser.get(BACK, params=answer), "was too old")  # replayed
    again = provider.answer_to(begin(browser))
    assert is_refused(browser, browser.get(BACK, params=again | {"code": answer["code"]}))
    assert is_refused(browser, sign_in(browser, provider, state=""))
    assert is_refused(browser, sign_in(browser, provider, code=""))
    assert is_refused(browser, sign_in(browser, provider, iss="https://auth.example"))
    assert sign_in(browser, provider, iss="").status_code == 303


@pytest.mark.parametrize("secret", ["", "of another service"])
def test_sign_in_that_was_not_begun_here_is_refused_without_asking(browser, provider, secret):
    cookie = FlowCookies(secret).write(Flow("s", "n", "v" * 43, "https://evil.example/"))
    for value in (cookie, "x", "e30"):
        shown = {"Cookie": f"feedkeep_provider={value}"}
        reply = browser.get(BACK, params={"state": "s", "code": "c"}, headers=shown)
        assert is_refused(browser, reply, "was too old")
    assert provider.count("token") == 0


def test_refused_codes_are_counted_by_address_apart_from_passwords(service, browser, provider):
    def come_back(**code):
        return browser.get(BACK, params=provider.answer_to(begin(browser)) | code)

    for _ in range(CODES_PER_ADDRESS):
        assert come_back(code="junk").status_code == 403
    assert provider.count("token") == CODES_PER_ADDRESS
    limited = come_back()
    assert limited.status_code == 429
    assert int(limited.headers["Retry-After"]) > 0
    assert provider.count("token") == CODES_PER_ADDRESS
    form = {"name": service.new_account(PASSWORD), "password": PASSWORD}
    assert browser.post("/sign-in", data=form).status_code == 303
    with browser_of(service) as elsewhere:
        assert sign_in(elsewhere, provider).status_code == 303


def test_provider_says_whether_answers_name_it_and_how_it_wants_secrets(provider, tmp_path):
    provider.metadata = {
        "authorization_response_iss_parameter_supported": True,
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }
    with signing_in(provider, tmp_path) as (_, browser):
        assert is_refused(browser, sign_in(browser, provider, iss=""))
        assert sign_in(browser, provider).status_code == 303
    (form,) = [form for path, form in provider.asked if path == "/realm/token"]
    assert (form["client_secret"], form["credential"]) == (SECRET, "")


def test_keys_are_not_asked_for_by_each_liar_and_who_is_away_lets_nobody_in(own, provider):
    service, browser = own
    sign_in(browser, provider)
    browser.post("/sign-out")
    assert provider.count("keys") == 1
    honest = provider.key
    provider.sign = lambda claims: jwt.encode(RS | {"kid": "x"}, claims, honest)
    for _ in range(3):
        assert is_refused(browser, sign_in(browser, provider))
    assert provider.count("keys") == 1  # as soon after the last time

    provider.sign, provider.token_status = provider.signed, 500
    assert is_refused(browser, sign_in(browser, provider))
    answer = provider.answer_to(begin(browser))
    with provider.away():
        reply = browser.get(BACK, params=answer)
    assert (reply.status_code, "cannot be reached" in reply.text) == (503, True)
    service.wait_for_line("sign-in provider unavailable")


@pytest.fixture
def asking(provider, monkeypatch):
    """The service's side of the provider, which waits for nothing."""
    monkeypatch.setattr(asked_provider, "_WAIT_SECONDS", 0.01)
    return asked_provider.Provider(Settings(oidc_issuer=provider.issuer, oidc_client_id=CLIENT))


FLOW = Flow("s", "n", "v", "/")


@pytest.mark.parametrize(
    ("attribute", "wrong"),
    [
        ("metadata", {"issuer": "https://auth.example"}),
        ("metadata", {"token_endpoint": "http://auth.example/token"}),
        ("metadata", {"jwks_uri": None}),
        ("metadata", {"authorization_endpoint": "javascript:alert(1)"}),
        ("metadata", {"authorization_endpoint": "http://[::1"}),
        *(("description", text) for text in (b"no JSON", b"[1]", b"[" * 100_000, b" " * 300_000)),
        ("description_status", 500),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_provider_described_wrongly_is_away_and_rests(
    asking, provider, monkeypatch, attribute, wrong
):
    setattr(provider, attribute, wrong)
    for _ in range(3):  # those who wait for it ask once
        with pytest.raises(ProviderAway):
            await asking.sign_in_url("http://127.0.0.1/", FLOW)
    assert provider.count(".well-known/openid-configuration") == len(provider.asked) == 1
    provider.be_honest()
    monkeypatch.setattr(asked_provider, "_REST_SECONDS", 0.0)
    assert (await asking.sign_in_url("http://127.0.0.1/", FLOW)).startswith(provider.issuer)


async def test_too_many_who_come_back_at_once_are_asked_to_try_again(asking):
    asking._turns = AddressQueue(0)
    with pytest.raises(ProviderAway) as away:
        await asking.claims("code", "", "http://127.0.0.1/", FLOW, "192.0.2.1")
    assert "too many people" in away.value.reason


def test_provider_that_fails_is_asked_again_once_it_has_rested(own, provider):
    _, browser = own
    with provider.away():
        reply = browser.get("/sign-in/provider")
    assert (reply.status_code, "cannot be reached" in reply.text) == (503, True)
    deadline = time.monotonic() + 30
    while browser.get("/sign-in/provider").status_code == 503:  # for two seconds
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert sign_in(browser, provider).status_code == 303


def test_it_leads_back_to_where_the_person_was_and_never_elsewhere(browser, provider):
    for place, led in (
        ("/history?x=1", "/history?x=1"), ("https://evil.example", "/"), ("//evil.example", "/"),
        ("/" + "x" * 2_000, "/"),
    ):  # fmt: skip
        reply = browser.get(BACK, params=provider.answer_to(begin(browser, place)))
        assert reply.headers["Location"] == led


def test_who_cancels_there_or_is_disabled_here_is_told_so(service, browser, provider):
    answer = provider.answer_to(begin(browser))
    reply = browser.get(BACK, params={"error": "access_denied", "state": answer["state"]})
    assert is_refused(browser, reply, "You did not allow it there")
    sign_in(browser, provider)
    service.must("account", "disable", provider.name)
    assert is_refused(browser, sign_in(browser, provider), "is disabled")


def test_provider_says_each_time_who_is_an_administrator(provider, tmp_path):
    with signing_in(provider, tmp_path, oidc_admin_claim="groups=admins") as (service, browser):
        service.must("account", "create", "chief", "--admin", stdin="")
        assert "openid profile groups" in parse_qs(urlsplit(begin(browser)).query)["scope"]
        for groups, status in (
            (["x"], 403), (["x", "admins"], 200), ("admins", 200), (None, 403), (["admin"], 403),
        ):  # fmt: skip
            provider.person["groups"] = groups
            sign_in(browser, provider)
            assert browser.get("/people").status_code == status, groups
        provider.person["groups"] = ["admins"]
        sign_in(browser, provider)
        service.must("account", "disable", "chief")
        provider.person["groups"] = []
        sign_in(browser, provider)  # the last one stays one
        assert browser.get("/people").status_code == 200


def test_who_signs_out_at_the_provider_is_signed_out_here(own, provider):
    service, browser = own
    sign_in(browser, provider)

    def log_out(token):
        url = f"{service.base_url}/sign-in/provider/logout"
        reply = httpx.post(url, data={"logout_token": token})
        assert reply.headers["Cache-Control"] == "no-store"
        return reply.status_code

    now = int(time.time())
    for wrong in (
        {"aud": "another-client"}, {"iss": "https://auth.example"}, {"nonce": "x"}, {"events": {}},
        {"iat": now - 3_600}, {"iat": None}, {"sub": None, "sid": "1"}, {"exp": now - 120},
    ):  # fmt: skip
        assert log_out(provider.logout_token(**wrong)) == 400, wrong
    provider.sign = lambda claims: f"{part({'alg': 'none'})}.{part(claims)}."
    assert log_out(provider.logout_token()) == 400
    assert log_out("") == 400
    provider.sign = provider.signed
    assert log_out(provider.logout_token(sub="nobody")) == 200  # who has no account here
    assert name_in(browser) == provider.name
    assert log_out(provider.logout_token(iat=now - 120)) == 200
    assert name_in(browser) == provider.name, "a token that is sent once more ends no later session"
    page = browser.post("/news/address", follow_redirects=True).text
    (news,) = re.findall(r"http\S+/news/fn_[^<]*", page)
    assert browser.get(news).status_code == 200
    assert log_out(provider.logout_token(jti=None)) == log_out(provider.logout_token(jti="")) == 400
    token = provider.logout_token(jti="2")
    assert log_out(token) == 200
    assert name_in(browser) == ""
    assert browser.get(news).status_code == 404
    sign_in(browser, provider)
    service.stop()
    service.start()
    browser.base_url = httpx.URL(service.base_url)
    assert log_out(token) == 400
    assert name_in(browser) == provider.name, "a replayed token ends no session, not even a new one"
    assert log_out(provider.logout_token(jti="3")) == 200
    assert name_in(browser) == ""


def test_without_a_provider_there_are_no_such_pages(tmp_path):
    with FeedkeepProcess(tmp_path) as service, httpx.Client(base_url=service.base_url) as browser:
        service.new_account()
        for path in ("/sign-in/provider", BACK):
            assert browser.get(path).status_code == 404
        assert browser.post("/sign-in/provider/logout").status_code == 404
        assert "provider" not in browser.get("/sign-in").text


# Mutated answers and logouts: each is refused, and none is a fault here.

MUTATIONS = 300 if IS_LONG else 60
ODD = ("", "\0", "%", "é" * 300, "x" * 5_000, "../", "null", "-1", "eyJhbGciOiJub25lIn0.e30.")


def mutated(chance, text):
    """Return a text with something else in it, or in its place."""
    at = chance.randrange(len(text) + 1)
    return chance.choice(
        [
            chance.choice(ODD),
            text[:at],
            text[:at] + chance.choice(ODD) + text[at:],
            text[:at] + chr(chance.randrange(1, 0x2000)) + text[at + 1 :],
            text.swapcase(),
        ]
    )


def spoiled(chance, honest):
    """Return a signer that corrupts tokens after signing them."""

    def sign(claims):
        head, body, signature = (token := honest(claims)).split(".")
        other = mutated(chance, f"{head}.{body}")
        return token[:-8] if other == f"{head}.{body}" else f"{other}.{signature}"

    return sign


def test_no_mutated_answer_signs_anybody_in_and_none_is_a_fault(own, provider):
    service, browser = own
    chance = random.Random(41)
    honest = provider.sign
    for number in range(MUTATIONS):
        # The answers of one address are counted.
        browser.headers["X-Forwarded-For"] = f"192.0.2.{number // 20}"
        answer = provider.answer_to(begin(browser))
        name = chance.choice(["state", "code", "iss", "id_token"])
        if name == "id_token":
            provider.sign = spoiled(chance, honest)
        else:
            value = mutated(chance, answer.get(name, ""))
            if value == answer.get(name) or (name == "iss" and not value):
                continue  # a provider need not say who it is here (RFC 9207)
            answer[name] = value
        reply = browser.get(BACK, params=answer)
        provider.sign = honest
        assert reply.status_code in {400, 403}, (name, answer, reply.status_code)
        assert name_in(browser) == ""
    assert faults(service) == []


def test_no_mutated_logout_ends_a_session_and_none_is_a_fault(own, provider):
    service, browser = own
    browser.get(BACK, params=provider.answer_to(begin(browser)))
    chance, token = random.Random(42), provider.logout_token()
    signed, _, signature = token.rpartition(".")
    for _ in range(MUTATIONS):
        other = mutated(chance, signed)
        if other == signed:
            continue
        body = chance.choice([{"logout_token": f"{other}.{signature}"}, {other[:50]: token}])
        reply = httpx.post(f"{service.base_url}/sign-in/provider/logout", data=body, timeout=30)
        assert reply.status_code in {400, 413}, (body, reply.status_code)
    assert name_in(browser) == provider.name
    assert faults(service) == []


def faults(service) -> list[str]:
    """Return the lines of the log about a fault of the service, or with something secret."""
    return [
        line
        for line in service.log.read_text().splitlines()
        if json.loads(line).get("status", 0) >= 500 or "Traceback" in line or "eyJ" in line
    ]
