"""Pages of the console at their addresses: who may see them, whether a form is ours, and what is told of faults."""

import hmac
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, quote

import structlog
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.access.audited_actions import Actor
from connector_gateway.http.api.bodies import read_raw
from connector_gateway.http.api.responses import RequestContext
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, query_of, result_or_error
from connector_gateway.http.console.cookies import SESSION, VISITOR, VISITOR_SECONDS, keep
from connector_gateway.http.console.request import BACKGROUND, SIGN_IN, Console, ConsoleRequest, ConsoleRoute
from connector_gateway.http.console.routes import ROUTES
from connector_gateway.http.pages import is_own_form
from connector_gateway.kit.errors import AdminRoleRequired, GatewayError, ServiceFailure

MAX_FORM_BYTES = 64 * 1024

log = structlog.get_logger()


class ConsoleEndpoint:
    """One page, or what one form does."""

    def __init__(self, console: Console, route: ConsoleRoute) -> None:
        self._console = console
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = RequestContext(scope, receive)
        visit = await result_or_error(self._visit(exchange))
        if isinstance(visit, GatewayError):
            nobody = ConsoleRequest(
                self._console, exchange, self._console.sessions.visitor(), signed_in=False, query={}
            )
            answer = _problem(nobody, visit)
        else:
            ended = await result_or_error(self._answer(visit))
            answer = _problem(visit, ended) if isinstance(ended, GatewayError) else ended
        await answer(scope, receive, send)

    async def _visit(self, exchange: RequestContext) -> ConsoleRequest:
        """Who asks, and for what."""
        # Not by http.cookies, which drops all cookies where one of another program on this host is odd.
        held = HTTPConnection(exchange.scope).cookies
        in_use = BACKGROUND not in exchange.headers
        found = await self._console.sessions.find(held[SESSION], in_use=in_use) if SESSION in held else None
        session = found or self._console.sessions.visitor(held.get(VISITOR))
        query = dict(query_of(exchange.scope))
        return ConsoleRequest(self._console, exchange, session, signed_in=found is not None, query=query)

    async def _answer(self, visit: ConsoleRequest) -> Response:
        if not visit.signed_in and not self._route.for_visitors:
            return _to_sign_in(visit)
        if self._route.for_admins:
            await self._require_admin(visit)
        if self._route.method == "POST":
            visit = replace(visit, form=await _form(visit.exchange))
            if not _has_valid_form_token(visit):
                return visit.show("refused.html", status=403)
        answer = await self._route.perform(visit)
        # Who has signed in holds another secret, which belongs into its own cookie alone.
        if self._route.for_visitors and self._route.method == "GET" and not visit.signed_in:
            keep(answer, self._console.pages, VISITOR, visit.session.token, VISITOR_SECONDS)
        return answer

    async def _require_admin(self, visit: ConsoleRequest) -> None:
        """Refuse what only admins may do, and record that it was tried."""
        try:
            visit.operator.require_admin()
        except AdminRoleRequired as error:
            actor = Actor(visit.operator.name, visit.exchange.address, "console")
            await visit.management.audit.refuse(actor, self._route.act, error.code)
            raise


def console_routes(edge: ApiContext, console: Console) -> list[Route]:
    """Every page at its address."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in ROUTES:
        methods = ["GET", "HEAD"] if route.method == "GET" else [route.method]
        paths.setdefault(route.path, {}).update(dict.fromkeys(methods, ConsoleEndpoint(console, route)))
    return [Route(path, MethodDispatcher(edge, endpoints)) for path, endpoints in paths.items()]


def _to_sign_in(visit: ConsoleRequest) -> Response:
    """Where to sign in, and from there back to the page that was asked for."""
    if visit.exchange.scope["method"] == "POST":
        return visit.redirect(SIGN_IN)
    wanted = quote(visit.path) + ("?" + visit.exchange.scope["query_string"].decode("latin-1")).rstrip("?")
    return visit.redirect(SIGN_IN, next=wanted)


async def _form(exchange: RequestContext) -> Mapping[str, str]:
    """Return the fields of a form; of one that was sent more than once, all values in lines."""
    body = await read_raw(exchange, MAX_FORM_BYTES)
    fields: dict[str, list[str]] = {}
    for name, text in parse_qsl(body.decode("latin-1"), keep_blank_values=True, errors="surrogateescape"):
        fields.setdefault(name, []).append(text.strip())
    return {name: "\n".join(texts) for name, texts in fields.items()}


def _has_valid_form_token(visit: ConsoleRequest) -> bool:
    """Whether a form was shown by this console, to this browser."""
    given = visit.form.get("form_token", "")
    return is_own_form(visit.exchange.header(b"sec-fetch-site")) and hmac.compare_digest(
        given.encode(errors="replace"), visit.session.form_token.encode()
    )


def _problem(visit: ConsoleRequest, error: GatewayError) -> Response:
    """A page that says what went wrong; what is private goes to the log."""
    if error.private or isinstance(error, ServiceFailure):
        log.warning("refused", run_id=visit.exchange.run.run_id, code=error.code, private=error.private)
    return visit.show("problem.html", problem=error)
