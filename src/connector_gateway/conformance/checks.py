"""The checks: what each operation, and the service as a whole, has to answer; each with the clauses that say so."""

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

from connector_gateway.conformance.target import Broken, Place, Reply, Skipped, expect
from connector_gateway.core.access.keys import new_key
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD

STAND_IN = "1" * 32
"""What stands in a path where an object would be named."""

RUN_ID = re.compile(r"run_[0-9A-HJKMNP-TV-Z]{26}")
DRY_RUN = "application/vnd.connector-gateway.dry-run+json"
NOWHERE = "conn_00000000000000000000000000"


@dataclass(frozen=True, slots=True)
class Subject:
    """One operation of a connector, at the place that is checked."""

    place: Place
    connector: AnyConnector
    operation: AnyOperation

    @property
    def name(self) -> str:
        """What it is called in the report."""
        return f"{self.connector.name} {self.operation.name}"

    @property
    def required(self) -> set[str]:
        """The parameters that have to be sent, and do not stand in the path."""
        declared = self.operation.parameters.items()
        return {name for name, one in declared if one.is_required()} - self.operation.path_names

    @property
    def writes(self) -> bool:
        """Whether it changes something in an application."""
        return self.operation.scope == "write"

    def whole(self) -> Mapping[str, Any]:
        """What it is called with; breaks off where more is needed than is known here."""
        given = self.place.arguments.get(f"{self.connector.name}_{self.operation.name}")
        if given is not None:
            return given
        if self.required or self.operation.path_names or self.writes:
            raise Skipped("it needs objects that are not known here")
        return {}

    def of_a_write(self) -> Mapping[str, Any]:
        """The same for a write only."""
        if not self.writes:
            raise Skipped("it writes nothing")
        return self.whole()

    @property
    def connection(self) -> str:
        """The connection of its connector."""
        return self.place.connection(self.connector.name)

    async def call(
        self,
        *,
        key: str | None = "",
        connection: str = NOWHERE,
        headers: Mapping[str, Any] = MappingProxyType({}),
        **values: Any,
    ) -> Reply:
        """The answer to a call."""
        names = self.operation.path_names
        segments = {name: quote(str(values.get(name, STAND_IN)), safe="") for name in names}
        path = f"/v1/connectors/{self.connector.name}{self.operation.path.format(**segments)}"
        given = {"connection_id": connection} | {name: one for name, one in values.items() if name not in names}
        if self.operation.method == "GET":
            query = urlencode({name: _in_query(one) for name, one in given.items()})
            return await self.place.ask("GET", f"{path}?{query}", key=key, **headers)
        return await self.place.ask(self.operation.method, path, given, key=key, **headers)

    def read(self, data: Any) -> None:
        """Hold *data* against the declared shape."""
        for item in data if isinstance(data, list) else [data]:
            try:
                self.operation.item.model_validate(item)
            except ValidationError as fault:
                raise Broken(f"data has another shape than is declared: {fault.errors()[0]['loc']}") from fault


def _in_query(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_in_query, value))
    return value if isinstance(value, str) else to_json(value).decode()


@dataclass(frozen=True, slots=True)
class Check:
    """One check, and the clauses that it is about."""

    name: str
    clauses: tuple[str, ...]
    perform: Callable[[Any], Awaitable[None]]


OF_OPERATIONS: list[Check] = []
OF_THE_SERVICE: list[Check] = []
Perform = Callable[[Any], Awaitable[None]]


def _check(checks: list[Check], *clauses: str) -> Callable[[Perform], Perform]:
    def declare(perform: Perform) -> Perform:
        checks.append(Check(perform.__name__.replace("_", " "), clauses, perform))
        return perform

    return declare


def refused(reply: Reply, status: int, code: str) -> None:
    """Hold *reply* against the one shape of refusals."""
    expect(status, reply.status, "the status")
    body = reply.body
    error = body.get("error", {})
    expect(code, error.get("code"), "the code")
    expect(set(), {"run_id", "connector", "error"} - body.keys(), "what the body lacks")
    expect(set(), {"code", "message", "remedy", "details", "docs"} - error.keys(), "what the error lacks")
    _identified(reply)


