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
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, first_of, in_the_long_form
from peaks import Peak, bytes_of
from PIL import Image
from waiting import PATIENCE_SECONDS, until
from web_of_hosts import Victim, redirect, reply, silent

from feedkeep.model import Failure
from feedkeep.rules.feed_urls import parse_feed_url

MIB = 1024 * 1024
FEEDS = 2_000 if IS_FULL else 200  # more than three processes lease at a time
HOSTS = 200
UNANSWERED = 0
STRANGERS = SLOTS = 8  # as many as are looked at at a time
SLOW = 140
FEW = 12
FEW_ROUNDS = 6


class Fetching(FeedkeepProcess):
    """`feedkeep fetch`, which serves no requests."""

    def start(self):
        self.process = self._launched("fetch")
        assert "Fetching the feeds" in self.process.stdout.readline(), self.log.read_text()
        self._assert_ran_first([self.process.pid])


def titled(title, more=""):
    item = "<item><guid>1</guid></item>"
    return f"<rss><channel><title>{title}</title>{more}{item}</channel></rss>".encode()


def url_of(host, path="/"):
    return f"http://{host.address}:{host.port}{path}"


def settings_for(*hosts):
    ports = ",".join(str(host.port) for host in hosts)
    may_ask = {"fetch": "public", "fetch_allowed": "127.0.0.0/8", "fetch_ports": ports}
    return {**may_ask, "log_level": "debug"}


def subscribe(client, *urls):
    reply = client.post("/subscriptions", json={"subscriptions": [{"feed_url": u} for u in urls]})
    assert reply.status_code == httpx.codes.OK
    assert reply.json()["failure"] == []


def known(process, urls):
    """Return the stored feeds that have been fetched, by URL."""
    guids = {parse_feed_url(url).guid: url for url in urls}
    found = process.use(partial(feeds_of, list(guids)))
    return {guids[guid]: feed for guid, feed in found.items() if feed.looked is not None}


def feeds_of(guids, service):
    return service.store.feeds.known(guids)


def until_known(process, urls, seconds=PATIENCE_SECONDS):
    """Wait until all of these feeds were looked at, and it is stored what was seen."""
    found = until(
        lambda: len(some := known(process, urls)) == len(urls) and some,
        lambda: (len(known(process, urls)), process.log.read_text()[-2_000:]),
        seconds,
    )
    return [found[url] for url in urls]


def children_of(pid):
    """Return the processes that one has started (proc(5))."""
    with suppress(OSError):
        listed = Path(f"/proc/{pid}/task").glob("*/children")
        return {int(child) for file in listed for child in file.read_text().split()}
    return set()


def looking(process):
    """Return the process that looks at feeds for another one, once it is there."""

    def found():
        children = children_of(process.process.pid)
        return [child for child in children if b"feedkeep.feeds.child" in told(child, "cmdline")]

    (child,) = until(found)
    return child


def told(pid, what):
    with suppress(OSError):
        return Path(f"/proc/{pid}/{what}").read_bytes()
    return b""


@pytest.fixture
def serve(web, start):
    """Starts a service that may ask some hosts, on a kind of store, perhaps broken on purpose."""

    def serve(hosts, *broken, kind="sqlite", **settings):
        return start(kind, *broken, **{**settings_for(*hosts), **settings})

    return serve


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_new_feed_is_known_within_a_minute_and_no_request_waits_for_it(serve, web, kind):
    quick, mute = web.host("quick.example"), web.host("mute.example")
    quick.answers["/"] = reply(titled("A Show"))
    mute.answers = {"/1": silent, "/2": silent}
    process = serve([quick, mute], kind=kind)
    with process.client(process.new_account()) as client:
        subscribe(client, url_of(mute, "/1"))
        until(lambda: mute.requests)
        subscribe(client, url_of(mute, "/2"), url_of(quick))
        (feed,) = until_known(process, [url_of(quick)])
        assert feed.content.title == "A Show"
        assert not known(process, [url_of(mute, "/1"), url_of(mute, "/2")])
    process.stop()
    assert [one.target for one in mute.requests] == ["/1"]  # of a host, one at a time
    assert len(quick.requests) == 1


@contextmanager
def again_and_again(do):
    """Do something in a thread meanwhile, until it says no."""
    is_over = threading.Event()

    def go():
        while not is_over.wait(0.001) and do():
            pass

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class Watch:
    """Records the sockets of a process and its children, except for those of its clients."""

    def __init__(self, process):
        self._pid = process.process.pid
        self._port = httpx.URL(process.base_url).port
        self.elsewhere, self.children = set(), set()
        self.rounds = 0

    def look(self):
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
        self.rounds += 1
        return True


