"""Tables and fields that the stand-in does not make, and comments that are somebody else's."""

from typing import Any

import pytest

from sandbox.tests.tables.played import Played

NAME = {"name": "Name", "type": "singleLineText"}


def tables(airtable: Played, path: str = "") -> str:
    return f"/v0/meta/bases/{airtable.examples['base_id']}/tables{path}"


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ({"name": "name", "type": "email"}, "DUPLICATE_OR_EMPTY_FIELD_NAME"),
        ({"name": "", "type": "email"}, "DUPLICATE_OR_EMPTY_FIELD_NAME"),
        ({"name": "A", "type": "longText"}, "INVALID_REQUEST_UNKNOWN"),
        ({"name": "A", "type": ["email"]}, "INVALID_REQUEST_UNKNOWN"),
        ({"name": "A", "type": "number", "options": {"precision": "2"}}, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE"),
        ({"name": "A", "type": "createdTime"}, "UNSUPPORTED_FIELD_TYPE_FOR_CREATE"),
        ({"name": "A", "type": "checkbox"}, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE"),
        ({"name": "A", "type": "singleSelect", "options": {"choices": 5}}, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE"),
        (
            {"name": "A", "type": "date", "options": {"dateFormat": {"name": "roman"}}},
            "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE",
        ),
        (
            {"name": "A", "type": "multipleRecordLinks", "options": {"linkedTableId": "tblNowhere"}},
            "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE",
        ),
    ],
)
def test_a_field_that_cannot_be_made_is_refused(airtable: Played, field: dict[str, Any], kind: str) -> None:
    path = tables(airtable, f"/{airtable.schema()['id']}/fields")

    assert (422, kind) == airtable.refused("POST", path, field)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ({"name": "leads", "fields": [NAME]}, "DUPLICATE_TABLE_NAME"),
        ({"name": "New", "fields": []}, "INVALID_REQUEST_UNKNOWN"),
        ({"name": "New", "fields": [NAME, NAME]}, "DUPLICATE_OR_EMPTY_FIELD_NAME"),
        (
            {"name": "New", "fields": [{"name": "A", "type": "multipleAttachments"}]},
            "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE",
        ),
    ],
)
def test_a_table_that_cannot_be_made_is_refused_and_not_there(
    airtable: Played, table: dict[str, Any], kind: str
) -> None:
    before = airtable.get(tables(airtable))

    assert (422, kind) == airtable.refused("POST", tables(airtable), table)
    assert before == airtable.get(tables(airtable))


def test_options_of_a_field_are_not_changed(airtable: Played) -> None:
    stage, path = airtable.field("Stage"), tables(airtable, f"/{airtable.schema()['id']}/fields")
    body = {"options": {"choices": [{"name": "Other"}]}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.refused("PATCH", f"{path}/{stage['id']}", body)
    assert stage == airtable.field("Stage")


def test_a_base_needs_the_right_workspace(airtable: Played) -> None:
    body = {"name": "New", "workspaceId": "wspNowhere", "tables": [{"name": "A", "fields": [NAME]}]}

    assert 403 == airtable.refused("POST", "/v0/meta/bases", body)[0]


def test_comments_of_others_are_read_and_not_changed(airtable: Played) -> None:
    record = airtable.examples["record_id"]
    act = {"action": "comment", "base_id": airtable.examples["base_id"], "table": "Leads", "record_id": record}
    theirs = airtable.control("tables/act", **act, text="Hands off")["comment_id"]
    path = f"{airtable.leads}/{record}/comments"

    assert (403, "INVALID_PERMISSIONS") == airtable.refused("PATCH", f"{path}/{theirs}", {"text": "Mine"})
    assert (403, "INVALID_PERMISSIONS") == airtable.refused("DELETE", f"{path}/{theirs}")
    assert (422, "INVALID_REQUEST_MISSING_FIELDS") == airtable.refused("POST", path, {})
    assert ["Hands off"] == [one["text"] for one in airtable.get(path)["comments"]]
