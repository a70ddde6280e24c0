"""Looking at feeds: what it asks, what it shares, what it survives, and what it may cost.

Real processes look at a web of hosts on loopback, which counts what it is asked.
"""

import asyncio
import gzip
import io
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, in_the_long_form
from PIL import Image
from postgres_server import drop_database, new_database
from web_of_hosts import Host, Request, Victim, WebOfHosts, redirect, reply, silent

from feedkeep.model import Failure, Feed
from feedkeep.rules.feed_urls import parse_feed_url

MIB = 1024 * 1024
PATIENCE_SECONDS = 60.0
"""Within a minute after the subscription, a feed is looked at."""

FEEDS = 2_000 if IS_FULL else 200  # more than three processes lease at a time
HOSTS = 200
STRANGERS = SLOTS = 8
"""As many as are looked at at a time."""

SLOW = 140
FEW = 12
FEW_ROUNDS = 6


@pytest.fixture
def web():
    with WebOfHosts() as web:
        yield web


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    if request.param == "sqlite":
        yield ""
        return
    server: str = request.getfixturevalue("postgres")
    database = new_database(server)
    yield database
    drop_database(server, database)


@pytest.fixture
def on_postgres(postgres):
    database = new_database(postgres)
    yield database
    drop_database(postgres, database)


class Fetching(FeedkeepProcess):
    """`feedkeep fetch`, which serves no requests."""

    def start(self) -> None:
        self.process = self._launched("fetch")
        assert self.process.stdout is not None
        assert "Fetching the feeds" in self.process.stdout.readline(), self.log.read_text()
        self._assert_ran_first([self.process.pid])


def titled(title: str, more: str = "") -> bytes:
    item = "<item><guid>1</guid></item>"
    return f"<rss><channel><title>{title}</title>{more}{item}</channel></rss>".encode()


def url_of(host: Host, path: str = "/") -> str:
    return f"http://{host.address}:{host.port}{path}"


def settings_for(*hosts: Host) -> dict[str, str]:
    ports = ",".join(str(host.port) for host in hosts)
    return {"fetch": "public", "fetch_allowed": "127.0.0.0/8", "fetch_ports": ports}


