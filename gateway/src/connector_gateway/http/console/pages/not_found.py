"""The response for unknown paths of the console, with its navigation."""

from starlette.responses import Response

from connector_gateway.core.error_serialization import truncate
from connector_gateway.http.console.request import NAVIGATION, ROOT, ConsoleRequest, ConsoleRoute
from connector_gateway.kit.errors.suggestions import closest_match


async def show(request: ConsoleRequest) -> Response:
    """Show that the page does not exist. Operators see the closest page too, and visitors the public error page."""
    message = f"The page {truncate(request.path)} does not exist."
    if not request.signed_in:
        return request.console.pages.show("missing.html", status=404, message=message, meant="")
    suggestion = closest_match(request.path, dict(NAVIGATION))
    return request.show("not_found.html", status=404, heading="Page not found", message=message, suggestion=suggestion)


NOT_FOUND = ConsoleRoute("GET", f"{ROOT}/{{path:path}}", show, for_visitors=True)
