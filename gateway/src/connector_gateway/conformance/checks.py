"""The checks of each operation and of the service as a whole, with the clauses that they cover."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from pydantic import ValidationError
from pydantic_core import to_json

from connector_gateway.conformance.service_under_test import (
    CheckFailed,
    CheckSkipped,
    Reply,
    TargetService,
    assert_equal,
)
from connector_gateway.core.access.keys import generate_key
from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.kit.operation import AnyConnector, AnyOperation

PLACEHOLDER_ID = "1" * 32
"""The placeholder for object identifiers in paths."""

RUN_ID = re.compile(r"run_[0-9A-HJKMNP-TV-Z]{26}")
DRY_RUN = "application/vnd.connector-gateway.dry-run+json"
UNKNOWN_CONNECTION = "conn_00000000000000000000000000"


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """One operation of a connector at the service under test."""

    service: TargetService
    connector: AnyConnector
    operation: AnyOperation

    @property
    def name(self) -> str:
        """The name in the report."""
        return f"{self.connector.name} {self.operation.name}"

    @property
    def required(self) -> set[str]:
        """The required parameters outside of the path."""
        declared = self.operation.parameters.items()
        return {name for name, one in declared if one.is_required()} - self.operation.path_names

    @property
    def writes(self) -> bool:
        """Whether the operation writes."""
        return self.operation.scope == "write"

    def arguments(self) -> Mapping[str, Any]:
        """Return the arguments of the operation. Raises ``CheckSkipped`` if required ones are not given."""
        arguments = self.service.arguments.get(f"{self.connector.name}_{self.operation.name}")
        if arguments is not None:
            return arguments
        if self.required or self.operation.path_names or self.writes:
            raise CheckSkipped("its arguments are not specified")
        return {}

    def write_arguments(self) -> Mapping[str, Any]:
        """Return the arguments of a write. Raises ``CheckSkipped`` if the operation only reads."""
        if not self.writes:
            raise CheckSkipped("it only reads")
        return self.arguments()

    @property
    def connection(self) -> str:
        """The connection of the connector."""
        return self.service.connection(self.connector.name)

    async def call(
        self,
        *,
        key: str | None = "",
        connection: str = UNKNOWN_CONNECTION,
        headers: Mapping[str, Any] = MappingProxyType({}),
        **values: Any,
    ) -> Reply:
        """Call the operation and return the reply."""
        names = self.operation.path_names
        segments = {name: quote(str(values.get(name, PLACEHOLDER_ID)), safe="") for name in names}
        path = f"/v1/connectors/{self.connector.name}{self.operation.path.format(**segments)}"
        parameters = {"connection_id": connection} | {name: one for name, one in values.items() if name not in names}
        if self.operation.method == "GET":
            query = urlencode({name: _to_query(one) for name, one in parameters.items()})
            return await self.service.request("GET", f"{path}?{query}", key=key, **headers)
        return await self.service.request(self.operation.method, path, parameters, key=key, **headers)

    def read(self, data: Any) -> None:
        """Check *data* against the declared model."""
        for item in data if isinstance(data, list) else [data]:
            try:
                self.operation.item.model_validate(item)
            except ValidationError as error:
                raise CheckFailed(f"data does not match the declared model at {error.errors()[0]['loc']}") from error


def _to_query(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_to_query, value))
    return value if isinstance(value, str) else to_json(value).decode()


@dataclass(frozen=True, slots=True)
class Check:
    """A check, and the clauses that it covers."""

    name: str
    clauses: tuple[str, ...]
    perform: Callable[[Any], Awaitable[None]]


OPERATION_CHECKS: list[Check] = []
SERVICE_CHECKS: list[Check] = []
Perform = Callable[[Any], Awaitable[None]]


def _check(checks: list[Check], *clauses: str) -> Callable[[Perform], Perform]:
    def declare(perform: Perform) -> Perform:
        checks.append(Check(perform.__name__.replace("_", " "), clauses, perform))
        return perform

    return declare


def check_error_response(reply: Reply, status: int, code: str) -> None:
    """Check *reply* against the format of error responses."""
    assert_equal(status, reply.status, "the status")
    body = reply.body
    error = body.get("error", {})
    assert_equal(code, error.get("code"), "the code")
    assert_equal(set(), {"run_id", "connector", "error"} - body.keys(), "the missing fields of the body")
    assert_equal(
        set(), {"code", "message", "remedy", "details", "docs"} - error.keys(), "the missing fields of the error"
    )
    _check_common_headers(reply)


def check_envelope(reply: Reply, connector: str, *, lists: bool, pages: bool) -> None:
    """Check *reply* against the format of envelopes."""
    body = reply.body
    if reply.status != 200:
        error = body.get("error", {})
        raise CheckFailed(
            f"the status should be 200, but is {reply.status}: {error.get('code')}, {error.get('message')}"
        )
    expected = {"run_id", "connector", "status", "data"} | ({"next_cursor"} if pages else set())
    assert_equal(expected, set(body), "the fields of the body")
    assert_equal(connector, body["connector"], "connector")
    assert_equal(True, body["status"] in {"ok", "partial"}, "whether status is ok or partial")
    assert_equal(list if lists else dict, type(body["data"]), "the type of data")
    _check_common_headers(reply)


def _check_common_headers(reply: Reply) -> None:
    """Check the headers that every response must have."""
    run_id = str(reply.body["run_id"])
    if not RUN_ID.fullmatch(run_id):
        raise CheckFailed(f"the run_id {run_id!r} is not run_ and 26 characters")
    assert_equal(run_id, reply.headers.get("x-run-id"), "the header X-Run-Id")
    assert_equal("no-store", reply.headers.get("cache-control"), "the header Cache-Control")
    if not reply.headers.get("x-service-ratelimit-remaining", "").isdigit():
        raise CheckFailed("the header X-Service-RateLimit-Remaining is missing")


# Every operation


@_check(OPERATION_CHECKS, "common-56", "common-58", "common-41", "common-42", "common-44", "common-18", "common-73")
async def requires_api_key(subject: CheckSubject) -> None:
    """Reject requests without an API key."""
    reply = await subject.call(key=None)
    check_error_response(reply, 401, "missing_api_key")
    assert_equal("Bearer", reply.headers.get("www-authenticate", "").partition(" ")[0], "the header WWW-Authenticate")


@_check(OPERATION_CHECKS, "common-57", "common-58")
async def rejects_unknown_key(subject: CheckSubject) -> None:
    """Reject an unknown API key."""
    reply = await subject.call(key=generate_key())
    check_error_response(reply, 401, "invalid_api_key")
    assert_equal("0", reply.headers.get("x-service-ratelimit-remaining"), "the header X-Service-RateLimit-Remaining")


@_check(OPERATION_CHECKS, "common-61", "common-43")
async def rejects_write_with_read_key(subject: CheckSubject) -> None:
    """Reject a write with a read key, but accept reads."""
    reply = await subject.call(key=subject.service.read_key, surely_unknown="x")
    if subject.operation.scope == "write":
        check_error_response(reply, 403, "write_scope_required")
    else:
        check_error_response(reply, 422, "invalid_parameters")


@_check(OPERATION_CHECKS, "common-26", "common-29", "common-44")
async def reports_all_invalid_parameters(subject: CheckSubject) -> None:
    """Report all missing and all unknown parameters in one response."""
    reply = await subject.call(surely_unknown="x")
    check_error_response(reply, 422, "invalid_parameters")
    missing = (subject.required | {"surely_unknown"}) - reply.reported_parameters
    assert_equal(set(), missing, "the unreported parameters")


@_check(OPERATION_CHECKS, "common-49")
async def rejects_unknown_connection(subject: CheckSubject) -> None:
    """Report a connection that does not exist."""
    check_error_response(await subject.call(**subject.arguments()), 404, "connection_not_found")


@_check(OPERATION_CHECKS, "common-10", "common-11", "common-12", "common-13", "common-14", "common-15", "common-112")
async def returns_envelope(subject: CheckSubject) -> None:
    """Respond with the declared model, and record a run. Writes are sent as dry runs."""
    arguments, dry = subject.arguments(), {"Prefer": "dry-run"} if subject.writes else {}
    reply = await subject.call(connection=subject.connection, headers=dry, **arguments)
    operation = subject.operation
    lists = operation.item is not operation.result and not dry
    check_envelope(reply, subject.connector.name, lists=lists, pages=operation.is_paged)
    if not dry:
        subject.read(reply.body["data"])
    run = (await subject.service.request("GET", f"/v1/runs/{reply.body['run_id']}")).body["data"]
    recorded = (run["operation"], run["status"], run["dry_run"])
    assert_equal(
        (operation.name, reply.body["status"], bool(dry)), recorded, "operation, status and dry_run of its run"
    )


@_check(OPERATION_CHECKS, "common-212", "common-213", "common-214", "common-216")
async def supports_dry_run(subject: CheckSubject) -> None:
    """Respond to a dry run with the requests that would be sent."""
    reply = await subject.call(
        connection=subject.connection, headers={"Prefer": "dry-run"}, **subject.write_arguments()
    )
    check_envelope(reply, subject.connector.name, lists=False, pages=False)
    assert_equal(DRY_RUN, reply.headers.get("content-type", "").partition(";")[0], "the media type")
    assert_equal("dry-run", reply.headers.get("preference-applied"), "the header Preference-Applied")
    assert_equal({"requests", "casts", "refused"}, set(reply.body["data"]), "the fields of data")
    fields = {"step", "method", "path", "body", "body_bytes"}
    assert_equal(
        set(),
        {name for one in reply.body["data"]["requests"] for name in fields - one.keys()},
        "the missing fields of requests",
    )


@_check(OPERATION_CHECKS, "common-85", "common-87", "common-88", "common-89", "common-90")
async def writes_once_per_key(subject: CheckSubject) -> None:
    """Perform only one of three calls with one key, two of which are concurrent."""
    arguments = {name: value for name, value in subject.write_arguments().items() if name != IDEMPOTENCY_FIELD}
    if not subject.service.writes:
        raise CheckSkipped("writes require --write")
    once = partial(
        subject.call, connection=subject.connection, headers={"Idempotency-Key": f"conformance-{uuid4()}"}, **arguments
    )
    replies = [*await asyncio.gather(once(), once()), await once()]
    for reply in replies:
        check_envelope(reply, subject.connector.name, lists=False, pages=False)
    subject.read(replies[0].body["data"])
    first = replies[0].body
    assert_equal([first["data"]] * 3, [reply.body["data"] for reply in replies], "data of calls with one key")
    replayed = [reply.headers.get("idempotent-replayed") for reply in replies]
    assert_equal({None: 1, "true": 2}, Counter(replayed), "the counts of the header Idempotent-Replayed")
    assert_equal(3, len({reply.body["run_id"] for reply in replies}), "the number of runs")


@_check(OPERATION_CHECKS, "common-38", "common-39")
async def rejects_unknown_cursor(subject: CheckSubject) -> None:
    """Reject a cursor that the service did not issue."""
    if "cursor" not in subject.operation.parameters:
        raise CheckSkipped("it is not paginated")
    arguments = {**subject.arguments(), "cursor": "made-up"}
    check_error_response(await subject.call(connection=subject.connection, **arguments), 422, "invalid_cursor")


# The service


@_check(SERVICE_CHECKS, "common-1", "common-2", "common-132")
async def describes_thirty_operations(service: TargetService) -> None:
    """Describe five operations of each connector, and nothing else below their path."""
    paths = (await service.request("GET", "/openapi.json")).body["paths"]
    below = [
        path.split("/")[3] for path, methods in paths.items() for _ in methods if path.startswith("/v1/connectors/")
    ]
    counted = {name: below.count(name) for name in dict.fromkeys(below)}
    assert_equal(dict.fromkeys(("notes", "boards", "mail", "chat", "crm", "tables"), 5), counted, "the operations")


@_check(SERVICE_CHECKS, "common-36", "common-183")
async def returns_404_for_unknown_route(service: TargetService) -> None:
    """Suggest a similar route for an unknown path."""
    reply = await service.request("GET", "/v1/connectors/notes/databasess")
    check_error_response(reply, 404, "route_not_found")
    assert_equal(
        True, any("did_you_mean" in detail for detail in reply.body["error"]["details"]), "whether a route is suggested"
    )


@_check(SERVICE_CHECKS, "common-37")
async def rejects_unsupported_method(service: TargetService) -> None:
    """List the methods of a route in ``Allow``."""
    reply = await service.request("DELETE", "/v1/connectors/notes/databases")
    check_error_response(reply, 405, "method_not_allowed")
    assert_equal(True, "GET" in reply.headers.get("allow", ""), "whether Allow names GET")


@_check(SERVICE_CHECKS, "common-32")
async def rejects_invalid_json(service: TargetService) -> None:
    """Reject a body that is not JSON, or contains a duplicate name."""
    path = "/v1/connectors/boards/cards"
    check_error_response(await service.request("POST", path, text=b"{"), 400, "invalid_json")
    check_error_response(await service.request("POST", path, text=b'{"name": "a", "name": "b"}'), 400, "invalid_json")


@_check(SERVICE_CHECKS, "common-33", "common-34", "common-35")
async def rejects_invalid_bodies(service: TargetService) -> None:
    """Reject a body that is not an object, has another media type, or is too large."""
    path = "/v1/connectors/boards/cards"
    check_error_response(await service.request("POST", path, text=b"[]"), 422, "invalid_parameters")
    check_error_response(
        await service.request("POST", path, text=b"{}", Content_Type="text/plain"), 415, "unsupported_media_type"
    )
    many = b'{"name": [' + b",".join([b"1"] * 10_001) + b"]}"
    check_error_response(await service.request("POST", path, text=many), 413, "payload_too_large")


@_check(SERVICE_CHECKS, "common-27", "common-22", "common-167")
async def validates_query_parameters(service: TargetService) -> None:
    """Report repeated parameters, and parameters that are not numbers."""
    path = f"/v1/connectors/notes/databases?connection_id={UNKNOWN_CONNECTION}"
    twice = await service.request("GET", f"{path}&limit=1&limit=2")
    check_error_response(twice, 422, "invalid_parameters")
    assert_equal({"limit"}, twice.reported_parameters, "the reported parameters")
    check_error_response(await service.request("GET", f"{path}&limit=ten"), 422, "invalid_parameters")


@_check(SERVICE_CHECKS, "common-85", "common-86")
async def rejects_conflicting_idempotency_keys(service: TargetService) -> None:
    """Reject an idempotency key in the header that differs from the one in the body."""
    path = f"/v1/connectors/boards/cards/{PLACEHOLDER_ID}/comments"
    body = {"connection_id": UNKNOWN_CONNECTION, "text": "x", "idempotency_key": "one"}
    check_error_response(await service.request("POST", path, body, Idempotency_Key="two"), 422, "invalid_parameters")


@_check(SERVICE_CHECKS, "common-126")
async def rejects_keys_on_operator_routes(service: TargetService) -> None:
    """Reject API keys on routes for operators."""
    check_error_response(await service.request("POST", "/v1/workspaces", {"name": "x"}), 403, "operator_token_required")
    check_error_response(await service.request("GET", "/v1/keys"), 403, "operator_token_required")


@_check(SERVICE_CHECKS, "common-115", "common-128")
async def lists_runs(service: TargetService) -> None:
    """List the history of the key's workspace, page by page."""
    reply = await service.request("GET", "/v1/runs?limit=1")
    assert_equal(200, reply.status, "the status")
    assert_equal({"data", "next_cursor"}, set(reply.body), "the fields of the body")
    check_error_response(await service.request("GET", "/v1/runs/run_00000000000000000000000000"), 404, "run_not_found")