def _sockets_of(pid):
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if found := re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink())):
                    yield found[1]


def test_with_fetch_off_the_process_opens_no_connection_and_starts_no_process(serve, web):
    host = web.host("show.example")
    host.answers["/"] = silent
    with watched(serve([host])) as (client, seen):
        begun = time.monotonic()
        subscribe(client, url_of(host))
        until(lambda: seen.elsewhere and seen.children and host.requests)
        needed_seconds = time.monotonic() - begun
    with watched(serve([host], fetch="off")) as (client, seen):
        until_then = time.monotonic() + 2 * needed_seconds
        # On a machine with thousands of sockets, a look takes long.
        while time.monotonic() < until_then or seen.rounds <= 10:
            subscribe(client, *(url_of(host, f"/{number}") for number in range(10)))
    assert (seen.elsewhere, seen.children) == (set(), set())
    assert host.connections == 1


@contextmanager
def watched(process):
    """Give a client of a service that is watched."""
    watch = Watch(process)
    with process.client(process.new_account()) as client, again_and_again(watch.look):
        yield client, watch
    process.stop()


@in_the_long_form
@pytest.mark.parametrize(
    ("broken", "workers"),
    [([], "1"), ([], "2"), (["what_looks_is_broken_too", "no_fetch_waits_for_a_host"], "1")],
)
def test_feeds_that_all_lead_to_one_host_connect_to_it_in_turn(serve, web, broken, workers):
    victim = Victim(web.host("victim.example"), reply(titled("A Show")), patience_seconds=0.2)
    victim.host.answers["/"] = victim.answer
    strangers = [web.host(f"{number}.example") for number in range(STRANGERS)]
    for stranger in strangers:
        stranger.answers["/"] = redirect(url_of(victim.host))
    hosts = [victim.host, *strangers]
    process = serve(hosts, "looks_follow_at_once", *broken, workers=workers)
    name = process.new_account()
    urls = [url_of(stranger) for stranger in strangers]
    for url in urls:  # on connections of their own, which all workers have some of
        with process.client(name) as client:
            subscribe(client, url)
    assert {feed.content.title for feed in until_known(process, urls)} == {"A Show"}
    assert victim.host.connections == STRANGERS
    assert (victim.most_at_once == 1) is not bool(broken)


@pytest.mark.parametrize("broken", first_of([], ["accounts_take_no_turns"]))
def test_feeds_at_slow_hosts_delay_those_of_another_account_for_few_rounds(serve, web, broken):
    requests = SimpleNamespace(asked=0, answered=0)

    async def answer(_, writer):
        """Send the reply at the end of a round, with all others of the round."""
        requests.asked = number = requests.asked + 1
        while number > requests.answered:  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(0.02)
        writer.write(reply(titled("A Show")))

    def are_few_asked():
        return all(host.requests for host in few)

    def are_slots_full():  # besides one for feeds that answered last time
        return requests.asked - requests.answered >= SLOTS - 1

    slow = [web.host(f"{number}.slow.example") for number in range(SLOW)]
    for host in slow:
        host.answers["/"] = answer
    few = [web.host(f"{number}.example") for number in range(FEW)]
    process = serve([*slow, *few], "looks_follow_at_once", *broken)
    for hosts in (slow, few):
        with process.client(process.new_account()) as client:
            subscribe(client, *map(url_of, hosts))
        # Until it is stored that they are to be looked at.
        guids = [parse_feed_url(url_of(host)).guid for host in hosts]
        until(lambda guids=guids: len(process.use(partial(feeds_of, guids))) == len(guids))
    passed = -1
    while passed <= FEW_ROUNDS and not are_few_asked():  # more would only be too many, too
        requests.answered = requests.asked
        until(lambda: are_slots_full() or are_few_asked())
        passed += 1
    assert (passed <= FEW_ROUNDS) is not bool(broken)


