"""The pages on which a user connects an account: what is asked for, the way to the third party, and how it ended."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, request_response

from connector_gateway.core.access.audit import Audit
from connector_gateway.core.access.audited_actions import Actor, acting
from connector_gateway.core.connections import oauth_flow
from connector_gateway.core.connections.connect_links import PATH
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, last_segment
from connector_gateway.http.pages import Pages, is_own_form
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector

log = structlog.get_logger()
Show = Callable[[Request], Awaitable[Response]]

TITLES: Mapping[oauth_flow.Problem, str] = {
    "unknown": "This link is not valid",
    "expired": "That took too long",
    "used": "This link was used already",
    "removed": "This connection was removed",
    "not_set_up": "Not set up yet",
    "other_browser": "Another browser",
    "refused": "You did not allow the access",
    "broken": "The application reported a problem",
    "no_code": "The application reported a problem",
    "wrong_sender": "The answer came from somebody else",
    "code_refused": "The consent does not hold any more",
    "unavailable": "The application did not answer",
    "too_many": "Too many attempts are under way",
    "partial": "Not everything was allowed",
    "other_account": "This is another account",
}
"""How each way of not connecting an account is headed; the template has the sentences."""

STATUSES: Mapping[oauth_flow.Problem, int] = {
    "unknown": 404,
    "removed": 404,
    "used": 410,
    "not_set_up": 409,
    "unavailable": 502,
    "too_many": 429,
}
"""The status of their pages; of the others 400."""


MAX_FORM_BYTES = 8 * 1024
"""Of the form with a token that was handed to the browser."""


class ConnectPages:
    """Answers browsers that were given a connect link, and those that third parties send back."""

    def __init__(
        self, consents: oauth_flow.ConsentFlow, connectors: Mapping[str, AnyConnector], pages: Pages, audit: Audit
    ) -> None:
        self._audit = audit
        self._consents = consents
        self._connectors = connectors
        self._pages = pages

    def routes(self, edge: ApiContext) -> list[Route]:
        """The addresses of the pages."""
        shows = (self._ask, self._begin, self._finish, self._take)
        asks, begins, ends, takes = (request_response(self._told(show)) for show in shows)
        return [
            Route(f"{PATH}/{{token}}", MethodDispatcher(edge, {"GET": asks, "POST": begins})),
            Route(f"{PATH}/{{connector}}/callback", MethodDispatcher(edge, {"GET": ends, "POST": takes})),
            Route(f"{PATH}/{{connector}}/callback/{{consent}}", MethodDispatcher(edge, {"GET": ends})),
        ]

    async def _ask(self, request: Request) -> Response:
        """What the application is asked for, and a button that leads there."""
        token = last_segment(request.scope)
        invitation = await self._consents.invitation(token)
        if invitation.link.used:
            raise oauth_flow.ConnectFailed("used", invitation=invitation)
        operations, oauth = self._connectors[invitation.connection.connector].operations, invitation.oauth
        return self._pages.show(
            "connect/ask.html",
            invitation=invitation,
            token=token,
            reads=oauth.reads or [operation.title for operation in operations if operation.scope == "read"],
            changes=oauth.changes or [operation.title for operation in operations if operation.scope == "write"],
        )

    async def _begin(self, request: Request) -> Response:
        """Send the browser to the third party, with a cookie by which it is known when it comes back.

        It is sent by a page, since a redirect would have to be allowed for every server on the third party's own way.
        """
        if not self._is_own(request):
            raise oauth_flow.ConnectFailed("other_browser")
        departure = await self._consents.begin(last_segment(request.scope))
        page = self._pages.show(
            "connect/leave.html",
            headers={"Refresh": f"0; url={departure.url}"},
            url=departure.url,
            invitation=departure.invitation,
        )
        name = _cookie(departure.state)
        page.set_cookie(name, departure.browser, max_age=int(oauth_flow.CONSENT_SECONDS), **self._cookie_scope)
        return page

    async def _finish(self, request: Request) -> Response:
        """Take what the third party sent the browser back with."""
        answer = dict(request.query_params)
        if len(answer) < len(request.query_params.multi_items()):
            # What stands twice could be read differently here and there.
            raise oauth_flow.ConnectFailed("unknown")
        if "code" not in answer and "error" not in answer:
            invitation = await self._expected(request, answer.get("state", ""))
            if invitation.oauth.by_token_page:
                # A page whose script sends the token in the fragment; without scripts, the user pastes it.
                return self._pages.show("connect/token.html", invitation=invitation, state=answer["state"])
        return await self._end(request, answer)

    async def _expected(self, request: Request, state: str) -> oauth_flow.ConnectRequest:
        browser = request.cookies.get(_cookie(state), "")
        return await self._consents.expected(request.path_params["connector"], state, browser)

    async def _take(self, request: Request) -> Response:
        """Take the token that was handed to the browser."""
        form = await request.body() if _fits(request) else b""
        answer = dict(parse_qsl(form.decode("utf-8", "replace")))
        invitation = await self._expected(request, answer.get("state", ""))
        if not self._is_own(request) or not invitation.oauth.by_token_page:
            raise oauth_flow.ConnectFailed("other_browser")
        return await self._end(request, answer)

    async def _end(self, request: Request, answer: Mapping[str, str]) -> Response:
        name = _cookie(answer.get("state", ""))
        browser = request.cookies.get(name, "")
        address = request.client.host if request.client else ""
        actor = Actor("connect_link", address, "connect")
        try:
            with acting(self._audit, actor):
                connected = await self._consents.finish(request.path_params["connector"], answer, browser)
        except oauth_flow.ConnectFailed as end:
            # Of what nobody was invited to there is nothing to say.
            if end.invitation is not None:
                concerned = end.invitation.connection.connection_id
                await self._audit.refuse(actor, "connect_account", end.problem, concerned)
            raise
        response = self._connected(connected)
        response.delete_cookie(name, **self._cookie_scope)
        return response

    def _connected(self, connected: oauth_flow.Connected) -> Response:
        invitation = connected.invitation
        url = _returning(invitation, status="connected")
        if url is not None and invitation.oauth.by_token_page:
            # By a page: a form may not be led on elsewhere.
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
        """Whether the button was pressed on our own page, as far as the browser tells."""
        return is_own_form(request.headers.get("sec-fetch-site"))

    def _told(self, show: Show) -> Show:
        """*show*, with a page for whatever keeps an account from being connected."""

        async def told(request: Request) -> Response:
            try:
                return await show(request)
            except oauth_flow.ConnectFailed as end:
                return self._problem(end)
            except GatewayError as error:
                log.warning("refused", code=error.code, private=error.private)
                return self._problem(oauth_flow.ConnectFailed("unavailable"))

        return told

    def _problem(self, end: oauth_flow.ConnectFailed) -> Response:
        invitation = end.invitation
        return self._pages.show(
            "connect/problem.html",
            status=STATUSES.get(end.problem, 400),
            end=end,
            title=TITLES[end.problem],
            application=invitation.oauth.application if invitation else "the application",
            back=_returning(invitation, status=end.problem) if invitation else None,
        )


def _fits(request: Request) -> bool:
    """Whether a form is no longer than one with a token may be."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= MAX_FORM_BYTES


def _cookie(state: str) -> str:
    """The cookie of one consent, so that several may be under way in a browser."""
    return f"connect_{token_digest(state).hex()[:16]}"


def _returning(invitation: oauth_flow.ConnectRequest, status: str) -> str | None:
    """The customer's address, told which connection it is about; None if there is none."""
    url = invitation.return_url
    if url is None:
        return None
    told = urlencode({"connection_id": invitation.connection.connection_id, "status": status})
    return f"{url}{'&' if urlsplit(url).query else '?'}{told}"
