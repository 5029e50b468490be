"""A worker without its supervisor: the test holds the other end of the channel."""

import socket
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from connector_gateway.cli.serve.server import server
from connector_gateway.cli.serve.worker_channel import RETIRE_BYTE, SupervisorChannel
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.http.server.connection_limits import ClientConnections, ConnectionLimits
from harness.requirement import requirement
from harness.wait import until


class Starting:
    """An application that keeps starting until shutdown."""

    def __init__(self) -> None:
        self.shutdown = Shutdown()
        self.clients = ClientConnections(ConnectionLimits())
        self.fixed_segments: Collection[str] = ()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Wait for shutdown."""
        await until(self._stops)
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send no response."""

    async def _stops(self) -> bool:
        return self.shutdown.started


@requirement("common-209")
def test_a_worker_retired_during_startup_exits() -> None:
    ours, theirs = socket.socketpair()
    worker = server(Starting(), "127.0.0.1", 0, channel=SupervisorChannel(theirs.detach()))
    thread = threading.Thread(target=worker.run)
    with ours:
        ours.send(RETIRE_BYTE)
        thread.start()
        thread.join(30)

    assert (False, True) == (thread.is_alive(), worker.started)
