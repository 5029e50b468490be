"""Responses and errors of undocumented shapes do not cause internal errors."""

from typing import Any

import pytest

from gateway.tests.connectors.notes.page_calls import PAGES, create, inject_status, new_name
from harness.gateway_server import Gateway

AT = "2026-11-02T09:30:00.000Z"
UID = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
SOURCE = {
    "object": "data_source",
    "id": UID,
    "title": [],
    "parent": {"type": "database_id", "database_id": UID},
    "properties": {},
    "in_trash": False,
    "created_time": AT,
    "last_edited_time": AT,
}


def listing(*results: Any) -> dict[str, Any]:
    return {"object": "list", "results": list(results), "next_cursor": None}


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A new page for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


def test_item_of_an_unrequested_kind_is_omitted(gateway: Gateway) -> None:
    inject_status(gateway, "POST", "/v1/search", 200, body=listing({"object": "automation"}, SOURCE))

    assert [UID] == [item["database_id"] for item in gateway.get("/notes/databases").data]


@pytest.mark.parametrize("additional", [5, [], {}, {"committed_resource_id": 5}, {"committed_resource_id": None}])
def test_503_with_malformed_saved_object_is_an_error(gateway: Gateway, leads: str, additional: Any) -> None:
    inject_status(
        gateway,
        "POST",
        PAGES,
        503,
        body={"object": "error", "code": "service_unavailable", "additional_data": additional},
    )

    assert (502, "outcome_unknown") == ((reply := create(gateway, leads, new_name())).status, reply.code)


@pytest.mark.parametrize("additional", [5, [], {"rate_limit_reason": 5}])
def test_throttling_of_an_unexpected_shape_is_retried(gateway: Gateway, additional: Any) -> None:
    inject_status(
        gateway, "POST", "/v1/search", 429, headers={"Retry-After": "0"}, body={"additional_data": additional}
    )

    assert 200 == gateway.get("/notes/databases").status
