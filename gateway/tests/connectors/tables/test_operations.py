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
def test_a_page_of_records_is_read(gateway: Gateway, inside: VendorInspector) -> None:
    reply = read(gateway, limit=1)
    record_id = gateway.examples("tables")["record_id"]

    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "tables",
        "status": "ok",
        "data": [{"record_id": record_id, "fields": reply.data[0]["fields"], "created_at": "2026-01-05T09:00:00.000Z"}],
        "next_cursor": reply.body["next_cursor"],
    }
    assert reply.data[0]["fields"].keys() == inside.record(record_id).keys()
    assert reply.data[0]["fields"]["Due"] == inside.record(record_id)["Due"]


@requirement("common-5", "common-38", "tables-5")
def test_every_record_is_on_one_page_only(gateway: Gateway, inside: VendorInspector) -> None:
    pages = gateway.pages("/tables/records", base_id=gateway.examples("tables")["base_id"], table="Leads", limit=100)
    matches = [record["record_id"] for page in pages for record in page.data]

    assert [100, 100, 100, 100, 100, 100, 40] == [len(page.data) for page in pages]
    assert list(inside.table().records) == matches


@requirement("tables-3")
def test_a_view_filters_and_sorts(gateway: Gateway, inside: VendorInspector) -> None:
    target = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "view": "Open leads"}
    matches = [record["fields"] for record in gateway.items("/tables/records", **target, limit=100)]
    values = [fields.get("Value", 0) for fields in matches]

    assert len(inside.records(Stage="Open")) == len(matches)
    assert {"Open"} == {fields["Stage"] for fields in matches}
    assert sorted(values, reverse=True) == values


def test_fields_hidden_in_a_view_are_read_all_the_same(gateway: Gateway) -> None:
    assert "Email" in {name for record in read(gateway, view="Open leads").data for name in record["fields"]}


def test_a_view_that_matches_no_record_returns_an_empty_page(gateway: Gateway) -> None:
    reply = read(gateway, view="Nothing yet")

    assert ([], None) == (reply.data, reply.body["next_cursor"])


@requirement("tables-1")
def test_tables_and_views_may_be_named_by_their_identifiers(gateway: Gateway, inside: VendorInspector) -> None:
    table = inside.table()
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
def test_names_may_hold_slashes_and_whatever_else(gateway: Gateway, base: str, table: str, view: str | None) -> None:
    more = {} if view is None else {"view": view}

    assert read(gateway, table, base_id=gateway.examples("tables")[base], **more).data


def test_names_in_addresses_are_decoded_once(gateway: Gateway) -> None:
    base_id = gateway.examples("tables")["base_id"]
    path = f"/v1/connectors/tables/records?connection_id={gateway.connections['tables']}&base_id={base_id}&limit=1"
    right = gateway.request("GET", f"{path}&table=Companies%20%2F%20Konten")
    twice = gateway.request("GET", f"{path}&table=Companies%2520%252F%2520Konten")

    assert 1 == len(right.data)
    assert "table_not_found" == twice.code


def test_a_known_table_costs_one_request(gateway: Gateway) -> None:
    read(gateway)
    gateway.clear("tables")
    read(gateway, view="Open leads")

    assert 1 == len(gateway.journal("tables"))


@requirement("tables-4")
def test_calls_that_begin_together_read_the_schema_once(gateway: Gateway, inside: VendorInspector) -> None:
    replies = gateway.together(*[lambda: read(gateway, limit=1)] * 10)

    assert [200] * 10 == [reply.status for reply in replies]
    assert 1 == len([path for path in inside.sent("GET") if path.startswith("/v0/meta/")])


@requirement("tables-36")
@pytest.mark.parametrize("base_id", ["appDoesNotExist00", "hidden"])
def test_an_unknown_base_is_not_found(gateway: Gateway, base_id: str) -> None:
    expected = gateway.examples("tables")["hidden_base_id"] if base_id == "hidden" else base_id
    reply = read(gateway, base_id=expected)

    assert (404, "base_not_found") == (reply.status, reply.code)
    assert [{"parameter": "base_id", "value": expected}] == reply.facts


