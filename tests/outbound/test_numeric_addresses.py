"""Permitted addresses: public ones, and none that only look public."""

import ipaddress
from ipaddress import IPv6Address

import pytest
from forms import IS_FULL, IS_LONG
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from feedkeep.config.networks import (
    GLOBAL_UNICAST,
    NOT_PUBLIC,
    AddressRule,
    leads_to_loopback,
    network,
)

PUBLIC = AddressRule()
EXAMPLES = settings(max_examples=2_000 if IS_FULL else 300 if IS_LONG else 100)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
     "126.255.255.255", "128.0.0.0", "168.63.129.15", "172.15.255.255", "172.32.0.0",
     "192.167.255.255", "198.20.0.0", "223.255.255.255",
     "2001:200::1", "2606:4700::1111", "2a00:1450:4001:82a::200e", "3ffe:ffff::1",
     "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
)  # fmt: skip
def test_a_public_address_may_be_asked(address):
    assert PUBLIC.admits(address)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.1", "10.1.2.3", "100.100.100.200", "127.0.0.1", "127.255.255.254",
     "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1",
     "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255",
     "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
     "255.255.255.255", "0" + ".0" * 3,
     "::", "::1", "::127.0.0.1", "::8.8.8.8", "100::1", "100:0:0:1::1", "1fff::1", "2001::1",
     "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
     "2001:1ff:ffff::1", "2001:db8::1", "2002:808:808::1", "2002:7f00:1::", "3fff::1",
     "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1",
     "ff02::1", "ff0e::1",
     "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:0", "::ffff:0:127.0.0.1",
     "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
     "64:ff9b:0:0:0:1::",
     # Texts that are no address in its usual form:
     "", "localhost", "8.8.8", "8.8.8.8.8", "08.8.8.8", "0x8.8.8.8", "134744072", "8.8.8.8 ",
     "8.8.8.8\n", "[2606:4700::1]", "2606:4700::1%eth0", "2606:4700::1%1", "8.8.8.8%1",
     "8.8.8.8/32", "\uff18.8.8.8", "::ffff:8.8.8.8%1"],
)  # fmt: skip
def test_anything_but_a_public_address_is_refused(address):
    assert not PUBLIC.admits(address)


@EXAMPLES
@given(st.ip_addresses())
def test_nothing_may_be_asked_that_python_knows_to_be_special(address):
    special = address.is_multicast or address.is_reserved or not address.is_global
    stands_for_ipv4 = isinstance(address, IPv6Address) and int(address) >> 32 in {
        0xFFFF,
        0x64FF9B << 64,
    }
    assert not (PUBLIC.admits(str(address)) and special) or stands_for_ipv4


@EXAMPLES
@given(st.ip_addresses())
def test_what_is_refused_is_in_a_network_that_is_known_to_be_special(address):
    outside = isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST
    known = outside or any(address in one for one in NOT_PUBLIC)
    assert PUBLIC.admits(str(address)) or known


@EXAMPLES
@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_an_address_that_stands_for_another_is_judged_as_that(inside, prefix):
    outer = IPv6Address(int(IPv6Address(prefix)) | int(inside))
    assert PUBLIC.admits(str(outer)) == PUBLIC.admits(str(inside))


@EXAMPLES
@given(st.ip_addresses(), st.integers(0, 32))
def test_what_is_denied_is_refused_whatever_is_allowed(address, bits):
    assume(getattr(address, "ipv4_mapped", None) is None)  # belongs to networks of IPv4
    around = ipaddress.ip_network((address, bits), strict=False)
    everything = (network("0.0.0.0/0"), network("::/0"))
    assert AddressRule(allowed=everything).admits(str(address))
    assert AddressRule(allowed=(around,)).admits(str(address))
    assert not AddressRule(allowed=everything, denied=(around,)).admits(str(address))


def test_what_is_allowed_or_denied_is_so_by_each_of_its_names_and_nothing_beside_it():
    rule = AddressRule(allowed=(network("192.168.7.0/24"), network("fd00:7::/64")))
    for address in ("192.168.7.1", "::ffff:192.168.7.1", "64:ff9b::192.168.7.1", "fd00:7::1"):
        assert rule.admits(address)
    for address in ("192.168.8.1", "::ffff:192.168.8.1", "64:ff9b::192.168.8.1", "fd00:8::1"):
        assert not rule.admits(address)
    assert rule.admits("8.8.8.8")
    assert not rule.admits("fd00:7::1%eth0")
    nat64 = network("64:ff9b::/96")
    rule = AddressRule(allowed=(nat64,), denied=(network("8.8.8.0/24"),))
    for address in ("8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"):
        assert not rule.admits(address)
    assert rule.admits("64:ff9b::10.0.0.1")
    assert not AddressRule(denied=(nat64,)).admits("64:ff9b::1.1.1.1")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("fd00::/8", "fd00::/8"),
        ("::1", "::1/128"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:10.1.2.3", "10.1.2.3/32"),
    ],
)
def test_a_network_may_be_named_as_such_or_by_its_one_address(text, meant):
    assert str(network(text)) == meant


@pytest.mark.parametrize("text", ["", "home", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/8/8", "10"])
def test_what_names_no_network_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        network(text)


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://127.0.0.1:8080", True),
        ("https://[::1]/feedkeep", True),
        ("http://LOCALHOST", True),
        ("http://192.168.0.7", False),
        ("https://feeds.example", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_url_with_this_machine_as_host_leads_to_loopback(url, is_local):
    assert leads_to_loopback(url) is is_local
