"""Webhooks: made, their secret shown once, what became of deliveries, changed, replayed and removed."""

from collections.abc import Sequence

from starlette.responses import Response

from connector_gateway.core.filters import DELIVER
from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.http.console.runs import SHOWN, Row, rows_of
from connector_gateway.kit.errors import CallerError, GatewayError, InvalidParameters
from connector_gateway.management.runs import list_runs
from connector_gateway.management.webhooks import (
    WebhookRecord,
    change_webhook,
    create_webhook,
    list_webhooks,
    remove_webhook,
    replay_webhook,
    rotate_webhook_secret,
    show_webhook,
)

FIELDS = ("workspace_id", "url", "name", "connection_id")
FAILURES = 8
"""Failed deliveries that are shown of one webhook."""


async def show_all(visit: Visit, problem: GatewayError | None = None) -> Response:
    """The webhooks of a workspace, or of all, and a form for another one."""
    wanted = visit.query.get("workspace_id", "")
    list_of = ("console webhooks", wanted)
    page = await visit.ask(list_webhooks, {"workspace_id": wanted, "limit": SHOWN}, visit.position(*list_of))
    return visit.show(
        "webhooks.html",
        problem=problem,
        rows=page.items,
        cursor=visit.cursor(page.position, *list_of),
        first=visit.is_first,
        names=await visit.management.workspaces.names({row.workspace_id for row in page.items}),
        wanted=wanted,
        workspaces=await visit.workspaces(visit.form.get("workspace_id", wanted)),
        event_types=visit.management.webhooks.event_types,
    )


async def create(visit: Visit) -> Response:
    """Make a webhook, and show its secret this once."""
    try:
        given = {name: visit.form[name] for name in FIELDS if visit.form.get(name)}
        made = await visit.tell(create_webhook, {**given, "types": visit.listed("types")})
    except CallerError as error:
        return await show_all(visit, error)
    # Shown with this answer only, as a key is.
    return visit.show("webhook_made.html", webhook=made)


async def show(visit: Visit, problem: GatewayError | None = None) -> Response:
    """One webhook: how far it is, and what failed last."""
    webhook = await visit.ask(show_webhook, _named(visit))
    return visit.show(
        "webhook.html",
        problem=problem,
        webhook=webhook,
        workspace=await visit.management.workspaces.show(webhook.workspace_id),
        failed=await _failed(visit, webhook),
        event_types=visit.management.webhooks.event_types,
    )


async def change(visit: Visit) -> Response:
    """Change name, address and types of a webhook."""
    given = {name: visit.form.get(name, "") for name in ("name", "url")} | {"types": visit.listed("types")}
    try:
        await visit.tell(change_webhook, {**given, **_named(visit)})
    except InvalidParameters as error:
        return await show(visit, error)
    return _back(visit, "changed")


async def switch(visit: Visit) -> Response:
    """Deliver nothing more, or go on where it stopped."""
    await visit.ask(change_webhook, {"status": visit.form.get("status", ""), **_named(visit)})
    return _back(visit, "changed")


async def rotate(visit: Visit) -> Response:
    """Replace the secret, and show the new one this once."""
    return visit.show("webhook_made.html", webhook=await visit.ask(rotate_webhook_secret, _named(visit)))


async def replay(visit: Visit) -> Response:
    """Deliver events of a connection again."""
    since = visit.form.get("since", "")
    given = {"connection_id": visit.form.get("connection_id", ""), "since": f"{since}Z" if since else ""}
    try:
        await visit.ask(replay_webhook, {**given, **_named(visit)})
    except CallerError as error:
        return await show(visit, error)
    return _back(visit, "replayed")


async def ask_to_remove(visit: Visit) -> Response:
    """Ask whether a webhook is to be removed."""
    return visit.show("webhook_remove.html", webhook=await visit.ask(show_webhook, _named(visit)))


async def remove(visit: Visit) -> Response:
    """Remove a webhook."""
    removed = await visit.ask(remove_webhook, _named(visit))
    return visit.lead(f"{ROOT}/webhooks", workspace_id=removed.workspace_id, done="webhook-removed")


async def _failed(visit: Visit, webhook: WebhookRecord) -> Sequence[Row]:
    """The last failures of a webhook, among the last ones of its workspace."""
    asked = {"workspace_id": webhook.workspace_id, "operation": DELIVER, "limit": SHOWN}
    runs = (await visit.ask(list_runs, asked)).items
    own = [run for run in runs if any(one.get("webhook_id") == webhook.webhook_id for one in run.details)]
    return await rows_of(visit, own[:FAILURES])


def _named(visit: Visit) -> dict[str, str]:
    return {"webhook_id": visit.named("webhook_id")}


def _back(visit: Visit, done: str) -> Response:
    return visit.lead(f"{ROOT}/webhooks/{visit.named('webhook_id')}", done=done)
