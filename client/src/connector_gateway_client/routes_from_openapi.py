"""The routes of operations that have no generated method, from the service's OpenAPI document."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from connector_gateway_client.http_encoding import RequestSpec

OPENAPI_PATH = "/openapi.json"
PATH = re.compile("/v1/connectors/([^/]+)/")
KEY_HEADER, DRY_RUN_HEADER = "Idempotency-Key", "Prefer"


@dataclass(frozen=True)
class OperationRoute:
    """The route of one operation."""

    method: str
    path: str
    headers: Collection[str]
    """The headers that it accepts: one for dry runs if it writes, and one for a key if it can be repeated with one."""

    def to_request(
        self, values: Mapping[str, Any], *, idempotency_key: str | None = None, dry_run: bool = False
    ) -> RequestSpec:
        """Return the call of the operation with *values*. Raises ``ValueError`` if one of its path is missing."""
        names = re.findall(r"{(\w+)}", self.path)
        if missing := [name for name in names if name not in values]:
            raise ValueError(f"{self.method} {self.path} needs {', '.join(missing)}.")
        path = re.sub(r"{(\w+)}", lambda match: RequestSpec.segment(str(values[match[1]])), self.path)
        others = {name: value for name, value in values.items() if name not in names}
        return RequestSpec(
            self.method,
            path,
            others,
            writes=KEY_HEADER in self.headers,
            key=idempotency_key,
            once=DRY_RUN_HEADER in self.headers and KEY_HEADER not in self.headers,
            dry_run=dry_run,
        )


Routes = Mapping[str, Mapping[str, OperationRoute]]
"""The routes of operations, by connector and name."""


def read_routes(document: Mapping[str, Any]) -> Routes:
    """Return the routes in an OpenAPI document."""
    routes: dict[str, dict[str, OperationRoute]] = {}
    for path, methods in document["paths"].items():
        if found := PATH.match(path):
            for method, described in methods.items():
                headers = [one["name"] for one in described["parameters"] if one["in"] == "header"]
                name = described["operationId"].removeprefix(f"{found[1]}_")
                routes.setdefault(found[1], {})[name] = OperationRoute(method.upper(), path, headers)
    return routes


def find_route(routes: Routes, connector: str, operation: str) -> OperationRoute:
    """Return the route of an operation. Raises ``ValueError`` with the existing ones if there is none."""
    operations = routes.get(connector)
    if operations is None:
        raise ValueError(f"The service has no connector {connector!r}. It has {', '.join(routes)}.")
    if operation not in operations:
        raise ValueError(
            f"The service has no operation {operation!r} of {connector!r}. It has {', '.join(operations)}."
        )
    return operations[operation]