def answered(reply: Reply, connector: str, *, lists: bool, pages: bool) -> None:
    """Hold *reply* against the envelope."""
    body = reply.body
    if reply.status != 200:
        told = body.get("error", {})
        raise Broken(f"the status should be 200, and is {reply.status}: {told.get('code')}, {told.get('message')}")
    wanted = {"run_id", "connector", "status", "data"} | ({"next_cursor"} if pages else set())
    expect(wanted, set(body), "the fields of the body")
    expect(connector, body["connector"], "connector")
    expect(True, body["status"] in {"ok", "partial"}, "whether status is ok or partial")
    expect(list if lists else dict, type(body["data"]), "the type of data")
    _identified(reply)


def _identified(reply: Reply) -> None:
    """Hold the headers of *reply* against what is on every answer."""
    run_id = str(reply.body["run_id"])
    if not RUN_ID.fullmatch(run_id):
        raise Broken(f"the run_id {run_id!r} is not run_ and 26 characters")
    expect(run_id, reply.headers.get("x-run-id"), "the header X-Run-Id")
    expect("no-store", reply.headers.get("cache-control"), "the header Cache-Control")
    if not reply.headers.get("x-service-ratelimit-remaining", "").isdigit():
        raise Broken("the header X-Service-RateLimit-Remaining is missing")


# Every operation


@_check(OF_OPERATIONS, "common-56", "common-58", "common-41", "common-42", "common-44", "common-18", "common-73")
async def needs_a_key(subject: Subject) -> None:
    """Refuse who brings no key."""
    reply = await subject.call(key=None)
    refused(reply, 401, "missing_api_key")
    expect("Bearer", reply.headers.get("www-authenticate", "").partition(" ")[0], "the header WWW-Authenticate")


@_check(OF_OPERATIONS, "common-57", "common-58")
async def refuses_an_unknown_key(subject: Subject) -> None:
    """Refuse a key that nobody was given."""
    reply = await subject.call(key=new_key())
    refused(reply, 401, "invalid_api_key")
    expect("0", reply.headers.get("x-service-ratelimit-remaining"), "the header X-Service-RateLimit-Remaining")


@_check(OF_OPERATIONS, "common-61", "common-43")
async def keeps_a_read_key_from_writing(subject: Subject) -> None:
    """Refuse a write with a key that may only read; anything else it may do."""
    reply = await subject.call(key=subject.place.read_key, surely_unknown="x")
    if subject.operation.scope == "write":
        refused(reply, 403, "write_scope_required")
    else:
        refused(reply, 422, "invalid_parameters")


@_check(OF_OPERATIONS, "common-26", "common-29", "common-44")
async def names_all_that_is_wrong_with_the_parameters(subject: Subject) -> None:
    """Tell at once which parameters are missing, and which one there is not."""
    reply = await subject.call(surely_unknown="x")
    refused(reply, 422, "invalid_parameters")
    missing = (subject.required | {"surely_unknown"}) - reply.faults
    expect(set(), missing, "what is not named")


@_check(OF_OPERATIONS, "common-49")
async def knows_no_connection_of_others(subject: Subject) -> None:
    """Tell of a connection that does not exist."""
    refused(await subject.call(**subject.whole()), 404, "connection_not_found")


@_check(OF_OPERATIONS, "common-10", "common-11", "common-12", "common-13", "common-14", "common-15", "common-112")
async def answers_with_the_envelope(subject: Subject) -> None:
    """Answer in the declared shape, and have the run in the history; what writes is asked for a dry run."""
    given, dry = subject.whole(), {"Prefer": "dry-run"} if subject.writes else {}
    reply = await subject.call(connection=subject.connection, headers=dry, **given)
    operation = subject.operation
    lists = operation.item is not operation.result and not dry
    answered(reply, subject.connector.name, lists=lists, pages=operation.pages)
    if not dry:
        subject.read(reply.body["data"])
    run = (await subject.place.ask("GET", f"/v1/runs/{reply.body['run_id']}")).body["data"]
    told = (run["operation"], run["status"], run["dry_run"])
    expect((operation.name, reply.body["status"], bool(dry)), told, "operation, status and dry_run of its run")


