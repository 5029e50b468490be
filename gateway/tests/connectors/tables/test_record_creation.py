"""Creating records, from the caller's side, against the emulator on real HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

FORBIDDEN = {"error": {"type": "INVALID_PERMISSIONS", "message": "No."}}


def create(gateway: Gateway, *records: Any, **more: Any) -> Reply:
    body = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "records": list(records)}
    return gateway.post("/tables/records", **(body | more))


def with_key(key: str) -> Mapping[str, str]:
    return {"Idempotency-Key": key}


def names(records: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [record.get("Name") for record in records]


@requirement("tables-6", "tables-8")
def test_records_are_created_in_request_order(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = create(gateway, {"Name": "Acme", "Stage": "Open", "Value": 12.5}, {"Name": "Bolt"}, {})

    assert reply.data == {"created": reply.data["created"], "failed": []}
    acme, bolt, empty = (inspector.record(record_id) for record_id in reply.data["created"])
    assert ("Acme", "Open", 12.5) == (acme["Name"], acme["Stage"], acme["Value"])
    assert ("Bolt", None) == (bolt["Name"], empty.get("Name"))


@requirement("tables-6")
def test_ten_records_take_one_request(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = create(gateway, *({"Name": f"Ten {number}"} for number in range(10)))

    assert 10 == len(reply.data["created"])
    assert 1 == len(inspector.list_requests("POST"))


# Rejected batches


@requirement("tables-7")
def test_eleven_records_are_rejected_and_none_is_created(gateway: Gateway) -> None:
    reply = create(gateway, *({"Name": "x"} for _ in range(11)))

    assert (422, "too_many_records") == (reply.status, reply.code)
    assert [{"parameter": "records", "count": 11, "max": 10}] == reply.facts
    assert [] == gateway.journal("tables")


@pytest.mark.parametrize("records", [[], ["Acme"], [{"Name": "Acme"}, None], {"Name": "Acme"}, None])
def test_records_must_be_a_list_of_objects(gateway: Gateway, records: Any) -> None:
    base_id = gateway.examples("tables")["base_id"]
    reply = gateway.post("/tables/records", base_id=base_id, table="Leads", records=records)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [] == gateway.journal("tables")


def test_a_synced_table_accepts_no_records(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = create(gateway, {"Name": "x"}, base_id=inspector.office.id, table="Imported people")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Invalid records in a batch


@requirement("common-13", "tables-8", "tables-9", "tables-10", "tables-12")
@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("Unlike any", "x", "field_not_found"),
        ("Value per star", 1, "read_only_field"),
        ("Average revenue", 1.5, "read_only_field"),
        ("Mood", {"step": 1}, "read_only_field"),
        ("Value", "a lot", "lossy_cast"),
        ("Value", 0.125, "lossy_cast"),
        ("Hot", 1, "lossy_cast"),
        ("Stage", "Maybe", "select_option_missing"),
        ("Tags", "us", "select_option_missing"),
    ],
)
def test_one_invalid_record_of_five_fails(
    gateway: Gateway, inspector: VendorInspector, field: str, value: Any, error: str
) -> None:
    bad = {"Name": "bad", field: value}
    reply = create(gateway, {"Name": "1"}, {"Name": "2"}, bad, {"Name": "4"}, {"Name": "5"})

    assert "partial" == reply.body["status"]
    assert [{"index": 2, "error": error, "field": field, "value": value}] == reply.data["failed"]
    assert ["1", "2", "4", "5"] == names([inspector.record(record_id) for record_id in reply.data["created"]])
    assert [] == inspector.records(Name="bad")


@requirement("tables-41")
def test_one_response_reports_all_errors_of_all_records(gateway: Gateway, inspector: VendorInspector) -> None:
    wrong = {"Stage": "Maybe", "Value": "x", "Tags": ["us", "uk"], "Call": 1, "Nmae": 1}
    reply = create(gateway, wrong, {"Name": "fine"}, {"Hot": 5, "Due": "soon"})

    assert "partial" == reply.body["status"]
    assert [
        (0, "select_option_missing", "Stage", "Maybe"),
        (0, "lossy_cast", "Value", "x"),
        (0, "select_option_missing", "Tags", "us"),
        (0, "select_option_missing", "Tags", "uk"),
        (0, "read_only_field", "Call", 1),
        (0, "field_not_found", "Nmae", 1),
        (2, "lossy_cast", "Hot", 5),
        (2, "lossy_cast", "Due", "soon"),
    ] == [(item["index"], item["error"], item["field"], item["value"]) for item in reply.data["failed"]]
    assert ["fine"] == names([inspector.record(record_id) for record_id in reply.data["created"]])


@requirement("common-182")
def test_each_failed_record_suggests_the_closest_match(gateway: Gateway) -> None:
    reply = create(gateway, {"Nmae": "Tags"}, {"Stage": "Opne"}, {"Zzz": "Nmae"}, {"Name": "fine"})

    assert ["Name", "Open", None] == [item.get("did_you_mean") for item in reply.data["failed"]]


@requirement("tables-41")
def test_every_dangling_link_is_reported(gateway: Gateway) -> None:
    fields = {"Stage": "Paused", "Company": ["recNowhere0000001", "recNowhere0000002"]}
    reply = create(gateway, fields, allow_new_options=True)

    assert ["recNowhere0000001", "recNowhere0000002"] == [item["value"] for item in reply.data["failed"]]


@requirement("tables-41")
def test_a_repeat_reports_the_same_errors(gateway: Gateway) -> None:
    records = [{"Nmae": 1, "Value": "x"}, {"Name": "fine"}]
    first = create(gateway, *records, headers=with_key("faults"))
    repeat = create(gateway, *records, headers=with_key("faults"))

    assert [0, 0] == [item["index"] for item in repeat.data["failed"]]
    assert first.data == repeat.data


@requirement("tables-46")
def test_a_warning_has_message_and_remedy_of_every_failed_record(gateway: Gateway) -> None:
    reply = create(gateway, {"Nmae": "x"}, {"Stage": "Maybe"}, {"Value": "{table} " * 100})
    warnings = reply.headers["warning"].split(", 199 - ")

    assert [
        (
            "Record 0 was not created: The table has no field 'Nmae'. Did you mean 'Name'? "
            "Use a field name exactly as GET /v1/connectors/tables/tables returns it."
        ),
        (
            "Record 1 was not created: 'Maybe' is not an option of 'Stage'. "
            "Add the option in Airtable, or set allow_new_options to true."
        ),
    ] == [warning.removeprefix("199 - ").strip('"') for warning in warnings[:2]]
    assert 3 == len(warnings)


@requirement("tables-11")
def test_no_request_is_sent_if_all_records_are_invalid(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = create(gateway, {"Nmae": "x"}, {"Stage": "Maybe"})

    assert ("partial", []) == (reply.body["status"], reply.data["created"])
    assert [0, 1] == [item["index"] for item in reply.data["failed"]]
    assert [] == inspector.list_requests("POST")


def test_failures_of_both_kinds_are_reported_in_the_order_of_the_request(gateway: Gateway) -> None:
    records = [{"Owner": "usrNobody"}, {"Name": "fine"}, {"Nmae": "x"}, {"Owner": "usrNobody", "Name": "x"}]
    reply = create(gateway, *records)

    assert [(0, "upstream_refused"), (2, "field_not_found"), (3, "upstream_refused")] == [
        (item["index"], item["error"]) for item in reply.data["failed"]
    ]
    assert 1 == len(reply.data["created"])


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("Company", ["recNowhere0000000"], "Record ID recNowhere0000000 does not exist in this table"),
        ("Owner", "nobody@example.com", 'Field "Owner" cannot accept the provided value'),
    ],
)
def test_one_record_rejected_by_the_vendor_fails_with_its_reason(
    gateway: Gateway, inspector: VendorInspector, field: str, value: Any, reason: str
) -> None:
    bad = {"Name": "bad", field: value}
    reply = create(gateway, {"Name": "1"}, {"Name": "2"}, bad, {"Name": "4"}, {"Name": "5"})

    assert "partial" == reply.body["status"]
    assert [(2, "upstream_refused", field, value, reason)] == [
        (item["index"], item["error"], item["field"], item["value"], item["vendor_message"])
        for item in reply.data["failed"]
    ]
    assert ["1", "2", "4", "5"] == names([inspector.record(record_id) for record_id in reply.data["created"]])
    assert [] == inspector.records(Name="bad")


def test_an_error_without_a_field_is_reported(gateway: Gateway, inspector: VendorInspector) -> None:
    gateway.fault("tables", method="POST", fault="status", status=422, body={"error": "INVALID_REQUEST"}, times=2)
    reply = create(gateway, {"Name": "strange", "Notes": "x"})

    fields = {"index": 0, "error": "upstream_refused", "field": None, "value": None, "vendor_code": "INVALID_REQUEST"}
    assert [fields] == reply.data["failed"]
    assert [] == inspector.records(Name="strange")


@requirement("tables-42")
def test_a_rejected_record_reports_the_vendors_reason(gateway: Gateway) -> None:
    body = {"error": {"type": "INVALID_VALUE_FOR_COLUMN", "message": 'Field "Name" takes no numbers'}}
    gateway.fault("tables", method="POST", fault="status", status=422, body=body, times=2)
    reply = create(gateway, {"Name": "17"})

    assert [
        {
            "index": 0,
            "error": "upstream_refused",
            "field": "Name",
            "value": "17",
            "vendor_code": "INVALID_VALUE_FOR_COLUMN",
            "vendor_message": 'Field "Name" takes no numbers',
        }
    ] == reply.data["failed"]


def test_a_field_renamed_after_caching_is_found(gateway: Gateway, inspector: VendorInspector) -> None:
    create(gateway, {"Name": "first"})
    base_id = gateway.examples("tables")["base_id"]
    gateway.act("tables", action="rename_field", base_id=base_id, table="Leads", field="Name", name="Lead")
    reply = create(gateway, {"Lead": "second"})

    assert "ok" == reply.body["status"]
    assert "second" == inspector.record(reply.data["created"][0])["Lead"]


def test_a_field_that_became_computed_fails_only_its_records(gateway: Gateway, inspector: VendorInspector) -> None:
    create(gateway, {"Name": "first"})
    inspector.field("Phone").type = "autoNumber"
    reply = create(gateway, {"Name": "one", "Phone": "1"}, {"Name": "two"})

    assert [(0, "read_only_field", "Phone")] == [
        (item["index"], item["error"], item["field"]) for item in reply.data["failed"]
    ]
    assert ["two"] == names([inspector.record(record_id) for record_id in reply.data["created"]])


# New options


@requirement("tables-13")
def test_an_allowed_new_option_is_added_once(gateway: Gateway, inspector: VendorInspector) -> None:
    reply = create(
        gateway,
        {"Stage": "Paused"},
        {"Stage": "Open"},
        {"Stage": "Paused", "Tags": ["eu", "us"]},
        allow_new_options=True,
    )

    assert ("ok", 3) == (reply.body["status"], len(reply.data["created"]))
    assert ["Paused", "Open", "Paused"] == [inspector.record(created)["Stage"] for created in reply.data["created"]]
    assert 1 == inspector.field("Stage").choices().count("Paused")
    assert ["eu", "us"] == inspector.record(reply.data["created"][2])["Tags"]


@requirement("tables-14")
@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"Stage": "Paused", "Value": "12 or so"}, "lossy_cast", "Value"),
        ({"Stage": "Paused", "Hot": "yes"}, "lossy_cast", "Hot"),
        ({"Stage": "Paused", "Due": "tomorrow"}, "lossy_cast", "Due"),
        ({"Stage": "Paused", "Call": "x"}, "read_only_field", "Call"),
        ({"Stage": " Paused"}, "lossy_cast", "Stage"),
        ({"Stage": ""}, "lossy_cast", "Stage"),
        ({"Stage": "Paused", "Company": ["recNowhere0000000"]}, "upstream_refused", "Company"),
        ({"Stage": "Paused", "Owner": "nobody@example.com"}, "upstream_refused", "Owner"),
    ],
)
def test_allowing_new_options_skips_no_other_check(
    gateway: Gateway, inspector: VendorInspector, fields: dict[str, Any], error: str, field: str
) -> None:
    companies = len(inspector.table("Companies / Konten").records)
    reply = create(gateway, fields, allow_new_options=True)

    assert [(error, field)] == [(item["error"], item["field"]) for item in reply.data["failed"]]
    assert "Paused" not in inspector.field("Stage").choices()
    assert companies == len(inspector.table("Companies / Konten").records)


def test_without_permission_for_options_only_their_records_fail(gateway: Gateway, inspector: VendorInspector) -> None:
    where = {"base_id": inspector.office.id, "table": "Inventory"}
    reply = create(gateway, {"Kind": "Plants"}, {"Kind": "Hardware", "Item": "x"}, allow_new_options=True, **where)

    assert [{"index": 0, "error": "select_option_missing", "field": "Kind", "value": "Plants"}] == reply.data["failed"]
    assert 1 == len(reply.data["created"])


def test_created_records_are_reported_if_the_others_are_forbidden(gateway: Gateway, inspector: VendorInspector) -> None:
    gateway.fault("tables", method="POST", fault="delay", seconds=0)
    gateway.fault("tables", method="POST", fault="status", status=403, body=FORBIDDEN)
    reply = create(gateway, {"Name": "one"}, {"Name": "two", "Stage": "Paused"}, allow_new_options=True)

    assert ["one"] == names([inspector.record(record_id) for record_id in reply.data["created"]])
    fields = {"index": 1, "error": "upstream_refused", "field": None, "value": None}
    assert [fields | {"vendor_code": "INVALID_PERMISSIONS", "vendor_message": "No."}] == reply.data["failed"]


# In-doubt records


@requirement("common-79")
@pytest.mark.parametrize("injected", ["drop_after", "garbage"])
def test_records_with_a_lost_response_are_matched(gateway: Gateway, inspector: VendorInspector, injected: str) -> None:
    gateway.fault("tables", method="POST", fault=injected)
    fields = {
        "Name": "found",
        "Value": 2.5,
        "Tags": ["日本", "eu"],
        "Hot": False,
        "Next call": "2026-11-02T10:30:00+01:00",
        "Owner": "jose.aran@example.com",
        "Watchers": ["usrA8sVd3kQe71LxZm", "li.wei@example.com"],
        "Files": ["https://example.com/a.pdf"],
        "Badge": "123",
        "Due": None,
    }
    reply = create(gateway, {"Name": "found"}, fields, {"Name": "found"})

    assert 3 == len(inspector.records(Name="found"))
    assert ("found", 2.5) == (
        inspector.record(reply.data["created"][1])["Name"],
        inspector.record(reply.data["created"][1])["Value"],
    )
    assert 3 == len(set(reply.data["created"]))
