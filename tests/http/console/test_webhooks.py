"""Webhooks on the console: made with a secret that is shown once, watched, changed, replayed and removed."""

from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.kit.observing import Observation
from harness.browsing import Browser, Shown
from harness.serving import Gateway

ADDRESS = "https://example.com/events"


@pytest.fixture
def made(gateway: Gateway) -> Iterator[dict[str, Any]]:
    """A webhook that events of notes are never delivered by, since nothing runs that delivers."""
    given = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "name": "Product"}
    webhook = gateway.operator("POST", "/v1/webhooks", json=given).data
    yield webhook
    gateway.operator("DELETE", f"/v1/webhooks/{webhook['webhook_id']}")


def page_of(operator: Browser, made: dict[str, Any]) -> Shown:
    return operator.open(f"/console/webhooks/{made['webhook_id']}")


def test_a_webhook_is_created_and_its_secret_shown_once(operator: Browser, gateway: Gateway) -> None:
    fields = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "types": "page.created, page.property_updated"}
    page = operator.submit(operator.open("/console/webhooks"), "Create the webhook", **fields)
    webhook = operator.open(page.link("To the webhook"))
    removed = operator.submit(operator.open(webhook.link("Remove")), "Remove the webhook")

    assert page.one("#secret").text.startswith("whsec_")
    assert "whsec_" not in webhook.response.text
    assert "page.created, page.property_updated, of all connections" in webhook.text
    assert "The webhook was removed." in removed.text


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("url", "http://10.0.0.1/events", "url"),
        ("types", "page.burnt", "page.burnt"),
        ("workspace_id", "ws_x", "ws_x"),
        ("connection_id", "conn_x", "conn_x"),
    ],
)
def test_a_webhook_that_cannot_be_made_is_not(
    operator: Browser, gateway: Gateway, field: str, value: str, told: str
) -> None:
    given = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "name": "Typed before", field: value}
    page = operator.submit(operator.open("/console/webhooks"), "Create the webhook", **given)

    assert page.status in {404, 422}
    assert told in page.alert
    assert "Typed before" == page.one("#name")["value"]


def test_a_webhook_is_changed_disabled_and_enabled(operator: Browser, made: dict[str, Any]) -> None:
    wrong = operator.submit(page_of(operator, made), "Save", types="page.burnt")
    changed = operator.submit(page_of(operator, made), "Save", name="Renamed", types="page.created")
    disabled = operator.submit(changed, "Disable", status="disabled")
    enabled = operator.submit(disabled, "Enable", status="active")

    assert (422, "Renamed") == (wrong.status, changed.heading)
    assert (True, False) == ("disabled by operator" in disabled.text, "by operator" in enabled.text)
    assert "page.created, of all connections" in changed.text


def test_a_secret_is_replaced(operator: Browser, made: dict[str, Any]) -> None:
    page = operator.submit(page_of(operator, made), "Replace the secret")

    assert page.one("#secret").text not in {"", made["secret"]}


def test_kept_events_are_delivered_again(operator: Browser, gateway: Gateway, made: dict[str, Any]) -> None:
    connection_id = gateway.connections["notes"]
    gateway.run(gateway.app._feed.add({ConnectionId(connection_id): [Observation(("again",), "page.created", {})]}))
    since = {"connection_id": connection_id, "since": "2026-01-01T10:00"}
    page = operator.submit(page_of(operator, made), "Deliver again", **since)
    refused = operator.submit(page, "Deliver again", connection_id="conn_x")

    assert "The events are delivered again." in page.text
    assert "1 connection with events that it has not accepted" in page.text
    assert (404, True) == (refused.status, "conn_x" in refused.alert)