@_check(OF_OPERATIONS, "common-212", "common-213", "common-214", "common-216")
async def tells_what_a_write_would_do(subject: Subject) -> None:
    """Answer a dry run with what would be sent."""
    reply = await subject.call(connection=subject.connection, headers={"Prefer": "dry-run"}, **subject.of_a_write())
    answered(reply, subject.connector.name, lists=False, pages=False)
    expect(DRY_RUN, reply.headers.get("content-type", "").partition(";")[0], "the media type")
    expect("dry-run", reply.headers.get("preference-applied"), "the header Preference-Applied")
    expect({"requests", "casts", "refused"}, set(reply.body["data"]), "the fields of data")
    fields = {"step", "method", "path", "body", "body_bytes"}
    expect(
        set(), {name for one in reply.body["data"]["requests"] for name in fields - one.keys()}, "what requests lack"
    )


@_check(OF_OPERATIONS, "common-85", "common-87", "common-88", "common-89", "common-90")
async def writes_once_with_a_key(subject: Subject) -> None:
    """Carry out one of three calls with one key, two of which come at the same time."""
    given = {name: value for name, value in subject.of_a_write().items() if name != IDEMPOTENCY_FIELD}
    if not subject.place.writes:
        raise Skipped("writes are made with --write only")
    once = partial(
        subject.call, connection=subject.connection, headers={"Idempotency-Key": f"conformance-{uuid4()}"}, **given
    )
    replies = [*await asyncio.gather(once(), once()), await once()]
    for reply in replies:
        answered(reply, subject.connector.name, lists=False, pages=False)
    subject.read(replies[0].body["data"])
    first = replies[0].body
    expect([first["data"]] * 3, [reply.body["data"] for reply in replies], "data of calls with one key")
    told = [reply.headers.get("idempotent-replayed") for reply in replies]
    expect({None: 1, "true": 2}, Counter(told), "how often the header Idempotent-Replayed is told")
    expect(3, len({reply.body["run_id"] for reply in replies}), "the number of runs")


@_check(OF_OPERATIONS, "common-38", "common-39")
async def takes_only_cursors_that_it_issued(subject: Subject) -> None:
    """Refuse a cursor of somebody else's making."""
    if "cursor" not in subject.operation.parameters:
        raise Skipped("it has no pages")
    given = {**subject.whole(), "cursor": "made-up"}
    refused(await subject.call(connection=subject.connection, **given), 422, "invalid_cursor")


# The service


@_check(OF_THE_SERVICE, "common-1", "common-2", "common-132")
async def describes_thirty_operations(place: Place) -> None:
    """Describe five operations of each connector, and nothing else below their path."""
    paths = (await place.ask("GET", "/openapi.json")).body["paths"]
    below = [
        path.split("/")[3] for path, methods in paths.items() for _ in methods if path.startswith("/v1/connectors/")
    ]
    counted = {name: below.count(name) for name in dict.fromkeys(below)}
    expect(dict.fromkeys(("notes", "boards", "mail", "chat", "crm", "tables"), 5), counted, "what is described")


@_check(OF_THE_SERVICE, "common-36", "common-183")
async def knows_no_other_routes(place: Place) -> None:
    """Tell of an address that leads nowhere which one was probably meant."""
    reply = await place.ask("GET", "/v1/connectors/notes/databasess")
    refused(reply, 404, "route_not_found")
    expect(True, any("did_you_mean" in detail for detail in reply.body["error"]["details"]), "whether one is suggested")


@_check(OF_THE_SERVICE, "common-37")
async def allows_the_methods_of_a_route_only(place: Place) -> None:
    """Name the methods that a route has."""
    reply = await place.ask("DELETE", "/v1/connectors/notes/databases")
    refused(reply, 405, "method_not_allowed")
    expect(True, "GET" in reply.headers.get("allow", ""), "whether Allow names GET")


