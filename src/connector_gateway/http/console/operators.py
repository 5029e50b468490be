"""Operators: made, their token shown once, and revoked."""

from starlette.responses import Response

from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.http.console.workspaces import SHOWN
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.management.operators import create_operator, list_operators, revoke_operator


async def show_all(visit: Visit, problem: GatewayError | None = None) -> Response:
    """All operators, and a form for another one."""
    list_of = ("console operators",)
    page = await visit.ask(list_operators, {"limit": str(SHOWN)}, visit.position(*list_of))
    return visit.show(
        "operators.html",
        problem=problem,
        rows=page.items,
        cursor=visit.cursor(page.position, *list_of),
        first=visit.is_first,
    )


async def create(visit: Visit) -> Response:
    """Create an operator, and show the token this once."""
    try:
        made = await visit.ask(create_operator, {name: visit.form.get(name, "") for name in ("name", "role")})
    except InvalidParameters as error:
        return await show_all(visit, error)
    # Shown with this answer only, as a key is.
    return visit.show("operator_made.html", made=made)


async def ask_to_revoke(visit: Visit) -> Response:
    """Ask whether an operator is to be revoked."""
    return visit.show("operator_revoke.html", shown=await visit.management.operators.show(visit.named("operator_id")))


async def revoke(visit: Visit) -> Response:
    """Revoke an operator."""
    await visit.ask(revoke_operator, {"operator_id": visit.named("operator_id")})
    return visit.lead(f"{ROOT}/operators", done="operator-revoked")
