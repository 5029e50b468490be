"""The stand-in for Airtable: making, changing and deleting records, type by type."""

from itertools import product
from typing import Any

import pytest

from sandbox.tests.tables.played import PERSON, Played
from workspace_sandbox.tables.data.cells import STRICT


def test_one_record_is_made_and_answered_as_it_is(airtable: Played) -> None:
    made = airtable.create(Name="Acme", Stage="Won")

    assert {"id", "createdTime", "fields"} == set(made)
    assert "2026-09-21T14:13:20.000Z" == made["createdTime"]
    assert made == airtable.get(f"{airtable.leads}/{made['id']}")


def test_the_path_of_the_official_clients_is_taken(airtable: Played) -> None:
    answer = airtable.ask("POST", f"{airtable.leads}/?", json={"fields": {"Name": "Acme"}})

    assert 200 == answer.status_code


@pytest.mark.parametrize("count", [0, 11])
def test_more_than_ten_or_no_records_are_refused(airtable: Played, count: int) -> None:
    body = {"records": [{"fields": {"Name": "x"}}] * count}

    assert (422, "INVALID_RECORDS") == airtable.refused("POST", airtable.leads, body)


def test_a_batch_is_made_as_a_whole_or_not_at_all_and_does_not_say_which(airtable: Played) -> None:
    before = airtable.count()
    rows = [{"fields": {"Name": "Good"}}, {"fields": {"Name": "Bad", "Stage": "Maybe"}}]
    answer = airtable.ask("POST", airtable.leads, json={"records": rows})

    message = 'Insufficient permissions to create new select option ""Maybe""'
    assert {"error": {"type": "INVALID_MULTIPLE_CHOICE_OPTIONS", "message": message}} == answer.json()
    assert before == airtable.count()


def test_a_batch_is_changed_as_a_whole_or_not_at_all(airtable: Played) -> None:
    first, second = (airtable.create(Name=name)["id"] for name in ("One", "Two"))
    rows = [{"id": first, "fields": {"Name": "New"}}, {"id": second, "fields": {"Value": "many"}}]

    assert (422, "INVALID_VALUE_FOR_COLUMN") == airtable.refused("PATCH", airtable.leads, {"records": rows})
    assert "One" == airtable.get(f"{airtable.leads}/{first}")["fields"]["Name"]


def test_fields_may_be_written_by_id(airtable: Played) -> None:
    body = {"fields": {airtable.field("Stage")["id"]: "Won"}, "returnFieldsByFieldId": True}

    made = airtable.send("POST", airtable.leads, body)

    assert "Won" == made["fields"][airtable.field("Stage")["id"]]


def test_a_change_is_dated(airtable: Played) -> None:
    made = airtable.create(Name="Acme")
    airtable.clock.at += 60
    changed = airtable.send("PATCH", f"{airtable.leads}/{made['id']}", {"fields": {"Name": "Acme 2"}})

    assert made["createdTime"] == changed["createdTime"] == changed["fields"]["Created"]
    assert "2026-09-21T14:14:20.000Z" == changed["fields"]["Changed"]


def test_records_that_are_not_there_are_refused_one_way_alone_and_another_in_a_batch(airtable: Played) -> None:
    nowhere = "recNowhere0000000"
    batch = {"records": [{"id": nowhere, "fields": {}}]}

    assert (404, "MODEL_ID_NOT_FOUND") == airtable.refused("PATCH", f"{airtable.leads}/{nowhere}", {"fields": {}})
    assert (404, "MODEL_ID_NOT_FOUND") == airtable.refused("DELETE", f"{airtable.leads}/{nowhere}")
    assert (422, "ROW_DOES_NOT_EXIST") == airtable.refused("PATCH", airtable.leads, batch)
    assert (422, "ROW_DOES_NOT_EXIST") == airtable.refused("DELETE", f"{airtable.leads}?records[]={nowhere}")


def test_the_same_record_twice_in_a_batch_is_refused(airtable: Played) -> None:
    row = {"id": airtable.examples["record_id"], "fields": {"Name": "x"}}

    assert (422, "INVALID_RECORDS") == airtable.refused("PATCH", airtable.leads, {"records": [row, row]})


