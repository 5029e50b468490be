"""A test for each clause of the contract, through a running gateway."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from .conftest import Acme

CONTRACT = Path(__file__).parent.parent / "contract.md"

FAULTS = [
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "garbage"},
    {"fault": "status", "status": 502, "served": True},
    {"fault": "delay", "seconds": 2.5},
]
"""A lost request, responses that are lost after the item was created, and one that is later than the timeout."""


@pytest.mark.clause("acme-1")
def test_pages_contain_every_item_once(acme: Acme) -> None:
    first = acme.list_page(limit=2)
    second = acme.list_page(limit=2, cursor=first["next_cursor"])

    assert [item["title"] for item in first["data"]] == ["First", "Second"]
    assert [item["title"] for item in second["data"]] == ["Third"]
    assert second["next_cursor"] is None


@pytest.mark.clause("acme-2")
def test_a_repeat_returns_the_same_item(acme: Acme) -> None:
    first, repeat = (acme.create("Once", "order-1") for _ in range(2))

    assert first.json()["data"] == repeat.json()["data"]
    assert acme.titles().count("Once") == 1


@pytest.mark.clause("acme-3")
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_lost_request_or_response_creates_one_item(acme: Acme, fault: Mapping[str, Any]) -> None:
    acme.control("acme/faults", method="POST", path="/items", **fault)
    replies = [acme.create("Once", f"order-{fault}") for _ in range(2)]

    assert replies[-1].status_code == 200
    assert acme.titles().count("Once") == 1


@pytest.mark.clause("acme-4")
def test_a_burst_stays_within_the_rate_limit(acme: Acme) -> None:
    for number in range(15):
        acme.create(f"Item {number}")

    assert len(acme.titles()) == 18
    assert acme.statuses() == {200, 201}


@pytest.mark.clause("acme-4")
def test_a_throttled_write_is_sent_again(acme: Acme) -> None:
    acme.control("acme/faults", fault="throttle", seconds=1)

    assert acme.create("Later").status_code == 200
    assert acme.titles().count("Later") == 1


@pytest.mark.clause("acme-5")
def test_a_rejected_token_is_reported(acme: Acme) -> None:
    acme.control("acme/revoke")

    assert acme.create("Never").json()["error"]["code"] == "connection_revoked"


@pytest.mark.clause("acme-6")
def test_values_that_the_vendor_rejects_create_nothing(acme: Acme) -> None:
    rejected = acme.create("x" * 201)

    assert rejected.json()["error"]["code"] == "upstream_refused"
    assert len(acme.titles()) == 3


def test_every_clause_has_a_test() -> None:
    clauses = set(re.findall(r"\*\*(acme-\d+)\*\*", CONTRACT.read_text()))
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))

    assert clauses == set(re.findall(r'clause\("(.+)"\)', tests))
