"""Brute force is slow, costs little memory, and does not reveal which accounts exist."""

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
from forms import first_of, in_the_long_form
from peaks import bytes_of

PASSWORD = "the right one"
MOST_MEMORY_BYTES = 350 * 1024 * 1024
CHANGING = {"x-request-id", "date", "content-length"}
SECRET = re.compile(r'(?<=feedkeep_login=)[\w-]{22}|(?<=value=")[\w-]{22}')
"""Secrets that differ between pages with a form."""


@pytest.fixture
def guessable(start, tmp_path, monkeypatch):
    """Starts services behind a proxy on this machine: so a test can come from many addresses."""
    monkeypatch.setenv("COMPUTED", str(tmp_path / "computed"))
    behind_a_proxy = {"trusted_proxies": "127.0.0.1", "log_level": "debug"}
    return lambda *broken: start("sqlite", *broken, **behind_a_proxy)


def ask(process, name, password, address="192.0.2.1", path="/subscriptions"):
    """Ask for the list from an address, in the way of a proxy."""
    url, headers = f"{process.base_url}{path}", {"X-Forwarded-For": address}
    return httpx.get(url, auth=(name, password), headers=headers, timeout=60)


def ask_as_app(process, name, password):
    return ask(process, name, password, path=f"/api/2/devices/{name}.json")


def ask_by_form(process, name, password):
    """Connect an app by the login page."""
    with httpx.Client(headers={"X-Forwarded-For": "192.0.2.1"}, timeout=60) as browser:
        url = browser.post(f"{process.base_url}/index.php/login/v2").json()["login"]
        (secret,) = re.findall(r'name="secret" value="([^"]+)"', browser.get(url).text)
        form = {"secret": secret, "name": name, "password": password}
        return browser.post(url, data=form, follow_redirects=True)


def ask_by_page(process, name, password, path="/sign-in", **more):
    form, headers = {"name": name, "password": password, **more}, {"X-Forwarded-For": "192.0.2.1"}
    with httpx.Client(headers=headers, timeout=60) as browser:
        return browser.post(f"{process.base_url}{path}", data=form, follow_redirects=True)


def ask_by_code(process, name, code):
    """Set a new password by a recovery code, which is wrong, on the page for that."""
    return ask_by_page(process, name, "a new and long one", "/recover", code=code)


WAYS_IN = (ask, ask_as_app, ask_by_form, ask_by_page)  # all ways in that take a password


def refused_after(ask_again, most):
    """Return the number of wrong passwords that were checked before the first 429."""
    for number in range(most):
        reply = ask_again(number)
        if reply.status_code == 429:
            assert 0 < int(reply.headers["Retry-After"]) <= 300
            return number
        assert reply.status_code in {401, 403}  # the page is 403: a browser would ask for itself
    return most


# C2.15, C2.17
def test_wrong_passwords_have_to_wait_by_account_and_address(guessable):
    process = guessable()
    here, there = process.new_account(PASSWORD), process.new_account(PASSWORD)
    assert ask(process, here, PASSWORD).status_code == 200

    by_both = refused_after(lambda n: ask(process, here, f"wrong{n}"), 20)
    by_address = refused_after(lambda n: ask(process, f"stranger{n}", "wrong"), 60)
    by_account = refused_after(lambda n: ask(process, there, f"wrong{n}", f"198.51.100.{n}"), 120)
    assert (by_both, by_address, by_account) == (10, 50 - 10, 100)

    # Whom others' failures do not hold up: a remembered password, a token, other accounts.
    assert ask(process, here, PASSWORD).status_code == 200
    assert ask(process, here, process.new_token(here)).status_code == 200
    assert ask(process, there, process.new_token(there), "198.51.100.7").status_code == 200
    third = process.new_account(PASSWORD)
    assert ask(process, third, PASSWORD, "203.0.113.1").status_code == 200


# C2.18
@pytest.mark.parametrize("broken", first_of([], ["attempts_are_not_shared"]))
def test_who_has_to_wait_has_to_wait_after_a_restart_too(guessable, broken):
    process = guessable(*broken)
    name = process.new_account(PASSWORD)
    assert refused_after(lambda n: ask(process, name, f"wrong{n}"), 20) == 10
    process.stop()
    process.start()
    assert ask(process, name, "wrong").status_code == (401 if broken else 429)
    assert ask(process, name, PASSWORD, "192.0.2.2").status_code == 200