@pytest.mark.parametrize(
    ("row", "merge_on"),
    [
        ({"fields": {"Stage": "Open"}}, ["Stage"]),
        ({"fields": {"Name": "x"}}, ["Email"]),
        ({"fields": {"Name": "x"}}, []),
        ({"fields": {"Name": "x"}}, ["Name", "Email", "Stage", "Value"]),
    ],
)
def test_upserts_that_cannot_be_decided_are_refused(airtable: Played, row: Any, merge_on: list[str]) -> None:
    body = {"records": [row], "performUpsert": {"fieldsToMergeOn": merge_on}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.refused("PATCH", airtable.leads, body)


@pytest.mark.parametrize(
    ("body", "refusal"),
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
def test_bodies_of_the_wrong_shape_are_refused(airtable: Played, body: Any, refusal: tuple[int, str]) -> None:
    assert refusal == airtable.refused("POST", airtable.leads, body)


@pytest.mark.parametrize("body", [b"{", b'{"fields": {"Value": NaN}}', b"\xff", b"[" * 5000])
def test_bodies_that_are_not_json_are_refused_barely(airtable: Played, body: bytes) -> None:
    answer = airtable.ask("POST", airtable.leads, data=body, headers={"Content-Type": "application/json"})

    assert (400, {"error": "BAD_REQUEST"}) == (answer.status_code, answer.json())


def test_a_body_that_is_not_said_to_be_json_is_not_read(airtable: Played) -> None:
    answer = airtable.ask("POST", airtable.leads, data=b'{"fields": {}}', headers={"Content-Type": "text/plain"})

    assert 422 == answer.status_code


def test_an_unknown_field_is_refused_by_its_name(airtable: Played) -> None:
    answer = airtable.ask("POST", airtable.leads, json={"fields": {"Nope": 1}})

    assert {"type": "UNKNOWN_FIELD_NAME", "message": 'Unknown field name: "Nope"'} == answer.json()["error"]


COMPUTED = (
    *("Summary", "Created", "Changed", "Created by", "Changed by", "No.", "Call", "Source", "Manual sort", "Mood"),
    *("Companies", "City", "Average revenue", "Value per star"),
)


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_and_unknown_fields_are_not_written(airtable: Played, name: str) -> None:
    answer = airtable.ask("POST", airtable.leads, json={"fields": {name: "x"}, "typecast": True})

    message = f'Field "{name}" cannot accept a value because the field is computed'
    assert {"type": "INVALID_VALUE_FOR_COLUMN", "message": message} == answer.json()["error"]


def test_every_field_is_either_written_or_computed(airtable: Played) -> None:
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
def test_values_of_the_right_kind_are_kept(airtable: Played, name: str, written: Any, read: Any) -> None:
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
def test_values_of_the_wrong_kind_are_refused(airtable: Played, name: str, value: Any) -> None:
    answer = airtable.ask(
        "POST",
        airtable.leads,
        data=_json({"fields": {name: value}}),
        headers={"Content-Type": "application/json"},
    )

    message = f'Field "{name}" cannot accept the provided value'
    assert {"error": {"type": "INVALID_VALUE_FOR_COLUMN", "message": message}} == answer.json()


def _json(body: Any) -> str:
    """JSON that may say numbers beyond what a float can hold."""
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
def test_values_that_are_not_there_are_refused(airtable: Played, name: str, value: Any, kind: str) -> None:
    assert (422, kind) == airtable.refused("POST", airtable.leads, {"fields": {name: value}})


@pytest.mark.parametrize("empty", [None, ""])
def test_a_select_is_cleared(airtable: Played, empty: str | None) -> None:
    made = airtable.create(Name="Acme", Stage="Open")
    changed = airtable.send("PATCH", f"{airtable.leads}/{made['id']}", {"fields": {"Stage": empty}})

    assert "Stage" not in changed["fields"]


def test_a_time_without_an_offset_is_of_the_zone_of_the_field(airtable: Played) -> None:
    made = airtable.create(Visit="2026-01-05T10:00:00")

    assert "2026-01-05T09:00:00.000Z" == made["fields"]["Visit"]


def test_a_new_option_is_made_once_with_typecast(airtable: Played) -> None:
    rows = [{"fields": {"Stage": "Maybe", "Tags": "eu, brand new"}}, {"fields": {"Stage": "Maybe"}}]

    made = airtable.send("POST", airtable.leads, {"records": rows, "typecast": True})

    assert ["Maybe", "Maybe"] == [record["fields"]["Stage"] for record in made["records"]]
    assert ["eu", "brand new"] == made["records"][0]["fields"]["Tags"]
    assert 1 == [choice["name"] for choice in airtable.field("Stage")["options"]["choices"]].count("Maybe")


def test_a_refused_batch_makes_no_option(airtable: Played) -> None:
    rows = [{"fields": {"Stage": "Maybe"}}, {"fields": {"No.": 1}}]
    airtable.refused("POST", airtable.leads, {"records": rows, "typecast": True})

    assert "Maybe" not in [choice["name"] for choice in airtable.field("Stage")["options"]["choices"]]


def test_an_editor_makes_no_option_even_with_typecast(airtable: Played) -> None:
    path = f"/v0/{airtable.examples['other_base_id']}/Inventory"

    refused = airtable.refused("POST", path, {"fields": {"Kind": "Toys"}, "typecast": True})

    assert (422, "INVALID_MULTIPLE_CHOICE_OPTIONS") == refused


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
def test_typecast_does_what_it_can(airtable: Played, name: str, written: Any, read: Any) -> None:
    made = airtable.send("POST", airtable.leads, {"fields": {name: written}, "typecast": True})

    assert read == made["fields"].get(name)


def test_typecast_links_by_name_and_makes_the_record_that_is_missing(airtable: Played) -> None:
    path = f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten"
    known = airtable.get(path)["records"][0]

    body = {"fields": {"Company": [known["fields"]["Company"], "Brand New"]}, "typecast": True}
    linked = airtable.send("POST", airtable.leads, body)["fields"]["Company"]

    assert known["id"] == linked[0]
    assert "Brand New" == airtable.get(f"{path}/{linked[1]}")["fields"]["Company"]


def test_a_synced_table_is_only_read(airtable: Played) -> None:
    path = f"/v0/{airtable.examples['other_base_id']}/Imported%20people"

    assert airtable.get(path)["records"]
    assert (403, "INVALID_PERMISSIONS") == airtable.refused("POST", path, {"fields": {"Name": "x"}})
