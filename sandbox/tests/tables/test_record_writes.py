"""The Airtable emulator: creating, updating and deleting records, by field type."""

from itertools import product
from typing import Any

import pytest

from sandbox.tests.tables.airtable_client import PERSON, AirtableClient
from workspace_sandbox.tables.data.cell_validation import STRICT


def test_created_record_is_returned_as_stored(airtable: AirtableClient) -> None:
    record = airtable.create(Name="Acme", Stage="Won")

    assert {"id", "createdTime", "fields"} == set(record)
    assert "2026-09-21T14:13:20.000Z" == record["createdTime"]
    assert record == airtable.get(f"{airtable.leads}/{record['id']}")


def test_path_of_the_official_clients_is_accepted(airtable: AirtableClient) -> None:
    response = airtable.request("POST", f"{airtable.leads}/?", json={"fields": {"Name": "Acme"}})

    assert 200 == response.status_code


@pytest.mark.parametrize("count", [0, 11])
def test_empty_and_oversized_batches_are_rejected(airtable: AirtableClient, count: int) -> None:
    body = {"records": [{"fields": {"Name": "x"}}] * count}

    assert (422, "INVALID_RECORDS") == airtable.rejection("POST", airtable.leads, body)


def test_failed_batch_creates_no_record(airtable: AirtableClient) -> None:
    before = airtable.count()
    rows = [{"fields": {"Name": "Good"}}, {"fields": {"Name": "Bad", "Stage": "Maybe"}}]
    response = airtable.request("POST", airtable.leads, json={"records": rows})

    message = 'Insufficient permissions to create new select option ""Maybe""'
    assert {"error": {"type": "INVALID_MULTIPLE_CHOICE_OPTIONS", "message": message}} == response.json()
    assert before == airtable.count()


def test_failed_batch_update_changes_no_record(airtable: AirtableClient) -> None:
    first, second = (airtable.create(Name=name)["id"] for name in ("One", "Two"))
    rows = [{"id": first, "fields": {"Name": "New"}}, {"id": second, "fields": {"Value": "many"}}]

    assert (422, "INVALID_VALUE_FOR_COLUMN") == airtable.rejection("PATCH", airtable.leads, {"records": rows})
    assert "One" == airtable.get(f"{airtable.leads}/{first}")["fields"]["Name"]


def test_fields_can_be_written_by_id(airtable: AirtableClient) -> None:
    body = {"fields": {airtable.field("Stage")["id"]: "Won"}, "returnFieldsByFieldId": True}

    record = airtable.send("POST", airtable.leads, body)

    assert "Won" == record["fields"][airtable.field("Stage")["id"]]


def test_update_sets_the_modification_time(airtable: AirtableClient) -> None:
    record = airtable.create(Name="Acme")
    airtable.clock.at += 60
    changed = airtable.send("PATCH", f"{airtable.leads}/{record['id']}", {"fields": {"Name": "Acme 2"}})

    assert record["createdTime"] == changed["createdTime"] == changed["fields"]["Created"]
    assert "2026-09-21T14:14:20.000Z" == changed["fields"]["Changed"]


def test_missing_record_errors_differ_between_single_and_batch_requests(airtable: AirtableClient) -> None:
    nowhere = "recNowhere0000000"
    batch = {"records": [{"id": nowhere, "fields": {}}]}

    assert (404, "MODEL_ID_NOT_FOUND") == airtable.rejection("PATCH", f"{airtable.leads}/{nowhere}", {"fields": {}})
    assert (404, "MODEL_ID_NOT_FOUND") == airtable.rejection("DELETE", f"{airtable.leads}/{nowhere}")
    assert (422, "ROW_DOES_NOT_EXIST") == airtable.rejection("PATCH", airtable.leads, batch)
    assert (422, "ROW_DOES_NOT_EXIST") == airtable.rejection("DELETE", f"{airtable.leads}?records[]={nowhere}")


def test_duplicate_record_in_a_batch_is_rejected(airtable: AirtableClient) -> None:
    row = {"id": airtable.examples["record_id"], "fields": {"Name": "x"}}

    assert (422, "INVALID_RECORDS") == airtable.rejection("PATCH", airtable.leads, {"records": [row, row]})


