"""Whom a connection or request is counted to: an IPv4 address, or the network of an IPv6 address."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address

Network = IPv4Network | IPv6Network

IPV6_PREFIX = 64
"""Addresses of one IPv6 customer: a /64 is the smallest network that is handed out."""


def client_key(address: str) -> str:
    """What stands for a client: its IPv4 address, or its IPv6 network; other texts as they are."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((found, IPV6_PREFIX), strict=False))


def in_networks(address: str, networks: Sequence[Network]) -> bool:
    """Whether an address belongs to one of these networks."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in networks)


def is_internal(address: str) -> bool:
    """Whether an address is one of this machine or of a private network, as a proxy's usually is."""
    try:
        return ip_address(address.partition("%")[0]).is_private
    except ValueError:
        return False
