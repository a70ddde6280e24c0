"""Trusted proxies, and the canonical address of a client."""

import pytest

from feedkeep.http.proxies import MAX_HOPS, SECONDS_BETWEEN_HINTS, Proxies, plain_address


@pytest.mark.parametrize(
    ("named", "trusted", "others"),
    [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["11.0.0.1", "9.255.255.255"]),
        ("10.0.0.7", ["10.0.0.7"], ["10.0.0.8", "10.0.0.70"]),
        ("::ffff:10.0.0.0/104", ["10.1.2.3"], ["11.1.2.3", "::1"]),
        ("fd00::/8", ["fd00::1"], ["fe80::1", "10.0.0.7"]),
        ("FD00:0::7", ["fd00::7"], ["fd00::8"]),
        ("0.0.0.0/0", ["1.2.3.4"], ["", "unknown", "::1"]),
    ],
)
def test_network_of_proxies_is_trusted_and_no_other_address(named, trusted, others):
    proxies = Proxies([named])
    assert [one for one in trusted + others if proxies.trusts(one)] == trusted


FAR, NEAR = (", ".join(["192.0.2.1", *["10.0.0.2"] * (MAX_HOPS - less)]) for less in (0, 1))


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("203.0.113.9, 198.51.100.7, 10.9.9.9", "198.51.100.7"),
        ("198.51.100.7:99,10.1.1.1:80", "198.51.100.7"),
        ("10.0.0.50", "10.0.0.50"),
        ("unknown, 10.0.0.50", "unknown"),
        ("", "10.0.0.1"),
        (NEAR, "192.0.2.1"),
        (FAR, "10.0.0.2"),  # only the last ones are read
    ],
)
def test_client_is_the_last_hop_outside_of_the_proxies(told, address):
    assert Proxies(["10.0.0.0/8"]).client_behind("10.0.0.1", told) == address


def test_proxy_that_is_not_trusted_is_hinted_at_once_an_hour():
    seconds = iter([0.0, 1.0, SECONDS_BETWEEN_HINTS - 1, SECONDS_BETWEEN_HINTS, 3_601.0])
    proxies = Proxies(clock=lambda: next(seconds))
    assert [proxies.may_hint() for _ in range(5)] == [True, False, False, True, False]


# C2.16
@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.1:5678", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:c000:201", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:443", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0::1", "2001:db8::1"), ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"), ("fe80::1%eth0", "fe80::1%eth0"),
        # Invalid addresses stay unchanged.
        *((told, told) for told in ("", "unknown", "a socket", "_hidden:80", "1:2", "[]:1", "::x")),
        ("[x]", "[x]"),
    ],
)  # fmt: skip
def test_client_has_one_address_however_it_is_told(told, address):
    assert plain_address(told) == address