@_check(SERVICE_CHECKS, "common-184")
async def documents_every_error_code(service: TargetService) -> None:
    """Link from an error to the page that explains it."""
    error = (await service.request("GET", "/v1/nothing")).body["error"]
    assert_equal(200, (await service.request("GET", error["docs"], key=None)).status, "the status of its page")


@_check(SERVICE_CHECKS, "common-134")
async def echoes_request_id(service: TargetService) -> None:
    """Return the ``X-Request-Id`` of the request."""
    reply = await service.request("GET", "/v1/connections", X_Request_Id="conformance-1")
    assert_equal("conformance-1", reply.headers.get("x-request-id"), "the header X-Request-Id")


@_check(SERVICE_CHECKS, "common-129", "common-130")
async def responds_to_health_checks(service: TargetService) -> None:
    """Respond to health checks."""
    assert_equal(200, (await service.request("GET", "/healthz", key=None)).status, "the status of /healthz")
    assert_equal(200, (await service.request("GET", "/readyz", key=None)).status, "the status of /readyz")


@_check(SERVICE_CHECKS, "mcp-4")
async def requires_api_key_of_agents(service: TargetService) -> None:
    """Reject an agent without an API key."""
    reply = await service.request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, key=None)
    assert_equal(401, reply.status, "the status")