@requirement("tables-37")
def test_an_unknown_table_is_not_found_and_the_tables_are_named(gateway: Gateway) -> None:
    reply = read(gateway, "leads")

    assert (404, "table_not_found") == (reply.status, reply.code)
    about = {"parameter": "table", "value": "leads", "did_you_mean": "Leads"}
    assert [about | {"allowed": ["Leads", "Companies / Konten"]}] == reply.facts


@requirement("tables-38")
def test_an_unknown_view_is_not_found_and_the_views_are_named(gateway: Gateway) -> None:
    reply = read(gateway, "Companies / Konten", view="Open leads")

    assert (404, "view_not_found") == (reply.status, reply.code)
    assert [{"parameter": "view", "value": "Open leads", "allowed": ["Grid view"]}] == reply.facts


def test_a_cursor_of_an_expired_list_is_invalid(gateway: Gateway) -> None:
    cursor = read(gateway).body["next_cursor"]
    gateway.knob("tables", offset_seconds=0)
    reply = read(gateway, cursor=cursor)

    assert (422, "invalid_cursor") == (reply.status, reply.code)


def test_a_table_that_was_renamed_a_moment_ago_is_found_by_its_new_name(
    gateway: Gateway, inside: VendorInspector
) -> None:
    read(gateway)
    inside.table().name = "Prospects"

    assert 1 == len(read(gateway, "Prospects", limit=1).data)


def test_a_table_that_was_deleted_a_moment_ago_is_not_found(gateway: Gateway, inside: VendorInspector) -> None:
    read(gateway)
    inside.sales.tables.remove(inside.table())
    reply = read(gateway)

    assert "table_not_found" == reply.code
    assert ["Companies / Konten"] == reply.details[0]["allowed"]


def test_a_view_that_was_deleted_a_moment_ago_is_not_found(gateway: Gateway, inside: VendorInspector) -> None:
    read(gateway, view="Gallery")
    inside.table().views.pop(6)
    reply = read(gateway, view="Gallery")

    assert "view_not_found" == reply.code
    assert "Gallery" not in reply.details[0]["allowed"]


# Updating a record


@requirement("tables-17", "tables-18")
def test_the_named_fields_are_updated_and_no_others(gateway: Gateway, inside: VendorInspector) -> None:
    record_id = gateway.examples("tables")["record_id"]
    before = inside.record(record_id)
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
    after = inside.record(record_id)
    assert ("Won", 12.5, None) == (after["Stage"], after["Value"], after.get("Hot"))
    assert {"Stage", "Value", "Hot", "Changed", "Changed by", "Value per star"} >= {
        name for name in before if before[name] != after.get(name) and name != "Files"
    }


def test_null_clears_a_field(gateway: Gateway, inside: VendorInspector) -> None:
    update(gateway, {"Tags": None, "Due": None, "Owner": None})

    assert {"Tags", "Due", "Owner"}.isdisjoint(inside.record(gateway.examples("tables")["record_id"]))


@requirement("tables-19")
@pytest.mark.parametrize(
    "field",
    [
        *("Value per star", "Average revenue", "City", "Companies", "Created", "Changed", "Created by", "Changed by"),
        *("No.", "Call", "Summary", "Source", "Manual sort", "Mood"),
    ],
)
def test_a_field_that_is_computed_or_not_known_is_rejected(
    gateway: Gateway, inside: VendorInspector, field: str
) -> None:
    reply = update(gateway, {"Name": "Never", field: "1"})

    assert (422, "read_only_field") == (reply.status, reply.code)
    about = {"code": "read_only_field", "field": field, "type": inside.field(field).type, "value": "1"}
    assert [about] == reply.details
    assert [] == inside.sent("PATCH")


