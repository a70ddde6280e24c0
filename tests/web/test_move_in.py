"""Moving in from another server on the page: a preview, what was played, and what goes wrong."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, PageClient, Shown, signed_in
from playwright.sync_api import expect
from web_of_hosts import Host, Request, WebOfHosts, redirect, reply

from feedkeep.model import Stamp
from feedkeep.security.throttle import REMOTE_PER_ACCOUNT
from feedkeep.service.migrations import Moving

FEEDS = [f"https://{name}.example/feed" for name in "abc"]
ALICE = "Basic YWxpY2U6c2VjcmV0"  # alice:secret


class OtherServer:
    """A stand-in for gpodder.net, where Alice has three feeds and 1,200 plays.

    Attributes:
        error: Response to all requests, if set.
        may_answer: Set while it answers requests for plays.
        is_asked: Set once plays were requested.
        fails: Whether it fails with the second page of plays.
    """

    def __init__(self, host: Host) -> None:
        self.url = f"http://{host.address}:{host.port}"
        self.error, self.fails = b"", False
        self.may_answer, self.is_asked = threading.Event(), threading.Event()
        self.may_answer.set()
        places = ["devices/alice.json", "auth/alice/login.json"]
        places += [f"episodes/alice.json?since={since}" for since in (0, 1_700, 1_800)]
        asked = ["/subscriptions/alice.json", *(f"/api/2/{place}" for place in places)]
        host.answers = dict.fromkeys(asked, self._answer)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(self.error or await self._rightly(request))

    async def _rightly(self, request: Request) -> bytes:
        if request.headers["authorization"] != ALICE:
            return reply(status=401)
        if "devices" in request.target:
            return reply(b"[]")
        if "subscriptions" in request.target:
            feeds = [{"url": url, "title": f"Show {url[8]}"} for url in FEEDS]
            return reply(json.dumps(feeds).encode())
        self.is_asked.set()
        await asyncio.to_thread(self.may_answer.wait)
        if not request.target.endswith("since=0"):
            return reply(b'{"actions": [], "timestamp": 1800}', 404 if self.fails else 200)
        action = {"podcast": FEEDS[0], "action": "play", "timestamp": "2026-01-01T12:00:00"}
        actions = [
            {**action, "episode": f"https://a.example/{n}.mp3", "position": n + 1, "total": 3_600}
            for n in range(1_200)
        ]
        return reply(json.dumps({"actions": actions, "timestamp": 1_700}).encode())


@pytest.fixture(scope="module")
def host():
    with WebOfHosts() as web:
        yield web.host("gpodder.example")


@pytest.fixture
def server(host):
    server = OtherServer(host)
    yield server
    server.may_answer.set()


def may_ask(
    folder: Path, host: Host, *first: str, fetch: str = "public", **options: str
) -> FeedkeepProcess:
    process = FeedkeepProcess(
        folder,
        trusted_proxies="127.0.0.1",
        fetch=fetch,
        fetch_allowed="127.0.0.0/8",
        fetch_ports=str(host.port),
        **options,
    )
    process.run_first("feeds_are_never_fetched", "hashes_are_cheap", *first)
    process.passwords.append("secret")
    return process


@pytest.fixture(scope="module")
def here(tmp_path_factory, host):
    folder = tmp_path_factory.mktemp("here")
    with may_ask(folder, host, "another_server_has_a_second", "no_name_is_known") as process:
        yield process


@pytest.fixture
def anna(here):
    return signed_in(here)[0]


def read(anna: PageClient, server: str) -> Shown:
    return anna.post("/import/from", {"server": server, "name": "alice", "password": "secret"})


def read_again(anna: PageClient, server: str) -> Shown:
    """Retry until the move before has made room, a moment after its last message."""
    deadline = time.monotonic() + 30
    while "Others are moving in" in (page := read(anna, server)).problem("server"):
        assert time.monotonic() < deadline
    return page


def carry_out(anna: PageClient, preview: Shown, *take: str) -> Shown:
    form = {
        "source": preview.values("source"),
        "boxes": preview.values("boxes"),
        "take": take or preview.values("take"),
        "list": "\n".join(f"{url}\tShow {url[8]}" for url in FEEDS),
    }
    return anna.post("/import/from/carry-out", form)


def played(anna: PageClient) -> int:
    with anna.process.client(anna.name) as app:
        return len(app.get(f"/api/2/episodes/{anna.name}.json?since=0").json()["actions"])


def test_feeds_come_by_a_preview_and_what_was_played_after_it(anna, server):
    preview = read(anna, server.url)
    assert "3 new feeds" in preview.text
    assert "Show a a.example" in preview.text
    assert "Your listening history is imported afterwards." in preview.text
    assert "secret" not in preview.reply.text
    server.may_answer.clear()
    begun = carry_out(anna, preview, "0", "2")
    assert (begun.path, begun.note) == ("/import", "Added 2 feeds. Undo")
    server.is_asked.wait()
    shown = anna.get("/import")
    host = server.url.removeprefix("http://")
    assert f"Your listening history from {host} is being imported: 0 entries so far." in shown.text
    assert "data-waits" in shown.reply.text
    assert "Others are moving in right now." in read(anna, server.url).problem("server")
    carry_out(anna, preview)  # a second time, while the first is under way
    assert "is being imported: 0 entries so far." in anna.get("/import").text
    server.may_answer.set()
    done = anna.until("/import", f"Your listening history from {host} is imported: 1,200 entries.")
    assert "data-waits" not in done.reply.text
    assert played(anna) == 1_200
    again = read_again(anna, server.url)
    assert "3 are in your list already." in again.text
    assert "Import listening history" in again.text
    carry_out(anna, again)
    anna.until("/import", "is imported: 0 entries.")


def test_a_move_that_stopped_goes_on_where_it_was(anna, server):
    server.fails = True
    carry_out(anna, read(anna, server.url))
    stopped = anna.until("/import", "stopped after 1,200 entries. Nothing is lost")
    assert "has no such account, or does not sync podcasts." in stopped.text
    server.fails = False
    carry_out(anna, read_again(anna, server.url))
    anna.until("/import", "is imported: 0 entries.")
    assert played(anna) == 1_200


def test_a_restart_interrupts_a_move_beside_which_there_is_no_room_and_loses_nothing(
    tmp_path, host, server
):
    process = may_ask(tmp_path, host, "one_move_at_a_time")
    process.start()
    (anna, name), (ben, _) = signed_in(process), signed_in(process)
    preview = read(ben, server.url)
    server.may_answer.clear()
    carry_out(anna, read(anna, server.url))
    server.is_asked.wait()
    assert "Added 3 feeds." in carry_out(ben, preview).note
    assert "Others are moving in right now." in ben.get("/import").text
    process.stop()
    server.may_answer.set()
    process.start()
    anna = PageClient(process)
    anna.sign_in(name)
    stopped = anna.get("/import").text
    assert "stopped after 0 entries. Nothing is lost" in stopped
    assert "It was interrupted." in stopped
    assert sorted(anna.exported()) == FEEDS
    carry_out(anna, read(anna, server.url))
    anna.until("/import", "is imported: 1,200 entries.")
    assert played(anna) == 1_200
    assert process.stop() == 0


def test_where_a_server_is_gone_to_is_told_also_afterwards(anna, server):
    preview = read(anna, server.url)
    server.error = redirect("https://elsewhere.example/x")
    carry_out(anna, preview)
    anna.until("/import", "That server is at https://elsewhere.example: use that address.")


def test_a_move_that_nothing_was_heard_of_for_long_was_interrupted(here, anna):
    async def interrupt(service):
        account = await service.accounts.named(anna.name)
        await service.migrations.note_moving(account.id, Moving("x.example", Stamp(1), 7))

    here.use(interrupt)
    shown = anna.get("/import")
    assert "Copying from x.example stopped after 7 entries." in shown.text
    assert "data-waits" not in shown.reply.text


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (reply(status=401), "does not accept this name with this password"),
        (reply(status=404), "has no such account, or does not sync podcasts"),
        (redirect("https://elsewhere.example/x"), "is at https://elsewhere.example: use that"),
        (reply(status=400), "cannot be read now"),
    ],
)
def test_what_goes_wrong_there_is_told_beside_the_form(anna, server, error, told):
    server.error = error
    page = read(anna, server.url)
    assert page.status == 400
    assert told in page.problem("server")
    assert server.url in page.values("server")
    assert "secret" not in page.reply.text


def test_a_server_that_refuses_many_passwords_is_asked_no_more(anna, server):
    server.error = reply(status=401)
    for _ in range(REMOTE_PER_ACCOUNT):
        assert read(anna, server.url).status == 400
    server.error = b""
    page = read(anna, server.url)
    assert page.status == 429
    assert int(page.reply.headers["Retry-After"]) > 0
    assert "refused too many passwords" in page.problem("server")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "Type the address of the server"),
        ("http://127.0.0.1:1", "may not contact that server"),
        ("ftp://files.example", "is not the address of a server"),
        ("https://alice:secret@gpodder.example", "is not the address of a server"),
        ("gpoder.example", "There is no server of that name."),
        ("https://{host}", "its certificate is missing or invalid."),
    ],
)
def test_an_address_that_cannot_be_asked_is_told(anna, server, address, told):
    address = address.format(host=server.url.removeprefix("http://"))
    assert told in read(anna, address).problem("server")


def test_person_sees_that_a_server_is_asked_and_at_once_that_its_name_is_mistyped(here, visit):
    anna = visit(here).is_let_in(here.new_account(PASSWORD))
    anna.open("/import")
    told = anna.page.get_by_text("feedkeep keeps trying for up to a minute")
    expect(told).to_be_hidden()
    filled = {
        "Address of the server": "gpoder.example",
        "Your name there": "alice",
        "Your password there": "secret",
    }
    anna.fill_in(filled)
    # The answer never comes: the browser waits for one before it lets anybody look.
    anna.page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
    anna.press("Get my list")
    expect(told).to_be_visible()
    expect(anna.button("Reading…")).to_be_disabled()
    anna.open("/import")
    anna.fill_in(filled)
    anna.expected.add(400)
    anna.press("Get my list")
    anna.sees("There is no server of that name.")


def test_more_feeds_than_a_list_may_have_are_refused_and_none_is_left_out(tmp_path, host, server):
    with may_ask(tmp_path, host, max_items="2") as process:
        anna, _ = signed_in(process)
        assert "At most 2 feeds fit in one list" in read(anna, server.url).problem("server")


def test_where_nothing_is_fetched_nobody_moves_in(tmp_path, host, server):
    with may_ask(tmp_path, host, fetch="off") as process:
        anna, _ = signed_in(process)
        assert "From another server" not in anna.get("/import").text
        assert read(anna, server.url).status == 400


def test_an_account_that_is_deleted_meanwhile_ends_its_move(here, anna, server):
    server.may_answer.clear()
    carry_out(anna, read(anna, server.url))
    server.is_asked.wait()
    anna.post("/account/delete", {"name": anna.name, "password": PASSWORD})
    server.may_answer.set()
    assert here.wait_for_line("moving in interrupted")
