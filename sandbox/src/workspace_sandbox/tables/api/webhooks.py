"""The routes of webhooks."""

import base64
from typing import Any

from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import record_queries
from workspace_sandbox.tables.data.state import find
from workspace_sandbox.tables.data.webhooks import DATA_TYPES, WEEK, Webhook, parse_specification
from workspace_sandbox.tables.request import ApiRequest

MAX_PER_BASE = 10
MAX_PER_CLIENT = 2
MAX_PAYLOADS = 50
SECRET_BYTES = 128


def create_webhook(request: ApiRequest) -> dict[str, Any]:
    """Create a webhook. Only this response includes the secret."""
    spec, url = parse_specification(request.body.get("specification")), request.body.get("notificationUrl")
    if not isinstance(url, str | None) or (url and not url.startswith(("http://", "https://"))):
        raise error_responses.invalid_request("The notificationUrl is not an address")
    _check_scopes(request, spec)
    _check_scope(request, spec)
    _check_limits(request)
    context = request.workspace.context
    webhook = Webhook(
        id=request.workspace.new_id("ach"),
        base_id=request.base.id,
        owner=request.access.client_id,
        url=url,
        specification=spec,
        secret=context.random.randbytes(SECRET_BYTES),
        expires_at=context.clock.now() + WEEK,
    )
    request.workspace.webhooks[webhook.id] = webhook
    request.ping(webhook)
    return {
        "id": webhook.id,
        "macSecretBase64": base64.b64encode(webhook.secret).decode(),
        **_expiration(webhook),
    }


def list_webhooks(request: ApiRequest) -> dict[str, Any]:
    """List the webhooks of the base. An OAuth client only sees its own."""
    now = request.reader.now
    return {"webhooks": [webhook.to_json(now) for webhook in _visible(request)]}


def delete_webhook(request: ApiRequest) -> dict[str, Any]:
    """Delete a webhook."""
    del request.workspace.webhooks[_webhook(request).id]
    return {}


def enable_notifications(request: ApiRequest) -> dict[str, Any]:
    """Turn pings on or off. Payloads are created in either case."""
    webhook = _webhook(request)
    if not isinstance(request.body.get("enable"), bool):
        raise error_responses.invalid_request("enable must be true or false")
    webhook.pings_enabled = request.body["enable"]
    return {}


def refresh_webhook(request: ApiRequest) -> dict[str, Any]:
    """Extend a webhook's life to a week from now."""
    webhook = _webhook(request)
    webhook.extend(request.reader.now)
    return _expiration(webhook)


def list_payloads(request: ApiRequest) -> dict[str, Any]:
    """List payloads from a cursor on. Reading extends the webhook's life to a week from now."""
    webhook, now = _webhook(request), request.reader.now
    _check_scopes(request, webhook.specification)
    cursor, limit = (
        _positive_int(request, "cursor", 1),
        min(_positive_int(request, "limit", MAX_PAYLOADS), MAX_PAYLOADS),
    )
    webhook.extend(now)
    payloads, next_cursor, more = webhook.page(cursor, limit, now)
    return {"payloads": payloads, "cursor": next_cursor, "mightHaveMore": more, "payloadFormat": "v0"}


def _expiration(webhook: Webhook) -> dict[str, Any]:
    shape = webhook.to_json(0.0)
    return {"expirationTime": shape["expirationTime"]}


def _check_scopes(request: ApiRequest, spec: Any) -> None:
    required = {DATA_TYPES[kind] for kind in spec["options"]["filters"]["dataTypes"]}
    if not required <= request.access.scopes:
        raise error_responses.forbidden()


def _check_scope(request: ApiRequest, spec: Any) -> None:
    """Reject an unknown table, and views."""
    scope = spec["options"]["filters"].get("recordChangeScope")
    if scope and scope.startswith("viw"):
        raise error_responses.ApiError(501, "NOT_IMPLEMENTED", "The sandbox does not support webhooks on views.")
    if scope and find(request.base.tables, scope) is None:
        raise error_responses.invalid_request("recordChangeScope names no table of this base")


def _check_limits(request: ApiRequest) -> None:
    existing = [webhook for webhook in request.workspace.webhooks.values() if _belongs_to_base(request, webhook)]
    if len(existing) >= MAX_PER_BASE:
        raise error_responses.too_many_webhooks()
    if request.access.client_id and len(_visible(request)) >= MAX_PER_CLIENT:
        raise error_responses.too_many_webhooks("_BY_OAUTH_INTEGRATION")


def _belongs_to_base(request: ApiRequest, webhook: Webhook) -> bool:
    return webhook.base_id == request.base.id and webhook.is_retained(request.reader.now)


def _visible(request: ApiRequest) -> list[Webhook]:
    client, webhooks = request.access.client_id, request.workspace.webhooks.values()
    return [
        webhook
        for webhook in webhooks
        if _belongs_to_base(request, webhook) and (not client or webhook.owner == client)
    ]


def _webhook(request: ApiRequest) -> Webhook:
    match = next((webhook for webhook in _visible(request) if webhook.id == request.path["webhook"]), None)
    if match is None:
        raise error_responses.not_found()
    return match


def _positive_int(request: ApiRequest, name: str, default: int) -> int:
    value = request.query.get(name, str(default))
    if not record_queries.DIGITS.fullmatch(value) or int(value) < 1:
        raise error_responses.invalid_request()
    return int(value)
