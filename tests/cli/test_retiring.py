"""Listening sockets of a process that makes room for another."""

import asyncio
import socket

import pytest

from connector_gateway.cli import retiring
from connector_gateway.cli.retiring import opens_no_more, take_the_last
from harness.requirement import requirement


@pytest.fixture(scope="module")
def _held_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if not opens_no_more(listening):
            pytest.skip("the system lets this user hold back no connections")


@requirement("stopping:retiring")
@pytest.mark.usefixtures("_held_back")
async def test_who_connects_while_a_listener_ends_is_refused_and_never_let_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as late:
        late.setblocking(False)
        ending = asyncio.create_task(take_the_last([listening]))
        await asyncio.sleep(0)
        connecting = asyncio.create_task(asyncio.get_running_loop().sock_connect(late, listening.getsockname()))
        await ending
        listening.close()
        outcome = await asyncio.gather(connecting, return_exceptions=True)

    assert [ConnectionRefusedError] == list(map(type, outcome))


@requirement("stopping:retiring")
@pytest.mark.parametrize("option", [retiring.SO_ATTACH_FILTER, -1], ids=["held back", "not held back"])
async def test_who_was_let_in_is_waited_for_until_accepted(option: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retiring, "SO_ATTACH_FILTER", option)
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        ending = asyncio.create_task(take_the_last([listening]))
        done, _ = await asyncio.wait((ending,), timeout=0.7)
        accepted, _ = listening.accept()
        accepted.close()
        await ending

    assert set() == done
