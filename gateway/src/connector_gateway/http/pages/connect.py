"""The pages on which a user connects an account: the request, the redirect to the vendor, and the result."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, request_response

from connector_gateway.core.access.audit_trail import Audit
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.connections import oauth_flow
from connector_gateway.core.connections.connect_links import PATH
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, last_segment
from connector_gateway.http.pages import Pages, is_own_form
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector

log = structlog.get_logger()
Page = Callable[[Request], Awaitable[Response]]

TITLES: Mapping[oauth_flow.Problem, str] = {
    "unknown": "This link is not valid",
    "expired": "The request has expired",
    "used": "This link was already used",
    "removed": "This connection was removed",
    "not_set_up": "Not set up yet",
    "other_browser": "Another browser",
    "refused": "Access was denied",
    "broken": "{vendor} reported a problem",
    "no_code": "{vendor} reported a problem",
    "wrong_sender": "The response came from another sender",
    "code_refused": "The authorisation has expired",
    "unavailable": "{vendor} did not respond",
    "too_many": "Too many attempts are in progress",
    "partial": "Some permissions were not granted",
    "other_account": "This is another account",
}
"""The page title of each problem, with the name of the vendor. The template contains the explanations."""

STATUSES: Mapping[oauth_flow.Problem, int] = {
    "unknown": 404,
    "removed": 404,
    "used": 410,
    "not_set_up": 409,
    "unavailable": 502,
    "too_many": 429,
}
"""The HTTP status of each problem. Others have 400."""


MAX_FORM_BYTES = 8 * 1024
"""The maximum size of the form with a token that the vendor passed to the browser."""


class ConnectPages:
    """Serves connect links, and the callbacks of vendors."""

    def __init__(
        self, consents: oauth_flow.ConsentFlow, connectors: Mapping[str, AnyConnector], pages: Pages, audit: Audit
    ) -> None:
        self._audit = audit
        self._consents = consents
        self._connectors = connectors
        self._pages = pages

    def routes(self, edge: ApiContext) -> list[Route]:
        """Return the routes of the pages."""
        pages = (self._ask, self._begin, self._finish, self._receive_token)
        ask, begin, finish, receive_token = (request_response(self._with_problem_page(page)) for page in pages)
        return [
            Route(f"{PATH}/{{token}}", MethodDispatcher(edge, {"GET": ask, "POST": begin})),
            Route(f"{PATH}/{{connector}}/callback", MethodDispatcher(edge, {"GET": finish, "POST": receive_token})),
            Route(f"{PATH}/{{connector}}/callback/{{consent}}", MethodDispatcher(edge, {"GET": finish})),
        ]

    async def _ask(self, request: Request) -> Response:
        """Show the requested permissions, and a button that leads to the vendor."""
        token = last_segment(request.scope)
        invitation = await self._consents.invitation(token)
        if invitation.link.used:
            raise oauth_flow.ConnectFailed("used", invitation=invitation)
        operations, oauth = self._connectors[invitation.connection.connector].operations, invitation.oauth
        return self._pages.show(
            "connect/ask.html",
            invitation=invitation,
            token=token,
            reads=oauth.readable or [operation.title for operation in operations if operation.scope == "read"],
            changes=oauth.changeable or [operation.title for operation in operations if operation.scope == "write"],
        )

    async def _begin(self, request: Request) -> Response:
        """Send the browser to the vendor, with a cookie that identifies it on its return.

        The page uses a Refresh header instead of a redirect, since the Content-Security-Policy would have to allow
        every server in the vendor's own chain of redirects.
        """
        if not self._is_own(request):
            raise oauth_flow.ConnectFailed("other_browser")
        redirect = await self._consents.begin(last_segment(request.scope))
        page = self._pages.show(
            "connect/leave.html",
            headers={"Refresh": f"0; url={redirect.url}"},
            url=redirect.url,
            invitation=redirect.invitation,
        )
        name = _cookie(redirect.state)
        page.set_cookie(name, redirect.browser, max_age=int(oauth_flow.CONSENT_SECONDS), **self._cookie_scope)
        return page

    async def _finish(self, request: Request) -> Response:
        """Handle the callback of the vendor."""
        params = dict(request.query_params)
        if len(params) < len(request.query_params.multi_items()):
            # A repeated parameter could be interpreted differently elsewhere.
            raise oauth_flow.ConnectFailed("unknown")
        if "code" not in params and "error" not in params:
            invitation = await self._expected(request, params.get("state", ""))
            if invitation.oauth.by_token_page:
                # The script of the page sends the token in the fragment. Without scripts, the user pastes it.
                return self._pages.show("connect/token.html", invitation=invitation, state=params["state"])
        return await self._end(request, params)

    async def _expected(self, request: Request, state: str) -> oauth_flow.ConnectRequest:
        browser = request.cookies.get(_cookie(state), "")
        return await self._consents.get_pending_request(request.path_params["connector"], state, browser)

    async def _receive_token(self, request: Request) -> Response:
        """Handle the form with the token that the vendor passed to the browser."""
        form = await request.body() if _within_size_limit(request) else b""
        params = dict(parse_qsl(form.decode("utf-8", "replace")))
        invitation = await self._expected(request, params.get("state", ""))
        if not self._is_own(request) or not invitation.oauth.by_token_page:
            raise oauth_flow.ConnectFailed("other_browser")
        return await self._end(request, params)

    async def _end(self, request: Request, params: Mapping[str, str]) -> Response:
        name = _cookie(params.get("state", ""))
        browser = request.cookies.get(name, "")
        address = request.client.host if request.client else ""
        actor = Actor("connect_link", address, "connect")
        try:
            with act_as(self._audit, actor):
                connected = await self._consents.finish(request.path_params["connector"], params, browser)
        except oauth_flow.ConnectFailed as end:
            # Without a known invitation there is no connection to record.
            if end.invitation is not None:
                connection_id = end.invitation.connection.connection_id
                await self._audit.record_rejection(actor, "connect_account", end.problem, connection_id)
            raise
        response = self._connected(connected)
        response.delete_cookie(name, **self._cookie_scope)
        return response

    def _connected(self, connected: oauth_flow.Connected) -> Response:
        invitation = connected.invitation
        url = _return_url(invitation, status="connected")
        if url is not None and invitation.oauth.by_token_page:
            # A page instead of a redirect, since the policy does not allow forms to redirect to another origin.
            headers = {"Refresh": f"0; url={url}"}
            return self._pages.show(
                "connect/done.html", headers=headers, invitation=invitation, account=connected.account
            )
        if url is not None:
            return RedirectResponse(url, 303, {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
        return self._pages.show("connect/done.html", invitation=invitation, account=connected.account)

    @property
    def _cookie_scope(self) -> dict[str, Any]:
        path = self._pages.root + PATH
        return {"path": path, "secure": self._pages.secure, "httponly": True, "samesite": "lax"}

    def _is_own(self, request: Request) -> bool:
        """Return True if the form was sent from a page of this gateway, as far as the browser reports it."""
        return is_own_form(request.headers.get("sec-fetch-site"))

    def _with_problem_page(self, page: Page) -> Page:
        """Return *page*, with a page for every error that prevents the connection of an account."""

        async def with_problem_page(request: Request) -> Response:
            try:
                return await page(request)
            except oauth_flow.ConnectFailed as end:
                return self._problem(end)
            except GatewayError as error:
                log.warning("request failed", code=error.code, private=error.private)
                return self._problem(oauth_flow.ConnectFailed("unavailable"))

        return with_problem_page

    def _problem(self, end: oauth_flow.ConnectFailed) -> Response:
        invitation = end.invitation
        vendor = invitation.oauth.vendor if invitation else "The vendor"
        return self._pages.show(
            "connect/problem.html",
            status=STATUSES.get(end.problem, 400),
            end=end,
            title=TITLES[end.problem].format(vendor=vendor),
            vendor=vendor,
            back=_return_url(invitation, status=end.problem) if invitation else None,
        )


def _within_size_limit(request: Request) -> bool:
    """Return True if the form does not exceed the size limit."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= MAX_FORM_BYTES


def _cookie(state: str) -> str:
    """Return the cookie name of one consent, so that one browser can have several in progress."""
    return f"connect_{token_digest(state).hex()[:16]}"


def _return_url(invitation: oauth_flow.ConnectRequest, status: str) -> str | None:
    """Return the customer's return URL with the connection and *status*, or None if there is none."""
    url = invitation.return_url
    if url is None:
        return None
    query = urlencode({"connection_id": invitation.connection.connection_id, "status": status})
    return f"{url}{'&' if urlsplit(url).query else '?'}{query}"