@_check(OF_THE_SERVICE, "common-32")
async def refuses_what_is_no_json(place: Place) -> None:
    """Refuse a body that is no JSON, or has a name twice."""
    path = "/v1/connectors/boards/cards"
    refused(await place.ask("POST", path, text=b"{"), 400, "invalid_json")
    refused(await place.ask("POST", path, text=b'{"name": "a", "name": "b"}'), 400, "invalid_json")


@_check(OF_THE_SERVICE, "common-33", "common-34", "common-35")
async def refuses_other_bodies(place: Place) -> None:
    """Refuse a body that is no object, of another type, or too large."""
    path = "/v1/connectors/boards/cards"
    refused(await place.ask("POST", path, text=b"[]"), 422, "invalid_parameters")
    refused(await place.ask("POST", path, text=b"{}", Content_Type="text/plain"), 415, "unsupported_media_type")
    many = b'{"name": [' + b",".join([b"1"] * 10_001) + b"]}"
    refused(await place.ask("POST", path, text=many), 413, "payload_too_large")


@_check(OF_THE_SERVICE, "common-27", "common-22", "common-167")
async def reads_a_query_strictly(place: Place) -> None:
    """Name parameters that stand twice, or are no numbers."""
    path = f"/v1/connectors/notes/databases?connection_id={NOWHERE}"
    twice = await place.ask("GET", f"{path}&limit=1&limit=2")
    refused(twice, 422, "invalid_parameters")
    expect({"limit"}, twice.faults, "what is named")
    refused(await place.ask("GET", f"{path}&limit=ten"), 422, "invalid_parameters")


@_check(OF_THE_SERVICE, "common-85", "common-86")
async def takes_one_idempotency_key(place: Place) -> None:
    """Refuse a key in the header that differs from the one in the body."""
    path = f"/v1/connectors/boards/cards/{STAND_IN}/comments"
    body = {"connection_id": NOWHERE, "text": "x", "idempotency_key": "one"}
    refused(await place.ask("POST", path, body, Idempotency_Key="two"), 422, "invalid_parameters")


@_check(OF_THE_SERVICE, "common-126")
async def lets_keys_manage_nothing(place: Place) -> None:
    """Refuse to let a workspace's key make workspaces and keys."""
    refused(await place.ask("POST", "/v1/workspaces", {"name": "x"}), 403, "operator_token_required")
    refused(await place.ask("GET", "/v1/keys"), 403, "operator_token_required")


@_check(OF_THE_SERVICE, "common-115", "common-128")
async def lists_runs(place: Place) -> None:
    """List the history of the key's workspace, page by page."""
    reply = await place.ask("GET", "/v1/runs?limit=1")
    expect(200, reply.status, "the status")
    expect({"data", "next_cursor"}, set(reply.body), "the fields of the body")
    refused(await place.ask("GET", "/v1/runs/run_00000000000000000000000000"), 404, "run_not_found")


@_check(OF_THE_SERVICE, "common-184")
async def has_a_page_for_every_code(place: Place) -> None:
    """Lead from an error to the page that explains it."""
    error = (await place.ask("GET", "/v1/nothing")).body["error"]
    expect(200, (await place.ask("GET", error["docs"], key=None)).status, "the status of its page")


@_check(OF_THE_SERVICE, "common-134")
async def gives_the_callers_identifier_back(place: Place) -> None:
    """Answer with the X-Request-Id that was sent."""
    reply = await place.ask("GET", "/v1/connections", X_Request_Id="conformance-1")
    expect("conformance-1", reply.headers.get("x-request-id"), "the header X-Request-Id")


@_check(OF_THE_SERVICE, "common-129", "common-130")
async def tells_that_it_lives(place: Place) -> None:
    """Answer those who watch over it."""
    expect(200, (await place.ask("GET", "/healthz", key=None)).status, "the status of /healthz")
    expect(200, (await place.ask("GET", "/readyz", key=None)).status, "the status of /readyz")


@_check(OF_THE_SERVICE, "mcp-4")
async def lets_agents_in_by_key(place: Place) -> None:
    """Refuse an agent without a key."""
    reply = await place.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, key=None)
    expect(401, reply.status, "the status")
