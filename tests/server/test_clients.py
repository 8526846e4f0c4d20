"""Whom a connection is counted to."""

from ipaddress import ip_network

import pytest

from bot.server.clients import client_key, in_networks


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_ipv6_client_is_its_network(address: str, expected: str) -> None:
    """Whoever has an IPv6 address has 2⁶⁴ of them; an IPv4 address counts alone, however it is written."""
    assert expected == client_key(address)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("11.1.2.3", False),
        ("fd00::1", True),
        ("nobody", False),
    ],
)
def test_a_proxy_is_told_by_its_address(address: str, expected: bool) -> None:  # noqa: FBT001 - what is expected
    """An address in one of the networks; what is no address is in none."""
    assert expected == in_networks(address, [ip_network("10.0.0.0/8"), ip_network("fd00::/8")])
