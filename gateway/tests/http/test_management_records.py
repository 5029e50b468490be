"""Responses of the management routes match the declared and documented records."""

from collections.abc import Mapping
from typing import Any

import pytest

from connector_gateway.http.openapi import openapi
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from harness.gateway_server import Gateway
from harness.requirement import requirement

CREDENTIALS = {"token": "ntn_top_secret_token"}
DOCUMENT = openapi([], "http://127.0.0.1")


def list_documented_responses(route: ManagementRoute) -> Mapping[str, Any]:
    """Return the documented responses of a route by status."""
    described = DOCUMENT["paths"][route.path][route.method.lower()]["responses"]
    return {status: _resolve(response) for status, response in described.items()}


def _resolve(response: Mapping[str, Any]) -> Mapping[str, Any]:
    name = response.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["responses"][name] if name else response


def get_data_schema(route: ManagementRoute) -> Mapping[str, Any]:
    """Return the documented schema of the objects that a route returns."""
    data = get_response_schema(route)["properties"]["data"]
    return resolve_component(data.get("items", data))


def get_response_schema(route: ManagementRoute) -> Mapping[str, Any]:
    """Return the documented schema of a complete response."""
    return resolve_component(list_documented_responses(route)["200"]["content"]["application/json"]["schema"])


def resolve_component(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the component that a schema references."""
    target: Mapping[str, Any] = DOCUMENT["components"]["schemas"][str(schema["$ref"]).rpartition("/")[2]]
    return target


@pytest.fixture
def records(gateway: Gateway) -> dict[str, Any]:
    """One object of each kind, as returned on creation."""
    workspace = gateway.operator("POST", "/v1/workspaces", json={"name": "Acme"}).data
    inside = {"workspace_id": workspace["workspace_id"]}
    key = gateway.operator("POST", "/v1/keys", json=inside | {"scope": "read"}).data
    body = inside | {"connector": "notes", "credentials": CREDENTIALS, "verify": False}
    connection = gateway.operator("POST", "/v1/connections", json=body).data
    webhook = gateway.operator("POST", "/v1/webhooks", json=inside | {"url": "https://example.com/events"}).data
    run_id = gateway.get("/shelf/things").body["run_id"]
    run = gateway.operator("GET", f"/v1/runs/{run_id}").data
    return {
        "create_workspace": workspace,
        "create_key": key,
        "create_connection": connection,
        "create_webhook": webhook,
        "show_run": run,
    }


@requirement("common-128")
@pytest.mark.parametrize("name", ["create_workspace", "create_key", "create_connection", "create_webhook", "show_run"])
def test_an_object_has_the_documented_fields_and_no_others(records: dict[str, Any], name: str) -> None:
    route = next(route for route in MANAGEMENT if route.name == name)

    assert set(get_data_schema(route)["required"]) == set(get_data_schema(route)["properties"]) == set(records[name])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/workspaces", "list_workspaces"),
        ("/v1/keys", "list_keys"),
        ("/v1/connections", "list_connections"),
        ("/v1/webhooks", "list_webhooks"),
        ("/v1/runs", "list_runs"),
    ],
)
def test_a_listed_object_has_the_documented_fields_and_no_others(
    gateway: Gateway, records: dict[str, Any], path: str, name: str
) -> None:
    route = next(route for route in MANAGEMENT if route.name == name)

    listed = gateway.operator("GET", path).data

    assert set(get_data_schema(route)["properties"]) == set(listed[0])


def test_a_request_of_a_run_has_the_documented_fields(gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases").body["run_id"]
    requests = gateway.operator("GET", f"/v1/runs/{run_id}").data["upstream"]

    assert set(DOCUMENT["components"]["schemas"]["UpstreamRequest"]["properties"]) == set(requests[0])


@pytest.mark.parametrize("route", MANAGEMENT, ids=lambda route: route.name)
def test_every_route_documents_its_response_and_every_error(route: ManagementRoute) -> None:
    codes = {
        code
        for status, response in list_documented_responses(route).items()
        if status != "200"
        for code in examples(response)
    }

    assert {error.code for error in route.possible_errors} == codes
    assert "object" == get_data_schema(route)["type"]


def examples(answer: Mapping[str, Any]) -> list[str]:
    """Return the error codes that a response can have."""
    return list(answer["content"]["application/json"]["examples"])


@pytest.mark.parametrize("route", MANAGEMENT, ids=lambda route: route.name)
def test_only_routes_with_a_body_can_reject_one(route: ManagementRoute) -> None:
    takes_one = "requestBody" in DOCUMENT["paths"][route.path][route.method.lower()]

    assert [takes_one] * 2 == ["415" in list_documented_responses(route), "413" in list_documented_responses(route)]


def test_only_paginated_lists_document_a_cursor() -> None:
    paged = {route.name for route in MANAGEMENT if "next_cursor" in get_response_schema(route)["required"]}

    assert {route.name for route in MANAGEMENT if route.pages} == paged
    assert ("list_keys" in paged, "show_run" in paged) == (True, False)


@requirement("common-17")
def test_timestamps_sort_as_text(records: dict[str, Any]) -> None:
    times = [
        records["create_workspace"]["created_at"],
        records["create_key"]["created_at"],
        records["show_run"]["started_at"],
    ]

    assert [24, 24, 24] == [len(time) for time in times]
    assert sorted(times) == times
