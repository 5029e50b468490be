"""API keys: made, shown once, told by their last characters, and revoked."""

from datetime import timedelta

from starlette.responses import Response

from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.http.console.workspaces import SHOWN
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import GatewayError, InvalidParameters, WorkspaceNotFound
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.management.keys import create_key, revoke_key

FIELDS = ("workspace_id", "scope", "name", "calls_per_minute", "manages_connections", "mentions")


async def show_all(visit: Visit, problem: GatewayError | None = None) -> Response:
    """The keys of a workspace, or of all, and a form for another one."""
    wanted = visit.query.get("workspace_id", "")
    list_of = ("console keys", wanted)
    rows, more = await visit.management.keys.page(
        WorkspaceId(wanted) if wanted else None, visit.before(*list_of), SHOWN
    )
    names = await visit.management.workspaces.names({row["workspace_id"] for row in rows})
    return visit.show(
        "keys.html",
        problem=problem,
        rows=rows,
        cursor=visit.older(more, *list_of),
        first=visit.is_first,
        names=names,
        wanted=wanted,
        workspaces=await visit.workspaces(visit.form.get("workspace_id", wanted)),
    )


async def create(visit: Visit) -> Response:
    """Create a key, and show it this once."""
    given = {name: visit.form.get(name, "") for name in FIELDS} | {"operations": ",".join(visit.listed("operations"))}
    try:
        made = await visit.ask(create_key, given | {"expires_at": _end(visit)})
    except (InvalidParameters, WorkspaceNotFound) as error:
        return await show_all(visit, error)
    # Shown with this answer, and with no address that could be opened again: it is stored nowhere.
    return visit.show("key_made.html", key=made)


async def show(visit: Visit) -> Response:
    """One key: its rights, and when it was used last."""
    key = await visit.management.keys.show(visit.named("key_id"))
    return visit.show("key.html", key=key, workspace=await visit.management.workspaces.show(key["workspace_id"]))


async def ask_to_revoke(visit: Visit) -> Response:
    """Ask whether a key is to be revoked."""
    return visit.show("key_revoke.html", key=await visit.management.keys.show(visit.named("key_id")))


async def revoke(visit: Visit) -> Response:
    """Revoke a key."""
    revoked = await visit.ask(revoke_key, {"key_id": visit.named("key_id")})
    return visit.lead(f"{ROOT}/keys", workspace_id=revoked.workspace_id, done="revoked")


def _end(visit: Visit) -> str:
    """When the key is to end, as the route takes it; empty for never."""
    days = visit.form.get("days", "")
    if not days:
        return ""
    if not (days.isdecimal() and days.isascii() and len(days) <= 4):
        raise InvalidParameters("A key lasts for a number of days, or for ever.", {"parameter": "days"})
    return (instant(visit.console.clock.now()) + timedelta(days=int(days))).isoformat()
