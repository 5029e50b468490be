"""What is played of the vendors' published routes, and how the rest is answered."""

import re
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate

from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox


def coverage(sandbox: Sandbox, name: str) -> dict[str, Any]:
    told: dict[str, Any] = httpx.get(f"{sandbox.address}/_control/{name}/coverage").json()
    return told


def address(sandbox: Sandbox, name: str, path: str) -> str:
    return sandbox.emulators[name].context.addresses["base"] + re.sub(r"\{\w+\}", "1", path)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_coverage_counts_what_it_lists(sandbox: Sandbox, name: str) -> None:
    told = coverage(sandbox, name)
    supports = [route["support"] for route in told["routes"] if route.get("published", True)]

    assert {kind: supports.count(kind) for kind in ("done", "partly", "absent")} == {
        kind: told[kind] for kind in ("done", "partly", "absent")
    }
    assert told["done"] > 0 < told["absent"]
    assert [] == [route for route in told["routes"] if ("lacks" in route) != (route["support"] == "partly")]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_route_that_is_absent_says_so(sandbox: Sandbox, name: str) -> None:
    absent = [route for route in coverage(sandbox, name)["routes"] if route["support"] == "absent"]
    with httpx.Client() as http:
        answers = [
            http.request(route["method"].replace("*", "POST"), address(sandbox, name, route["path"]))
            for route in absent
        ]

    assert {501} == {answer.status_code for answer in answers}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_no_route_that_is_played_is_called_absent(sandbox: Sandbox, name: str) -> None:
    played = [route for route in coverage(sandbox, name)["routes"] if route["support"] != "absent"]
    with httpx.Client() as http:
        answers = [
            http.request(route["method"].replace("*", "POST"), address(sandbox, name, route["path"]))
            for route in played
        ]

    assert 501 not in {answer.status_code for answer in answers}


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        ("notes", "/v1/file_uploads", '"code": "not_implemented"'),
        ("boards", "/1/boards/{id}/boardPlugins", '"error":"NOT_IMPLEMENTED"'),
        ("mail", "/gmail/v1/users/me/settings/delegates", '"status": "UNIMPLEMENTED"'),
        ("chat", "/api/views.open", '"error": "not_implemented"'),
        ("crm", "/account-info/v3/api-usage/daily/private-apps", '"category": "NOT_IMPLEMENTED"'),
        ("tables", "/v0/meta/bases/{id}/shares", '"NOT_IMPLEMENTED"'),
    ],
)
def test_what_is_absent_is_told_in_the_vendors_shape(sandbox: Sandbox, name: str, path: str, said: str) -> None:
    answer = httpx.get(address(sandbox, name, path))

    assert 501 == answer.status_code
    assert said in answer.text
    assert "this stand-in does not play it" in answer.text


def test_the_control_routes_are_described(sandbox: Sandbox) -> None:
    document = httpx.get(f"{sandbox.address}/_control/openapi.json").json()

    validate(document)

    assert {"post"} == document["paths"]["/_control/reset"].keys()
    assert {"get", "post", "delete"} == document["paths"]["/_control/{connector}/faults"].keys()
    assert list(EMULATORS) == document["paths"]["/_control/{connector}/act"]["post"]["parameters"][0]["schema"]["enum"]
