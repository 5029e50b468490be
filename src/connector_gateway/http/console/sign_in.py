"""Signing in to the console with the operator token, and out again."""

import hmac
import re

from starlette.responses import Response

from connector_gateway.core.sessions import SESSION_SECONDS
from connector_gateway.http.console.cookies import SESSION, VISITOR, drop, keep
from connector_gateway.http.console.declared import ROOT, SIGN_IN, Visit
from connector_gateway.kit.errors import GatewayError, InvalidApiKey

OWN_PAGE = re.compile(rf"{ROOT}(?:[/?][!-\[\]-~]*)?")
"""A page of the console, as a path; nothing else may be led to."""


async def show(visit: Visit) -> Response:
    """The form that asks for the operator token."""
    return visit.lead(ROOT) if visit.signed_in else _form(visit)


async def sign_in(visit: Visit) -> Response:
    """Begin a session for the operator; answers to wrong tokens are delayed where there are many."""
    try:
        await _check(visit)
    except GatewayError as error:
        return _form(visit, error)
    if visit.signed_in:
        await visit.console.sessions.end(visit.session)
    session = await visit.console.sessions.begin()
    answer = visit.lead(_wanted(visit))
    keep(answer, visit.console.pages, SESSION, session.token, SESSION_SECONDS)
    return drop(answer, visit.console.pages, VISITOR)


async def sign_out(visit: Visit) -> Response:
    """End the session, here and for every copy of what the browser held."""
    await visit.console.sessions.end(visit.session)
    return drop(visit.lead(SIGN_IN, done="signed-out"), visit.console.pages, SESSION)


def _form(visit: Visit, problem: GatewayError | None = None) -> Response:
    return visit.show("sign_in.html", problem=problem, wanted=_wanted(visit))


async def _check(visit: Visit) -> None:
    given, expected = visit.form.get("operator_token", ""), visit.management.operator_token
    if not hmac.compare_digest(given.encode(errors="replace"), expected.encode()):
        error = InvalidApiKey("This is not the operator token of this installation.")
        error.remedy = "Enter the value of the setting GATEWAY_OPERATOR_TOKEN; an API key does not sign in here."
        await visit.management.edge.delay_wrong_token(visit.exchange)
        raise error


def _wanted(visit: Visit) -> str:
    """The page that was asked for before signing in."""
    wanted = visit.form.get("next") or visit.query.get("next", "")
    return wanted if OWN_PAGE.fullmatch(wanted) else ROOT
