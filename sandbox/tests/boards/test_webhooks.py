"""Webhooks of the boards emulator."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
import requests

from harness.wait import wait_until
from harness.webhook_receiver import Inbox
from sandbox.tests.boards.boards_client import UNKNOWN, Trello
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.deliveries import MAX_FAILURES


def create_webhook(trello: Trello, inbox: Inbox, **values: Any) -> Any:
    """A webhook of the first board."""
    return trello.post("/webhooks", **{"idModel": trello.examples["board_id"], "callbackURL": inbox.address, **values})


def request_webhook(trello: Trello, **values: Any) -> requests.Response:
    return trello.request("POST", "/1/webhooks", json=values)


def deliveries(trello: Trello) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = trello.control("/boards/act", action="deliveries")["deliveries"]
    return entries


def test_an_action_is_delivered_and_signed(trello: Trello, inbox: Inbox) -> None:
    webhook = create_webhook(trello, inbox, description="mine")
    card = trello.card("Heard")
    headers, raw = inbox.take()
    event = json.loads(raw)

    digest = hmac.new(APP.secret.encode(), raw + inbox.address.encode(), hashlib.sha1).digest()
    assert base64.b64encode(digest).decode() == headers["X-Trello-Webhook"]
    assert ("createCard", card["id"]) == (event["action"]["type"], event["action"]["data"]["card"]["id"])
    assert (webhook["idModel"], webhook) == (event["model"]["id"], event["webhook"])


def test_user_actions_are_delivered(trello: Trello, inbox: Inbox) -> None:
    create_webhook(trello, inbox)

    trello.control("/boards/act", action="create_card", list_id=trello.examples["list_ids"][0], name="Theirs")

    assert "Theirs" == inbox.next()["action"]["data"]["card"]["name"]


def test_a_webhook_of_a_card_receives_only_its_events(trello: Trello, inbox: Inbox) -> None:
    card = trello.card("Watched")
    create_webhook(trello, inbox, idModel=card["id"])
    trello.card("Another")

    trello.post(f"/cards/{card['id']}/actions/comments", text="here")

    assert "commentCard" == inbox.next()["action"]["type"]


def test_an_unreachable_callback_url_is_rejected(trello: Trello, inbox: Inbox) -> None:
    inbox.is_there = False

    response = request_webhook(trello, idModel=trello.examples["board_id"], callbackURL=inbox.address)

    assert (400, f"URL ({inbox.address}) did not return 200 status code, got 404") == (
        response.status_code,
        response.text,
    )


@pytest.mark.parametrize(
    ("values", "status", "text"),
    [
        ({"callbackURL": "ftp://a.test"}, 400, "invalid value for callbackURL"),
        ({"idModel": UNKNOWN}, 400, "invalid value for idModel"),
        ({"idModel": "x"}, 400, "invalid id"),
    ],
    ids=str,
)
def test_an_invalid_webhook_is_rejected(
    trello: Trello, inbox: Inbox, values: dict[str, str], status: int, text: str
) -> None:
    response = request_webhook(
        trello, **{"idModel": trello.examples["board_id"], "callbackURL": inbox.address, **values}
    )

    assert (status, text) == (response.status_code, response.text)


def test_a_duplicate_webhook_is_rejected(trello: Trello, inbox: Inbox) -> None:
    webhook = create_webhook(trello, inbox)

    response = request_webhook(trello, idModel=webhook["idModel"], callbackURL=inbox.address)

    assert (400, "A webhook with that callback, model, and token already exists") == (
        response.status_code,
        response.text,
    )


def test_webhooks_are_listed_changed_and_deleted(trello: Trello, inbox: Inbox) -> None:
    webhook = create_webhook(trello, inbox)
    listed = trello.get(f"/tokens/{trello.token}/webhooks")
    changed = trello.put(f"/webhooks/{webhook['id']}", active=False, description="quiet")
    field = trello.get(f"/webhooks/{webhook['id']}/active")
    trello.request("DELETE", f"/1/webhooks/{webhook['id']}")

    assert ([webhook], {**webhook, "active": False, "description": "quiet"}) == (listed, changed)
    assert {"_value": False} == field
    assert 404 == trello.request("GET", f"/1/webhooks/{webhook['id']}").status_code


def test_a_failed_delivery_is_retried_three_times(trello: Trello, inbox: Inbox) -> None:
    trello.control("/boards/knobs", webhook_retry_seconds=[0, 0, 0])
    webhook = create_webhook(trello, inbox)
    inbox.answers = [(500, {}, b"")] * 4

    trello.card("Unheard")
    wait_until(lambda: len(deliveries(trello)) == 4)

    assert [(number, 500, "http_error") for number in (1, 2, 3, 4)] == [
        (one["attempt"], one["status"], one["reason"]) for one in deliveries(trello)
    ]
    assert 4 == trello.get(f"/webhooks/{webhook['id']}")["consecutiveFailures"]


def test_a_webhook_is_deleted_when_its_url_responds_410(trello: Trello, inbox: Inbox) -> None:
    webhook = create_webhook(trello, inbox)
    inbox.answers = [(410, {}, b"")]

    trello.card("Last")
    wait_until(lambda: len(deliveries(trello)) == 1)

    assert 404 == trello.request("GET", f"/1/webhooks/{webhook['id']}").status_code


def test_a_webhook_is_deactivated_after_too_many_failures(trello: Trello, inbox: Inbox) -> None:
    webhook = create_webhook(trello, inbox)
    trello.control("/boards/knobs", webhook_retry_seconds=[])
    trello.emulator.store.webhooks[webhook["id"]].failures = MAX_FAILURES - 1
    inbox.answers = [(500, {}, b"")]

    trello.card("Too much")
    wait_until(lambda: len(deliveries(trello)) == 1)

    assert trello.get(f"/webhooks/{webhook['id']}")["active"] is False
