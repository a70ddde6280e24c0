"""Who is believed about whom they ask for."""

import pytest

from feedkeep.http.proxies import MAX_HOPS, SECONDS_BETWEEN_HINTS, Proxies


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
def test_a_network_of_proxies_is_trusted_and_no_other_address(named, trusted, others):
    proxies = Proxies([named])
    assert [proxies.trusts(one) for one in trusted + others] == [True] * len(trusted) + [
        False
    ] * len(others)


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("203.0.113.9, 198.51.100.7, 10.9.9.9", "198.51.100.7"),
        ("198.51.100.7:99,10.1.1.1:80", "198.51.100.7"),
        ("10.0.0.50", "10.0.0.50"),
        ("unknown, 10.0.0.50", "unknown"),
        ("", "10.0.0.1"),
    ],
)
def test_the_client_is_the_last_hop_outside_of_the_proxies(told, address):
    assert Proxies(["10.0.0.0/8"]).client_behind("10.0.0.1", told) == address


def test_of_many_hops_only_the_last_ones_are_read():
    far = ", ".join(["192.0.2.1", *["10.0.0.2"] * MAX_HOPS])
    assert Proxies(["10.0.0.0/8"]).client_behind("10.0.0.1", far) == "10.0.0.2"
    near = ", ".join(["192.0.2.1", *["10.0.0.2"] * (MAX_HOPS - 1)])
    assert Proxies(["10.0.0.0/8"]).client_behind("10.0.0.1", near) == "192.0.2.1"


def test_a_proxy_that_is_not_trusted_is_hinted_at_once_an_hour():
    seconds = iter([0.0, 1.0, SECONDS_BETWEEN_HINTS - 1, SECONDS_BETWEEN_HINTS, 3_601.0])
    proxies = Proxies(clock=lambda: next(seconds))
    assert [proxies.may_hint() for _ in range(5)] == [True, False, False, True, False]
