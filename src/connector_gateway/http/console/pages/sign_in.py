"""Signing in to the console with the token of an operator or by a sign-in link, and out again."""

import re

from starlette.responses import Response

from connector_gateway.core.access.audited_actions import Actor, acting
from connector_gateway.core.access.operators import BUILT_IN, Operator
from connector_gateway.core.access.sessions import SESSION_SECONDS, Session
from connector_gateway.http.console.cookies import SESSION, VISITOR, drop, keep
from connector_gateway.http.console.request import ROOT, SIGN_IN, ConsoleRequest
from connector_gateway.kit.errors import GatewayError, InvalidApiKey

LINK = "link"
"""Query parameter that holds the token of a sign-in link."""

OWN_PAGE = re.compile(rf"{ROOT}(?:[/?][!-\[\]-~]*)?")
"""A page of the console, as a path; nothing else may be led to."""


async def show(visit: ConsoleRequest) -> Response:
    """Return the form that asks for the token of an operator, or begin the session of a sign-in link."""
    # A link is used up by whoever opens it, not by programs that look ahead.
    if LINK in visit.query and visit.exchange.scope["method"] == "GET" and not visit.exchange.header(b"sec-purpose"):
        return await _by_link(visit)
    return visit.redirect(ROOT) if visit.signed_in else _form(visit)


async def _by_link(visit: ConsoleRequest) -> Response:
    """Begin the session of a sign-in link; whoever is signed in already stays so if the link is not valid."""
    with acting(visit.management.audit, _actor(visit, BUILT_IN)):
        session = await visit.console.sessions.begin_by_link(visit.query[LINK])
    if session is not None:
        return await _enter(visit, session)
    if visit.signed_in:
        return visit.redirect(ROOT)
    error = InvalidApiKey("This sign-in link was used before, or its ten minutes are over.")
    error.remedy = "Print a new one with `connector-gateway console`, or enter an operator token."
    await _refuse(visit, error)
    return _form(visit, error)


async def _enter(visit: ConsoleRequest, session: Session) -> Response:
    """Lead to the page that was asked for, in a new session that takes the place of the present one."""
    if visit.signed_in:
        await _end(visit)
    answer = visit.redirect(_wanted(visit))
    keep(answer, visit.console.pages, SESSION, session.token, SESSION_SECONDS)
    return drop(answer, visit.console.pages, VISITOR)


async def _refuse(visit: ConsoleRequest, error: GatewayError) -> None:
    """Record that somebody was not let in, and delay the answer where there are many."""
    await visit.management.audit.refuse(Actor("anonymous", visit.exchange.address, "console"), "sign_in", error.code)
    await visit.console.edge.delay_wrong_token(visit.exchange)


async def sign_in(visit: ConsoleRequest) -> Response:
    """Begin a session for the operator whose token was entered; answers to many wrong tokens are delayed."""
    try:
        operator = await _operator(visit)
    except GatewayError as error:
        return _form(visit, error)
    with acting(visit.management.audit, _actor(visit, operator)):
        session = await visit.console.sessions.begin(operator)
    return await _enter(visit, session)


async def sign_out(visit: ConsoleRequest) -> Response:
    """End the session, here and for every copy of what the browser held."""
    await _end(visit)
    return drop(visit.redirect(SIGN_IN, done="sign_out"), visit.console.pages, SESSION)


def _form(visit: ConsoleRequest, problem: GatewayError | None = None) -> Response:
    return visit.show("sign_in.html", problem=problem, wanted=_wanted(visit))


async def _operator(visit: ConsoleRequest) -> Operator:
    """The operator whose token was entered; a wrong one is recorded."""
    operator = await visit.management.operators.find(visit.form.get("operator_token", ""))
    if operator is None:
        error = InvalidApiKey("This is not the operator token of this installation, nor that of another operator.")
        error.remedy = "Enter your own token, or the setting GATEWAY_OPERATOR_TOKEN; an API key does not sign in here."
        await _refuse(visit, error)
        raise error
    return operator


async def _end(visit: ConsoleRequest) -> None:
    with acting(visit.management.audit, _actor(visit, visit.operator)):
        await visit.console.sessions.end(visit.session)


def _actor(visit: ConsoleRequest, operator: Operator) -> Actor:
    return Actor(operator.name, visit.exchange.address, "console")


def _wanted(visit: ConsoleRequest) -> str:
    """The page that was asked for before signing in."""
    wanted = visit.form.get("next") or visit.query.get("next", "")
    return wanted if OWN_PAGE.fullmatch(wanted) else ROOT
