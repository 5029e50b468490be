"""Ports for servers that are started later, as separate processes."""

import itertools
import random
import socket

RESERVED = range(20_000, 32_768)
"""Linux gives no port of this range to an outgoing connection, which could take it before the server starts."""

_candidates = itertools.cycle(random.SystemRandom().sample(RESERVED, len(RESERVED)))


def free_port() -> int:
    """Return an unused port. Test processes choose in different orders, so that they rarely choose the same."""
    while True:
        port = next(_candidates)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
