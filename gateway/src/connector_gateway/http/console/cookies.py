"""The cookies of the console, and their security attributes."""

from starlette.responses import Response

from connector_gateway.http.console.request import ROOT
from connector_gateway.http.pages import Pages

SESSION = "gateway_console"
VISITOR = "gateway_console_form"
"""The cookie that binds the sign-in form to the browser that loaded it."""

VISITOR_SECONDS = 60 * 60.0


def set_cookie(response: Response, pages: Pages, name: str, value: str, seconds: float) -> Response:
    """Set a console cookie on *response*. Not ``SameSite=Strict``, which would sign out users who follow links."""
    response.set_cookie(
        name, value, int(seconds), path=pages.root + ROOT, secure=pages.secure, httponly=True, samesite="lax"
    )
    return response


def delete_cookie(response: Response, pages: Pages, name: str) -> Response:
    """Delete a console cookie with *response*."""
    return set_cookie(response, pages, name, "", 0)