@pytest.mark.parametrize(
    ("row", "merge_on"),
    [
        ({"fields": {"Stage": "Open"}}, ["Stage"]),
        ({"fields": {"Name": "x"}}, ["Email"]),
        ({"fields": {"Name": "x"}}, []),
        ({"fields": {"Name": "x"}}, ["Name", "Email", "Stage", "Value"]),
    ],
)
def test_ambiguous_upserts_are_rejected(airtable: AirtableClient, row: Any, merge_on: list[str]) -> None:
    body = {"records": [row], "performUpsert": {"fieldsToMergeOn": merge_on}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.rejection("PATCH", airtable.leads, body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "INVALID_REQUEST_MISSING_FIELDS")),
        ({"records": [{}]}, (422, "INVALID_REQUEST_MISSING_FIELDS")),
        ({"records": {}}, (422, "INVALID_RECORDS")),
        ({"records": ["x"]}, (422, "INVALID_RECORDS")),
        ({"fields": []}, (422, "INVALID_REQUEST_UNKNOWN")),
        ({"fields": {}, "typecast": "yes"}, (422, "INVALID_REQUEST_UNKNOWN")),
        ([], (422, "INVALID_REQUEST_UNKNOWN")),
    ],
)
def test_bodies_of_the_wrong_shape_are_rejected(airtable: AirtableClient, body: Any, expected: tuple[int, str]) -> None:
    assert expected == airtable.rejection("POST", airtable.leads, body)


@pytest.mark.parametrize("body", [b"{", b'{"fields": {"Value": NaN}}', b"\xff", b"[" * 5000])
def test_invalid_json_returns_the_bare_envelope(airtable: AirtableClient, body: bytes) -> None:
    response = airtable.request("POST", airtable.leads, data=body, headers={"Content-Type": "application/json"})

    assert (400, {"error": "BAD_REQUEST"}) == (response.status_code, response.json())


def test_body_without_a_json_content_type_is_ignored(airtable: AirtableClient) -> None:
    response = airtable.request("POST", airtable.leads, data=b'{"fields": {}}', headers={"Content-Type": "text/plain"})

    assert 422 == response.status_code


def test_unknown_field_error_names_the_field(airtable: AirtableClient) -> None:
    response = airtable.request("POST", airtable.leads, json={"fields": {"Nope": 1}})

    assert {"type": "UNKNOWN_FIELD_NAME", "message": 'Unknown field name: "Nope"'} == response.json()["error"]


COMPUTED = (
    *("Summary", "Created", "Changed", "Created by", "Changed by", "No.", "Call", "Source", "Manual sort", "Mood"),
    *("Companies", "City", "Average revenue", "Value per star"),
)


@pytest.mark.parametrize("name", COMPUTED)
def test_writes_to_computed_and_unknown_fields_are_rejected(airtable: AirtableClient, name: str) -> None:
    response = airtable.request("POST", airtable.leads, json={"fields": {name: "x"}, "typecast": True})

    message = f'Field "{name}" cannot accept a value because the field is computed'
    assert {"type": "INVALID_VALUE_FOR_COLUMN", "message": message} == response.json()["error"]