class Crowd:
    """A service and two processes that only look at feeds, on one database, and a web for them.

    Each says in its user agent which one it is.
    """

    NAMES = ("serving", "first", "second")

    def __init__(self, prepare, web, database, *broken):
        self.asked = []  # by which process, for which URL, and when
        self.answered = []
        self.held = set(self.NAMES)  # whose requests are not answered
        self.hosts = [web.host(f"{n}.example", f"127.0.{1 + n // 100}.{1 + n % 100}")
                      for n in range(HOSTS)]  # fmt: skip
        self.processes = {}
        for name in self.NAMES:
            settings = {**settings_for(*self.hosts), "fetch_contact": f"{name}@feedkeep.test"}
            settings["serves"] = FeedkeepProcess if name == "serving" else Fetching
            broken_too = ("looks_follow_at_once", *broken)
            process = prepare("postgres", *broken_too, database=database, **settings)
            process.start()
            self.processes[name] = process
        self.service = self.processes["serving"]

    def subscribe(self, round_, count):
        """Subscribe an account to `count` feeds of the web; return their URLs."""
        urls = []
        for number in range(count):
            host = self.hosts[number % HOSTS]
            path = f"/{round_}/{number}"
            urls.append(url_of(host, path))
            host.answers[path] = partial(self._answer, urls[-1])
        with self.service.client(self.service.new_account()) as client:
            subscribe(client, *urls)
        return urls

    async def _answer(self, url, request, writer):
        (name,) = re.findall(r"\+(\w+)@", request.headers["user-agent"])
        self.asked.append((name, url, time.monotonic()))
        while name in self.held:  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(0.02)
        self.answered.append(url)
        writer.write(reply(titled(url)))
        await writer.drain()

    def until_asked_by(self, *names, among):
        until(
            lambda: set(names) <= {name for name, url, _ in self.asked if url in among},
            lambda: Counter(name for name, *_ in self.asked),
        )


@in_the_long_form
@pytest.mark.parametrize("broken", [[], ["leases_end_too_early"]])
def test_processes_share_the_work_and_ask_for_each_feed_once(database, web, prepare, broken):
    crowd = Crowd(prepare, web, database, *broken)
    urls = crowd.subscribe("shared", FEEDS)
    crowd.until_asked_by(*crowd.NAMES, among=urls)
    crowd.held.clear()
    assert [feed.content.title for feed in until_known(crowd.service, urls)] == urls
    times = Counter(Counter(url for _, url, _ in crowd.asked).values())
    assert (times == {1: FEEDS}) is not bool(broken)


@in_the_long_form
def test_what_a_killed_process_was_looking_at_is_looked_at_by_the_others(database, web, prepare):
    crowd = Crowd(prepare, web, database, "leases_are_short", "sweeps_follow_at_once")
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
    # It does not outlive the one that started it.
    until(lambda: told(child, "stat").rpartition(b") ")[2][:1] in {b"", b"Z"})
    assert [feed.content.title for feed in until_known(crowd.service, urls)] == urls
    shared = [one for one in crowd.asked if one[1] in urls]
    lost = {url: at for name, url, at in shared if name == "second"}
    others = {url: at for name, url, at in shared if name != "second"}
    assert lost
    assert Counter(url for name, url, _ in shared if name != "second") == dict.fromkeys(urls, 1)
    assert Counter(url for url in crowd.answered if url in urls) == dict.fromkeys(urls, 1)
    # Its leases were older than its requests, so that is nearly the whole lease.
    assert min(others[url] - at for url, at in lost.items()) > 1


@in_the_long_form
def test_a_service_goes_on_when_the_process_that_looks_crashes(serve, web):
    slow, other = web.host("slow.example"), web.host("other.example")
    other.answers["/"] = reply(titled("Another Show"))
    process = serve([slow, other], "failures_are_tried_again_soon")
    client = process.client(process.new_account())
    with client, requests_all_the_time(client) as statuses:
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
def test_the_proof_of_that_notices_a_service_that_ends_with_it(serve, web):
    slow = web.host("slow.example")
    process = serve([slow], "the_service_ends_with_what_looks")
    client = process.client(process.new_account())
    with client, requests_all_the_time(client) as statuses:
        kill_what_looks(process, client, slow)
        until(lambda: UNANSWERED in statuses)
    assert process.wait() == 1


def kill_what_looks(process, client, mute):
    """Crash the fetching process during a fetch; return its process id."""
    mute.answers["/"] = silent
    subscribe(client, url_of(mute))
    until(lambda: mute.requests)
    killed = looking(process)
    os.kill(killed, signal.SIGSEGV)
    return killed


