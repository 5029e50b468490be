"""Webhooks, with their recent failed deliveries."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.core.history.run_filters import DELIVER
from connector_gateway.http.console.pages.runs import build_rows
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.management.outbound_webhooks import WebhookRecord
from connector_gateway.management.runs import list_runs

COLUMNS = ("webhook_id", "status", "behind", "delivered_at", "failing_since", "workspace_id")
FAILURES = 8
"""The maximum number of failed deliveries per webhook."""


async def extra(request: ConsoleRequest, webhook: WebhookRecord) -> Mapping[str, Any]:
    """Return the recent failures of a webhook, from the latest deliveries of its workspace."""
    filters = {"workspace_id": webhook.workspace_id, "operation": DELIVER, "limit": "50"}
    runs = (await request.submit(list_runs, filters)).items
    own = [run for run in runs if any(one.get("webhook_id") == webhook.webhook_id for one in run.details or ())]
    return {"failed": await build_rows(request, own[:FAILURES])}
