"""The search box: from an identifier to its page."""

from starlette.responses import Response

from connector_gateway.http.console.declared import ROOT, Visit

PAGES = {
    "run": "runs",
    "conn": "connections",
    "key": "keys",
    "wh": "webhooks",
    "ws": "workspaces",
    "opr": "operators",
}
"""The list whose pages are named by identifiers that begin like this."""


async def find(visit: Visit) -> Response:
    """Lead to the page of an identifier, or of a key itself; anything else is looked for among workspaces."""
    wanted = visit.form.get("q", "")
    key_id = await visit.management.keys.identify(wanted)
    identifier = key_id or wanted
    kind, _, rest = identifier.partition("_")
    if kind == "opr":
        return visit.lead(f"{ROOT}/operators")
    if kind in PAGES and rest.isalnum():
        return visit.lead(f"{ROOT}/{PAGES[kind]}/{identifier}")
    if kind in {"cgw", "cgo"}:
        return visit.show("nothing_found.html", status=404)
    return visit.lead(f"{ROOT}/workspaces", q=wanted)
