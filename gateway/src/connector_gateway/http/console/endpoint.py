"""The endpoints of console pages: authorization, form tokens and error pages."""

import hmac
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, quote

import structlog
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.audited_actions import Actor
from connector_gateway.http.api.request_bodies import read_raw
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, parse_query, result_or_error
from connector_gateway.http.console.cookies import SESSION, VISITOR, VISITOR_SECONDS, set_cookie
from connector_gateway.http.console.request import BACKGROUND, SIGN_IN, Console, ConsoleRequest, ConsoleRoute
from connector_gateway.http.console.routes import ROUTES
from connector_gateway.http.pages import is_own_form
from connector_gateway.kit.errors import AdminRoleRequired, GatewayError, ServiceFailure

MAX_FORM_BYTES = 64 * 1024

log = structlog.get_logger()


class ConsoleEndpoint:
    """The endpoint of one page or one form."""

    def __init__(self, console: Console, route: ConsoleRoute) -> None:
        self._console = console
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        context = RequestContext(scope, receive)
        request = await result_or_error(self._load_session(context))
        if isinstance(request, GatewayError):
            anonymous = ConsoleRequest(
                self._console, context, self._console.sessions.visitor(), signed_in=False, query={}
            )
            response = _problem(anonymous, request)
        else:
            result = await result_or_error(self._respond(request))
            response = _problem(request, result) if isinstance(result, GatewayError) else result
        await response(scope, receive, send)

    async def _load_session(self, context: RequestContext) -> ConsoleRequest:
        """Return the request with its session."""
        # Not with http.cookies, which drops all cookies if one of another program on this host is malformed.
        cookies = HTTPConnection(context.scope).cookies
        in_use = BACKGROUND not in context.headers
        current = await self._console.sessions.find(cookies[SESSION], in_use=in_use) if SESSION in cookies else None
        session = current or self._console.sessions.visitor(cookies.get(VISITOR))
        query = dict(parse_query(context.scope))
        return ConsoleRequest(self._console, context, session, signed_in=current is not None, query=query)

    async def _respond(self, request: ConsoleRequest) -> Response:
        if not request.signed_in and not self._route.for_visitors:
            return _redirect_to_sign_in(request)
        if self._route.for_admins:
            await self._check_admin(request)
        if self._route.method == "POST":
            request = replace(request, form=await _form(request.context))
            if not _has_valid_form_token(request):
                return request.show("form_expired.html", status=403)
        response = await self._route.handler(request)
        # The secret of a signed-in session belongs only in its own cookie.
        if self._route.for_visitors and self._route.method == "GET" and not request.signed_in:
            set_cookie(response, self._console.pages, VISITOR, request.session.token, VISITOR_SECONDS)
        return response

    async def _check_admin(self, request: ConsoleRequest) -> None:
        """Reject requests that need the admin role, and record the attempt."""
        try:
            request.operator.require_admin()
        except AdminRoleRequired as error:
            actor = Actor(request.operator.name, request.context.address, "console")
            await request.management.audit.record_rejection(actor, self._route.audit_name, error.code)
            raise


def console_routes(edge: ApiContext, console: Console) -> list[Route]:
    """Return the routes of all pages."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in ROUTES:
        methods = ["GET", "HEAD"] if route.method == "GET" else [route.method]
        paths.setdefault(route.path, {}).update(dict.fromkeys(methods, ConsoleEndpoint(console, route)))
    return [Route(path, MethodDispatcher(edge, endpoints)) for path, endpoints in paths.items()]


def _redirect_to_sign_in(request: ConsoleRequest) -> Response:
    """Redirect to the sign-in page, which redirects back to the requested page."""
    if request.context.scope["method"] == "POST":
        return request.redirect(SIGN_IN)
    target = quote(request.path) + ("?" + request.context.scope["query_string"].decode("latin-1")).rstrip("?")
    return request.redirect(SIGN_IN, next=target)


async def _form(context: RequestContext) -> Mapping[str, str]:
    """Return the fields of a form. Repeated fields are joined with newlines."""
    body = await read_raw(context, MAX_FORM_BYTES)
    fields: dict[str, list[str]] = {}
    for name, text in parse_qsl(body.decode("latin-1"), keep_blank_values=True, errors="surrogateescape"):
        fields.setdefault(name, []).append(text.strip())
    return {name: "\n".join(texts) for name, texts in fields.items()}


def _has_valid_form_token(request: ConsoleRequest) -> bool:
    """Return True if this console created the form for this browser."""
    token = request.form.get("form_token", "")
    return is_own_form(request.context.header(b"sec-fetch-site")) and hmac.compare_digest(
        token.encode(errors="replace"), request.session.form_token.encode()
    )


def _problem(request: ConsoleRequest, error: GatewayError) -> Response:
    """Return a page that explains *error*, and log its private details."""
    if error.private or isinstance(error, ServiceFailure):
        log.warning("request failed", run_id=request.context.run.run_id, code=error.code, private=error.private)
    return request.show("error.html", problem=error)
