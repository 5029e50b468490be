"""Matching of records, and identification of the rejected field."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector_gateway.connectors.tables import mapping, vendor_models
from connector_gateway.connectors.tables.mapping.batches import Draft
from connector_gateway.kit.errors import (
    OutcomeUnknown,
    SelectOptionMissing,
    TableNotFound,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.vendor_model import UnexpectedShape, convert, decode_json

FIELDS: list[dict[str, Any]] = [
    {"id": "fldName", "name": "Name", "type": "singleLineText"},
    {"id": "fldStage", "name": "Stage", "type": "singleSelect", "options": {"choices": []}},
    {"id": "fldCompany", "name": "Company", "type": "multipleRecordLinks", "options": {"linkedTableId": "tblB"}},
]
NAMES = {field["id"]: field["name"] for field in FIELDS}
FILES = {"id": "fldFiles", "name": "Files"}


def build_table(*more: Mapping[str, Any]) -> vendor_models.Table:
    about = {"id": "tblA", "name": "Leads", "primaryFieldId": "fldName", "fields": [*FIELDS, *more]}
    return convert(about, vendor_models.Table)


TABLE = build_table()


def stored_record(record_id: str, at: str = "2026-11-02T09:30:00.000Z", **fields: Any) -> vendor_models.Record:
    return convert({"id": record_id, "createdTime": at, "fields": fields}, vendor_models.Record)


def build_row(**fields: Any) -> vendor_models.RecordFields:
    return vendor_models.RecordFields(id="rec1", fields=fields)


def build_draft(index: int = 0, **values: Any) -> Draft:
    return Draft(index, values, new_options=False)


def test_an_identifier_is_preferred_to_an_equal_table_name() -> None:
    first = vendor_models.Table(id="tblA", name="tblB", primary_field_id="fld1", fields=[])
    second = vendor_models.Table(id="tblB", name="Other", primary_field_id="fld2", fields=[])

    assert second == mapping.schemas.find_table([first, second], "tblB")
    assert first == mapping.schemas.find_table([first, second], "tblA")


def test_names_of_tables_are_compared_by_every_character() -> None:
    with pytest.raises(TableNotFound):
        mapping.schemas.find_table([TABLE], "Leads ")


def create_intent(*rows: Mapping[str, Any]) -> dict[str, Any]:
    return {"base_id": "appA", "table_id": "tblA", "rows": list(rows), "typecast": False, "filled_in": {}}


def slots(pairs: Sequence[tuple[int, Any]]) -> list[tuple[int, str]]:
    return [(slot, record.id) for slot, record in pairs]


def test_a_record_with_additional_values_is_no_match() -> None:
    full, bare = stored_record("rec1", fldName="A", fldStage="Open"), stored_record("rec2", fldName="A")
    intent = create_intent({"fldName": "A"}, {"fldName": "A", "fldStage": "Open"})

    assert [(0, "rec2"), (1, "rec1")] == slots(mapping.in_doubt_matching.matching_records(TABLE, intent, [full, bare]))


def test_computed_and_unknown_fields_are_ignored_in_matching() -> None:
    table = build_table({"id": "fldNo", "name": "No.", "type": "autoNumber"})
    cells = {"fldName": "A", "fldNo": 7, "fldHidden": "x"}

    assert mapping.in_doubt_matching.is_record(table, cells, {"fldName": "A"}, {})


@pytest.mark.parametrize(
    ("fields", "expected"), [({}, True), ({"fldStage": "Open"}, True), ({"fldStage": "Won"}, False)]
)
def test_observed_default_values_are_ignored_in_matching(fields: dict[str, Any], *, expected: bool) -> None:
    filled = mapping.batches.unwritten_values(build_row(fldName="Z", fldStage="Open"), {"fldName": "Z"})

    assert expected == mapping.in_doubt_matching.is_record(TABLE, {"fldName": "A", **fields}, {"fldName": "A"}, filled)


def test_equal_rows_match_equal_records_oldest_first() -> None:
    younger, older = stored_record("rec1", fldName="A"), stored_record("rec2", "2026-11-02T09:29:59.000Z", fldName="A")
    matches = mapping.in_doubt_matching.matching_records(
        TABLE, create_intent({"fldName": "A"}, {"fldName": " A", "fldStage": None}), [younger, older]
    )

    assert [(0, "rec2"), (0, "rec1"), (1, "rec2"), (1, "rec1")] == slots(matches)


@pytest.mark.parametrize(
    "rows", [[{"fldName": "A"}, {"fldName": "B"}], [{"fldName": "A"}, {"fldName": "A"}], [{"fldName": "A", "fldX": 1}]]
)
def test_an_incomplete_batch_matches_no_record(rows: list[dict[str, Any]]) -> None:
    assert [] == mapping.in_doubt_matching.matching_records(
        TABLE, create_intent(*rows), [stored_record("rec1", fldName="A")]
    )


def test_rows_of_indistinguishable_records_have_equal_contents() -> None:
    first = {"fldName": "A ", "fldStage": "", "fldCompany": ["recB", "recA"]}
    second = {"fldCompany": ["recA", "recB"], "fldName": "A"}
    contents = mapping.in_doubt_matching.comparison_keys(create_intent(first, second, {"fldName": "A"}))

    assert contents[0] == contents[1]
    assert contents[1] != contents[2]


@pytest.mark.parametrize(("author", "expected"), [({"id": "usrMe"}, True), ({"id": "usrYou"}, False), (None, True)])
def test_a_record_of_another_creator_is_no_match(author: Any, *, expected: bool) -> None:
    table = build_table({"id": "fldBy", "name": "By", "type": "createdBy"})
    record = stored_record("rec1", **({"fldBy": author} if author else {}))

    assert expected == mapping.in_doubt_matching.may_be_by(table, record, "usrMe")


def test_a_creator_of_an_unknown_shape_is_ignored() -> None:
    table = build_table({"id": "fldBy", "name": "By", "type": "createdBy"})

    with pytest.raises(UpstreamUnexpected):
        mapping.in_doubt_matching.may_be_by(table, stored_record("rec1", fldBy="usrMe"), "usrMe")


def test_links_of_a_draft_are_grouped_by_field_and_table() -> None:
    assert {"Company": ("tblB", ["recX"])} == mapping.batches.links(
        TABLE, build_draft(fldName="A", fldCompany=["recX"])
    )


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
def test_a_rejection_is_reported_with_its_field(private: str, error: str, field: str | None) -> None:
    fields = {"Name": "A", "Stage": "Paused", "Company": ["recX"]}
    created = build_draft(3, fldName="A", fldStage="Paused", fldCompany=["recX"])
    failed = mapping.batches.rejected_record(NAMES, created, fields, UpstreamRefused("No.", private=private))

    assert (3, error, field) == (failed.index, failed.error, failed.field)
    assert (fields[field] if field else None) == failed.value


def test_a_missing_option_retains_its_code_with_a_known_field() -> None:
    error = SelectOptionMissing("No.", private='Insufficient permissions to create ""Paused""')
    failed = mapping.batches.rejected_record(NAMES, build_draft(fldStage="Paused"), {"Stage": "Paused"}, error)

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
def test_an_attachment_is_matched_by_name_and_uploaded_size(
    item: dict[str, Any], digest: str | None, *, expected: bool
) -> None:
    intent = {"filename": "a.png", "size_bytes": 10, "digest": digest}

    assert expected == mapping.attachments.is_attachment(vendor_models.Attachment(id="att1", **item), intent)


@pytest.mark.parametrize("name", ["fldFiles", "Files"])
def test_attachments_are_read_by_field_name_or_identifier(name: str) -> None:
    matches = mapping.attachments.attachments(build_row(**{name: [{"id": "att1"}]}), FILES)

    assert ["att1"] == [item.id for item in matches]


@pytest.mark.parametrize(
    "cell", ["att1", {"id": "att1"}, ["att1"], [{"filename": "a"}], [{"id": 1}], [{"id": "a", "size": "1"}]]
)
def test_attachments_of_an_unknown_shape_are_an_error(cell: Any) -> None:
    with pytest.raises(UpstreamUnexpected):
        mapping.attachments.attachments(build_row(fldFiles=cell), FILES)


@pytest.mark.parametrize("cell", [None, [], "att1", [{"filename": "a"}], [{"id": "att0"}]])
def test_a_file_missing_in_the_response_is_in_doubt(cell: Any) -> None:
    intent = {"field": FILES, "filename": "a.png", "size_bytes": 10, "digest": "d1"}

    with pytest.raises(OutcomeUnknown) as raised:
        mapping.attachments.created_attachment(build_row(fldFiles=cell), intent, ["att0"])

    assert "garbled" == raised.value.doubt


def test_bases_without_record_access_are_not_searched() -> None:
    bases = [
        vendor_models.Base(id="appA", permission_level="none"),
        vendor_models.Base(id="appB", permission_level="read"),
        vendor_models.Base(id="appC"),
    ]

    assert ["appB", "appC"] == mapping.schemas.open_bases(bases)


# Vendor shapes


def schema(kind: str, options: Any) -> bytes:
    field = {"id": "fld1", "name": "It", "type": kind, "options": options}
    return json.dumps({"tables": [{"id": "tbl", "name": "T", "primaryFieldId": "fld1", "fields": [field]}]}).encode()


@pytest.mark.parametrize("options", [{"max": "high"}, {"choices": 5}, ["anything"], "text", None])
def test_a_new_field_type_accepts_any_options(options: Any) -> None:
    (table,) = decode_json(schema("emotionScale", options), vendor_models.Schema).tables

    assert vendor_models.NO_OPTIONS == table.fields[0].options()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("rating", {"max": "5"}),
        ("number", {"precision": [2]}),
        ("singleSelect", {"choices": [{"id": "sel1"}]}),
        ("singleSelect", "Open"),
        ("multipleRecordLinks", {"linkedTableId": None}),
    ],
)
def test_a_field_with_unknown_options_is_reported_with_its_path(kind: str, options: Any) -> None:
    with pytest.raises(UnexpectedShape) as raised:
        decode_json(schema(kind, options), vendor_models.Schema)

    assert "tables[0].fields[0]" == raised.value.json_path


@pytest.mark.parametrize("at", ["2026-11-02T09:30:00", "yesterday", "2026-13-01T00:00:00Z", 5, None])
def test_a_record_without_a_valid_creation_time_is_rejected(at: Any) -> None:
    with pytest.raises(UnexpectedShape):
        stored_record("rec1", at)