def test_addresses_of_ipv4_count_as_such_where_both_kinds_are_listened_on(start):
    listening = {"host": "::", "trusted_proxies": "::ffff:127.0.0.1", "log_level": "debug"}
    process = start(**listening)
    base = f"http://127.0.0.1:{httpx.URL(process.base_url).port}"

    def guess(address, name):
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as client:
            return client.get(f"{base}/subscriptions", auth=(name, "wrong"))

    assert refused_after(lambda n: guess("127.0.0.2", f"no{n}"), 60) == 50
    assert guess("127.0.0.3", "stranger").status_code == 401
    by_ipv6 = httpx.get(f"{process.base_url}/subscriptions", auth=("stranger", "wrong"))
    assert by_ipv6.status_code == 401
    hops = {"192.0.2.7:5678": "192.0.2.7", "[2001:db8::1]:443": "2001:db8::1",
            "192.0.2.8, ::ffff:127.0.0.1": "192.0.2.8"}  # fmt: skip
    for hop in hops:  # behind a proxy, which is trusted however its address is spelled
        reply = httpx.get(f"{base}/livez", headers={"X-Forwarded-For": hop})
        assert reply.status_code == 200
    process.stop()
    addresses = [json.loads(line)["address"] for line in process.log.read_text().splitlines()]
    assert addresses[-3:] == list(hops.values())
    assert set(addresses[:-3]) == {"127.0.0.2", "127.0.0.3", "::1"}


def test_wrong_passwords_count_together_whichever_way_they_come(guessable):
    process = guessable()
    name = process.new_account(PASSWORD)
    assert {way_in(process, name, PASSWORD).status_code for way_in in WAYS_IN} == {200}
    tried = (*WAYS_IN, ask_by_code)
    assert refused_after(lambda n: tried[n % len(tried)](process, name, f"wrong{n}"), 20) == 10
    assert ask_by_code(process, name, "wrong").status_code == 429
    for way_in in WAYS_IN:
        assert way_in(process, name, "wrong").status_code == 429
        assert way_in(process, name, PASSWORD).status_code == 200  # it is remembered


def test_who_claims_to_come_from_elsewhere_is_not_believed(start):
    process = start()
    name = process.new_account(PASSWORD)
    assert refused_after(lambda n: ask(process, name, f"no{n}", f"198.51.100.{n}"), 20) == 10


def computations(process, way_in=ask):
    """Return the replies to unknown names, wrong passwords and others, and the hashes of each."""
    file = Path(process.environment["COMPUTED"])
    known, disabled = process.new_account(PASSWORD), process.new_account(PASSWORD)
    without = process.new_account()
    process.use(lambda service: service.accounts.set_disabled(disabled, True))
    replies, counts = [], []
    for name, password in (
        ("stranger", PASSWORD), (known, "wrong"), (disabled, PASSWORD), (without, PASSWORD),
        (known + "\u0301" * 500, PASSWORD), (known, PASSWORD + "\u0301" * 2_000),
    ):  # fmt: skip
        file.write_text("")
        reply = way_in(process, name, password)
        headers = {k: v for k, v in reply.headers.items() if k not in CHANGING}
        shown = SECRET.sub("", reply.text)
        for typed in (name, password):  # a page keeps what was typed
            shown = shown.replace(typed, "")
        replies.append((reply.status_code, SECRET.sub("", str(headers)), shown))
        counts.append(len(file.read_text()))
    return replies, counts


# C2.12, C2.13
def test_no_reply_shows_which_accounts_there_are(guessable):
    process = guessable("computations_are_counted", "hashes_are_cheap")
    for way_in in WAYS_IN:
        replies, counts = computations(process, way_in)
        assert counts == [1] * 6, way_in
        assert replies == replies[:1] * 6, way_in
    replies, _ = computations(process, ask_by_code)
    assert replies[0][0] == 403  # and a hash is computed for each: tests/service shows that
    assert replies == replies[:1] * 6


@in_the_long_form
def test_the_proof_notices_an_answer_without_a_computation(guessable):
    process = guessable("computations_are_counted", "unknown_accounts_cost_nothing")
    assert computations(process)[1] == [0, 1, 0, 0, 0, 1]


async def peak_bytes(process, at_once):
    """Log many clients in at once; return the peak memory of the service."""
    name = process.new_account(PASSWORD, is_costly=True)

    async def guess(client, number):
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        reply = await client.get("/subscriptions", auth=(name, f"wrong{number}"), headers=headers)
        return reply.status_code

    async with httpx.AsyncClient(base_url=process.base_url, timeout=60) as client:
        statuses = await asyncio.gather(*(guess(client, number) for number in range(at_once)))
    assert set(statuses) == {401}
    return bytes_of(process.process.pid, "VmHWM")


async def test_many_logins_at_once_need_little_memory(prepare, amount):
    process = prepare(trusted_proxies="127.0.0.1")
    process.run_first()  # nothing: so hashes cost what they do elsewhere
    with process:
        assert await peak_bytes(process, amount(6, 64, 16)) < MOST_MEMORY_BYTES


@in_the_long_form
async def test_the_proof_notices_logins_without_a_bound(guessable):
    assert await peak_bytes(guessable("many_hashes_at_once"), 16) > MOST_MEMORY_BYTES
