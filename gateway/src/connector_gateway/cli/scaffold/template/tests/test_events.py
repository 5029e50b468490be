"""Observed changes."""

import time
from typing import Any

import pytest

from .conftest import Acme

WAIT_SECONDS = 30


def wait_for_event(acme: Acme, item_id: str) -> list[dict[str, Any]]:
    """Return the events, as soon as one is about the item."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        response = acme.gateway.get("events", params={"connection_id": acme.connection_id, "limit": 200})
        events: list[dict[str, Any]] = response.raise_for_status().json()["data"]
        if any(event["item_id"] == item_id for event in events):
            return events
        assert time.monotonic() < deadline, f"No event of {item_id} was observed."
        time.sleep(0.1)


@pytest.mark.clause("acme-8")
def test_a_change_is_observed_once(acme: Acme) -> None:
    item_ids = [acme.control("acme/act", action="create_item", title=title)["item_id"] for title in ("One", "Two")]
    wait_for_event(acme, item_ids[0])
    events = wait_for_event(acme, item_ids[1])

    about = [(event["type"], event["item_id"]) for event in events if event["item_id"] in item_ids]
    assert about == [("item.created", item_id) for item_id in item_ids]
