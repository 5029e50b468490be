"""Sign-in to the console with an operator token or a sign-in link, and sign-out."""

import re

from starlette.responses import Response

from connector_gateway.core.access.operators import BUILT_IN, Operator
from connector_gateway.core.access.sessions import SESSION_SECONDS, Session
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.http.console.cookies import SESSION, VISITOR, delete_cookie, set_cookie
from connector_gateway.http.console.request import ROOT, SIGN_IN, ConsoleRequest
from connector_gateway.kit.errors import GatewayError, InvalidApiKey

LINK = "link"
"""The query parameter with the token of a sign-in link."""

OWN_PAGE = re.compile(rf"{ROOT}(?:[/?][!-\[\]-~]*)?")
"""The pattern of allowed redirect targets: pages of the console."""


async def show(request: ConsoleRequest) -> Response:
    """Show the sign-in form, or start the session of a sign-in link."""
    # Prefetching must not use up the link, which is valid once.
    if (
        LINK in request.query
        and request.context.scope["method"] == "GET"
        and not request.context.header(b"sec-purpose")
    ):
        return await _by_link(request)
    return request.redirect(ROOT) if request.signed_in else _form(request)


async def _by_link(request: ConsoleRequest) -> Response:
    """Start the session of a sign-in link. With an invalid link, an existing session stays valid."""
    with act_as(request.management.audit, _actor(request, BUILT_IN)):
        session = await request.console.sessions.begin_by_link(request.query[LINK])
    if session is not None:
        return await _start_session(request, session)
    if request.signed_in:
        return request.redirect(ROOT)
    error = InvalidApiKey("This sign-in link was already used or has expired.")
    error.remedy = "Print a new one with `connector-gateway console`, or enter an operator token."
    await _record_failure(request, error)
    return _form(request, error)


async def _start_session(request: ConsoleRequest, session: Session) -> Response:
    """Redirect to the requested page in a new session, which replaces the current one."""
    if request.signed_in:
        await _end_session(request)
    response = request.redirect(_requested_page(request))
    set_cookie(response, request.console.pages, SESSION, session.token, SESSION_SECONDS)
    return delete_cookie(response, request.console.pages, VISITOR)


async def _record_failure(request: ConsoleRequest, error: GatewayError) -> None:
    """Record a failed sign-in. After many failures, the response is delayed."""
    await request.management.audit.record_rejection(
        Actor("anonymous", request.context.address, "console"), "sign_in", error.code
    )
    await request.console.edge.delay_wrong_token(request.context)


async def sign_in(request: ConsoleRequest) -> Response:
    """Start a session for the operator of the entered token. After many wrong tokens, the response is delayed."""
    try:
        operator = await _operator(request)
    except GatewayError as error:
        return _form(request, error)
    with act_as(request.management.audit, _actor(request, operator)):
        session = await request.console.sessions.begin(operator)
    return await _start_session(request, session)


async def sign_out(request: ConsoleRequest) -> Response:
    """End the session on the server, so that copies of the cookie are invalid too."""
    await _end_session(request)
    return delete_cookie(request.redirect(SIGN_IN, done="sign_out"), request.console.pages, SESSION)


def _form(request: ConsoleRequest, problem: GatewayError | None = None) -> Response:
    return request.show("sign_in.html", problem=problem, next_page=_requested_page(request))


async def _operator(request: ConsoleRequest) -> Operator:
    """Return the operator of the entered token. Raises ``InvalidApiKey`` and records the attempt if it is wrong."""
    operator = await request.management.operators.find(request.form.get("operator_token", ""))
    if operator is None:
        error = InvalidApiKey("The token is not an operator token of this installation.")
        error.remedy = "Enter your operator token or the setting GATEWAY_OPERATOR_TOKEN. API keys are not accepted."
        await _record_failure(request, error)
        raise error
    return operator


async def _end_session(request: ConsoleRequest) -> None:
    with act_as(request.management.audit, _actor(request, request.operator)):
        await request.console.sessions.end(request.session)


def _actor(request: ConsoleRequest, operator: Operator) -> Actor:
    return Actor(operator.name, request.context.address, "console")


def _requested_page(request: ConsoleRequest) -> str:
    """Return the page that was requested before signing in."""
    path = request.form.get("next") or request.query.get("next", "")
    return path if OWN_PAGE.fullmatch(path) else ROOT
