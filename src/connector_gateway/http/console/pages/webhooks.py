"""Webhooks: shown with the deliveries that failed last."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.core.history.filters import DELIVER
from connector_gateway.http.console.pages.runs import rows_of
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.management.runs import list_runs
from connector_gateway.management.webhooks import WebhookRecord

FAILURES = 8
"""Failed deliveries that are shown of one webhook."""


async def extra(visit: ConsoleRequest, webhook: WebhookRecord) -> Mapping[str, Any]:
    """Return the last failures of a webhook, among the last ones of its workspace."""
    asked = {"workspace_id": webhook.workspace_id, "operation": DELIVER, "limit": "50"}
    runs = (await visit.submit(list_runs, asked)).items
    own = [run for run in runs if any(one.get("webhook_id") == webhook.webhook_id for one in run.details or ())]
    return {"failed": await rows_of(visit, own[:FAILURES])}
