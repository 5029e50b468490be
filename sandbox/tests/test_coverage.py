"""Coverage of the vendors' published routes, and responses of unsupported routes."""

import re
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate

from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox


def coverage(sandbox: Sandbox, name: str) -> dict[str, Any]:
    report: dict[str, Any] = httpx.get(f"{sandbox.address}/_control/{name}/coverage").json()
    return report


def address(sandbox: Sandbox, name: str, path: str) -> str:
    return sandbox.emulators[name].context.addresses["base"] + re.sub(r"\{\w+\}", "1", path)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_coverage_counts_match_the_listed_routes(sandbox: Sandbox, name: str) -> None:
    report = coverage(sandbox, name)
    supports = [route["support"] for route in report["routes"] if route.get("published", True)]

    assert {kind: supports.count(kind) for kind in ("done", "partly", "absent")} == {
        kind: report[kind] for kind in ("done", "partly", "absent")
    }
    assert report["done"] > 0 < report["absent"]
    assert [] == [route for route in report["routes"] if ("lacks" in route) != (route["support"] == "partly")]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_absent_route_responds_501(sandbox: Sandbox, name: str) -> None:
    absent = [route for route in coverage(sandbox, name)["routes"] if route["support"] == "absent"]
    with httpx.Client() as http:
        responses = [
            http.request(route["method"].replace("*", "POST"), address(sandbox, name, route["path"]))
            for route in absent
        ]

    assert {501} == {response.status_code for response in responses}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_no_emulated_route_responds_501(sandbox: Sandbox, name: str) -> None:
    emulated = [route for route in coverage(sandbox, name)["routes"] if route["support"] != "absent"]
    with httpx.Client() as http:
        responses = [
            http.request(route["method"].replace("*", "POST"), address(sandbox, name, route["path"]))
            for route in emulated
        ]

    assert 501 not in {response.status_code for response in responses}


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("notes", "/v1/file_uploads", '"code": "not_implemented"'),
        ("boards", "/1/boards/{id}/boardPlugins", '"error":"NOT_IMPLEMENTED"'),
        ("mail", "/gmail/v1/users/me/settings/delegates", '"status": "UNIMPLEMENTED"'),
        ("chat", "/api/views.open", '"error": "not_implemented"'),
        ("crm", "/account-info/v3/api-usage/daily/private-apps", '"category": "NOT_IMPLEMENTED"'),
        ("tables", "/v0/meta/bases/{id}/shares", '"NOT_IMPLEMENTED"'),
    ],
)
def test_an_absent_route_responds_in_the_vendors_format(sandbox: Sandbox, name: str, path: str, expected: str) -> None:
    response = httpx.get(address(sandbox, name, path))

    assert 501 == response.status_code
    assert expected in response.text
    assert "this emulator does not support it" in response.text


def test_the_control_routes_are_described(sandbox: Sandbox) -> None:
    document = httpx.get(f"{sandbox.address}/_control/openapi.json").json()

    validate(document)

    assert {"post"} == document["paths"]["/_control/reset"].keys()
    assert {"get", "post", "delete"} == document["paths"]["/_control/{connector}/faults"].keys()
    assert list(EMULATORS) == document["paths"]["/_control/{connector}/act"]["post"]["parameters"][0]["schema"]["enum"]
