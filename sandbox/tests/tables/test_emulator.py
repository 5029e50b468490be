"""The stand-in for Airtable: who is let in, what is where, how often, and how it fails."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from sandbox.tests.tables.played import PERSON, PNG, Played
from workspace_sandbox.tables.data.cells import STRICT


def test_the_seed_is_made_quickly_and_is_large_enough(airtable: Played) -> None:
    assert airtable.count() >= 500


def test_examples_name_what_is_there(airtable: Played) -> None:
    examples = airtable.examples
    schema = airtable.schema(examples["table"])

    assert {examples["attachment_field"], examples["select_field"]} <= {field["name"] for field in schema["fields"]}
    assert examples["view"] in {view["name"] for view in schema["views"]}
    assert examples["record_id"] == airtable.get(f"{airtable.leads}/{examples['record_id']}")["id"]


def test_the_first_record_has_a_value_in_every_field_and_one_type_nobody_knows(airtable: Played) -> None:
    record = airtable.get(f"{airtable.leads}/{airtable.examples['record_id']}")
    fields = airtable.schema()["fields"]

    assert {field["name"] for field in fields} == set(record["fields"])
    assert "emotionScale" in {field["type"] for field in fields}
    assert set(STRICT) <= {field["type"] for field in fields}


def test_without_a_token_nobody_is_let_in(airtable: Played) -> None:
    answer = requests.get(f"{airtable.emulator.context.addresses['base']}/v0/meta/whoami", timeout=60)

    assert 401 == answer.status_code
    assert {"type": "AUTHENTICATION_REQUIRED", "message": "Authentication required"} == answer.json()["error"]


def test_a_bad_token_is_refused_in_other_words(airtable: Played) -> None:
    airtable.session.headers["Authorization"] = "Bearer patNope"
    answer = airtable.ask("GET", "/v0/meta/whoami")

    assert 401 == answer.status_code
    assert {"type": "AUTHENTICATION_REQUIRED", "message": "Invalid authentication token"} == answer.json()["error"]


def test_the_email_is_told_only_with_its_scope(airtable: Played) -> None:
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
def test_a_missing_scope_is_refused(airtable: Played, method: str, path: str, scope: str) -> None:
    scopes = ["data.records:read", "data.records:write", "schema.bases:read"]
    airtable.knobs(scopes=" ".join(name for name in scopes if name != scope))

    refused = airtable.refused(method, path.format(base=airtable.examples["base_id"]), {"fields": {}})

    assert (403, "INVALID_PERMISSIONS") == refused


def test_a_reader_may_not_write(airtable: Played) -> None:
    airtable.knobs(permission_level="read")

    assert (403, "INVALID_PERMISSIONS") == airtable.refused("POST", airtable.leads, {"fields": {}})
    assert airtable.get(airtable.leads)["records"]


@pytest.mark.parametrize("base", ["{hidden_base_id}", "appDoesNotExist00"])
def test_a_hidden_base_and_none_at_all_are_refused_alike(airtable: Played, base: str) -> None:
    path = f"/v0/{base.format(**airtable.examples)}/Salaries"

    assert (403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND") == airtable.refused("GET", path)


def test_an_unknown_table_is_refused_like_an_unknown_base(airtable: Played) -> None:
    path = f"/v0/{airtable.examples['base_id']}/Nothing"

    assert (403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND") == airtable.refused("GET", path)


@pytest.mark.parametrize("path", ["/nothing", "/v0/nothing/Leads", "/v0/meta/nothing", "/"])
def test_unknown_paths_are_answered_with_the_bare_envelope(airtable: Played, path: str) -> None:
    answer = airtable.ask("GET", path)

    assert (404, {"error": "NOT_FOUND"}) == (answer.status_code, answer.json())


def test_unknown_methods_are_answered_with_the_bare_envelope(airtable: Played) -> None:
    assert (404, "NOT_FOUND") == airtable.refused("PUT", "/v0/meta/whoami")


def test_the_visible_bases_are_listed_page_by_page(airtable: Played) -> None:
    airtable.knobs(bases_per_page=1)
    first = airtable.get("/v0/meta/bases")
    second = airtable.get("/v0/meta/bases", offset=first["offset"])

    assert [airtable.examples["base_id"]] == [base["id"] for base in first["bases"]]
    assert [(airtable.examples["other_base_id"], "edit")] == [(b["id"], b["permissionLevel"]) for b in second["bases"]]
    assert "offset" not in second


def test_the_schema_shows_tables_with_their_fields_and_views(airtable: Played) -> None:
    schema = airtable.schema()

    assert {"id", "name", "description", "primaryFieldId", "fields", "views"} == set(schema)
    assert "Name" == next(field["name"] for field in schema["fields"] if field["id"] == schema["primaryFieldId"])
    assert {"grid", "form", "calendar", "gallery", "kanban", "timeline"} == {view["type"] for view in schema["views"]}
    assert {"id", "name", "type"} == set(schema["views"][0])


def test_visible_fields_of_grids_are_told_when_asked_for(airtable: Played) -> None:
    path = f"/v0/meta/bases/{airtable.examples['base_id']}/tables"
    schema = airtable.get(path, include="visibleFieldIds")["tables"][0]
    views = {view["name"]: view for view in schema["views"]}

    assert len(schema["fields"]) == len(views["All leads"]["visibleFieldIds"])
    assert len(schema["fields"]) > len(views["Open leads"]["visibleFieldIds"])
    assert "visibleFieldIds" not in views["By stage"]


def statuses(airtable: Played, count: int, path: str) -> list[int]:
    return [airtable.ask("GET", path).status_code for _ in range(count)]


def test_a_sixth_request_in_a_second_closes_the_base_for_thirty(airtable: Played) -> None:
    airtable.knobs(limits=True)
    path = f"{airtable.leads}/{airtable.examples['record_id']}"
    at_once = statuses(airtable, 7, path)
    airtable.clock.at += 29.9
    still = statuses(airtable, 1, path)
    airtable.clock.at += 0.2

    assert [200] * 5 + [429] * 2 == at_once
    assert [429] == still
    assert [200] * 5 == statuses(airtable, 5, path)


def test_the_bases_are_counted_each_for_itself_over_both_hosts(airtable: Played) -> None:
    airtable.knobs(limits=True)
    statuses(airtable, 5, f"{airtable.leads}/{airtable.examples['record_id']}")

    assert 429 == airtable.upload(airtable.examples["record_id"], "Files", PNG).status_code
    assert 200 == airtable.ask("GET", f"/v0/{airtable.examples['other_base_id']}/Inventory").status_code
    assert 200 == airtable.ask("GET", "/v0/meta/whoami").status_code


def test_five_a_second_are_never_refused(airtable: Played) -> None:
    airtable.knobs(limits=True)

    def step() -> int:
        airtable.clock.at += 0.201
        return airtable.ask("GET", f"{airtable.leads}/{airtable.examples['record_id']}").status_code

    assert [200] * 30 == [step() for _ in range(30)]


def test_a_token_asks_fifty_times_a_second(airtable: Played) -> None:
    airtable.knobs(limits=True)

    assert [200] * 50 + [429] == statuses(airtable, 51, "/v0/meta/whoami")


def test_a_throttled_request_is_told_without_when_to_come_back(airtable: Played) -> None:
    airtable.knobs(limits=True)
    statuses(airtable, 5, airtable.leads)
    answer = airtable.ask("GET", airtable.leads)

    told = {"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded. Please try again later"}
    assert {"errors": [told]} == answer.json()
    assert "Retry-After" not in answer.headers


def test_knobs_change_how_a_throttled_request_is_told(airtable: Played) -> None:
    airtable.knobs(limits=True, retry_after=True, lockout_seconds=12, throttle_envelope="object")
    statuses(airtable, 6, airtable.leads)
    airtable.clock.at += 2
    answer = airtable.ask("GET", airtable.leads)

    assert "10" == answer.headers["Retry-After"]
    assert "RATE_LIMIT_REACHED" == answer.json()["error"]["type"]


def test_the_calls_of_a_month_can_be_used_up(airtable: Played) -> None:
    airtable.knobs(monthly_calls=2, throttle_envelope="object")

    assert [200, 200, 429] == statuses(airtable, 3, "/v0/meta/whoami")
    assert (429, "PUBLIC_API_BILLING_LIMIT_EXCEEDED") == airtable.refused("GET", "/v0/meta/whoami")


def test_the_next_write_can_be_refused_once_without_being_done(airtable: Played) -> None:
    airtable.knobs(next_write="503_retriable")
    read = airtable.ask("GET", airtable.leads).status_code
    before = airtable.count()
    refused = airtable.refused("POST", airtable.leads, {"fields": {"Name": "Acme"}})

    assert 200 == read
    assert (503, "RETRIABLE_ERROR") == refused
    assert before == airtable.count()
    assert "Acme" == airtable.create(Name="Acme")["fields"]["Name"]


def named(airtable: Played, name: str) -> int:
    return len(airtable.get(airtable.leads, filterByFormula=f"{{Name}}='{name}'")["records"])


def test_a_request_whose_answer_is_late_was_counted_when_it_arrived(airtable: Played) -> None:
    airtable.knobs(limits=True)
    airtable.control("tables/faults", fault="delay", path=airtable.leads, seconds=40)
    airtable.get(airtable.leads)

    assert [200] * 5 + [429] == statuses(airtable, 6, airtable.leads)


def test_a_person_makes_a_record(airtable: Played) -> None:
    about = {"base_id": airtable.examples["base_id"], "table": "Leads", "fields": {"Name": "By hand", "Stage": "Fresh"}}
    made = airtable.control("tables/act", action="create_record", **about)

    assert made == airtable.get(f"{airtable.leads}/{made['id']}")
    assert PERSON == made["fields"]["Created by"]


def test_a_person_renames_a_field_whose_id_stays(airtable: Played) -> None:
    about = {"base_id": airtable.examples["base_id"], "table": "Leads", "field": "Stage", "name": "Phase"}
    renamed = airtable.control("tables/act", action="rename_field", **about)

    assert (422, "UNKNOWN_FIELD_NAME") == airtable.refused("POST", airtable.leads, {"fields": {"Stage": "Won"}})
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
def test_actions_that_make_no_sense_are_refused(airtable: Played, action: dict[str, Any]) -> None:
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
def test_odd_requests_are_refused_and_never_a_fault(airtable: Played, path: Callable[[str], str]) -> None:
    assert airtable.ask("GET", path(airtable.leads)).status_code in {403, 404, 422}


def test_lone_surrogates_are_survived(airtable: Played) -> None:
    body = '{"fields": {"Name": "\\ud800", "Files": [{"url": "https://example.com/", "filename": "\\ud800"}]}}'
    answer = airtable.ask("POST", airtable.leads, data=body, headers={"Content-Type": "application/json"})

    assert 200 == answer.status_code