def test_every_field_is_either_writable_or_computed(airtable: AirtableClient) -> None:
    assert set(COMPUTED) == {field["name"] for field in airtable.schema()["fields"] if field["type"] not in STRICT}


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("Name", "Ünï\nx", "Ünï\nx"),
        ("Notes", "a\nb", "a\nb"),
        ("Brief", "**b**\n", "**b**\n"),
        ("Email", "not an address", "not an address"),
        ("Phone", "+1", "+1"),
        ("Value", 7.0, 7),
        ("Value", 7.123456, 7.123456),
        ("Budget/Jahr €", -2, -2),
        ("Probability", 33.3, 33.3),
        ("Call length", 4890, 4890),
        ("Priority", 5, 5),
        ("Hot", True, True),
        ("Stage", "Won", "Won"),
        ("Tags", ["b2b", "eu", "b2b"], ["b2b", "eu"]),
        ("Owner", {"email": "jose.aran@example.com"}, PERSON),
        ("Watchers", [{"id": "usrK2fGh9pWn40RtYc"}], [PERSON]),
        ("Due", "2026-02-28", "2026-02-28"),
        ("Next call", "2026-10-05T14:07:31Z", "2026-10-05T14:07:31.000Z"),
        ("Next call", "2026-10-05T14:07:31+02:00", "2026-10-05T12:07:31.000Z"),
        ("Next call", "2026-10-05", "2026-10-05T00:00:00.000Z"),
        ("Badge", {"text": "123"}, {"text": "123"}),
        ("Badge", {"text": "123", "type": "upce"}, {"text": "123", "type": "upce"}),
    ],
)
def test_valid_values_are_stored(airtable: AirtableClient, name: str, written: Any, read: Any) -> None:
    assert read == airtable.create(**{name: written})["fields"][name]


NOT_TEXT: tuple[Any, ...] = (1, True, ["a"])
NOT_NUMBERS: tuple[Any, ...] = ("1", True, [1], {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(("Name", "Notes", "Brief", "Email", "Website", "Phone"), NOT_TEXT),
        *product(("Value", "Probability", "Call length"), NOT_NUMBERS),
        ("Value", 1e999),
        ("Value", 10**400),
        ("Priority", 0),
        ("Priority", 6),
        ("Priority", 2.5),
        ("Hot", "true"),
        ("Hot", 1),
        ("Stage", ["Open"]),
        ("Stage", 1),
        ("Tags", "eu"),
        ("Tags", [1]),
        ("Owner", "usrK2fGh9pWn40RtYc"),
        ("Owner", {"id": "usrNobody00000000"}),
        ("Owner", {}),
        ("Watchers", {"id": "usrK2fGh9pWn40RtYc"}),
        ("Due", "2026-02-30"),
        ("Due", "2026-02-03T00:00:00.000Z"),
        ("Due", 20260203),
        ("Next call", "tomorrow"),
        ("Company", "recX"),
        ("Files", "https://example.com/a.png"),
        ("Badge", "123"),
        ("Badge", {"text": 1}),
    ],
)
def test_values_of_the_wrong_type_are_rejected(airtable: AirtableClient, name: str, value: Any) -> None:
    response = airtable.request(
        "POST",
        airtable.leads,
        data=_json({"fields": {name: value}}),
        headers={"Content-Type": "application/json"},
    )

    message = f'Field "{name}" cannot accept the provided value'
    assert {"error": {"type": "INVALID_VALUE_FOR_COLUMN", "message": message}} == response.json()


def _json(body: Any) -> str:
    """Return *body* as JSON, which may contain numbers beyond the range of a float."""
    return str(body).replace("'", '"').replace("True", "true").replace("inf", "1e999")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("Stage", "open", "INVALID_MULTIPLE_CHOICE_OPTIONS"),
        ("Stage", " Open", "INVALID_MULTIPLE_CHOICE_OPTIONS"),
        ("Tags", ["eu", "new"], "INVALID_MULTIPLE_CHOICE_OPTIONS"),
        ("Company", ["recNowhere0000000"], "ROW_DOES_NOT_EXIST"),
        ("Company", ["Acme Works"], "INVALID_RECORD_ID"),
        ("Files", [{"id": "attNowhere0000000"}], "INVALID_ATTACHMENT_OBJECT"),
        ("Files", [{"url": "data:text/plain,x"}], "INVALID_ATTACHMENT_OBJECT"),
        ("Files", [{"filename": "x"}], "INVALID_ATTACHMENT_OBJECT"),
        ("Files", ["https://example.com/a.png"], "INVALID_ATTACHMENT_OBJECT"),
    ],
)
def test_unknown_options_records_and_attachments_are_rejected(
    airtable: AirtableClient, name: str, value: Any, kind: str
) -> None:
    assert (422, kind) == airtable.rejection("POST", airtable.leads, {"fields": {name: value}})


