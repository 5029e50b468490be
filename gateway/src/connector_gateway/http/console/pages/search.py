"""The search box: from an identifier to its page."""

from starlette.responses import Response

from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.http.pages.template_filters import PAGES

UNKNOWN_KEY = (
    "The text looks like a secret, but is not an API key of this installation. "
    "Search for an identifier instead, such as key_…."
)


async def find(request: ConsoleRequest) -> Response:
    """Redirect to the page of an identifier or of an API key. Search the workspaces for any other text."""
    text = request.form.get("q", "")
    key_id = await request.management.keys.identify(text)
    identifier = key_id or text
    kind, _, rest = identifier.partition("_")
    # Incomplete identifiers too: the page reports that the object does not exist.
    if kind in PAGES and rest.isalnum():
        return request.redirect(f"{ROOT}/{PAGES[kind]}/{identifier}")
    if kind in {"cgw", "cgo"}:
        return request.show("not_found.html", status=404, heading="Key not found", message=UNKNOWN_KEY, suggestion=None)
    return request.redirect(f"{ROOT}/workspaces", search=text)
