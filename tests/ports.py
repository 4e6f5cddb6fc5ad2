"""Ports for servers of tests."""

import pathlib
import random
import socket

# Of all that the system gives to connections, in case it does not say.
RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST, LAST = 10_000, 32_767

given = set()


def free_port():
    """A port that nobody has and that the system gives to no connection, so that it is still free when it is bound, and
    again after whoever had it was killed."""
    last = LAST
    if RANGE.exists():
        last = min(last, int(RANGE.read_text(encoding="ascii").split()[0]) - 1)
    for _ in range(1_000):
        port = random.SystemRandom().randint(FIRST, max(FIRST, last))
        if port in given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        given.add(port)
        return port
    raise RuntimeError(f"no port from {FIRST} to {last} is free")
