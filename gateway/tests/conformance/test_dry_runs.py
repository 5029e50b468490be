"""Dry runs of every write: nothing is written, and the reported requests are those of the write."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema
import pytest
from sqlalchemy import func, literal, select, union_all

from connector_gateway.connectors import CONNECTORS
from connector_gateway.http.api.responses import DRY_RUN
from connector_gateway.storage.sql.tables import metadata
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from simulation.writes import KINDS
from workspace_sandbox import EMULATORS

DECLARED = {
    f"{connector.name}.{operation.name}"
    for connector in CONNECTORS.values()
    for operation in connector.operations
    if operation.scope == "write"
}
TABLES = {name: table for name, table in metadata.tables.items() if name != "runs"}
DRY = {"Prefer": "dry-run"}
READING = re.compile(
    r"(query|search|/read|/list|\.list|\.info|\.replies|\.history|\.test|/users\.\w+|conversations\.\w+)$"
)
"""Vendor paths that change nothing although their method is POST."""

every_write = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with run_emulators(**EMULATORS) as sandbox, run_all_connectors(sandbox, tmp_path_factory.mktemp("dry")) as started:
        yield started


def write(world: AllConnectors, name: str, content: str, **headers: str) -> Reply:
    """Clear the journal, perform a write, and return its response."""
    kind = KINDS[name]
    method, path, body = kind.request(world.world, content)
    sent = {"connection_id": world.gateway.connections[kind.connector], **body}
    world.gateway.clear(kind.connector)
    return world.gateway.request(method, f"/v1/connectors/{kind.connector}{path}", json=sent, headers=headers)


def changing_requests(world: AllConnectors, name: str) -> Sequence[str]:
    """Return the requests with changes that reached the vendor."""
    seen = world.gateway.journal(KINDS[name].connector)
    return [f"{method} {path}" for method, path, _ in seen if method != "GET" and not READING.search(path)]


def count_rows(world: AllConnectors) -> Mapping[str, int]:
    """Return the number of rows of each table except the run history."""
    counts = [select(literal(name), func.count()).select_from(table) for name, table in TABLES.items()]
    database = world.gateway.app.database
    return dict(world.gateway.run(database.read(lambda db: db.execute(union_all(*counts)).all())))


def pattern(request: Mapping[str, Any]) -> str:
    """Return a pattern for a reported request, in which the identifiers of the vendor are filled in."""
    path = request["path"].partition("?")[0]
    return f"{request['method']} " + re.sub(r"new\\-[a-z]+(\\-[^/]+)?", "[^/]+", re.escape(path))


@requirement("common-212")
def test_every_declared_write_is_covered() -> None:
    assert set() == DECLARED - KINDS.keys()


@requirement("common-212", "common-213")
@every_write
def test_a_dry_run_writes_nothing_and_lists_the_requests_of_the_write(world: AllConnectors, name: str) -> None:
    content = "dry-" + name.replace(".", "-").replace("_", "-")
    world.prepare(name, content)
    before, rows = len(list(KINDS[name].created(world.world, content))), count_rows(world)
    planned = write(world, name, content, **DRY, **{"Idempotency-Key": name})
    sent, created = changing_requests(world, name), list(KINDS[name].created(world.world, content))
    rows_after = count_rows(world)
    done = write(world, name, content, **{"Idempotency-Key": name})
    then = changing_requests(world, name)

    assert ([], before, rows) == (sent, len(created), rows_after), planned.body
    assert ("dry-run", DRY_RUN) == (planned.headers["Preference-Applied"], planned.headers["Content-Type"])
    assert (200, None) == (done.status, done.headers.get("Idempotent-Replayed"))
    assert len(planned.data["requests"]) == len(then) > 0
    assert all(map(re.fullmatch, map(pattern, planned.data["requests"]), then)), (planned.data["requests"], then)


@requirement("common-213", "common-214")
def test_the_openapi_document_describes_the_response(world: AllConnectors) -> None:
    described = world.gateway.request("GET", "/openapi.json").body["components"]["schemas"]["DryRunAnswer"]
    described["properties"].pop("status")  # a reference
    response = write(world, "boards.create_card", "Described", **DRY).body

    jsonschema.validate(response, described)
    assert response.keys() - {"status"} == described["properties"].keys()
    assert response["data"].keys() == described["properties"]["data"]["properties"].keys()


@requirement("common-216")
def test_the_run_of_a_dry_run_is_marked(world: AllConnectors) -> None:
    run_id = write(world, "boards.create_card", "Dry one", **DRY).body["run_id"]
    wet_id = write(world, "boards.create_card", "Wet one").body["run_id"]
    runs = [world.gateway.request("GET", f"/v1/runs/{one}").data for one in (run_id, wet_id)]

    assert [True, False] == [run["dry_run"] for run in runs]


@requirement("common-214")
def test_values_are_cast_by_the_schema_of_notes(world: AllConnectors) -> None:
    database_id = world.world.example("notes", "database_id")
    reply = world.gateway.post("/notes/pages", DRY, database_id=database_id, properties={"Name": "Plan"})

    written = [{"text": {"content": "Plan"}, "type": "text"}]
    assert [{"parameter": "properties.Name", "type": "title", "given": "Plan", "written": written}] == reply.data[
        "casts"
    ]


@requirement("common-214")
def test_values_are_cast_by_the_schema_of_crm(world: AllConnectors) -> None:
    contact = {"email": "dry@example.com", "properties": {"firstname": "Ada"}}
    reply = world.gateway.post("/crm/contacts", DRY, **contact)

    assert [{"parameter": "properties.firstname", "type": "string", "given": "Ada", "written": "Ada"}] == (
        reply.data["casts"]
    )


@requirement("common-214", "common-215")
def test_a_dry_run_of_a_batch_lists_created_and_rejected_records(world: AllConnectors) -> None:
    method, path, body = KINDS["tables.create_records"].request(world.world, "Dry batch")
    records = [{"Name": "Fits"}, {"No such field": 1}]
    reply = world.gateway.request(
        method,
        f"/v1/connectors/tables{path}",
        json={**body, "connection_id": world.gateway.connections["tables"], "records": records},
        headers=DRY,
    )

    assert ["records.0.Name"] == [cast["parameter"] for cast in reply.data["casts"]]
    assert [(1, "field_not_found")] == [(one["index"], one["error"]) for one in reply.data["refused"]]
    assert ("partial", 1) == (reply.body["status"], len(reply.data["requests"]))


@requirement("common-215")
def test_a_dry_run_returns_the_errors_of_the_write(world: AllConnectors) -> None:
    reply = world.gateway.post("/boards/cards", DRY, list_id="f" * 24, name="Nowhere")

    assert ("list_not_found", "dry-run") == (reply.code, reply.headers["Preference-Applied"])


@requirement("common-212")
@pytest.mark.parametrize("header", ["wait=5, dry-run", "DRY-RUN", "dry-run; strict", "dry-run=yes"])
def test_a_dry_run_is_requested_among_other_preferences(world: AllConnectors, header: str) -> None:
    reply = write(world, "boards.create_card", "Preferred", Prefer=header)

    assert ["create the card"] == [request["step"] for request in reply.data["requests"]]


@requirement("common-212")
def test_a_dry_run_is_requested_in_either_of_two_prefer_headers(world: AllConnectors) -> None:
    connection_id, list_id = world.gateway.connections["boards"], world.world.example("boards", "list_ids")[0]
    response = world.gateway.http.post(
        f"{world.gateway.base_url}/v1/connectors/boards/cards",
        json={"connection_id": connection_id, "list_id": list_id, "name": "Twice"},
        headers=[
            ("Authorization", f"Bearer {world.gateway.key}"),
            ("Prefer", "dry-run"),
            ("Prefer", "respond-async"),
        ],
    )

    assert "dry-run" == response.headers["Preference-Applied"]


@requirement("common-212")
def test_a_read_ignores_the_dry_run_preference(world: AllConnectors) -> None:
    reply = world.gateway.request(
        "GET",
        "/v1/connectors/notes/databases",
        headers=DRY,
        params={"connection_id": world.gateway.connections["notes"]},
    )

    assert (200, False) == (reply.status, "Preference-Applied" in reply.headers)


@requirement("common-212")
def test_a_read_only_key_cannot_request_a_dry_run(world: AllConnectors) -> None:
    reader = world.gateway.with_key("read")
    reply = reader.post("/boards/cards", DRY, list_id=world.world.example("boards", "list_ids")[0], name="Not mine")

    assert 403 == reply.status


@requirement("common-212")
def test_a_dry_run_does_not_cache_its_assumptions(world: AllConnectors) -> None:
    world.prepare("boards.attach_checklist", "Dry list")
    write(world, "boards.attach_checklist", "Dry list", **DRY)
    write(world, "boards.attach_checklist", "Dry list")

    assert [()] == [one.flaws for one in KINDS["boards.attach_checklist"].created(world.world, "Dry list")]
