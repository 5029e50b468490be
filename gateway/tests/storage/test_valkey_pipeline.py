"""The pipeline to a shared store, and the number of its packets."""

import asyncio
from typing import Any

import pytest
from valkey.asyncio.connection import Connection

from connector_gateway.storage.shared.interface import StoreUnavailable
from connector_gateway.storage.shared.valkey_pipeline import ValkeyPipeline
from harness.ports import free_port
from harness.valkey import Server


class CountingConnection(Connection):
    """A connection that records how many commands each packet contains."""

    packets: list[int]

    def pack_commands(self, commands: Any) -> Any:
        self.packets.append(len(commands))
        return super().pack_commands(commands)


async def test_commands_of_one_loop_iteration_are_sent_together_and_answered_in_order(
    valkey_of_tests: Server,
) -> None:
    connection = CountingConnection(port=valkey_of_tests.port, socket_timeout=None)
    connection.packets = []
    async with ValkeyPipeline(lambda: connection, 20) as pipeline:
        answers = await asyncio.gather(*(pipeline.send("ECHO", word) for word in ("a", "b", "c")))
        last = await pipeline.send("ECHO", "d")

    assert ([b"a", b"b", b"c"], b"d") == (answers, last)
    assert [3, 1] == connection.packets


async def test_a_missing_connection_is_reported_immediately() -> None:
    port = free_port()
    async with ValkeyPipeline(lambda: Connection(port=port, socket_timeout=None), 20) as pipeline:
        pipeline.send_no_reply("PING")
        with pytest.raises(StoreUnavailable, match="ConnectionError"):
            await pipeline.send("PING")


async def test_pending_commands_fail_when_the_pipeline_is_closed(valkey_of_tests: Server) -> None:
    async with ValkeyPipeline(lambda: Connection(port=valkey_of_tests.port, socket_timeout=None), 20) as pipeline:
        waiting = pipeline.send("BLPOP", "nothing", 0)
        await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await waiting
