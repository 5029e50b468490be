"""Ports for servers that are started later, as separate processes."""

import itertools
import random
import socket

BLOCKS = range(10_000, 32_760, 10)
"""Linux gives no port of this range to an outgoing connection, which could take it before the server starts."""

_candidates = itertools.cycle(random.SystemRandom().sample(BLOCKS, len(BLOCKS)))


def free_port() -> int:
    """Return the first of ten unused ports. Each test process tries them in an order of its own."""
    return next(port for port in _candidates if all(map(is_free, range(port, port + 10))))


def is_free(port: int) -> bool:
    """Return True if nothing listens on *port*."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