@pytest.mark.parametrize("empty", [None, ""])
def test_select_is_cleared_by_an_empty_value(airtable: AirtableClient, empty: str | None) -> None:
    record = airtable.create(Name="Acme", Stage="Open")
    changed = airtable.send("PATCH", f"{airtable.leads}/{record['id']}", {"fields": {"Stage": empty}})

    assert "Stage" not in changed["fields"]


def test_time_without_an_offset_uses_the_time_zone_of_the_field(airtable: AirtableClient) -> None:
    record = airtable.create(Visit="2026-01-05T10:00:00")

    assert "2026-01-05T09:00:00.000Z" == record["fields"]["Visit"]


def test_typecast_creates_a_new_option_once(airtable: AirtableClient) -> None:
    rows = [{"fields": {"Stage": "Maybe", "Tags": "eu, brand new"}}, {"fields": {"Stage": "Maybe"}}]

    created = airtable.send("POST", airtable.leads, {"records": rows, "typecast": True})

    assert ["Maybe", "Maybe"] == [record["fields"]["Stage"] for record in created["records"]]
    assert ["eu", "brand new"] == created["records"][0]["fields"]["Tags"]
    assert 1 == [choice["name"] for choice in airtable.field("Stage")["options"]["choices"]].count("Maybe")


def test_rejected_batch_creates_no_option(airtable: AirtableClient) -> None:
    rows = [{"fields": {"Stage": "Maybe"}}, {"fields": {"No.": 1}}]
    airtable.rejection("POST", airtable.leads, {"records": rows, "typecast": True})

    assert "Maybe" not in [choice["name"] for choice in airtable.field("Stage")["options"]["choices"]]


def test_editor_cannot_create_options_with_typecast(airtable: AirtableClient) -> None:
    path = f"/v0/{airtable.examples['other_base_id']}/Inventory"

    rejection = airtable.rejection("POST", path, {"fields": {"Kind": "Toys"}, "typecast": True})

    assert (422, "INVALID_MULTIPLE_CHOICE_OPTIONS") == rejection


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("Name", 12.0, "12"),
        ("Name", True, "true"),
        ("Notes", ["a", 1], "a, 1"),
        ("Value", "€ 1,234.50", 1234.5),
        ("Value", "nothing", None),
        ("Probability", "50%", 0.5),
        ("Priority", "9", 5),
        ("Hot", "yes", True),
        ("Hot", 0, None),
        ("Stage", " Won ", "Won"),
        ("Tags", ["eu", " "], ["eu"]),
        ("Owner", "José Arán", PERSON),
        ("Owner", "nobody", None),
        ("Watchers", "jose.aran@example.com, nobody", [PERSON]),
        ("Due", "2026-02-03T10:00:00.000Z", "2026-02-03"),
        ("Due", "some day", None),
        ("Next call", "2026-02-03", "2026-02-03T00:00:00.000Z"),
        ("Next call", "some day", None),
        ("Badge", 4711, {"text": "4711"}),
    ],
)
def test_typecast_converts_values(airtable: AirtableClient, name: str, written: Any, read: Any) -> None:
    record = airtable.send("POST", airtable.leads, {"fields": {name: written}, "typecast": True})

    assert read == record["fields"].get(name)


def test_typecast_links_by_name_and_creates_missing_records(airtable: AirtableClient) -> None:
    path = f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten"
    existing = airtable.get(path)["records"][0]

    body = {"fields": {"Company": [existing["fields"]["Company"], "Brand New"]}, "typecast": True}
    linked = airtable.send("POST", airtable.leads, body)["fields"]["Company"]

    assert existing["id"] == linked[0]
    assert "Brand New" == airtable.get(f"{path}/{linked[1]}")["fields"]["Company"]


def test_synced_table_is_read_only(airtable: AirtableClient) -> None:
    path = f"/v0/{airtable.examples['other_base_id']}/Imported%20people"

    assert airtable.get(path)["records"]
    assert (403, "INVALID_PERMISSIONS") == airtable.rejection("POST", path, {"fields": {"Name": "x"}})
