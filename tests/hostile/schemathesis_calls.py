"""``python -m hostile.schemathesis_calls``: schemathesis calls every operation of the emulators for a minute.

Exits 1 on findings. Requests that are valid by their schema and rejected for their meaning, such as a cursor that
was never issued, are among them, so each finding must be reviewed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.gateway_process import Installation, run_installation
from harness.gateway_server import OPERATOR
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

PREFIX = "/v1/connectors/"
LONGEST_SECONDS = 50
"""The seconds for the requests; the rest of the minute is for the start."""


def main() -> int:
    """Run a gateway, call it, and report the findings."""
    with (
        run_emulators(**EMULATORS) as sandbox,
        tempfile.TemporaryDirectory() as folder,
        run_installation(sandbox, Path(folder), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20") as installation,
    ):
        return _call_all(installation, Path(folder))


def _call_all(installation: Installation, folder: Path) -> int:
    document = installation.http.get(f"{installation.base_url}/openapi.json").json()
    for path, item in document["paths"].items():
        if path.startswith(PREFIX):
            _name_connection(item, installation.connections[path.split("/")[3]])
    file = folder / "openapi.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    reported = (
        *("run", str(file), "--url", installation.base_url, "--header", f"Authorization: Bearer {_key(installation)}"),
        *("--include-path-regex", f"^{PREFIX}", "--phases", "coverage,fuzzing", "--max-examples", "10", "--seed", "1"),
        *("--continue-on-failure", "--no-color", "--suppress-health-check", "all", "--request-timeout", "60"),
        *("--max-time", str(LONGEST_SECONDS), *sys.argv[1:]),
    )
    return subprocess.run([Path(sys.executable).parent / "st", *reported], cwd=folder, check=False).returncode


def _key(installation: Installation) -> str:
    """Create a key with a high rate limit."""
    authorised = {"Authorization": f"Bearer {OPERATOR}"}
    connections = installation.http.get(f"{installation.base_url}/v1/connections", headers=authorised).json()["data"]
    scope = {"workspace_id": connections[0]["workspace_id"], "scope": "read_write", "calls_per_minute": 1_000_000}
    created = installation.http.post(f"{installation.base_url}/v1/keys", headers=authorised, json=scope)
    return str(created.json()["data"]["key"])


def _name_connection(node: Any, connection_id: str) -> None:
    """Add an existing connection to all requests, which would be rejected early without one."""
    if isinstance(node, dict):
        named = {"type": "string", "enum": [connection_id]}
        if node.get("name") == "connection_id" and "schema" in node:
            node["schema"] = named
        if "connection_id" in (node.get("properties") or ()):
            node["properties"]["connection_id"] = named
        for below in node.values():
            _name_connection(below, connection_id)
    elif isinstance(node, list):
        for below in node:
            _name_connection(below, connection_id)


if __name__ == "__main__":
    sys.exit(main())