@contextmanager
def requests_all_the_time(client):
    """Ask for the list and add to it, until a request is not answered; give all statuses."""
    statuses = []

    def ask():
        # A feed for members, which is not fetched: a process that crashes while it fetches two
        # feeds blames neither, and both wait for a minute.
        body = {"subscriptions": [{"feed_url": "https://member:secret@members.example/feed"}]}
        try:
            statuses.append(client.get("/subscriptions").status_code)
            statuses.append(client.post("/subscriptions", json=body).status_code)
        except httpx.TransportError:
            statuses.append(UNANSWERED)
        return statuses[-1] != UNANSWERED

    with again_and_again(ask):
        yield statuses


OF_EACH_KIND = 8 if IS_FULL else 3 if IS_LONG else 1
SECONDS_TO_LOOK = 600 if IS_FULL else PATIENCE_SECONDS
MOST_TO_LOOK_BYTES = 512 * MIB
MOST_TO_SERVE_BYTES = 20 * MIB


async def drip(_, writer):
    """Send a byte now and then, as part of a long answer."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


def bomb():
    """Return an answer that begins like a feed, and becomes 256 MiB when it is unpacked."""
    return reply(gzip.compress(b"<rss>" + bytes(256 * MIB), 1), Content_Encoding="gzip")


def all_of_it(head, repeated):
    return reply(head + repeated * ((8 * MIB - len(head)) // len(repeated)))


def large_picture():
    grey = Image.radial_gradient("L").resize((4_096, 4_096))
    written = io.BytesIO()
    Image.merge("RGBA", [grey] * 4).save(written, "PNG", compress_level=1)
    return reply(written.getvalue())


def titled_with_picture(host):
    return titled("P", f"<image><url>{url_of(host, '/large')}</url></image>")


def until_looking(process, client, host):
    """Make a service fetch a feed; return the peak of its memory from then on."""
    host.answers["/"] = reply(titled("A Show"))
    subscribe(client, url_of(host))
    until_known(process, [url_of(host)])
    return Peak(process.process.pid)


@in_the_long_form
def test_what_strangers_send_costs_bounded_memory_and_nothing_where_lists_are_served(serve, web):
    head = b"<rss><channel><title>T</title>"
    kinds = {
        "/drip": drip,
        "/bomb": bomb(),
        "/tags": all_of_it(head, b"<a>"),
        "/items": all_of_it(head, b"<item><guid>1</guid></item>"),
        "/spaces": all_of_it(head, b"<a b=' '/>"),
    }
    usual, picture = web.host("usual.example"), large_picture()
    usual.answers["/after"] = reply(titled("After"))
    urls = {path: [] for path in [*kinds, "/picture"]}
    hosts = [web.host(f"{number}.example") for number in range(OF_EACH_KIND * len(urls))]
    for host, path in zip(hosts, OF_EACH_KIND * list(urls), strict=True):
        pictured = reply(titled_with_picture(host))
        host.answers = {**kinds, "/picture": pictured, "/large": picture}
        urls[path].append(url_of(host, path))
    process = serve([usual, *hosts], "looks_follow_at_once")
    with process.client(process.new_account()) as client:
        serving, child = until_looking(process, client, usual), looking(process)
        subscribe(client, *(url for some in urls.values() for url in some))
        drips = [] if IS_FULL else urls.pop("/drip")
        seen = {path: until_known(process, some, SECONDS_TO_LOOK) for path, some in urls.items()}
        assert not known(process, drips)
        subscribe(client, url_of(usual, "/after"))
        (after,) = until_known(process, [url_of(usual, "/after")])
    assert after.content.title == "After"
    assert looking(process) == child  # none of it took it down
    assert bytes_of(child, "VmHWM") < MOST_TO_LOOK_BYTES
    assert serving.added_bytes < MOST_TO_SERVE_BYTES
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
@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("/bomb", ["what_looks_is_broken_too", "bodies_have_no_bound"]),
        ("/picture", ["feeds_are_read_where_lists_are_served"]),
    ],
)
def test_the_proof_of_costs_notices(serve, web, path, broken):
    host = web.host("large.example")
    pictured = reply(titled_with_picture(host))
    host.answers = {"/bomb": bomb(), "/picture": pictured, "/large": large_picture()}
    process = serve([host], *broken)
    with process.client(process.new_account()) as client:
        serving = until_looking(process, client, host)
        subscribe(client, url_of(host, path))
        (feed,) = until_known(process, [url_of(host, path)])
    is_picture = path == "/picture"
    assert bool(feed.picture) is is_picture
    assert (serving.added_bytes > MOST_TO_SERVE_BYTES) is is_picture
    if not is_picture:
        assert bytes_of(looking(process), "VmHWM") > MOST_TO_LOOK_BYTES
