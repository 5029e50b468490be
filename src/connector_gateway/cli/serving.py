"""How the application is served: uvicorn, quiet, and stopping well."""

import gc
import logging
import socket

import structlog
import uvicorn
from starlette.types import ASGIApp

GRACE_SECONDS = 30
"""How long running calls may take to end after SIGTERM."""


class Server(uvicorn.Server):
    """uvicorn's server, with everything that was built at the start left out of garbage collection."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then settle what will live as long as the process."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()


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
