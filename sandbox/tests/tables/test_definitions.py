"""Invalid table and field definitions, and comments of other users, in the Airtable emulator."""

from typing import Any

import pytest

from sandbox.tests.tables.airtable_client import AirtableClient

NAME = {"name": "Name", "type": "singleLineText"}


def tables_path(airtable: AirtableClient, path: str = "") -> str:
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
def test_invalid_field_definitions_are_rejected(airtable: AirtableClient, field: dict[str, Any], kind: str) -> None:
    path = tables_path(airtable, f"/{airtable.schema()['id']}/fields")

    assert (422, kind) == airtable.rejection("POST", path, field)


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
def test_invalid_table_definitions_are_rejected_without_effect(
    airtable: AirtableClient, table: dict[str, Any], kind: str
) -> None:
    before = airtable.get(tables_path(airtable))

    assert (422, kind) == airtable.rejection("POST", tables_path(airtable), table)
    assert before == airtable.get(tables_path(airtable))


def test_field_options_cannot_be_updated(airtable: AirtableClient) -> None:
    stage, path = airtable.field("Stage"), tables_path(airtable, f"/{airtable.schema()['id']}/fields")
    body = {"options": {"choices": [{"name": "Other"}]}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.rejection("PATCH", f"{path}/{stage['id']}", body)
    assert stage == airtable.field("Stage")


def test_base_in_an_unknown_workspace_is_rejected(airtable: AirtableClient) -> None:
    body = {"name": "New", "workspaceId": "wspNowhere", "tables": [{"name": "A", "fields": [NAME]}]}

    assert 403 == airtable.rejection("POST", "/v0/meta/bases", body)[0]


def test_comments_of_other_users_are_read_only(airtable: AirtableClient) -> None:
    record = airtable.examples["record_id"]
    user_action = {"action": "comment", "base_id": airtable.examples["base_id"], "table": "Leads", "record_id": record}
    theirs = airtable.control("tables/act", **user_action, text="Hands off")["comment_id"]
    path = f"{airtable.leads}/{record}/comments"

    assert (403, "INVALID_PERMISSIONS") == airtable.rejection("PATCH", f"{path}/{theirs}", {"text": "Mine"})
    assert (403, "INVALID_PERMISSIONS") == airtable.rejection("DELETE", f"{path}/{theirs}")
    assert (422, "INVALID_REQUEST_MISSING_FIELDS") == airtable.rejection("POST", path, {})
    assert ["Hands off"] == [one["text"] for one in airtable.get(path)["comments"]]
