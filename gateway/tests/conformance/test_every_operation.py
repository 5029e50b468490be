"""Requirements that every operation of every connector meets."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from connector_gateway.cli import main
from connector_gateway.conformance.checks import OPERATION_CHECKS, SERVICE_CHECKS
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.error_serialization import validation_details
from connector_gateway.kit.errors import EVERY_CALL
from connector_gateway.kit.models import Listing, Page, Params
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

OPERATIONS = [(connector, operation) for connector in CONNECTORS.values() for operation in connector.operations]
NAMES = [f"{connector.name} {operation.name}" for connector, operation in OPERATIONS]
WRITES = [pair for pair in OPERATIONS if pair[1].scope == "write"]
PAGES = [pair for pair in OPERATIONS if "cursor" in pair[1].parameters]

CONTRACTED = ("notes", "boards", "mail", "chat", "crm", "tables")
"""The connectors of the contract. Others can follow."""

PAGED = {
    "notes list_databases": (25, 100),
    "notes read_events": (50, 200),
    "mail search_messages": (25, 100),
    "chat list_channels": (100, 200),
    "chat read_events": (50, 200),
    "crm look_up_contacts": (25, 100),
    "tables read_records": (50, 100),
}
"""Paginated operations, with their default and maximum page size."""

LISTED = {"crm list_properties", "tables list_tables"}
"""Operations that return a complete list."""

TOTAL = 30 * len(OPERATION_CHECKS) + len(SERVICE_CHECKS)
"""The checks of the command."""

every_operation = pytest.mark.parametrize(("connector", "operation"), OPERATIONS, ids=NAMES)
every_write = pytest.mark.parametrize(
    ("connector", "operation"), WRITES, ids=[f"{connector.name} {operation.name}" for connector, operation in WRITES]
)
every_page = pytest.mark.parametrize(
    ("connector", "operation"), PAGES, ids=[f"{connector.name} {operation.name}" for connector, operation in PAGES]
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_emulators(**EMULATORS) as sandbox, run_gateway(sandbox, tmp_path_factory.mktemp("connectors")) as gateway:
        yield gateway


UNKNOWN = {
    "page_id": "11111111111141118111111111111111",
    "card_id": "1" * 24,
    "message_id": "1" * 16,
    "message_ts": "1111111111.111111",
    "attachment_id": "1" * 16,
    "deal_id": "1" * 8,
    "record_id": f"rec{1:014}",
}
"""Well-formed identifiers of objects that do not exist."""


def call(
    gateway: Gateway, connector: AnyConnector, operation: AnyOperation, values: dict[str, Any], **more: Any
) -> Reply:
    path = operation.path.format(**UNKNOWN)
    sent = {"params": values} if operation.method == "GET" else {"json": values}
    return gateway.request(operation.method, f"/v1/connectors/{connector.name}{path}", **sent, **more)


def validation_messages(operation: AnyOperation, value: Any) -> list[str]:
    """Return the violations if every parameter is *value*."""
    try:
        operation.params.model_validate(dict.fromkeys(operation.parameters, value))
    except ValidationError as error:
        return [str(detail["message"]) for detail in validation_details(error)]
    return []


def test_the_connectors_are_in_contract_order() -> None:
    assert CONTRACTED == tuple(CONNECTORS)[: len(CONTRACTED)]


@requirement("common-2")
def test_each_connector_has_five_operations() -> None:
    assert [5] * 6 == [len(CONNECTORS[name].operations) for name in CONTRACTED]


def test_the_contracted_operations_return_complete_lists() -> None:
    contracted = [(connector, operation) for connector, operation in OPERATIONS if connector.name in CONTRACTED]
    listings = {
        f"{connector.name} {operation.name}" for connector, operation in contracted if returns_complete_list(operation)
    }

    assert LISTED == listings


def returns_complete_list(operation: AnyOperation) -> bool:
    """Return True if an operation returns a complete list."""
    return issubclass(operation.result, Listing)


@every_operation
def test_an_operation_is_described_for_callers(connector: AnyConnector, operation: AnyOperation) -> None:
    assert operation.summary.endswith(".")
    assert issubclass(operation.params, Params)
    assert operation.path_names <= set(operation.parameters)


@requirement("common-1", "common-132")
@every_operation
def test_the_openapi_document_lists_each_operation_with_all_errors(
    gateway: Gateway, connector: AnyConnector, operation: AnyOperation
) -> None:
    document = gateway.request("GET", "/openapi.json").body

    described = document["paths"][f"/v1/connectors/{connector.name}{operation.path}"][operation.method.lower()]
    names = [one["$ref"].rpartition("/")[2] for status, one in described["responses"].items() if status != "200"]
    descriptions = " ".join(document["components"]["responses"][name]["description"] for name in names)
    assert [] == [error.code for error in operation.all_errors if f"`{error.code}`" not in descriptions]
    assert f"{connector.name}_{operation.name}" == described["operationId"]


@every_operation
def test_an_operation_declares_each_error_once(connector: AnyConnector, operation: AnyOperation) -> None:
    declared = [*EVERY_CALL, *operation.errors]

    assert [] == [error.code for error, count in Counter(declared).items() if count > 1]


@pytest.mark.parametrize("value", ["", "a : b, c\n", 10**9, {}, [], [""], ["x"] * 1000], ids=range(7))
@every_operation
def test_validation_messages_have_no_patterns_and_no_python_terms(
    connector: AnyConnector, operation: AnyOperation, value: Any
) -> None:
    messages = " ".join(validation_messages(operation, value))

    assert [] == re.findall(r"pattern|\^|\\S|[Dd]ictionary|datetime|after validation", messages)


@requirement("common-8", "common-29")
@every_operation
def test_a_missing_connection_is_named_with_all_other_violations(
    gateway: Gateway, connector: AnyConnector, operation: AnyOperation
) -> None:
    reply = call(gateway, connector, operation, {})

    required = {name for name, field in operation.parameters.items() if field.is_required()} - operation.path_names
    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert required | {"connection_id"} <= {detail["parameter"] for detail in reply.details}


@requirement("common-10", "common-11", "common-14", "common-15", "common-38")
@every_operation
def test_the_success_response_is_an_envelope_of_a_list_or_object(
    gateway: Gateway, connector: AnyConnector, operation: AnyOperation
) -> None:
    document = gateway.request("GET", "/openapi.json").body
    name = f"{connector.name} {operation.name}"

    described = document["paths"][f"/v1/connectors/{connector.name}{operation.path}"][operation.method.lower()]
    (success,) = [status for status in described["responses"] if status.startswith("2")]
    reference = described["responses"][success]["content"]["application/json"]["schema"]["$ref"]
    envelope = document["components"]["schemas"][reference.rpartition("/")[2]]
    assert "200" == success
    assert (name in PAGED) == ("next_cursor" in envelope["required"]) == ("cursor" in operation.parameters)
    listed = issubclass(operation.result, Page | Listing)
    assert listed == (envelope["properties"]["data"].get("type") == "array")


@requirement("chat-18", "chat-34", "crm-16", "mail-7", "notes-5", "notes-63", "tables-4")
@every_page
def test_page_sizes_match_the_contract(connector: AnyConnector, operation: AnyOperation) -> None:
    limit = operation.params.model_json_schema()["properties"]["limit"]

    assert PAGED[f"{connector.name} {operation.name}"] == (limit["default"], limit["maximum"])
    assert 1 == limit["minimum"]


FILLED: Sequence[tuple[str, Mapping[str, str]]] = [
    ("notes list_databases", {}),
    ("mail search_messages", {"q": ""}),
    ("crm look_up_contacts", {}),
    ("crm look_up_contacts", {"property": "tier", "value": "gold"}),
    ("tables read_records", {"base_id": "", "table": ""}),
]
"""Parameters of lists with more than one page in the seed. Pages of chat can be shorter than requested."""


@requirement("notes-5", "mail-7", "crm-16", "tables-4")
@pytest.mark.parametrize(("name", "filters"), FILLED)
def test_a_page_is_full_and_its_cursor_accepts_another_limit(
    gateway: Gateway, name: str, filters: Mapping[str, str]
) -> None:
    connector, _, operation = name.partition(" ")
    path = next(one.path for one in CONNECTORS[connector].operations if one.name == operation)
    examples = gateway.examples(connector)
    values = {parameter: value or examples.get(parameter, "") for parameter, value in filters.items()}
    page = gateway.get(f"/{connector}{path}", **values).data
    first = gateway.get(f"/{connector}{path}", limit=3, **values)
    more = gateway.get(f"/{connector}{path}", limit=5, cursor=first.body["next_cursor"], **values)

    assert PAGED[name][0] == len(page)
    assert (3, 5) == (len(first.data), len(more.data))
    assert identifiers(page)[:8] == identifiers([*first.data, *more.data])


def identifiers(items: list[dict[str, Any]]) -> list[str]:
    return [next(value for name, value in item.items() if name.endswith("_id")) for item in items]


@requirement("common-102")
@pytest.mark.parametrize("connector", ["boards", "mail", "crm", "tables"])
def test_only_notes_and_chat_have_events(gateway: Gateway, connector: str) -> None:
    reply = gateway.request("GET", f"/v1/connectors/{connector}/events")

    assert (404, "route_not_found") == (reply.status, reply.code)


# Checked from outside


def test_the_command_passes_all_checks_and_writes_nothing(gateway: Gateway, tmp_path: Path) -> None:
    file, read_key = tmp_path / "junit.xml", gateway.with_key("read", calls_per_minute=1000).key
    gateway.together(*(partial(gateway.clear, name) for name in CONNECTORS))
    command = ["conformance", "--url", gateway.base_url, "--key", gateway.key, "--read-key", read_key, "--json"]
    ended = CliRunner().invoke(main, [*command, "--junit", str(file)])
    totals = Counter(
        {name: sum(row[name] for row in json.loads(ended.stdout)) for name in ("holds", "broken", "skipped")}
    )
    methods = {method for name in CONNECTORS for method, path, _ in gateway.journal(name) if "search" not in path}
    suite = parse(file).getroot()

    assert ("", 0) == (ended.stderr, ended.exit_code)
    assert (31, 0, TOTAL) == (len(json.loads(ended.stdout)), totals["broken"], totals.total())
    assert totals["holds"] >= 30 * 4 + len(SERVICE_CHECKS)
    assert (str(TOTAL), "0") == (suite.get("tests"), suite.get("failures"))
    assert methods <= {"GET", "HEAD"}
