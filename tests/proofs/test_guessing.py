"""Brute force is slow, costs little memory, and does not reveal which accounts exist."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form

PASSWORD = "the right one"
MOST_MEMORY_BYTES = 350 * 1024 * 1024
CHANGING = {"x-request-id", "date"}
SECRET = re.compile(r'(?<=feedkeep_login=)[\w-]{22}|(?<=value=")[\w-]{22}')
"""What is different in each page with a form."""


@contextmanager
def guessable(folder: Path, *broken: str) -> Iterator[FeedkeepProcess]:
    """A service behind a proxy on this machine, so that a test can come from many addresses."""
    process = FeedkeepProcess(folder, trusted_proxies="127.0.0.1")
    process.run_first(*broken)
    process.environment["COMPUTED"] = str(folder / "computed")
    with process:
        yield process


def ask(
    process: FeedkeepProcess,
    name: str,
    password: str,
    address: str = "192.0.2.1",
    path: str = "/subscriptions",
) -> httpx.Response:
    """Ask for the list from an address, in the way of a proxy."""
    headers = {
        "Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode(),
        "X-Forwarded-For": address,
    }
    return httpx.get(f"{process.base_url}{path}", headers=headers, timeout=60)


def ask_as_app(
    process: FeedkeepProcess, name: str, password: str, address: str = "192.0.2.1"
) -> httpx.Response:
    """Ask for the devices, as podcast apps do."""
    return ask(process, name, password, address, f"/api/2/devices/{name}.json")


def ask_by_form(
    process: FeedkeepProcess, name: str, password: str, address: str = "192.0.2.1"
) -> httpx.Response:
    """Let an app in, on the page for that."""
    with httpx.Client(timeout=60) as browser:
        url = browser.post(f"{process.base_url}/index.php/login/v2").json()["login"]
        (secret,) = re.findall(r'name="secret" value="([^"]+)"', browser.get(url).text)
        form = {"secret": secret, "name": name, "password": password}
        headers = {"X-Forwarded-For": address}
        return browser.post(url, data=form, headers=headers, follow_redirects=True)


def ask_by_page(
    process: FeedkeepProcess, name: str, password: str, address: str = "192.0.2.1"
) -> httpx.Response:
    """Sign in, on the page for that."""
    with httpx.Client(headers={"X-Forwarded-For": address}, timeout=60) as browser:
        form = {"name": name, "password": password}
        return browser.post(f"{process.base_url}/sign-in", data=form, follow_redirects=True)


def ask_by_code(
    process: FeedkeepProcess, name: str, code: str, address: str = "192.0.2.1"
) -> httpx.Response:
    """Set a new password by a recovery code, which is wrong, on the page for that."""
    with httpx.Client(headers={"X-Forwarded-For": address}, timeout=60) as browser:
        form = {"name": name, "code": code, "password": "a new and long one"}
        return browser.post(f"{process.base_url}/recover", data=form)


WAYS_IN = (ask, ask_as_app, ask_by_form, ask_by_page)
"""All ways in that take a password."""


def refused_after(ask_again: Callable[[int], httpx.Response], most: int) -> int:
    """Return how many wrong passwords were looked at before the first 429."""
    for number in range(most):
        reply = ask_again(number)
        if reply.status_code == 429:
            assert 0 < int(reply.headers["Retry-After"]) <= 300
            return number
        assert reply.status_code in {401, 403}  # the page is 403: a browser would ask for itself
    return most


# C2.15, C2.17
def test_wrong_passwords_have_to_wait_by_account_and_address(tmp_path):
    with guessable(tmp_path, "hashes_are_cheap") as process:
        here, there = process.new_account(PASSWORD), process.new_account(PASSWORD)
        assert ask(process, here, PASSWORD).status_code == 200

        by_both = refused_after(lambda n: ask(process, here, f"wrong{n}"), 20)
        by_address = refused_after(lambda n: ask(process, f"stranger{n}", "wrong"), 60)
        by_account = refused_after(
            lambda n: ask(process, there, f"wrong{n}", f"198.51.100.{n}"), 120
        )
        assert (by_both, by_address, by_account) == (10, 50 - 10, 100)

        # Whom others' failures do not hold up: a remembered password, a token, other accounts.
        assert ask(process, here, PASSWORD).status_code == 200
        assert ask(process, here, process.new_token(here)).status_code == 200
        assert ask(process, there, process.new_token(there), "198.51.100.7").status_code == 200
        third = process.new_account(PASSWORD)
        assert ask(process, third, PASSWORD, "203.0.113.1").status_code == 200


# C2.18
def test_who_has_to_wait_has_to_wait_after_a_restart_too(tmp_path):
    with guessable(tmp_path, "hashes_are_cheap") as process:
        name = process.new_account(PASSWORD)
        assert refused_after(lambda n: ask(process, name, f"wrong{n}"), 20) == 10
        process.stop()
        process.start()
        assert ask(process, name, "wrong").status_code == 429
        assert ask(process, name, PASSWORD, "192.0.2.2").status_code == 200


@in_the_long_form
def test_the_proof_notices_a_restart_that_forgets(tmp_path):
    with guessable(tmp_path, "hashes_are_cheap", "attempts_are_not_shared") as process:
        name = process.new_account(PASSWORD)
        assert refused_after(lambda n: ask(process, name, f"wrong{n}"), 20) == 10
        process.stop()
        process.start()
        assert ask(process, name, "wrong").status_code == 401


def test_who_guesses_by_ipv4_holds_up_no_other_client_where_both_are_listened_on(tmp_path):
    process = FeedkeepProcess(tmp_path, host="::")
    process.run_first("hashes_are_cheap")
    with process, ExitStack() as stack:
        base = f"http://127.0.0.1:{httpx.URL(process.base_url).port}"
        stranger, other = (
            stack.enter_context(httpx.Client(base_url=base, transport=transport, timeout=60))
            for transport in map(from_address, ("127.0.0.2", "127.0.0.3"))
        )
        wrong = refused_after(lambda n: stranger.get("/subscriptions", auth=(f"no{n}", "x")), 60)
        assert wrong == 50
        assert other.get("/subscriptions", auth=("stranger", "wrong")).status_code == 401
        by_ipv6 = httpx.get(f"{process.base_url}/subscriptions", auth=("stranger", "wrong"))
        assert by_ipv6.status_code == 401
        log = process.log.read_text()
    assert '"address":"127.0.0.2"' in log
    assert "::ffff" not in log


@pytest.mark.parametrize("trusted", first_of("::ffff:127.0.0.1", "127.0.0.1"))
def test_a_proxy_is_trusted_however_its_address_is_spelled_and_a_hop_may_have_a_port(
    tmp_path, trusted
):
    hops = {"192.0.2.7:5678": "192.0.2.7", "[2001:db8::1]:443": "2001:db8::1",
            "192.0.2.8, ::ffff:127.0.0.1": "192.0.2.8"}  # fmt: skip
    with FeedkeepProcess(tmp_path, host="::", trusted_proxies=trusted) as process:
        url = f"http://127.0.0.1:{httpx.URL(process.base_url).port}/livez"
        for hop in hops:
            assert httpx.get(url, headers={"X-Forwarded-For": hop}).status_code == 200
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert [line["address"] for line in lines] == list(hops.values())


def from_address(address: str) -> httpx.HTTPTransport:
    return httpx.HTTPTransport(local_address=address)


def test_wrong_passwords_count_together_whichever_way_they_come(tmp_path):
    with guessable(tmp_path, "hashes_are_cheap") as process:
        name = process.new_account(PASSWORD)
        assert [way_in(process, name, PASSWORD).status_code for way_in in WAYS_IN] == [200] * len(
            WAYS_IN
        )
        tried = (*WAYS_IN, ask_by_code)
        wrong = refused_after(lambda n: tried[n % len(tried)](process, name, f"wrong{n}"), 20)
        assert wrong == 10
        assert ask_by_code(process, name, "wrong").status_code == 429
        for way_in in WAYS_IN:
            assert way_in(process, name, "wrong").status_code == 429
            assert way_in(process, name, PASSWORD).status_code == 200  # it is remembered


def test_who_claims_to_come_from_elsewhere_is_not_believed(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        name = process.new_account(PASSWORD)
        wrong = refused_after(lambda n: ask(process, name, f"wrong{n}", f"198.51.100.{n}"), 20)
        assert wrong == 10


def computations(
    process: FeedkeepProcess, way_in: Callable[..., httpx.Response] = ask
) -> list[tuple[object, int]]:
    """Return what unknown names, wrong passwords and disabled accounts are answered.

    Some of the names and passwords are longer than any can be. And how many hashes each cost.
    """
    file = process.folder / "computed"
    known, disabled = process.new_account(PASSWORD), process.new_account(PASSWORD)
    without = process.new_account()
    process.use(lambda service: service.accounts.set_disabled(disabled, True))
    found: list[tuple[object, int]] = []
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
        headers.pop("content-length", None)
        told = (reply.status_code, SECRET.sub("", str(headers)), shown)
        found.append((told, len(file.read_text())))
    return found


# C2.12, C2.13
@pytest.mark.parametrize("way_in", first_of(*reversed(WAYS_IN)))
def test_no_reply_shows_which_accounts_there_are(tmp_path, way_in):
    with guessable(tmp_path, "computations_are_counted", "hashes_are_cheap") as process:
        found = computations(process, way_in)
    assert [count for _, count in found] == [1] * 6
    assert all(reply == found[0][0] for reply, _ in found)


def test_a_recovery_code_does_not_show_either_which_accounts_there_are(tmp_path):
    with guessable(tmp_path, "computations_are_counted", "hashes_are_cheap") as process:
        found = computations(process, ask_by_code)
    assert found[0][0][0] == 403  # and a hash is computed for each: tests/service shows that
    assert all(reply == found[0][0] for reply, _ in found)


@in_the_long_form
def test_the_proof_notices_an_answer_without_a_computation(tmp_path):
    broken = ("computations_are_counted", "unknown_accounts_cost_nothing")
    with guessable(tmp_path, *broken) as process:
        assert [count for _, count in computations(process)] == [0, 1, 0, 0, 0, 1]


def peak_bytes(process: FeedkeepProcess, at_once: int) -> int:
    """Let many log in at once; return how much memory the service had at most."""
    name = process.new_account(PASSWORD, is_costly=True)

    async def log_in() -> list[int]:
        async with httpx.AsyncClient(base_url=process.base_url, timeout=60) as client:
            return [
                reply.status_code
                for reply in await asyncio.gather(
                    *(
                        client.get(
                            "/subscriptions",
                            auth=(name, f"wrong{number}"),
                            headers={"X-Forwarded-For": f"198.51.100.{number}"},
                        )
                        for number in range(at_once)
                    )
                )
            ]

    assert asyncio.run(log_in()) == [401] * at_once
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(peak) * 1024


def test_many_logins_at_once_need_little_memory(tmp_path, amount):
    with guessable(tmp_path) as process:
        assert peak_bytes(process, amount(6, 64, 16)) < MOST_MEMORY_BYTES


@in_the_long_form
def test_the_proof_notices_logins_without_a_bound(tmp_path):
    with guessable(tmp_path, "many_hashes_at_once") as process:
        assert peak_bytes(process, 16) > MOST_MEMORY_BYTES
