"""Which record was made of what, and which field a refusal is about."""

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


def test_the_drafts_that_say_most_choose_their_records_first() -> None:
    vague, exact = draft(0, fldName="A"), draft(1, fldName="A", fldStage="Open")
    full, bare = held("rec1", fldName="A", fldStage="Open"), held("rec2", fldName="A")

    assert [(exact, full), (vague, bare)] == mapping.matches(TABLE, [vague, exact], [full, bare])


def test_equal_drafts_get_a_record_each() -> None:
    first, second = draft(0, fldName="A"), draft(1, fldName="A")
    records = [held("rec1", fldName="A"), held("rec2", fldName="A")]

    assert ["rec1", "rec2"] == [raw["id"] for _, raw in mapping.matches(TABLE, [first, second], records)]


def test_a_draft_without_a_record_is_not_found() -> None:
    assert [] == mapping.matches(TABLE, [draft(fldName="A")], [held("rec1", fldName="B")])


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
    failed = mapping.refused_record(TABLE, made, fields, UpstreamRefused("No.", private=private))

    assert (3, error, field) == (failed.index, failed.error, failed.field)
    assert (fields[field] if field else None) == failed.value


def test_a_missing_option_stays_one_when_its_field_is_known() -> None:
    refused = SelectOptionMissing("No.", private='Insufficient permissions to create ""Paused""')
    failed = mapping.refused_record(TABLE, draft(fldStage="Paused"), {"Stage": "Paused"}, refused)

    assert ("select_option_missing", "Stage", "Paused") == (failed.error, failed.field, failed.value)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([{"id": "att1", "filename": "a.png"}], "att1"),
        ([{"id": "att1", "filename": "renamed", "size": 10}], "att1"),
        ([{"id": "att1", "filename": "a.png"}, {"id": "att2", "filename": "a.png"}], "att2"),
        ([{"id": "att1", "filename": "b.png"}], None),
        ([], None),
    ],
)
def test_an_attachment_is_known_by_its_name_or_size(items: list[dict[str, Any]], expected: str | None) -> None:
    found = mapping.alike(items, "a.png", 10)

    assert expected == (found and found["id"])


def test_attachments_are_found_whichever_way_their_field_is_named() -> None:
    field = {"id": "fldFiles", "name": "Files"}
    by_id, by_name = held("rec1", fldFiles=[{"id": "att1"}]), held("rec1", Files=[{"id": "att1"}])

    assert [{"id": "att1"}] == mapping.attachments(by_id, field) == mapping.attachments(by_name, field)


def test_bases_that_the_account_sees_from_outside_only_are_not_asked() -> None:
    bases = [{"id": "appA", "permissionLevel": "none"}, {"id": "appB", "permissionLevel": "read"}, {"id": "appC"}]

    assert ["appB", "appC"] == mapping.open_bases(bases)