def until(is_so: Callable[[], Any], told: Callable[[], object] = str) -> Any:
    """Wait until something is so; return what it is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := is_so()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)
    return found


def subscribe(client: httpx.Client, *urls: str) -> None:
    reply = client.post("/subscriptions", json={"subscriptions": [{"feed_url": u} for u in urls]})
    assert reply.status_code == httpx.codes.OK
    assert reply.json()["failure"] == []


def known(process: FeedkeepProcess, urls: Sequence[str]) -> dict[str, Feed]:
    """Return what is known of those feeds that have been looked at."""
    guids = {parse_feed_url(url).guid: url for url in urls}
    found = process.use(lambda service: service.store.feeds.known(list(guids)))
    return {guids[guid]: feed for guid, feed in found.items() if feed.looked is not None}


def until_known(process: FeedkeepProcess, urls: Sequence[str]) -> list[Feed]:
    """Wait until all of these feeds were looked at, and it is stored what was seen."""
    found = until(
        lambda: len(some := known(process, urls)) == len(urls) and some,
        lambda: (len(known(process, urls)), process.log.read_text()[-2_000:]),
    )
    return [found[url] for url in urls]


def until_noted(process: FeedkeepProcess, urls: Sequence[str]) -> None:
    """Wait until it is stored that all of these feeds are to be looked at."""
    guids = [parse_feed_url(url).guid for url in urls]
    until(lambda: len(process.use(lambda service: service.store.feeds.known(guids))) == len(guids))


def title_of(feed: Feed) -> str:
    assert feed.content is not None, feed
    return feed.content.title


def children_of(pid: int) -> set[int]:
    """Return the processes that one has started (proc(5))."""
    with suppress(OSError):
        listed = Path(f"/proc/{pid}/task").glob("*/children")
        return {int(child) for file in listed for child in file.read_text().split()}
    return set()


def looking(process: FeedkeepProcess) -> int:
    """Return the process that looks at feeds for another one, once it is there."""

    def found() -> list[int]:
        children = children_of(process.process.pid)
        return [child for child in children if b"feedkeep.feeds.child" in told(child, "cmdline")]

    (child,) = until(found)
    return child


def told(pid: int, what: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{what}").read_bytes()
    return b""


def is_running(pid: int) -> bool:
    return told(pid, "stat").rpartition(b") ")[2][:1] not in {b"", b"Z"}


def bytes_of(pid: int, what: str) -> int:
    found = re.search(rf"{what}:\s+(\d+) kB".encode(), told(pid, "status"))
    assert found is not None
    return int(found[1]) * 1024


# From a subscription to a title


def test_a_new_feed_is_known_within_a_minute_and_no_request_waits_for_it(tmp_path, web, database):
    quick, mute = web.host("quick.example"), web.host("mute.example")
    quick.answers["/"] = reply(titled("A Show"))
    mute.answers = {"/1": silent, "/2": silent}
    with FeedkeepProcess(tmp_path, database, **settings_for(quick, mute)) as process:
        with process.client(process.new_account()) as client:
            subscribe(client, url_of(mute, "/1"))
            until(lambda: mute.requests)
            subscribe(client, url_of(mute, "/2"), url_of(quick))
            (feed,) = until_known(process, [url_of(quick)])
            assert title_of(feed) == "A Show"
            assert not known(process, [url_of(mute, "/1"), url_of(mute, "/2")])
        assert [one.target for one in mute.requests] == ["/1"]  # of a host, one at a time
        assert len(quick.requests) == 1


# Nothing to the outside


ENOUGH_LOOKS = 10


class Watch:
    """Looks all the time which sockets a process and those that it started have.

    Attributes:
        elsewhere: The other ends of connections that are not those of clients of the service, and
            of other sockets than TCP's, where they are.
        children: The processes that it started.
    """

    def __init__(self, process: FeedkeepProcess) -> None:
        self._pid = process.process.pid
        self._port = httpx.URL(process.base_url).port
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.elsewhere: set[str] = set()
        self.children: set[int] = set()
        self.rounds = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.001):
            self._look()
            self.rounds += 1

    def _look(self) -> None:
        pids, waiting = set(), [self._pid]
        while waiting:
            pid = waiting.pop()
            pids.add(pid)
            waiting += children_of(pid) - pids
        self.children |= pids - {self._pid}
        sockets = {inode for pid in pids for inode in _sockets_of(pid)}
        for protocol in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
            for line in told(self._pid, f"net/{protocol}").decode().splitlines()[1:]:
                _, local, remote, *rest = line.split()
                is_clients = protocol == "tcp" and int(local.partition(":")[2], 16) == self._port
                if rest[6] in sockets and not is_clients:
                    self.elsewhere.add(f"{protocol} {remote}")


def _sockets_of(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if found := re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink())):
                    yield found[1]


def test_with_fetch_off_the_process_opens_no_connection_and_starts_no_process(tmp_path, web):
    host = web.host("show.example")
    host.answers["/"] = silent
    others, off = ({**settings_for(host), "fetch": fetch} for fetch in ("public", "off"))
    with watched(tmp_path / "public", others) as (client, seen):
        begun = time.monotonic()
        subscribe(client, url_of(host))
        until(lambda: seen.elsewhere and seen.children and host.requests)
        needed_seconds = time.monotonic() - begun
    with watched(tmp_path / "off", off) as (client, seen):
        until_then = time.monotonic() + 2 * needed_seconds
        # On a machine with thousands of sockets, a look takes long.
        while time.monotonic() < until_then or seen.rounds <= ENOUGH_LOOKS:
            subscribe(client, *(url_of(host, f"/{number}") for number in range(10)))
    assert (seen.elsewhere, seen.children) == (set(), set())
    assert host.connections == 1


@contextmanager
def watched(folder: Path, settings: dict[str, str]) -> Iterator[tuple[httpx.Client, Watch]]:
    """Give a client of a service that is watched."""
    folder.mkdir()
    with (
        FeedkeepProcess(folder, **settings) as process,
        process.client(process.new_account()) as client,
        Watch(process) as watch,
    ):
        yield client, watch


# One connection for a host


def most_connections_at_once(
    folder: Path, web: WebOfHosts, *programs: str, workers: int = 1
) -> int:
    """Look at feeds of many hosts that all lead to one; return how many connections it had."""
    victim = Victim(web.host("victim.example"), reply(titled("A Show")), patience_seconds=0.2)
    victim.host.answers["/"] = victim.answer
    strangers = [web.host(f"{number}.example") for number in range(STRANGERS)]
    for stranger in strangers:
        stranger.answers["/"] = redirect(url_of(victim.host))
    settings = settings_for(victim.host, *strangers)
    process = FeedkeepProcess(folder, workers=str(workers), **settings)
    process.run_first("looks_follow_at_once", *programs)
    with process:
        if workers > 1:
            process.wait_for_workers(workers)
        name = process.new_account()
        urls = [url_of(stranger) for stranger in strangers]
        for url in urls:  # on connections of their own, which all workers have some of
            with process.client(name) as client:
                subscribe(client, url)
        assert {title_of(feed) for feed in until_known(process, urls)} == {"A Show"}
    assert victim.host.connections == STRANGERS
    return victim.most_at_once


@in_the_long_form
@pytest.mark.parametrize("workers", [1, 2])
def test_feeds_of_strangers_that_all_lead_to_one_host_connect_to_it_one_at_a_time(
    tmp_path, web, workers
):
    assert most_connections_at_once(tmp_path, web, workers=workers) == 1


@in_the_long_form
def test_the_proof_of_one_connection_notices_when_no_fetch_waits_for_a_host(tmp_path, web):
    broken = ("what_looks_is_broken_too", "no_fetch_waits_for_a_host")
    assert most_connections_at_once(tmp_path, web, *broken) > 1


# Several accounts


class SlowHosts:
    """Hosts that are slow: all that are asked at a time answer together, when a test says so."""

    def __init__(self) -> None:
        self._asked = 0
        self._may_answer = 0

    async def answer(self, _: Request, writer: asyncio.StreamWriter) -> None:
        """Answer a request when its round ends."""
        self._asked += 1
        number = self._asked
        while number > self._may_answer:  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(0.02)
        writer.write(reply(titled("A Show")))

    @property
    def is_full(self) -> bool:
        """Whether all slots wait for slow hosts, besides one for feeds that answered last time."""
        return self._asked - self._may_answer >= SLOTS - 1

    def end_one(self) -> None:
        """End a round: all that were asked in it answer."""
        self._may_answer = self._asked


def rounds_until_asked(folder: Path, web: WebOfHosts, *programs: str) -> int:
    """Return how many rounds a few feeds wait behind many at slow hosts, of another account.

    No more are counted than tell that they are too many.
    """
    slow_hosts = SlowHosts()
    slow = [web.host(f"{number}.slow.example") for number in range(SLOW)]
    for host in slow:
        host.answers["/"] = slow_hosts.answer
    few = [web.host(f"{number}.example") for number in range(FEW)]
    process = FeedkeepProcess(folder, **settings_for(*slow, *few))
    process.run_first("looks_follow_at_once", *programs)
    with process:
        for hosts in (slow, few):
            with process.client(process.new_account()) as client:
                subscribe(client, *map(url_of, hosts))
            until_noted(process, [url_of(host) for host in hosts])
        slow_hosts.end_one()
        for passed in range(FEW_ROUNDS + 1):
            until(lambda: slow_hosts.is_full or all(host.requests for host in few))
            if all(host.requests for host in few):
                return passed
            slow_hosts.end_one()
    return FEW_ROUNDS + 1


def test_feeds_at_slow_hosts_keep_those_of_another_account_waiting_for_few_rounds(tmp_path, web):
    assert rounds_until_asked(tmp_path, web) <= FEW_ROUNDS


@in_the_long_form
def test_the_proof_of_rounds_notices_accounts_that_take_no_turns(tmp_path, web):
    assert rounds_until_asked(tmp_path, web, "accounts_take_no_turns") > FEW_ROUNDS


# Several processes


class Crowd:
    """A service and two processes that only look at feeds, on one database, and a web for them.

    Each says in its user agent which one it is.

    Attributes:
        asked: Who was asked for what, in order: the process, and the URL.
        held: The processes whose requests are not answered.
    """

    NAMES = ("serving", "first", "second")

    def __init__(self, folder: Path, web: WebOfHosts, database: str, *programs: str) -> None:
        self.asked: list[tuple[str, str, float]] = []
        self.answered: list[str] = []
        self.held: set[str] = set(self.NAMES)
        self.hosts = [web.host(f"{n}.example", f"127.0.{1 + n // 100}.{1 + n % 100}")
                      for n in range(HOSTS)]  # fmt: skip
        self.processes: dict[str, FeedkeepProcess] = {}
        self.programs = programs
        for name in self.NAMES:
            (folder / name).mkdir()
            kind = FeedkeepProcess if name == "serving" else Fetching
            contact = f"{name}@feedkeep.test"
            process = kind(
                folder / name, database, **settings_for(*self.hosts), fetch_contact=contact
            )
            process.run_first("looks_follow_at_once", *programs)
            self.processes[name] = process

    def __enter__(self) -> Self:
        for process in self.processes.values():
            process.start()
        self.service = self.processes["serving"]
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            if process.process.poll() is None:
                process.stop()

    def subscribe(self, round_: str, count: int) -> list[str]:
        """Have an account subscribe to so many feeds of the web; return their URLs."""
        urls = []
        for number in range(count):
            host = self.hosts[number % HOSTS]
            path = f"/{round_}/{number}"
            urls.append(url_of(host, path))
            host.answers[path] = self._answering(urls[-1])
        with self.service.client(self.service.new_account()) as client:
            subscribe(client, *urls)
        return urls

    def _answering(self, url: str) -> Any:
        async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
            (name,) = re.findall(r"\+(\w+)@", request.headers["user-agent"])
            self.asked.append((name, url, time.monotonic()))
            while name in self.held:  # noqa: ASYNC110 - another thread changes it
                await asyncio.sleep(0.02)
            self.answered.append(url)
            writer.write(reply(titled(url)))
            await writer.drain()

        return answer

    def until_asked_by(self, *names: str, among: Sequence[str]) -> None:
        until(
            lambda: set(names) <= {name for name, url, _ in self.asked if url in among},
            lambda: Counter(name for name, *_ in self.asked),
        )


def share(crowd: Crowd) -> Counter[int]:
    """Let all look at some feeds; return how many were asked once, twice, and so on."""
    urls = crowd.subscribe("shared", FEEDS)
    crowd.until_asked_by(*crowd.NAMES, among=urls)
    crowd.held.clear()
    feeds = until_known(crowd.service, urls)
    assert [title_of(feed) for feed in feeds] == urls
    return Counter(Counter(url for _, url, _ in crowd.asked).values())


@in_the_long_form  # where one of them is killed, it is counted, too, how often each feed is asked
def test_several_processes_share_the_work_and_each_feed_is_asked_once(tmp_path, web, on_postgres):
    with Crowd(tmp_path, web, on_postgres) as crowd:
        assert share(crowd) == {1: FEEDS}


@in_the_long_form
def test_the_proof_of_sharing_notices_leases_that_end_too_early(tmp_path, web, on_postgres):
    with Crowd(tmp_path, web, on_postgres, "leases_end_too_early") as crowd:
        assert share(crowd) != {1: FEEDS}


@in_the_long_form
def test_what_a_killed_process_was_looking_at_is_looked_at_by_the_others(
    tmp_path, web, on_postgres
):
    programs = "leases_are_short", "sweeps_follow_at_once"
    with Crowd(tmp_path, web, on_postgres, *programs) as crowd:
        warm = crowd.subscribe("warm", FEEDS)  # until all three have a process that looks
        crowd.until_asked_by(*crowd.NAMES, among=warm)
        crowd.held.clear()
        until_known(crowd.service, warm)
        crowd.held.update(crowd.NAMES)
        urls = crowd.subscribe("shared", FEEDS)
        crowd.until_asked_by("second", among=urls)
        victim = crowd.processes["second"]
        child = looking(victim)
        os.kill(victim.process.pid, signal.SIGKILL)
        victim.wait()
        crowd.held -= {"serving", "first"}
        until(lambda: not is_running(child))  # it does not outlive the one that started it
        feeds = until_known(crowd.service, urls)
        assert [title_of(feed) for feed in feeds] == urls
        shared = [one for one in crowd.asked if one[1] in urls]
        lost = {url: at for name, url, at in shared if name == "second"}
        others = {url: at for name, url, at in shared if name != "second"}
        assert lost
        assert Counter(url for name, url, _ in shared if name != "second") == dict.fromkeys(urls, 1)
        assert Counter(url for url in crowd.answered if url in urls) == dict.fromkeys(urls, 1)
        # Its leases were older than its requests, so that is nearly the whole lease.
        assert min(others[url] - at for url, at in lost.items()) > 1


# What ends, and what it costs


@in_the_long_form
def test_a_service_goes_on_when_the_process_that_looks_crashes(tmp_path, web):
    slow, other = web.host("slow.example"), web.host("other.example")
    other.answers["/"] = reply(titled("Another Show"))
    process = FeedkeepProcess(tmp_path, **settings_for(slow, other))
    process.run_first("failures_are_tried_again_soon")
    with process, process.client(process.new_account()) as client:
        with requests_all_the_time(client) as statuses:
            first = kill_what_looks(process, client, slow)
            (feed,) = until_known(process, [url_of(slow)])
            until(lambda: len(slow.requests) > 1)  # it is asked again, by another process
            slow.answers["/"] = reply(titled("A Show"))
            os.kill(looking(process), signal.SIGSEGV)
            subscribe(client, url_of(other))
            until(lambda: known(process, [url_of(slow)])[url_of(slow)].content)
            until_known(process, [url_of(other)])
        assert (feed.failure, feed.failures) == (Failure.CRASHED, 1)
        assert feed.reason.endswith(".")
        assert looking(process) != first
        assert set(statuses) == {httpx.codes.OK}
        assert len(statuses) > 10


@in_the_long_form
def test_the_proof_of_that_notices_a_service_that_ends_with_it(tmp_path, web):
    slow = web.host("slow.example")
    process = FeedkeepProcess(tmp_path, **settings_for(slow))
    process.run_first("the_service_ends_with_what_looks")
    with process, process.client(process.new_account()) as client:
        with requests_all_the_time(client) as statuses:
            kill_what_looks(process, client, slow)
            until(lambda: UNANSWERED in statuses)
        assert process.wait() == 1


def kill_what_looks(process: FeedkeepProcess, client: httpx.Client, mute: Host) -> int:
    """Let the process that looks crash while it does; return its number."""
    mute.answers["/"] = silent
    subscribe(client, url_of(mute))
    until(lambda: mute.requests)
    killed = looking(process)
    os.kill(killed, signal.SIGSEGV)
    return killed


UNANSWERED = 0


@contextmanager
def requests_all_the_time(client: httpx.Client) -> Iterator[list[int]]:
    """Ask for the list and add to it, one request after the other; give all statuses.

    It ends with the first request that is not answered.
    """
    is_over, statuses = threading.Event(), list[int]()

    def ask() -> None:
        body = {"subscriptions": [{"feed_url": "http://127.1.1.1:1/"}]}
        try:
            while not is_over.is_set():
                statuses.append(client.get("/subscriptions").status_code)
                statuses.append(client.post("/subscriptions", json=body).status_code)
        except httpx.TransportError:
            statuses.append(UNANSWERED)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield statuses
    finally:
        is_over.set()
        thread.join()


OF_EACH_KIND = 8 if IS_FULL else 3 if IS_LONG else 1
MOST_TO_LOOK_BYTES = 512 * MIB
MOST_TO_SERVE_BYTES = 20 * MIB


async def drip(_: Request, writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then, as part of a long answer."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


def bomb() -> bytes:
    """Return an answer that begins like a feed, and becomes 256 MiB when it is unpacked."""
    return reply(gzip.compress(b"<rss>" + bytes(256 * MIB), 1), Content_Encoding="gzip")


def all_of_it(head: bytes, repeated: bytes) -> bytes:
    return reply(head + repeated * ((8 * MIB - len(head)) // len(repeated)))


def large_picture() -> bytes:
    grey = Image.radial_gradient("L").resize((4_096, 4_096))
    written = io.BytesIO()
    Image.merge("RGBA", [grey] * 4).save(written, "PNG", compress_level=1)
    return reply(written.getvalue())


class Cost:
    """What memory looks take, from when it is made on.

    Attributes:
        child: The process that looks.
    """

    def __init__(self, process: FeedkeepProcess, child: int) -> None:
        self._pid = process.process.pid
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # the peak begins anew
        self._before = bytes_of(self._pid, "VmRSS")
        self.child = child

    @property
    def to_look_bytes(self) -> int:
        """The most that the process took that looks."""
        return bytes_of(self.child, "VmHWM")

    @property
    def to_serve_bytes(self) -> int:
        """The most that the process took beside what it had, which serves."""
        return bytes_of(self._pid, "VmHWM") - self._before


@in_the_long_form
def test_what_strangers_send_costs_bounded_memory_and_nothing_where_lists_are_served(tmp_path, web):
    head = b"<rss><channel><title>T</title>"
    kinds: dict[str, Any] = {
        "/drip": drip,
        "/bomb": bomb(),
        "/tags": all_of_it(head, b"<a>"),
        "/items": all_of_it(head, b"<item><guid>1</guid></item>"),
        "/spaces": all_of_it(head, b"<a b=' '/>"),
        "/picture": b"",
        "/large": large_picture(),
    }
    usual = web.host("usual.example")
    usual.answers = {"/": reply(titled("A Show")), "/after": reply(titled("After"))}
    hosts = [web.host(f"{number}.example") for number in range(OF_EACH_KIND * 6)]
    urls: dict[str, list[str]] = {path: [] for path in kinds if path != "/large"}
    for host, path in zip(hosts, OF_EACH_KIND * list(urls), strict=True):
        picture = f"<image><url>{url_of(host, '/large')}</url></image>"
        host.answers = {**kinds, "/picture": reply(titled("P", picture))}
        urls[path].append(url_of(host, path))
    process = FeedkeepProcess(tmp_path, **settings_for(usual, *hosts))
    process.run_first("looks_follow_at_once")
    with process, process.client(process.new_account()) as client:
        subscribe(client, url_of(usual))
        until_known(process, [url_of(usual)])
        cost = Cost(process, looking(process))
        subscribe(client, *(url for some in urls.values() for url in some))
        drips = [] if IS_FULL else urls.pop("/drip")
        seen = {path: until_known(process, some) for path, some in urls.items()}
        assert not known(process, drips)
        subscribe(client, url_of(usual, "/after"))
        (after,) = until_known(process, [url_of(usual, "/after")])
        assert title_of(after) == "After"
        assert looking(process) == cost.child  # none of it took it down
        assert cost.to_look_bytes < MOST_TO_LOOK_BYTES
        assert cost.to_serve_bytes < MOST_TO_SERVE_BYTES
        assert {(path, feed.failure) for path, feeds in seen.items() for feed in feeds} == {
            *([("/drip", Failure.TOO_SLOW)] if IS_FULL else []),
            ("/bomb", Failure.TOO_LARGE),
            ("/tags", Failure.NOT_A_FEED),
            ("/items", None),
            ("/spaces", Failure.NOT_A_FEED),
            ("/picture", None),
        }
        assert all(feed.picture for feed in seen["/picture"])


@in_the_long_form
def test_the_proof_of_costs_notices_bodies_without_a_bound(tmp_path, web):
    host = web.host("bombs.example")
    host.answers = {"/": reply(titled("A Show")), "/bomb": bomb()}
    process = FeedkeepProcess(tmp_path, **settings_for(host))
    process.run_first("what_looks_is_broken_too", "bodies_have_no_bound")
    with process, process.client(process.new_account()) as client:
        subscribe(client, url_of(host))
        until_known(process, [url_of(host)])
        cost = Cost(process, looking(process))
        subscribe(client, url_of(host, "/bomb"))
        until_known(process, [url_of(host, "/bomb")])
        assert cost.to_look_bytes > MOST_TO_LOOK_BYTES
        assert cost.to_serve_bytes < MOST_TO_SERVE_BYTES


@in_the_long_form
def test_the_proof_of_costs_notices_what_is_read_where_lists_are_served(tmp_path, web):
    host = web.host("large.example")
    picture = f"<image><url>{url_of(host, '/large')}</url></image>"
    host.answers = {
        "/": reply(titled("A Show")),
        "/picture": reply(titled("P", picture)),
        "/large": large_picture(),
    }
    process = FeedkeepProcess(tmp_path, **settings_for(host))
    process.run_first("feeds_are_read_where_lists_are_served")
    with process, process.client(process.new_account()) as client:
        subscribe(client, url_of(host))
        until_known(process, [url_of(host)])
        cost = Cost(process, process.process.pid)
        subscribe(client, url_of(host, "/picture"))
        (feed,) = until_known(process, [url_of(host, "/picture")])
        assert feed.picture
        assert cost.to_serve_bytes > MOST_TO_SERVE_BYTES
