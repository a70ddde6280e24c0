"""One client has one address, however it is spelled."""

import pytest

from feedkeep.http.proxies import plain_address


# C2.16
@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:5678", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::FFFF:c000:201", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:443", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_a_client_has_one_address_however_it_is_told(told, address):
    assert plain_address(told) == address


@pytest.mark.parametrize(
    "told", ["", "unknown", "a socket", "_hidden:80", "1:2", "[]:1", "::x", "[x]"]
)
def test_what_is_no_address_stays_as_it_is(told):
    assert plain_address(told) == told
