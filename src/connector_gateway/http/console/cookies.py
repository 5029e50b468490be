"""The cookies of the console, and how they are kept from others."""

from starlette.responses import Response

from connector_gateway.http.console.request import ROOT
from connector_gateway.http.pages import Pages

SESSION = "gateway_console"
VISITOR = "gateway_console_form"
"""Ties the form for signing in to the browser that it was shown to."""

VISITOR_SECONDS = 60 * 60.0


def keep(answer: Response, pages: Pages, name: str, value: str, seconds: float) -> Response:
    """*answer* with a cookie for the console; not SameSite=Strict, so that whoever follows a link stays signed in."""
    answer.set_cookie(
        name, value, int(seconds), path=pages.root + ROOT, secure=pages.secure, httponly=True, samesite="lax"
    )
    return answer


def drop(answer: Response, pages: Pages, name: str) -> Response:
    """*answer*, with which the browser is told to forget a cookie."""
    return keep(answer, pages, name, "", 0)
