"""Webhooks in the console: creation with a secret displayed once, changes, replays and deletion."""

from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.kit.events import Observation
from connector_gateway.kit.identifiers import ConnectionId
from harness.gateway_server import Gateway
from harness.html_browser import Browser, HtmlPage

ADDRESS = "https://example.com/events"


@pytest.fixture
def created_webhook(gateway: Gateway) -> Iterator[dict[str, Any]]:
    """A webhook for events of notes. No delivery worker runs."""
    body = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "name": "Product"}
    webhook = gateway.operator("POST", "/v1/webhooks", json=body).data
    yield webhook
    gateway.operator("DELETE", f"/v1/webhooks/{webhook['webhook_id']}")


def open_webhook_page(operator: Browser, created_webhook: dict[str, Any]) -> HtmlPage:
    return operator.open(f"/console/webhooks/{created_webhook['webhook_id']}")


def test_a_webhook_is_created_and_its_secret_appears_once(operator: Browser, gateway: Gateway) -> None:
    fields = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "types": "page.created\npage.property_updated"}
    page = operator.submit(operator.open("/console/webhooks/create"), "Create webhook", **fields)
    webhook = operator.open(page.link("Done"))
    removed = operator.submit(operator.open(webhook.link("Remove")), "Remove webhook")

    assert page.one("#secret").text.startswith("whsec_")
    assert "whsec_" not in webhook.response.text
    assert "Types page.created , page.property_updated" in webhook.text
    assert "The webhook is removed." in removed.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "http://10.0.0.1/events"),
        ("types", "page.burnt"),
        ("workspace_id", "ws_x"),
        ("connection_id", "conn_x"),
    ],
)
def test_an_invalid_webhook_is_not_created(operator: Browser, gateway: Gateway, field: str, value: str) -> None:
    fields = {"workspace_id": gateway.workspace_id, "url": ADDRESS, "name": "Typed before", field: value}
    page = operator.submit(operator.open("/console/webhooks/create"), "Create webhook", **fields)
    (marked,) = page.html.select("[aria-invalid=true]")

    assert page.status in {404, 422}
    assert field in str(marked)
    assert "Typed before" == page.one("#f-name")["value"]


def test_a_webhook_is_changed_disabled_and_enabled(operator: Browser, created_webhook: dict[str, Any]) -> None:
    form = operator.open(open_webhook_page(operator, created_webhook).link("Change"))
    wrong = operator.submit(form, "Save", types="page.burnt")
    changed = operator.submit(form, "Save", name="Renamed", types="page.created")
    disabled = operator.submit(changed, "Disable")
    enabled = operator.submit(disabled, "Enable")

    assert (422, "Renamed active", "Renamed disabled") == (wrong.status, changed.heading, disabled.heading)
    assert (True, False) == ("by_operator" in disabled.text, "by_operator" in enabled.text)
    assert "Types page.created" in changed.text


def test_a_secret_is_replaced(operator: Browser, created_webhook: dict[str, Any]) -> None:
    page = operator.submit(
        operator.open(open_webhook_page(operator, created_webhook).link("Replace the secret")), "Replace the secret"
    )

    assert page.one("#secret").text not in {"", created_webhook["secret"]}


def test_stored_events_are_delivered_again(
    operator: Browser, gateway: Gateway, created_webhook: dict[str, Any]
) -> None:
    connection_id = gateway.connections["notes"]
    gateway.run(gateway.app._feed.add({ConnectionId(connection_id): [Observation(("again",), "page.created", {})]}))
    since = {"connection_id": connection_id, "since": "2026-01-01T10:00"}
    form = operator.open(open_webhook_page(operator, created_webhook).link("Deliver again"))
    page = operator.submit(form, "Deliver again", **since)
    rejected = operator.submit(form, "Deliver again", connection_id="conn_x")

    assert (True, True) == ("Behind 1" in page.text, connection_id in str(form.one("select[name=connection_id]")))
    assert (404, "conn_x") == (rejected.status, rejected.one("[aria-invalid=true] option[selected]").text)
