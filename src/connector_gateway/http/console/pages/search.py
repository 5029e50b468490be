"""The search box: from an identifier to its page."""

from starlette.responses import Response

from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.http.pages.text import PAGES


async def find(visit: ConsoleRequest) -> Response:
    """Lead to the page of an identifier, or of a key itself; anything else is looked for among workspaces."""
    wanted = visit.form.get("q", "")
    key_id = await visit.management.keys.identify(wanted)
    identifier = key_id or wanted
    kind, _, rest = identifier.partition("_")
    # Also one of which something is missing: its page says that there is none.
    if kind in PAGES and rest.isalnum():
        return visit.redirect(f"{ROOT}/{PAGES[kind]}/{identifier}")
    if kind in {"cgw", "cgo"}:
        return visit.show("nothing_found.html", status=404)
    return visit.redirect(f"{ROOT}/workspaces", search=wanted)
