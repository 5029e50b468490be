"""An installation of two gateways, and a caller of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from deploy.processes import Gateway
from workspace_sandbox.sandbox import Sandbox


@dataclass
class Deployment:
    """Two gateways on one database, and a key and a connection to notes."""

    gateways: list[Gateway]
    sandbox: Sandbox
    folder: Path
    operator_token: str
    key: str = ""
    connection_id: str = ""

    @property
    def database_id(self) -> object:
        """The identifier of a seeded database."""
        return self.sandbox.emulators["notes"].examples()["database_id"]

    def manage(self, number: int, method: str, path: str, **body: Any) -> Any:
        """Send a management request to a gateway, which must succeed."""
        headers = {"Authorization": f"Bearer {self.operator_token}"}
        address = self.gateways[number].admin_address
        response = httpx.request(method, address + path, headers=headers, json=body or None, timeout=60)
        assert 200 == response.status_code, response.text
        return response.json()["data"]

    def prepare(self, first: int = 0, second: int = 1) -> None:
        """Create a workspace at one gateway, and a key and a connection at another."""
        workspace_id = self.manage(first, "POST", "/v1/workspaces", name="tests")["workspace_id"]
        key = {"workspace_id": workspace_id, "scope": "read_write", "calls_per_minute": 1_000_000}
        self.key = self.manage(second, "POST", "/v1/keys", **key)["key"]
        credentials = self.sandbox.emulators["notes"].credentials()
        connection = {"workspace_id": workspace_id, "connector": "notes", "credentials": credentials}
        self.connection_id = self.manage(second, "POST", "/v1/connections", **connection)["connection_id"]

    def write(self, number: int, idempotency_key: str) -> Any:
        """Return the response of one gateway to the creation of a page under a key."""
        body = {"connection_id": self.connection_id, "database_id": self.database_id, "properties": {}}
        return httpx.post(
            f"{self.gateways[number].address}/v1/connectors/notes/pages",
            headers={"Authorization": f"Bearer {self.key}"},
            json=body | {"idempotency_key": idempotency_key},
            timeout=60,
        ).json()

    def replace(self, number: int) -> int:
        """Restart a gateway, and wait until it is ready. Returns the exit code of the old process."""
        gateway = self.gateways[number]
        gateway.terminate()
        status = gateway.ended()
        gateway.start()
        return status
