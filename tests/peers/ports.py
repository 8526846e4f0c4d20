"""Ports for servers that a test starts, stops and starts again at the same address."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

# Where Linux says from which port on it hands them to outgoing connections by itself (ip(7)).
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST = 10_000
USUAL_EPHEMERAL = 32_768


def _ephemeral_from() -> int:
    return int(EPHEMERAL.read_text().split()[0]) if EPHEMERAL.exists() else USUAL_EPHEMERAL


def _candidates() -> Iterator[int]:
    """Every port of this process, once each: of N test workers, one has each N-th."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % workers
    highest = _ephemeral_from() if _ephemeral_from() > LOWEST + 1000 else 65_536
    ports = range(LOWEST + mine, highest, workers)
    begin = os.getpid() % len(ports)  # another test session on this machine begins elsewhere
    yield from (*ports[begin:], *ports[:begin])


_PORTS = _candidates()


def free_port() -> int:
    """A port that nobody listens on and nobody else is given while these tests run.

    One that the system picks (port 0) may be handed to any outgoing connection before the server, or its next
    life after a kill, listens there.
    """
    return next(port for port in _PORTS if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
