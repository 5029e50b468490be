"""The Airtable emulator: access, schema, rate limits and failures."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from sandbox.tests.tables.airtable_client import PERSON, PNG, AirtableClient
from workspace_sandbox.tables.data.cell_validation import STRICT


def test_default_data_is_large(airtable: AirtableClient) -> None:
    assert airtable.count() >= 500


def test_examples_name_existing_data(airtable: AirtableClient) -> None:
    examples = airtable.examples
    schema = airtable.schema(examples["table"])

    assert {examples["attachment_field"], examples["select_field"]} <= {field["name"] for field in schema["fields"]}
    assert examples["view"] in {view["name"] for view in schema["views"]}
    assert examples["record_id"] == airtable.get(f"{airtable.leads}/{examples['record_id']}")["id"]


def test_first_record_has_a_value_of_every_field_type(airtable: AirtableClient) -> None:
    record = airtable.get(f"{airtable.leads}/{airtable.examples['record_id']}")
    fields = airtable.schema()["fields"]

    assert {field["name"] for field in fields} == set(record["fields"])
    assert "emotionScale" in {field["type"] for field in fields}
    assert set(STRICT) <= {field["type"] for field in fields}


def test_request_without_a_token_is_rejected(airtable: AirtableClient) -> None:
    response = requests.get(f"{airtable.emulator.context.addresses['base']}/v0/meta/whoami", timeout=60)

    assert 401 == response.status_code
    assert {"type": "AUTHENTICATION_REQUIRED", "message": "Authentication required"} == response.json()["error"]


def test_invalid_token_has_a_different_error_message(airtable: AirtableClient) -> None:
    airtable.session.headers["Authorization"] = "Bearer patNope"
    response = airtable.request("GET", "/v0/meta/whoami")

    assert 401 == response.status_code
    assert {"type": "AUTHENTICATION_REQUIRED", "message": "Invalid authentication token"} == response.json()["error"]


def test_email_is_returned_only_with_its_scope(airtable: AirtableClient) -> None:
    with_scope = airtable.get("/v0/meta/whoami")
    airtable.knobs(scopes="data.records:read")

    assert {"id", "email"} == set(with_scope)
    assert {"id"} == set(airtable.get("/v0/meta/whoami"))


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/v0/{base}/Leads", "data.records:read"),
        ("POST", "/v0/{base}/Leads", "data.records:write"),
        ("GET", "/v0/meta/bases/{base}/tables", "schema.bases:read"),
        ("GET", "/v0/meta/bases", "schema.bases:read"),
    ],
)
def test_missing_scope_is_rejected(airtable: AirtableClient, method: str, path: str, scope: str) -> None:
    scopes = ["data.records:read", "data.records:write", "schema.bases:read"]
    airtable.knobs(scopes=" ".join(name for name in scopes if name != scope))

    rejection = airtable.rejection(method, path.format(base=airtable.examples["base_id"]), {"fields": {}})

    assert (403, "INVALID_PERMISSIONS") == rejection


def test_read_permission_does_not_allow_writes(airtable: AirtableClient) -> None:
    airtable.knobs(permission_level="read")

    assert (403, "INVALID_PERMISSIONS") == airtable.rejection("POST", airtable.leads, {"fields": {}})
    assert airtable.get(airtable.leads)["records"]


@pytest.mark.parametrize("base", ["{hidden_base_id}", "appDoesNotExist00"])
def test_hidden_and_unknown_bases_return_the_same_error(airtable: AirtableClient, base: str) -> None:
    path = f"/v0/{base.format(**airtable.examples)}/Salaries"

    assert (403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND") == airtable.rejection("GET", path)


def test_unknown_table_and_unknown_base_return_the_same_error(airtable: AirtableClient) -> None:
    path = f"/v0/{airtable.examples['base_id']}/Nothing"

    assert (403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND") == airtable.rejection("GET", path)


@pytest.mark.parametrize("path", ["/nothing", "/v0/nothing/Leads", "/v0/meta/nothing", "/"])
def test_unknown_paths_return_the_bare_envelope(airtable: AirtableClient, path: str) -> None:
    response = airtable.request("GET", path)

    assert (404, {"error": "NOT_FOUND"}) == (response.status_code, response.json())


def test_unknown_methods_return_the_bare_envelope(airtable: AirtableClient) -> None:
    assert (404, "NOT_FOUND") == airtable.rejection("PUT", "/v0/meta/whoami")


def test_visible_bases_are_listed_in_pages(airtable: AirtableClient) -> None:
    airtable.knobs(bases_per_page=1)
    first = airtable.get("/v0/meta/bases")
    second = airtable.get("/v0/meta/bases", offset=first["offset"])

    assert [airtable.examples["base_id"]] == [base["id"] for base in first["bases"]]
    assert [(airtable.examples["other_base_id"], "edit")] == [(b["id"], b["permissionLevel"]) for b in second["bases"]]
    assert "offset" not in second


def test_schema_contains_tables_with_fields_and_views(airtable: AirtableClient) -> None:
    schema = airtable.schema()

    assert {"id", "name", "description", "primaryFieldId", "fields", "views"} == set(schema)
    assert "Name" == next(field["name"] for field in schema["fields"] if field["id"] == schema["primaryFieldId"])
    assert {"grid", "form", "calendar", "gallery", "kanban", "timeline"} == {view["type"] for view in schema["views"]}
    assert {"id", "name", "type"} == set(schema["views"][0])


def test_visible_fields_of_grids_are_returned_on_request(airtable: AirtableClient) -> None:
    path = f"/v0/meta/bases/{airtable.examples['base_id']}/tables"
    schema = airtable.get(path, include="visibleFieldIds")["tables"][0]
    views = {view["name"]: view for view in schema["views"]}

    assert len(schema["fields"]) == len(views["All leads"]["visibleFieldIds"])
    assert len(schema["fields"]) > len(views["Open leads"]["visibleFieldIds"])
    assert "visibleFieldIds" not in views["By stage"]


def statuses(airtable: AirtableClient, count: int, path: str) -> list[int]:
    return [airtable.request("GET", path).status_code for _ in range(count)]


def test_sixth_request_in_a_second_blocks_the_base_for_thirty_seconds(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)
    path = f"{airtable.leads}/{airtable.examples['record_id']}"
    at_once = statuses(airtable, 7, path)
    airtable.clock.at += 29.9
    blocked = statuses(airtable, 1, path)
    airtable.clock.at += 0.2

    assert [200] * 5 + [429] * 2 == at_once
    assert [429] == blocked
    assert [200] * 5 == statuses(airtable, 5, path)


def test_each_base_has_its_own_limit_across_both_hosts(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)
    statuses(airtable, 5, f"{airtable.leads}/{airtable.examples['record_id']}")

    assert 429 == airtable.upload(airtable.examples["record_id"], "Files", PNG).status_code
    assert 200 == airtable.request("GET", f"/v0/{airtable.examples['other_base_id']}/Inventory").status_code
    assert 200 == airtable.request("GET", "/v0/meta/whoami").status_code


def test_five_requests_a_second_are_never_rejected(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)

    def step() -> int:
        airtable.clock.at += 0.201
        return airtable.request("GET", f"{airtable.leads}/{airtable.examples['record_id']}").status_code

    assert [200] * 30 == [step() for _ in range(30)]


def test_token_is_limited_to_fifty_requests_a_second(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)

    assert [200] * 50 + [429] == statuses(airtable, 51, "/v0/meta/whoami")


def test_throttled_response_has_no_retry_after(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)
    statuses(airtable, 5, airtable.leads)
    response = airtable.request("GET", airtable.leads)

    error = {"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded. Please try again later"}
    assert {"errors": [error]} == response.json()
    assert "Retry-After" not in response.headers


def test_knobs_change_the_throttled_response(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True, retry_after=True, lockout_seconds=12, throttle_envelope="object")
    statuses(airtable, 6, airtable.leads)
    airtable.clock.at += 2
    response = airtable.request("GET", airtable.leads)

    assert "10" == response.headers["Retry-After"]
    assert "RATE_LIMIT_REACHED" == response.json()["error"]["type"]


def test_monthly_calls_can_be_exhausted(airtable: AirtableClient) -> None:
    airtable.knobs(monthly_calls=2, throttle_envelope="object")

    assert [200, 200, 429] == statuses(airtable, 3, "/v0/meta/whoami")
    assert (429, "PUBLIC_API_BILLING_LIMIT_EXCEEDED") == airtable.rejection("GET", "/v0/meta/whoami")


def test_next_write_can_be_rejected_once_without_effect(airtable: AirtableClient) -> None:
    airtable.knobs(next_write="503_retriable")
    read = airtable.request("GET", airtable.leads).status_code
    before = airtable.count()
    rejection = airtable.rejection("POST", airtable.leads, {"fields": {"Name": "Acme"}})

    assert 200 == read
    assert (503, "RETRIABLE_ERROR") == rejection
    assert before == airtable.count()
    assert "Acme" == airtable.create(Name="Acme")["fields"]["Name"]


def test_delayed_request_is_counted_on_arrival(airtable: AirtableClient) -> None:
    airtable.knobs(limits=True)
    airtable.control("tables/faults", fault="delay", path=airtable.leads, seconds=40)
    airtable.get(airtable.leads)

    assert [200] * 5 + [429] == statuses(airtable, 6, airtable.leads)


def test_user_action_creates_a_record(airtable: AirtableClient) -> None:
    fields = {
        "base_id": airtable.examples["base_id"],
        "table": "Leads",
        "fields": {"Name": "By hand", "Stage": "Fresh"},
    }
    record = airtable.control("tables/act", action="create_record", **fields)

    assert record == airtable.get(f"{airtable.leads}/{record['id']}")
    assert PERSON == record["fields"]["Created by"]


def test_user_action_renames_a_field_and_keeps_its_id(airtable: AirtableClient) -> None:
    fields = {"base_id": airtable.examples["base_id"], "table": "Leads", "field": "Stage", "name": "Phase"}
    renamed = airtable.control("tables/act", action="rename_field", **fields)

    assert (422, "UNKNOWN_FIELD_NAME") == airtable.rejection("POST", airtable.leads, {"fields": {"Stage": "Won"}})
    assert "Won" == airtable.create(**{renamed["field_id"]: "Won"})["fields"]["Phase"]


@pytest.mark.parametrize(
    "action",
    [
        {"action": "create_record"},
        {"action": "create_record", "base_id": "appX", "table": "Leads", "fields": {}},
        {"action": "create_record", "base_id": "{base_id}", "table": "Nope", "fields": {}},
        {"action": "create_record", "base_id": "{base_id}", "table": "Leads", "fields": {"Nope": 1}},
        {"action": "rename_field", "base_id": "{base_id}", "table": "Leads", "field": "Nope", "name": "x"},
        {"action": "rename_field", "base_id": "{base_id}", "table": "Leads", "field": "Name", "name": ""},
        {"action": "rename_field", "base_id": "{base_id}", "table": "Leads", "field": "Name", "name": 1},
    ],
)
def test_invalid_user_actions_are_rejected(airtable: AirtableClient, action: dict[str, Any]) -> None:
    filled = {name: value.format(**airtable.examples) if name == "base_id" else value for name, value in action.items()}

    with pytest.raises(ValueError, match=r"."):
        airtable.emulator.perform(filled)


HOSTILE: list[Callable[[str], str]] = [
    lambda leads: f"{leads}/..%2F..%2Fmeta",
    lambda leads: f"{leads}%00",
    lambda leads: f"{leads}?view=%FF&fields[]=%00",
    lambda leads: f"{leads}?offset=/",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_requests_are_rejected_without_internal_errors(
    airtable: AirtableClient, path: Callable[[str], str]
) -> None:
    assert airtable.request("GET", path(airtable.leads)).status_code in {403, 404, 422}


def test_lone_surrogates_are_accepted(airtable: AirtableClient) -> None:
    body = '{"fields": {"Name": "\\ud800", "Files": [{"url": "https://example.com/", "filename": "\\ud800"}]}}'
    response = airtable.request("POST", airtable.leads, data=body, headers={"Content-Type": "application/json"})

    assert 200 == response.status_code
