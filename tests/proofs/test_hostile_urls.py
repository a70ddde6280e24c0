"""No URL, redirect or name makes this machine connect to an address that is denied.

The judge is a listener of the kernel's: it hears every address of this machine, by IPv4 and IPv6,
on ports that the client may ask and on one that it may not. The controls let the client ask
anything, and take one of its two walls away.
"""

import asyncio
import random
import socket
from collections import Counter
from contextlib import ExitStack, suppress

from forms import in_the_long_form
from web_of_hosts import WebOfHosts, redirect

from feedkeep.config.networks import AddressRule, network
from feedkeep.outbound.client import GuardedClient, _JudgedNames
from feedkeep.outbound.failures import RequestError
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.outbound.targets import FetchTarget

AT_ONCE = 32
ANY = "0.0.0.0"  # noqa: S104 - nothing is bound to it
EVERYWHERE = (network("0.0.0.0/0"), network("::/0"))


class Listeners(ExitStack):
    """Listens on all addresses of this machine, on some free ports; counts who connects."""

    def __init__(self, ports):
        super().__init__()
        both = socket.has_dualstack_ipv6()
        kind = {"family": socket.AF_INET6 if both else socket.AF_INET, "dualstack_ipv6": both}
        self._listening = [
            socket.create_server(("", 0), backlog=4_096, **kind) for _ in range(ports)
        ]
        for listener in self._listening:
            listener.setblocking(False)
            self.enter_context(listener)
        self.ports = [one.getsockname()[1] for one in self._listening]

    def heard(self, harmless):
        """Return the number of new connections to denied addresses, and close them."""
        count = 0  # the address `harmless` may be asked on all of the ports but the last
        for listener in self._listening:
            with suppress(BlockingIOError):
                while True:
                    connection, _ = listener.accept()
                    address = connection.getsockname()[0].removeprefix("::ffff:")
                    connection.close()
                    count += address != harmless or listener is self._listening[-1]
        return count


class Hostile:
    """Makes up URLs that lead to this machine, in every spelling and by every detour."""

    def __init__(self, seed, redirecting, address, ports):
        self._chance = random.Random(seed)
        self._redirecting = redirecting
        self._address = address
        self._ports = ports
        self.names = {}  # what they mean, one answer of the resolver after the other
        self.redirects = {}  # where the paths of the redirecting host lead to

    def url(self):
        url = self._direct()
        while self._chance.random() < 0.4:
            path = f"/{len(self.redirects)}"
            self.redirects[path] = url
            url = self._redirecting + path
        return url

    def _direct(self):
        pick = self._chance.choice
        scheme = pick(["http", "http", "https", "HTTP", "http", "ftp", ""])
        slashes = pick(["://"] * 12 + [":/", ":\\\\", ":///", ":////", ":"])
        user_info = pick([""] * 6 + ["me@", "me:x@", "public.example@", "8.8.8.8:80\\@", "a@b@"])
        port = pick(self._ports)
        after = pick(["/", "", "/feed.xml", "?x", "#y", "/@8.8.8.8/", "\\@8.8.8.8/", "/a b", "/\t"])
        odd = pick([""] * 12 + [" ", "\t", "\n", "\x00", "\u200b", "%00", "%20"])
        where = self._name() if self._chance.random() < 0.5 else self._number()
        return f"{scheme}{slashes}{user_info}{where}{odd}:{port}{after}"

    def _number(self):
        pick, address = self._chance.choice, self._ipv4()
        a, b, c, d = (int(part) for part in address.split("."))
        whole = int.from_bytes((a, b, c, d), "big")
        return pick(
            [
                address, address, f"{address}.", f"[::ffff:{address}]",
                f"[::FFFF:{whole >> 16:x}:{whole & 0xFFFF:x}]", "[::1]", "[::1]",
                "[0:0:0:0:0:0:0:1]", "[::]", f"[::{address}]", f"[64:ff9b::{address}]",
                f"[2002:{whole >> 16:x}:{whole & 0xFFFF:x}::]", "[::1%25lo]", "[::1%lo]", ANY,
                f"{whole}", f"0x{whole:x}", f"0{whole:o}", f"{a}.{whole & 0xFFFFFF}",
                f"0x{a:x}.{b}.{c}.{d}", f"0{a:o}.{b}.{c}.{d}", f"{a}.{b}.{c << 8 | d}", "0",
                address.replace(".", "\u3002"), address.replace(".", "%2e"),
                address.translate({n: 0xFEE0 + n for n in range(ord("0"), ord("9") + 1)}),
                f"{a:03}.{b:03}.{c:03}.{d:03}",
            ]
        )  # fmt: skip

    def _name(self):
        name = f"{self._chance.choice(['n', 'N', 'ñ'])}{len(self.names)}.example"
        answers = [self._answer() for _ in range(3)]
        if self._chance.random() < 0.3:  # it means a harmless host at first
            answers[0] = [self._address]
        self.names[FetchTarget.parse(f"http://{name}/").host] = answers
        return name

    def _answer(self):
        address = self._ipv4()
        kinds = [address, f"::ffff:{address}", "::1", ANY, "::", f"{address}%lo", "::1%lo",
                 "127.1", "0x7f.1", "2130706433", "localhost", "", f" {address}"]  # fmt: skip
        return self._chance.choices(kinds, k=self._chance.randint(1, 4))

    def _ipv4(self):
        low = [self._chance.choice([0, 1, 255, self._chance.randrange(256)]) for _ in range(3)]
        return "127.{}.{}.{}".format(*low)


