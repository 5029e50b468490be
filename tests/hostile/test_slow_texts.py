"""Texts of 64 KB in every place that takes texts: nobody else waits for them."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from connector_gateway.connectors import CONNECTORS
from harness.playing import playing
from harness.requirement import requirement
from harness.rooms import Rooms, rooms
from hostile.values import answers
from workspace_sandbox import EMULATORS

SIZE = 64 * 1024
MOST_SECONDS = 1.0
"""Generous, since test, gateway and applications share one process; what grows with the square takes four and more."""

PIECES = (
    *(".", "<", " ", "a", "\\", "\n", "(", "1", '"', ":", "-", "*", "#", "%", "[", "{", "\u00e9", "\U0001f44d"),
    *("</script", "<!--", "<a ", "<b>", "&#1", "oauth_a", "a@b.", "http://", "_a", "a,", "0x", "@."),
)
TEXTS = [piece * (SIZE // len(piece)) for piece in PIECES]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    with playing(**EMULATORS) as sandbox, rooms(sandbox, tmp_path_factory.mktemp("slow")) as started:
        yield started


@contextmanager
def probing(base_url: str) -> Iterator[list[float]]:
    """How long ``/healthz`` takes, asked by somebody else again and again."""
    address, over, took = urlsplit(base_url), threading.Event(), []

    def probe() -> None:
        connection = http.client.HTTPConnection(str(address.hostname), address.port)
        while not over.wait(0.005):
            begun = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            took.append(time.perf_counter() - begun)
        connection.close()

    prober = threading.Thread(target=probe)
    prober.start()
    try:
        yield took
    finally:
        over.set()
        prober.join()


@requirement("doors:slow-texts")
@pytest.mark.parametrize("room", CONNECTORS)
def test_nobody_waits_for_a_text_that_is_made_to_be_slow(started: Rooms, room: str) -> None:
    with probing(started.gateway.base_url) as took:
        given = list(answers(started, room, TEXTS))

    assert [] == [(str(placed), text[:10], reply.code) for placed, text, reply in given if reply.status >= 500]
    assert max(took) < MOST_SECONDS, f"{max(took):.2f} s"
