"""The routes of webhooks."""

import base64
from typing import Any

from workspace_sandbox.tables import queries, wire
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.state import find
from workspace_sandbox.tables.webhooks import DATA_TYPES, WEEK, Webhook, specification

MOST_OF_BASE = 10
MOST_OF_CLIENT = 2
MOST_PAYLOADS = 50
SECRET_BYTES = 128


def create_webhook(call: Call) -> dict[str, Any]:
    """Somebody who listens to the base; the secret is told here and never again."""
    wanted, url = specification(call.body.get("specification")), call.body.get("notificationUrl")
    if not isinstance(url, str | None) or (url and not url.startswith(("http://", "https://"))):
        raise wire.invalid_request("The notificationUrl is not an address")
    _require_scopes(call, wanted)
    _require_scope(call, wanted)
    _require_room(call)
    stage = call.workspace.stage
    webhook = Webhook(
        id=call.workspace.new_id("ach"),
        base_id=call.base.id,
        owner=call.access.client_id,
        url=url,
        specification=wanted,
        secret=stage.random.randbytes(SECRET_BYTES),
        expires_at=stage.clock.now() + WEEK,
    )
    call.workspace.webhooks[webhook.id] = webhook
    call.ping(webhook)
    return {
        "id": webhook.id,
        "macSecretBase64": base64.b64encode(webhook.secret).decode(),
        **_expiration(webhook),
    }


def list_webhooks(call: Call) -> dict[str, Any]:
    """Those of the base; an OAuth client sees its own."""
    now = call.reader.now
    return {"webhooks": [webhook.shape(now) for webhook in _seen(call)]}


def delete_webhook(call: Call) -> dict[str, Any]:
    """Listen no more."""
    del call.workspace.webhooks[_found(call).id]
    return {}


def enable_notifications(call: Call) -> dict[str, Any]:
    """Turn pings on or off; payloads are made all the same."""
    webhook = _found(call)
    if not isinstance(call.body.get("enable"), bool):
        raise wire.invalid_request("enable must be true or false")
    webhook.notifies = call.body["enable"]
    return {}


def refresh_webhook(call: Call) -> dict[str, Any]:
    """Let it live for a week from now."""
    webhook = _found(call)
    webhook.extend(call.reader.now)
    return _expiration(webhook)


def list_payloads(call: Call) -> dict[str, Any]:
    """What happened, from a cursor on; whoever asks lets the webhook live for a week from now."""
    webhook, now = _found(call), call.reader.now
    _require_scopes(call, webhook.specification)
    cursor, limit = _whole(call, "cursor", 1), min(_whole(call, "limit", MOST_PAYLOADS), MOST_PAYLOADS)
    webhook.extend(now)
    payloads, after, more = webhook.page(cursor, limit, now)
    return {"payloads": payloads, "cursor": after, "mightHaveMore": more, "payloadFormat": "v0"}


def _expiration(webhook: Webhook) -> dict[str, Any]:
    shape = webhook.shape(0.0)
    return {"expirationTime": shape["expirationTime"]}


def _require_scopes(call: Call, wanted: Any) -> None:
    needed = {DATA_TYPES[kind] for kind in wanted["options"]["filters"]["dataTypes"]}
    if not needed <= call.access.scopes:
        raise wire.forbidden()


def _require_scope(call: Call, wanted: Any) -> None:
    """Refuse a table that is not there, and views."""
    scope = wanted["options"]["filters"].get("recordChangeScope")
    if scope and scope.startswith("viw"):
        raise wire.Refusal(501, "NOT_IMPLEMENTED", "The sandbox does not play webhooks on views.")
    if scope and find(call.base.tables, scope) is None:
        raise wire.invalid_request("recordChangeScope names no table of this base")


def _require_room(call: Call) -> None:
    there = [webhook for webhook in call.workspace.webhooks.values() if _is_of(call, webhook)]
    if len(there) >= MOST_OF_BASE:
        raise wire.too_many_webhooks()
    if call.access.client_id and len(_seen(call)) >= MOST_OF_CLIENT:
        raise wire.too_many_webhooks("_BY_OAUTH_INTEGRATION")


def _is_of(call: Call, webhook: Webhook) -> bool:
    return webhook.base_id == call.base.id and webhook.is_there(call.reader.now)


def _seen(call: Call) -> list[Webhook]:
    client, webhooks = call.access.client_id, call.workspace.webhooks.values()
    return [one for one in webhooks if _is_of(call, one) and (not client or one.owner == client)]


def _found(call: Call) -> Webhook:
    found = next((webhook for webhook in _seen(call) if webhook.id == call.path["webhook"]), None)
    if found is None:
        raise wire.not_found()
    return found


def _whole(call: Call, name: str, otherwise: int) -> int:
    given = call.query.get(name, str(otherwise))
    if not queries.WHOLE.fullmatch(given) or int(given) < 1:
        raise wire.invalid_request()
    return int(given)