@requirement("tables-40")
def test_unknown_fields_are_not_found_and_all_of_them_are_named(gateway: Gateway, inside: VendorInspector) -> None:
    reply = update(gateway, {"name": "x", "Name": "y", "Nmae": 1})

    assert (404, "field_not_found") == (reply.status, reply.code)
    assert [("name", "x"), ("Nmae", 1)] == [(detail["field"], detail["value"]) for detail in reply.details]
    assert [field.name for field in inside.table().fields] == reply.details[0]["allowed"]
    assert [] == inside.sent("PATCH")


@requirement("common-182")
def test_the_closest_field_is_suggested_for_any_value(gateway: Gateway) -> None:
    reply = update(gateway, {"Nmae": "Tgas", "Zzz": "Nmae"})

    assert ["Name", None] == [detail.get("did_you_mean") for detail in reply.details]
    assert "did_you_mean" not in reply.details[1]


@requirement("common-30", "common-47", "tables-41")
def test_one_response_reports_all_errors_of_a_change(gateway: Gateway, inside: VendorInspector) -> None:
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
    assert [] == inside.sent("PATCH")


@requirement("tables-13")
@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("Stage", "Maybe", {"value": "Maybe"}), ("Tags", ["eu", "EU"], {"value": "EU", "did_you_mean": "eu"})],
)
def test_an_option_that_is_missing_is_never_added(
    gateway: Gateway, inside: VendorInspector, field: str, value: Any, expected: Mapping[str, str]
) -> None:
    reply = update(gateway, {field: value})

    assert (409, "select_option_missing") == (reply.status, reply.code)
    about = {"code": "select_option_missing", "field": field, **expected}
    assert [about | {"allowed": inside.field(field).choices()}] == reply.details


@requirement("tables-39")
def test_a_record_that_does_not_exist_is_not_found(gateway: Gateway) -> None:
    reply = update(gateway, {"Name": "x"}, "recDoesNotExist00")

    assert (404, "record_not_found") == (reply.status, reply.code)
    assert [{"parameter": "record_id", "value": "recDoesNotExist00"}] == reply.facts


@requirement("tables-39")
def test_a_record_of_another_table_is_not_found(gateway: Gateway, inside: VendorInspector) -> None:
    record_id = next(iter(inside.table("Companies / Konten").records))

    assert "record_not_found" == update(gateway, {"Name": "x"}, record_id).code


def test_a_record_is_updated_with_something(gateway: Gateway) -> None:
    reply = update(gateway, {})

    assert "invalid_parameters" == reply.code
    assert ["fields"] == [detail["parameter"] for detail in reply.details]


def test_a_field_renamed_while_it_was_remembered_goes_by_either_name(gateway: Gateway, inside: VendorInspector) -> None:
    update(gateway, {"Name": "first"})
    base_id = gateway.examples("tables")["base_id"]
    gateway.act("tables", action="rename_field", base_id=base_id, table="Leads", field="Name", name="Lead")
    old = update(gateway, {"Name": "by the old name"})
    new = update(gateway, {"Lead": "by the new name"})

    assert [["Name"], ["Lead"]] == [old.data["updated_fields"], new.data["updated_fields"]]
    assert "by the new name" == inside.record(gateway.examples("tables")["record_id"])["Lead"]
    assert "field_not_found" == update(gateway, {"Name": "gone by now"}).code


def test_a_field_deleted_while_it_was_remembered_is_not_found(gateway: Gateway, inside: VendorInspector) -> None:
    update(gateway, {"Phone": "+46"})
    inside.table().fields.remove(inside.field("Phone"))
    reply = update(gateway, {"Phone": "+47"})

    assert "field_not_found" == reply.code
    assert "Phone" not in reply.details[0]["allowed"]


def test_an_option_added_while_the_others_were_remembered_is_used(gateway: Gateway, inside: VendorInspector) -> None:
    update(gateway, {"Stage": "Won"})
    options = inside.field("Stage").options or {}
    options["choices"].append({"id": "selNew", "name": "Paused", "color": "redLight2"})

    assert ["Stage"] == update(gateway, {"Stage": "Paused"}).data["updated_fields"]


