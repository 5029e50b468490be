"""Which record was made of what, and which field a refusal is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector_gateway.connectors.tables import mapping
from connector_gateway.connectors.tables.mapping import Draft
from connector_gateway.kit.errors import SelectOptionMissing, TableNotFound, UpstreamRefused

TABLE: dict[str, Any] = {
    "id": "tblA",
    "name": "Leads",
    "fields": [
        {"id": "fldName", "name": "Name", "type": "singleLineText"},
        {"id": "fldStage", "name": "Stage", "type": "singleSelect", "options": {"choices": []}},
        {"id": "fldCompany", "name": "Company", "type": "multipleRecordLinks", "options": {"linkedTableId": "tblB"}},
    ],
}
NAMES = {field["id"]: field["name"] for field in TABLE["fields"]}


def held(record_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": record_id, "createdTime": "2026-11-02T09:30:00.000Z", "fields": fields}


def draft(index: int = 0, **values: Any) -> Draft:
    return Draft(index, values, new_options=False)


def test_a_table_named_like_the_identifier_of_another_is_not_mistaken_for_it() -> None:
    first, second = {"id": "tblA", "name": "tblB"}, {"id": "tblB", "name": "Other"}

    assert second == mapping.find_table([first, second], "tblB")
    assert first == mapping.find_table([first, second], "tblA")


def test_names_of_tables_are_compared_by_every_character() -> None:
    with pytest.raises(TableNotFound):
        mapping.find_table([{"id": "tblA", "name": "Leads"}], "Leads ")


def wanted(*rows: Mapping[str, Any]) -> dict[str, Any]:
    return {"base_id": "appA", "table_id": "tblA", "rows": list(rows), "typecast": False, "filled_in": {}}


def slots(found: Sequence[tuple[int, Any]]) -> list[tuple[int, str]]:
    return [(slot, raw["id"]) for slot, raw in found]


def test_a_record_that_holds_more_than_was_written_is_another() -> None:
    full, bare = held("rec1", fldName="A", fldStage="Open"), held("rec2", fldName="A")
    intent = wanted({"fldName": "A"}, {"fldName": "A", "fldStage": "Open"})

    assert [(0, "rec2"), (1, "rec1")] == slots(mapping.made_of(TABLE, intent, [full, bare]))


def test_what_is_computed_or_not_known_makes_no_other_record() -> None:
    table = TABLE | {"fields": [*TABLE["fields"], {"id": "fldNo", "name": "No.", "type": "autoNumber"}]}
    raw = held("rec1", fldName="A", fldNo=7, fldHidden="x")

    assert mapping.is_record(table, raw, {"fldName": "A"}, {})


@pytest.mark.parametrize(
    ("fields", "expected"), [({}, True), ({"fldStage": "Open"}, True), ({"fldStage": "Won"}, False)]
)
def test_what_a_table_was_seen_to_fill_in_by_itself_makes_no_other_record(
    fields: dict[str, Any], *, expected: bool
) -> None:
    filled = mapping.filled_in(held("rec1", fldName="Z", fldStage="Open"), {"fldName": "Z"})
    raw = held("rec2", fldName="A", **fields)

    assert expected == mapping.is_record(TABLE, raw, {"fldName": "A"}, filled)


def test_equal_rows_may_have_each_of_the_records_the_oldest_first() -> None:
    younger, older = held("rec1", fldName="A"), held("rec2", fldName="A") | {"createdTime": "2026-11-02T09:29:59.000Z"}
    found = mapping.made_of(TABLE, wanted({"fldName": "A"}, {"fldName": " A", "fldStage": None}), [younger, older])

    assert [(0, "rec2"), (0, "rec1"), (1, "rec2"), (1, "rec1")] == slots(found)


@pytest.mark.parametrize(
    "rows", [[{"fldName": "A"}, {"fldName": "B"}], [{"fldName": "A"}, {"fldName": "A"}], [{"fldName": "A", "fldX": 1}]]
)
def test_a_part_of_the_records_is_none_of_them(rows: list[dict[str, Any]]) -> None:
    assert [] == mapping.made_of(TABLE, wanted(*rows), [held("rec1", fldName="A")])


def test_rows_that_make_records_which_look_alike_have_equal_contents() -> None:
    first = {"fldName": "A ", "fldStage": "", "fldCompany": ["recB", "recA"]}
    second = {"fldCompany": ["recA", "recB"], "fldName": "A"}
    contents = mapping.contents(wanted(first, second, {"fldName": "A"}))

    assert contents[0] == contents[1]
    assert contents[1] != contents[2]


@pytest.mark.parametrize(("author", "expected"), [({"id": "usrMe"}, True), ({"id": "usrYou"}, False), (None, True)])
def test_a_record_that_says_who_made_it_is_theirs(author: Any, *, expected: bool) -> None:
    table = {"fields": [*TABLE["fields"], {"id": "fldBy", "name": "By", "type": "createdBy"}]}
    raw = held("rec1", **({"fldBy": author} if author else {}))

    assert expected == mapping.may_be_by(table, raw, "usrMe")


def test_what_a_draft_links_to_is_told_by_table() -> None:
    assert {"Company": ("tblB", ["recX"])} == mapping.links(TABLE, draft(fldName="A", fldCompany=["recX"]))


@pytest.mark.parametrize(
    ("private", "error", "field"),
    [
        ('Field "Name" cannot accept the provided value', "upstream_refused", "Name"),
        ('Unknown field name: "Phone"', "upstream_refused", None),
        ('Could not make ""Paused""', "upstream_refused", "Stage"),
        ("Record ID recX does not exist in this table", "upstream_refused", "Company"),
        ("Something about Name", "upstream_refused", None),
        ("", "upstream_refused", None),
    ],
)
def test_a_refusal_is_told_with_the_field_that_it_names(private: str, error: str, field: str | None) -> None:
    fields = {"Name": "A", "Stage": "Paused", "Company": ["recX"]}
    made = draft(3, fldName="A", fldStage="Paused", fldCompany=["recX"])
    failed = mapping.refused_record(NAMES, made, fields, UpstreamRefused("No.", private=private))

    assert (3, error, field) == (failed.index, failed.error, failed.field)
    assert (fields[field] if field else None) == failed.value


def test_a_missing_option_stays_one_when_its_field_is_known() -> None:
    refused = SelectOptionMissing("No.", private='Insufficient permissions to create ""Paused""')
    failed = mapping.refused_record(NAMES, draft(fldStage="Paused"), {"Stage": "Paused"}, refused)

    assert ("select_option_missing", "Stage", "Paused") == (failed.error, failed.field, failed.value)


@pytest.mark.parametrize(
    ("item", "digest", "expected"),
    [
        ({"filename": "a.png", "size": 10}, "d1", True),
        ({"filename": "a.png", "size": 11}, "d1", False),
        ({"filename": "a.png"}, "d1", False),
        ({"filename": "b.png", "size": 10}, "d1", False),
        ({"filename": "a.png"}, None, True),
        ({"filename": "a.png", "size": 11}, None, True),
        ({"filename": "b.png", "size": 10}, None, False),
    ],
)
def test_an_attachment_is_known_by_its_name_and_if_it_was_sent_along_its_size(
    item: dict[str, Any], digest: str | None, *, expected: bool
) -> None:
    intent = {"filename": "a.png", "size_bytes": 10, "digest": digest}

    assert expected == mapping.is_attachment(item, intent)


def test_attachments_are_found_whichever_way_their_field_is_named() -> None:
    field = {"id": "fldFiles", "name": "Files"}
    by_id, by_name = held("rec1", fldFiles=[{"id": "att1"}]), held("rec1", Files=[{"id": "att1"}])

    assert [{"id": "att1"}] == mapping.attachments(by_id, field) == mapping.attachments(by_name, field)


def test_bases_that_the_account_sees_from_outside_only_are_not_asked() -> None:
    bases = [{"id": "appA", "permissionLevel": "none"}, {"id": "appB", "permissionLevel": "read"}, {"id": "appC"}]

    assert ["appB", "appC"] == mapping.open_bases(bases)
