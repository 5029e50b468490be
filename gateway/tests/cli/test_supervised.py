"""A worker by itself, on a line whose other end is the test's."""

import socket
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from connector_gateway.cli.serve.server import server
from connector_gateway.cli.serve.worker import RETIRE, SupervisorChannel
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.http.server.connection_limits import ClientConnections, ConnectionLimits
from harness.requirement import requirement
from harness.wait import until


class Starting:
    """An application that goes on starting until it is told to stop."""

    def __init__(self) -> None:
        self.shutdown = Shutdown()
        self.clients = ClientConnections(ConnectionLimits())
        self.fixed_segments: Collection[str] = ()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Wait to be stopped."""
        await until(self._stops)
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer nothing."""

    async def _stops(self) -> bool:
        return self.shutdown.started


@requirement("common-209")
def test_one_that_is_retired_while_it_starts_ends() -> None:
    ours, theirs = socket.socketpair()
    worker = server(Starting(), "127.0.0.1", 0, line=SupervisorChannel(theirs.detach()))
    thread = threading.Thread(target=worker.run)
    with ours:
        ours.send(RETIRE)
        thread.start()
        thread.join(30)

    assert (False, True) == (thread.is_alive(), worker.started)