def test_a_field_that_became_computed_while_it_was_remembered_is_rejected(
    gateway: Gateway, inside: VendorInspector
) -> None:
    update(gateway, {"Phone": "+46"})
    inside.field("Phone").type = "autoNumber"

    assert "read_only_field" == update(gateway, {"Phone": "+47"}).code


@requirement("tables-45")
@pytest.mark.parametrize(("field", "value"), [("Company", ["recDoesNotExist00"]), ("Owner", "nobody@example.com")])
def test_a_value_that_the_vendor_refuses_is_named(gateway: Gateway, field: str, value: Any) -> None:
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
def test_every_value_that_a_read_returns_can_be_written_back(gateway: Gateway, inside: VendorInspector) -> None:
    writable = {field.name for field in inside.table().fields if field.type in CASTS}
    records = read(gateway, limit=40).data
    before = [inside.record(record["record_id"]) for record in records]
    written = [
        update(
            gateway, {name: value for name, value in record["fields"].items() if name in writable}, record["record_id"]
        )
        for record in records
    ]
    after = [inside.record(record["record_id"]) for record in records]

    assert {200} == {reply.status for reply in written}
    assert [stable(cells, writable) for cells in before] == [stable(cells, writable) for cells in after]
    assert CASTS.keys() == {inside.field(name).type for record in records for name in record["fields"]} & CASTS.keys()


@requirement("common-225", "tables-17")
@pytest.mark.parametrize("kind", sorted(CASTS))
def test_null_restores_what_a_new_record_has(gateway: Gateway, inside: VendorInspector, kind: str) -> None:
    names = {field.name for field in inside.table().fields if field.type == kind}
    record_id = next(record["record_id"] for record in read(gateway, limit=40).data if names & record["fields"].keys())

    reply = update(gateway, dict.fromkeys(names), record_id)

    assert names == set(reply.data["updated_fields"])
    assert not names & inside.record(record_id).keys()


def stable(cells: Mapping[str, Any], writable: Collection[str]) -> dict[str, Any]:
    """Return the writable *cells* without URLs of files, which change with every read."""
    return {
        name: [item["id"] for item in value] if name == "Files" else value
        for name, value in cells.items()
        if name in writable
    }


def test_a_table_that_is_filled_from_elsewhere_takes_no_writes(gateway: Gateway, inside: VendorInspector) -> None:
    record_id = next(iter(inside.table("Imported people", inside.office).records))
    reply = update(gateway, {"Name": "x"}, record_id, base_id=inside.office.id, table="Imported people")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Listing tables


@requirement("tables-33", "tables-34")
def test_tables_are_described(gateway: Gateway, inside: VendorInspector) -> None:
    reply = gateway.get("/tables/tables", base_id=gateway.examples("tables")["other_base_id"])
    inventory = inside.table("Inventory", inside.office)

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
    leads = gateway.get("/tables/tables", base_id=gateway.examples("tables")["base_id"]).data[0]

    assert {"name": "Mood", "type": "emotionScale"} in leads["fields"]


@requirement("tables-35")
def test_views_are_omitted_unless_requested(gateway: Gateway) -> None:
    reply = gateway.get("/tables/tables", base_id=gateway.examples("tables")["base_id"], include_views="false")

    assert {"table", "table_id", "primary_field", "fields"} == set(reply.data[0])


def test_tables_are_always_returned_in_their_current_state(gateway: Gateway, inside: VendorInspector) -> None:
    base_id = gateway.examples("tables")["base_id"]
    gateway.get("/tables/tables", base_id=base_id)
    inside.table().name = "Prospects"

    assert "Prospects" == gateway.get("/tables/tables", base_id=base_id).data[0]["table"]


def test_an_unknown_base_has_no_tables(gateway: Gateway) -> None:
    assert "base_not_found" == gateway.get("/tables/tables", base_id="appDoesNotExist00").code
