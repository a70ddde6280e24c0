"""Mutated answers of a provider, and mutated logouts: each is refused, and none is a fault here."""

import json
import random

import httpx
from forms import IS_LONG
from test_signing_in import BACK, begin, name_in

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
    """Return what signs a token and then changes what was signed."""

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
