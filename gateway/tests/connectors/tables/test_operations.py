"""Reading, updating and listing, from the caller's side, against the emulator on real HTTP."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from connector_gateway.connectors.tables.value_casts.to_vendor import CASTS
from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement


def read(gateway: Gateway, table: str = "Leads", **query: Any) -> Reply:
    return gateway.get(
        "/tables/records", **({"base_id": gateway.examples("tables")["base_id"], "table": table} | query)
    )


def update(gateway: Gateway, fields: Mapping[str, Any], record_id: str | None = None, **more: Any) -> Reply:
    examples = gateway.examples("tables")
    body = {"base_id": examples["base_id"], "table": "Leads", "fields": dict(fields)} | more
    return gateway.patch(f"/tables/records/{record_id or examples['record_id']}", **body)


# Reading records


@requirement("common-16", "tables-1", "tables-2")
def test_a_page_of_records_is_read(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = read(gateway, limit=1)
    record_id = gateway.examples("tables")["record_id"]

    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "tables",
        "status": "ok",
        "data": [{"record_id": record_id, "fields": reply.data[0]["fields"], "created_at": "2026-01-05T09:00:00.000Z"}],
        "next_cursor": reply.body["next_cursor"],
    }
    assert reply.data[0]["fields"].keys() == inspector.record(record_id).keys()
    assert reply.data[0]["fields"]["Due"] == inspector.record(record_id)["Due"]


@requirement("common-5", "common-38", "tables-5")
def test_every_record_is_on_exactly_one_page(gateway: Gateway, inspector: VendorInspector) -> None:
    pages = gateway.pages("/tables/records", base_id=gateway.examples("tables")["base_id"], table="Leads", limit=100)
    matches = [record["record_id"] for page in pages for record in page.data]

    assert [100, 100, 100, 100, 100, 100, 40] == [len(page.data) for page in pages]
    assert list(inspector.table().records) == matches


@requirement("tables-3")
def test_a_view_filters_and_sorts_records(gateway: Gateway, inspector: VendorInspector) -> None:
    target = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "view": "Open leads"}
    matches = [record["fields"] for record in gateway.items("/tables/records", **target, limit=100)]
    values = [fields.get("Value", 0) for fields in matches]

    assert len(inspector.records(Stage="Open")) == len(matches)
    assert {"Open"} == {fields["Stage"] for fields in matches}
    assert sorted(values, reverse=True) == values


def test_fields_hidden_in_a_view_are_returned(gateway: Gateway) -> None:
    assert "Email" in {name for record in read(gateway, view="Open leads").data for name in record["fields"]}


def test_a_view_that_matches_no_record_returns_an_empty_page(gateway: Gateway) -> None:
    reply = read(gateway, view="Nothing yet")

    assert ([], None) == (reply.data, reply.body["next_cursor"])


@requirement("tables-1")
def test_tables_and_views_are_accepted_by_identifier(gateway: Gateway, inspector: VendorInspector) -> None:
    table = inspector.table()
    view = next(view for view in table.views if view.name == "Open leads")

    by_name, by_id = read(gateway, view="Open leads").data, read(gateway, table.id, view=view.id).data

    assert [record["record_id"] for record in by_name] == [record["record_id"] for record in by_id]


@pytest.mark.parametrize(
    ("base", "table", "view"),
    [
        ("base_id", "Companies / Konten", "Grid view"),
        ("base_id", "Leads", "Hot / heiß"),
        ("other_base_id", 'Bookings? "2026"', None),
    ],
)
def test_names_with_special_characters_are_accepted(gateway: Gateway, base: str, table: str, view: str | None) -> None:
    more = {} if view is None else {"view": view}

    assert read(gateway, table, base_id=gateway.examples("tables")[base], **more).data


def test_names_in_paths_are_decoded_once(gateway: Gateway) -> None:
    base_id = gateway.examples("tables")["base_id"]
    path = f"/v1/connectors/tables/records?connection_id={gateway.connections['tables']}&base_id={base_id}&limit=1"
    right = gateway.request("GET", f"{path}&table=Companies%20%2F%20Konten")
    twice = gateway.request("GET", f"{path}&table=Companies%2520%252F%2520Konten")

    assert 1 == len(right.data)
    assert "table_not_found" == twice.code


def test_a_cached_table_takes_one_request(gateway: Gateway) -> None:
    read(gateway)
    gateway.clear("tables")
    read(gateway, view="Open leads")

    assert 1 == len(gateway.journal("tables"))


@requirement("tables-4")
def test_concurrent_calls_read_the_schema_once(gateway: Gateway, inspector: VendorInspector) -> None:
    replies = gateway.together(*[lambda: read(gateway, limit=1)] * 10)

    assert [200] * 10 == [reply.status for reply in replies]
    assert 1 == len([path for path in inspector.list_requests("GET") if path.startswith("/v0/meta/")])


@requirement("tables-36")
@pytest.mark.parametrize("base_id", ["appDoesNotExist00", "hidden"])
def test_an_unknown_base_is_not_found(gateway: Gateway, base_id: str) -> None:
    expected = gateway.examples("tables")["hidden_base_id"] if base_id == "hidden" else base_id
    reply = read(gateway, base_id=expected)

    assert (404, "base_not_found") == (reply.status, reply.code)
    assert [{"parameter": "base_id", "value": expected}] == reply.facts


@requirement("tables-37")
def test_an_unknown_table_is_rejected_with_the_existing_ones(gateway: Gateway) -> None:
    reply = read(gateway, "leads")

    assert (404, "table_not_found") == (reply.status, reply.code)
    about = {"parameter": "table", "value": "leads", "did_you_mean": "Leads"}
    assert [about | {"allowed": ["Leads", "Companies / Konten"]}] == reply.facts


@requirement("tables-38")
def test_an_unknown_view_is_rejected_with_the_existing_ones(gateway: Gateway) -> None:
    reply = read(gateway, "Companies / Konten", view="Open leads")

    assert (404, "view_not_found") == (reply.status, reply.code)
    assert [{"parameter": "view", "value": "Open leads", "allowed": ["Grid view"]}] == reply.facts


def test_a_cursor_of_an_expired_list_is_invalid(gateway: Gateway) -> None:
    cursor = read(gateway).body["next_cursor"]
    gateway.knob("tables", offset_seconds=0)
    reply = read(gateway, cursor=cursor)

    assert (422, "invalid_cursor") == (reply.status, reply.code)


def test_a_newly_renamed_table_is_found_by_its_new_name(gateway: Gateway, inspector: VendorInspector) -> None:
    read(gateway)
    inspector.table().name = "Prospects"

    assert 1 == len(read(gateway, "Prospects", limit=1).data)


def test_a_newly_deleted_table_is_not_found(gateway: Gateway, inspector: VendorInspector) -> None:
    read(gateway)
    inspector.sales.tables.remove(inspector.table())
    reply = read(gateway)

    assert "table_not_found" == reply.code
    assert ["Companies / Konten"] == reply.details[0]["allowed"]


def test_a_newly_deleted_view_is_not_found(gateway: Gateway, inspector: VendorInspector) -> None:
    read(gateway, view="Gallery")
    inspector.table().views.pop(6)
    reply = read(gateway, view="Gallery")

    assert "view_not_found" == reply.code
    assert "Gallery" not in reply.details[0]["allowed"]


# Updating a record


@requirement("tables-17", "tables-18")
def test_only_the_named_fields_are_updated(gateway: Gateway, inspector: VendorInspector) -> None:
    record_id = gateway.examples("tables")["record_id"]
    before = inspector.record(record_id)
    reply = update(gateway, {"Stage": "Won", "Value": "12.50", "Hot": False})

    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "tables",
        "status": "ok",
        "data": {
            "record_id": record_id,
            "updated_fields": ["Stage", "Value", "Hot"],
            "updated_at": reply.data["updated_at"],
        },
    }
    after = inspector.record(record_id)
    assert ("Won", 12.5, None) == (after["Stage"], after["Value"], after.get("Hot"))
    assert {"Stage", "Value", "Hot", "Changed", "Changed by", "Value per star"} >= {
        name for name in before if before[name] != after.get(name) and name != "Files"
    }


def test_null_clears_a_field(gateway: Gateway, inspector: VendorInspector) -> None:
    update(gateway, {"Tags": None, "Due": None, "Owner": None})

    assert {"Tags", "Due", "Owner"}.isdisjoint(inspector.record(gateway.examples("tables")["record_id"]))


@requirement("tables-19")
@pytest.mark.parametrize(
    "field",
    [
        *("Value per star", "Average revenue", "City", "Companies", "Created", "Changed", "Created by", "Changed by"),
        *("No.", "Call", "Summary", "Source", "Manual sort", "Mood"),
    ],
)
def test_computed_and_unknown_fields_are_rejected(gateway: Gateway, inspector: VendorInspector, field: str) -> None:
    reply = update(gateway, {"Name": "Never", field: "1"})

    assert (422, "read_only_field") == (reply.status, reply.code)
    about = {"code": "read_only_field", "field": field, "type": inspector.field(field).type, "value": "1"}
    assert [about] == reply.details
    assert [] == inspector.list_requests("PATCH")


@requirement("tables-40")
def test_all_unknown_fields_are_reported(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = update(gateway, {"name": "x", "Name": "y", "Nmae": 1})

    assert (404, "field_not_found") == (reply.status, reply.code)
    assert [("name", "x"), ("Nmae", 1)] == [(detail["field"], detail["value"]) for detail in reply.details]
    assert [field.name for field in inspector.table().fields] == reply.details[0]["allowed"]
    assert [] == inspector.list_requests("PATCH")


@requirement("common-182")
def test_the_closest_field_is_suggested_for_any_value(gateway: Gateway) -> None:
    reply = update(gateway, {"Nmae": "Tgas", "Zzz": "Nmae"})

    assert ["Name", None] == [detail.get("did_you_mean") for detail in reply.details]
    assert "did_you_mean" not in reply.details[1]


@requirement("common-30", "common-47", "tables-41")
def test_one_response_reports_all_errors_of_a_change(gateway: Gateway, inspector: VendorInspector) -> None:
    wrong = {"Value": "a lot", "Tags": ["us", "eu", "uk"], "Call": 1, "Due": None, "Nmae": {"a": [1]}, "Hot": "maybe"}
    reply = update(gateway, {"Name": "fine", **wrong})

    assert (422, "lossy_cast") == (reply.status, reply.code)
    assert [
        ("lossy_cast", "Value", "a lot"),
        ("select_option_missing", "Tags", "us"),
        ("select_option_missing", "Tags", "uk"),
        ("read_only_field", "Call", 1),
        ("field_not_found", "Nmae", {"a": [1]}),
        ("lossy_cast", "Hot", "maybe"),
    ] == [(detail["code"], detail["field"], detail["value"]) for detail in reply.details]
    assert [] == inspector.list_requests("PATCH")


@requirement("tables-13")
@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("Stage", "Maybe", {"value": "Maybe"}), ("Tags", ["eu", "EU"], {"value": "EU", "did_you_mean": "eu"})],
)
def test_a_missing_option_is_never_added(
    gateway: Gateway, inspector: VendorInspector, field: str, value: Any, expected: Mapping[str, str]
) -> None:
    reply = update(gateway, {field: value})

    assert (409, "select_option_missing") == (reply.status, reply.code)
    about = {"code": "select_option_missing", "field": field, **expected}
    assert [about | {"allowed": inspector.field(field).choices()}] == reply.details


@requirement("tables-39")
def test_an_unknown_record_is_not_found(gateway: Gateway) -> None:
    reply = update(gateway, {"Name": "x"}, "recDoesNotExist00")

    assert (404, "record_not_found") == (reply.status, reply.code)
    assert [{"parameter": "record_id", "value": "recDoesNotExist00"}] == reply.facts


@requirement("tables-39")
def test_a_record_of_another_table_is_not_found(gateway: Gateway, inspector: VendorInspector) -> None:
    record_id = next(iter(inspector.table("Companies / Konten").records))

    assert "record_not_found" == update(gateway, {"Name": "x"}, record_id).code


def test_an_update_without_fields_is_rejected(gateway: Gateway) -> None:
    reply = update(gateway, {})

    assert "invalid_parameters" == reply.code
    assert ["fields"] == [detail["parameter"] for detail in reply.details]


def test_a_field_renamed_after_caching_is_found_by_either_name(gateway: Gateway, inspector: VendorInspector) -> None:
    update(gateway, {"Name": "first"})
    base_id = gateway.examples("tables")["base_id"]
    gateway.act("tables", action="rename_field", base_id=base_id, table="Leads", field="Name", name="Lead")
    old = update(gateway, {"Name": "by the old name"})
    new = update(gateway, {"Lead": "by the new name"})

    assert [["Name"], ["Lead"]] == [old.data["updated_fields"], new.data["updated_fields"]]
    assert "by the new name" == inspector.record(gateway.examples("tables")["record_id"])["Lead"]
    assert "field_not_found" == update(gateway, {"Name": "gone by now"}).code


def test_a_field_deleted_after_caching_is_not_found(gateway: Gateway, inspector: VendorInspector) -> None:
    update(gateway, {"Phone": "+46"})
    inspector.table().fields.remove(inspector.field("Phone"))
    reply = update(gateway, {"Phone": "+47"})

    assert "field_not_found" == reply.code
    assert "Phone" not in reply.details[0]["allowed"]


def test_an_option_added_after_caching_is_found(gateway: Gateway, inspector: VendorInspector) -> None:
    update(gateway, {"Stage": "Won"})
    options = inspector.field("Stage").options or {}
    options["choices"].append({"id": "selNew", "name": "Paused", "color": "redLight2"})

    assert ["Stage"] == update(gateway, {"Stage": "Paused"}).data["updated_fields"]


def test_a_field_that_became_computed_after_caching_is_rejected(gateway: Gateway, inspector: VendorInspector) -> None:
    update(gateway, {"Phone": "+46"})
    inspector.field("Phone").type = "autoNumber"

    assert "read_only_field" == update(gateway, {"Phone": "+47"}).code


@requirement("tables-45")
@pytest.mark.parametrize(("field", "value"), [("Company", ["recDoesNotExist00"]), ("Owner", "nobody@example.com")])
def test_a_value_rejected_by_the_vendor_is_reported(gateway: Gateway, field: str, value: Any) -> None:
    reply = update(gateway, {"Name": "Never", field: value})
    (detail,) = reply.details

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert ("upstream_refused", f"fields.{field}", field, value) == (
        detail["code"],
        detail["parameter"],
        detail["field"],
        detail["value"],
    )
    assert detail["vendor_code"]


@requirement("tables-44")
def test_every_returned_value_can_be_written_back(gateway: Gateway, inspector: VendorInspector) -> None:
    writable = {field.name for field in inspector.table().fields if field.type in CASTS}
    records = read(gateway, limit=40).data
    before = [inspector.record(record["record_id"]) for record in records]
    written = [
        update(
            gateway, {name: value for name, value in record["fields"].items() if name in writable}, record["record_id"]
        )
        for record in records
    ]
    after = [inspector.record(record["record_id"]) for record in records]

    assert {200} == {reply.status for reply in written}
    assert [without_file_urls(cells, writable) for cells in before] == [
        without_file_urls(cells, writable) for cells in after
    ]
    assert (
        CASTS.keys() == {inspector.field(name).type for record in records for name in record["fields"]} & CASTS.keys()
    )


@requirement("common-225", "tables-17")
@pytest.mark.parametrize("kind", sorted(CASTS))
def test_null_restores_the_value_of_a_new_record(gateway: Gateway, inspector: VendorInspector, kind: str) -> None:
    names = {field.name for field in inspector.table().fields if field.type == kind}
    record_id = next(record["record_id"] for record in read(gateway, limit=40).data if names & record["fields"].keys())

    reply = update(gateway, dict.fromkeys(names), record_id)

    assert names == set(reply.data["updated_fields"])
    assert not names & inspector.record(record_id).keys()


def without_file_urls(cells: Mapping[str, Any], writable: Collection[str]) -> dict[str, Any]:
    """Return the writable *cells* without URLs of files, which change with every read."""
    return {
        name: [item["id"] for item in value] if name == "Files" else value
        for name, value in cells.items()
        if name in writable
    }


def test_a_synced_table_accepts_no_writes(gateway: Gateway, inspector: VendorInspector) -> None:
    record_id = next(iter(inspector.table("Imported people", inspector.office).records))
    reply = update(gateway, {"Name": "x"}, record_id, base_id=inspector.office.id, table="Imported people")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Listing tables


@requirement("tables-33", "tables-34")
def test_tables_are_described(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = gateway.get("/tables/tables", base_id=gateway.examples("tables")["other_base_id"])
    inventory = inspector.table("Inventory", inspector.office)

    assert ["run_id", "connector", "status", "data"] == list(reply.body)
    assert ["Inventory", 'Bookings? "2026"', "Imported people"] == [table["table"] for table in reply.data]
    assert reply.data[0] == {
        "table": "Inventory",
        "table_id": inventory.id,
        "primary_field": "Item",
        "fields": [
            {"name": "Item", "type": "singleLineText"},
            {"name": "Kind", "type": "singleSelect"},
            {"name": "Price", "type": "currency"},
            {"name": "In use", "type": "checkbox"},
            {"name": "Photos", "type": "multipleAttachments"},
        ],
        "views": ["Grid view"],
    }


def test_unknown_types_are_returned_unchanged(gateway: Gateway) -> None:
    table = gateway.get("/tables/tables", base_id=gateway.examples("tables")["base_id"]).data[0]

    assert {"name": "Mood", "type": "emotionScale"} in table["fields"]


@requirement("tables-35")
def test_views_are_omitted_unless_requested(gateway: Gateway) -> None:
    reply = gateway.get("/tables/tables", base_id=gateway.examples("tables")["base_id"], include_views="false")

    assert {"table", "table_id", "primary_field", "fields"} == set(reply.data[0])


def test_tables_are_never_returned_from_the_cache(gateway: Gateway, inspector: VendorInspector) -> None:
    base_id = gateway.examples("tables")["base_id"]
    gateway.get("/tables/tables", base_id=base_id)
    inspector.table().name = "Prospects"

    assert "Prospects" == gateway.get("/tables/tables", base_id=base_id).data[0]["table"]


def test_an_unknown_base_has_no_tables(gateway: Gateway) -> None:
    assert "base_not_found" == gateway.get("/tables/tables", base_id="appDoesNotExist00").code
