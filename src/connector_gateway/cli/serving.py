"""How the application is served: uvicorn, quiet, and stopping well."""

import asyncio
import gc
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
import uvicorn
from starlette.types import ASGIApp

GRACE_SECONDS = 30
"""How long running calls may take to end after SIGTERM."""

COLLECT_FROM = 10_000
"""New objects from which on garbage is looked for: at Python's 700, calls under way are looked through again and again,
which took a tenth of their time; what is no cycle is freed without it."""


class Server(uvicorn.Server):
    """uvicorn's server, which ends quietly, and leaves what was built at the start out of garbage collection."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop well on the first SIGINT or SIGTERM, at once on the second; having been told to stop is no error."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then settle what will live as long as the process."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_FROM)


def server(application: ASGIApp, host: str, port: int) -> Server:
    """A server of *application*, not yet started."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(),
    )
    return Server(
        uvicorn.Config(
            application,
            host=host,
            port=port,
            loop="auto",
            http="httptools",
            interface="asgi3",
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            backlog=4096,
        )
    )
