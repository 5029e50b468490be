"""Undocumented response shapes are reported as the vendor's errors."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway, Reply

NAME = {"id": "fld1", "name": "Name", "type": "singleLineText"}
TABLE = {"id": "tbl1", "name": "Leads", "primaryFieldId": "fld1", "fields": [NAME]}
RECORD = {"id": "rec1", "createdTime": "2026-11-02T09:30:00.000Z", "fields": {}}

PAGES: list[Any] = [
    None,
    {},
    {"records": [{"id": "rec1"}]},
    {"records": [RECORD | {"createdTime": "yesterday"}]},
    {"records": [RECORD | {"fields": []}]},
    {"records": [RECORD], "offset": 5},
]


def read(gateway: Gateway, _: str) -> Reply:
    return gateway.get("/tables/records", base_id=base_id(gateway), table="Leads", limit=1)


def describe(gateway: Gateway, _: str) -> Reply:
    return gateway.get("/tables/tables", base_id=base_id(gateway))


def create(gateway: Gateway, _: str, key: str | None = None) -> Reply:
    body = {"base_id": base_id(gateway), "table": "Leads", "records": [{"Name": "odd"}]}
    return gateway.post("/tables/records", headers={"Idempotency-Key": key} if key else {}, **body)


def attach(gateway: Gateway, site: str) -> Reply:
    record_id = gateway.examples("tables")["record_id"]
    return gateway.post("/tables/attachments", record_id=record_id, field="Files", url=f"{site}/a.txt")


def base_id(gateway: Gateway) -> str:
    return str(gateway.examples("tables")["base_id"])


def fault(gateway: Gateway, path: str, body: Any, status: int = 200, method: str = "GET") -> None:
    gateway.fault("tables", fault="status", status=status, body=body, path=path, method=method, times=3)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serve_files({"/a.txt": scripted_response(b"odd", "text/plain")}) as address:
        yield address


def test_a_table_without_its_primary_field_is_reported(gateway: Gateway, site: str) -> None:
    fault(gateway, "/v0/meta/bases", {"tables": [TABLE | {"primaryFieldId": "fld2"}]})

    assert "upstream_unexpected" == describe(gateway, site).code


def test_bases_without_tables_contain_no_record(gateway: Gateway, site: str) -> None:
    fault(gateway, f"/v0/meta/bases/{base_id(gateway)}", {"tables": []})

    assert "record_not_found" == attach(gateway, site).code


@pytest.mark.parametrize("cell", ["att1", [{"filename": "a"}], [{"id": "att1", "size": "large"}], {"id": "att1"}])
def test_attachments_of_an_unknown_shape_are_never_overwritten(
    gateway: Gateway, inspector: VendorInspector, site: str, cell: Any
) -> None:
    read(gateway, site)
    body = {"id": "rec1", "fields": {inspector.field("Files").id: cell}}
    fault(gateway, f"/v0/{base_id(gateway)}/{inspector.table().id}/rec", body)
    reply = attach(gateway, site)

    assert "upstream_unexpected" == reply.code
    assert [] == [*inspector.list_requests("POST"), *inspector.list_requests("PATCH")]


@pytest.mark.parametrize("body", PAGES, ids=str)
def test_records_stay_in_doubt_until_they_can_be_searched(
    gateway: Gateway, inspector: VendorInspector, site: str, body: Any
) -> None:
    describe(gateway, site)
    gateway.fault("tables", fault="drop_after", method="POST")
    fault(gateway, f"/v0/{base_id(gateway)}/", body)
    first = create(gateway, site, key=f"odd {body}")
    gateway.clear("tables")
    repeat = create(gateway, site, key=f"odd {body}")

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert 1 == len(repeat.data["created"])
    assert 1 == len(inspector.records(Name="odd"))


@pytest.mark.parametrize("cell", [None, "att1", [5]])
def test_a_file_missing_in_the_response_is_in_doubt(
    gateway: Gateway, inspector: VendorInspector, site: str, cell: Any
) -> None:
    body = {"id": "rec1", "fields": {inspector.field("Files").id: cell}}
    fault(gateway, "/v0/", body, method="POST")
    reply = attach(gateway, site)

    assert (502, "outcome_unknown") == (reply.status, reply.code)