async def asked(count, seed, *, is_guarded=True):
    """Fetch hostile URLs; count outcomes, and connections `heard`, and `harmless`."""
    with WebOfHosts() as web, Listeners(3) as listeners:
        harmless = web.host("redirecting.example")
        hostile = Hostile(seed, harmless.url(""), harmless.address, listeners.ports)
        urls = [hostile.url() for _ in range(count)]
        harmless.answers |= {path: redirect(to) for path, to in hostile.redirects.items()}
        names = {harmless.name: [[harmless.address]], **hostile.names}

        async def look_up(host):
            answers = names.get(host, [[]])
            return answers.pop(0) if len(answers) > 1 else answers[0]

        allowed, ports = (network(harmless.address),), {harmless.port, *listeners.ports[:-1]}
        if not is_guarded:
            allowed, ports = EVERYWHERE, ports | set(listeners.ports)
        policy = ClientPolicy(addresses=AddressRule(allowed=allowed), ports=frozenset(ports))
        outcomes = Counter()

        async def ask(client):
            while urls:
                url = urls.pop()
                try:
                    # The second time, a name may mean another address than the first.
                    for _ in range(2):
                        await client.get(url)
                    outcomes["answered"] += 1
                except RequestError as error:
                    outcomes[error.kind] += 1
                outcomes["heard"] += listeners.heard(harmless.address)

        async with GuardedClient(policy, look_up) as client:
            await asyncio.gather(*(ask(client) for _ in range(AT_ONCE)))
        outcomes["heard"] += listeners.heard(harmless.address)
        outcomes["harmless"] = harmless.connections
        return outcomes


async def test_nothing_hostile_reaches_a_denied_address(amount):
    count = amount(300, 10_000, 1_000)
    outcomes = await asked(count, seed=1)
    assert outcomes["heard"] == 0
    assert outcomes["refused"] > 0.7 * count
    # Redirects were followed, and names first meant that host.
    assert outcomes["harmless"] > 0.3 * count


async def test_the_listeners_hear_a_door_without_a_guard(amount):
    count = amount(100, 3_000, 300)
    assert (await asked(count, seed=2, is_guarded=False))["heard"] > 0.1 * count


@in_the_long_form
async def test_each_of_the_two_walls_is_enough(amount, monkeypatch):
    count = amount(100, 3_000, 300)
    with monkeypatch.context() as without_sockets:
        without_sockets.setattr(GuardedClient, "_judged_socket", staticmethod(unjudged_socket))
        assert (await asked(count, seed=3))["heard"] == 0
    monkeypatch.setattr(GuardedClient, "_judge", lambda *_: None)
    monkeypatch.setattr(_JudgedNames, "resolve", unjudged_names)
    assert (await asked(count, seed=4))["heard"] == 0
    monkeypatch.setattr(GuardedClient, "_judged_socket", staticmethod(unjudged_socket))
    assert (await asked(count, seed=5))["heard"] > 0.1 * count


def unjudged_socket(info):
    family, kind, protocol, _, _ = info
    return socket.socket(family, kind, protocol)


async def unjudged_names(self, host, port=0, **_):
    return [
        {"hostname": host, "host": one, "port": port, "family": 0, "proto": 0, "flags": 0}
        for one in await self._look_up(host)
    ]
