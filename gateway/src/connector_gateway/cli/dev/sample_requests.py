"""The tour: the sample call of each connector."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.kit.operation import AnyConnector, AnyOperation, SampleCall

Described = Mapping[str, Any]


@dataclass(frozen=True)
class SampleRequest:
    """One call of the tour."""

    title: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def sample_requests(described: Described, connectors: Mapping[str, AnyConnector]) -> Mapping[str, SampleRequest]:
    """Return the sample calls by connector, for the installation that ``dev`` has set up."""
    return {
        name: _sample_request(name, sample, described["examples"][name], connection_id)
        for name, connection_id in described["connections"].items()
        if (sample := connectors[name].sample)
    }


def _sample_request(connector: str, sample: SampleCall, examples: Described, connection_id: str) -> SampleRequest:
    operation, values = sample.operation, dict(sample.arguments(examples))
    address = call_path(connector, operation, values)
    arguments = {"connection_id": connection_id} | values
    if operation.method == "GET":
        return SampleRequest(
            sample.title, "GET", address, query={name: query_text(value) for name, value in arguments.items()}
        )
    # Sent at each start, to emulators that may have retained their state.
    has_key = operation.scope == "read" or IDEMPOTENCY_FIELD in arguments
    headers = {} if has_key else {"Idempotency-Key": f"tour-{connector}"}
    return SampleRequest(sample.title, operation.method, address, body=arguments, headers=headers)


def call_path(connector: str, operation: AnyOperation, values: dict[str, Any]) -> str:
    """Return the path of a call. Path parameters are removed from *values*."""
    # Dots are escaped too, since ``..`` would change the path.
    segments = {name: quote(str(values.pop(name)), safe="").replace(".", "%2E") for name in operation.path_names}
    return f"/v1/connectors/{connector}{operation.path.format(**segments)}"


def query_text(value: Any) -> str:
    """Return *value* as query text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def curl(described: Described, sample: SampleRequest) -> str:
    """Return the curl command of *sample*."""
    address = described["base_url"] + sample.path + (f"?{urlencode(sample.query)}" if sample.query else "")
    parts = ["curl", "-sS", shlex.quote(address), "-H", f"'Authorization: Bearer {described['keys']['write']}'"]
    if sample.method != "GET":
        parts += ["-X", sample.method]
    parts += [part for name, value in sample.headers.items() for part in ("-H", shlex.quote(f"{name}: {value}"))]
    if sample.body is not None:
        parts += [
            "-H",
            "'Content-Type: application/json'",
            "-d",
            shlex.quote(json.dumps(sample.body, ensure_ascii=False)),
        ]
    return " ".join(parts)
