"""The pages on which a person authorises the client of an agent: the code, the permissions, and the way back."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.provider import construct_redirect_uri
from pydantic import AnyUrl
from sqlalchemy import Row
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from connector_gateway.core.access.agent_oauth import Agents, Rights
from connector_gateway.core.access.audit_trail import Audit
from connector_gateway.core.access.keys import Caller, KeyScope, to_caller
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.connections import UsableConnections
from connector_gateway.http.agents.client_registration import AgentClient, AgentClients, ClientRejected, describe_target
from connector_gateway.http.agents.oauth_provider import REQUEST
from connector_gateway.http.pages import Pages, is_own_form
from connector_gateway.http.server.connection_limits import client_network
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, InvalidCursor
from connector_gateway.kit.operation import AnyConnector, AnyOperation

MAX_CONNECTIONS = 200
"""Connections that the page offers one by one. If there are more, the person grants them together."""

Delay = Callable[[str], Awaitable[None]]


class ConsentProblem(Exception):
    """The consent cannot continue. The message is for the person."""


@dataclass(frozen=True)
class ConsentRequest:
    """The authorization request of a client, which its signature proves to be checked."""

    token: str
    client: AgentClient
    values: Mapping[str, Any]

    @property
    def target(self) -> str:
        """The place to which the browser is sent back, for people."""
        return describe_target(AnyUrl(self.values["redirect_uri"]))

    def redirect(self, issuer: str, **parameters: str) -> str:
        """Return the URL that sends the browser back to the client."""
        state = self.values["state"]
        return construct_redirect_uri(self.values["redirect_uri"], **parameters, state=state, iss=issuer)


@dataclass(frozen=True)
class Offer:
    """The rights that a code can grant, as the page lists them."""

    code: str
    caller: Caller
    workspace: str
    connections: Sequence[Row[Any]]
    operations: Mapping[str, AnyOperation]

    @property
    def writes(self) -> bool:
        """Whether the code allows writes."""
        return self.caller.scope == "read_write"


@dataclass(eq=False, repr=False)
class ConsentPages:
    """Shows the request of a client, checks the person's code, and sends the browser back with the decision."""

    agents: Agents
    clients: AgentClients
    signer: CursorSigner
    selector: UsableConnections
    connectors: Mapping[str, AnyConnector]
    pages: Pages
    audit: Audit
    clock: Clock
    issuer: str
    delay: Delay

    async def ask(self, request: Request) -> Response:
        """Show the client, and ask for the code."""
        consent = await self._read(request.query_params.get("request", ""))
        return self._show("code.html", consent)

    async def decide(self, request: Request) -> Response:
        """Handle a form: show the permissions of the code, or send the browser back."""
        if not is_own_form(request.headers.get("sec-fetch-site")):
            raise ConsentProblem("The form was sent from another page.")
        form = await request.form()
        consent = await self._read(_text(form, "request"))
        if "deny" in form:
            return self._leave(consent, error="access_denied")
        offer = await self._offer(_text(form, "code"))
        if offer is None:
            await self.delay(client_network(_address(request)))
            return self._show("code.html", consent, problem="The code is wrong, was used, or has expired.", status=400)
        if "allow" not in form:
            scopes = consent.values["scopes"]
            return self._show(
                "allow.html", consent, offer=offer, only_reads=scopes is not None and "write" not in scopes
            )
        try:
            rights = _narrow(offer, form)
        except ConsentProblem as problem:
            return self._show("allow.html", consent, offer=offer, only_reads=False, problem=str(problem), status=400)
        return await self._allow(request, consent, offer, rights)

    async def _allow(self, request: Request, consent: ConsentRequest, offer: Offer, rights: Rights) -> Response:
        client, agent = consent.client, f"{consent.client.title} ({consent.target})"
        with act_as(self.audit, Actor("agent_code", _address(request), "connect")):
            code = await self.agents.authorise(offer.code, client.client_id, agent, rights, consent.values)
        if code is None:
            raise ConsentProblem("The code was used or has expired. Create another one.")
        return self._leave(consent, code=code)

    async def _read(self, token: str) -> ConsentRequest:
        try:
            values = self.signer.read(token, REQUEST)
        except InvalidCursor as error:
            raise ConsentProblem("The request is incomplete. Start again in the application.") from error
        if values["until"] <= self.clock.now():
            raise ConsentProblem("The request has expired. Start again in the application.")
        return ConsentRequest(token, await self.clients.get(values["client_id"]), values)

    async def _offer(self, code: str) -> Offer | None:
        """Return the rights of a valid code, or None."""
        row = await self.agents.find(code)
        if row is None:
            return None
        caller = to_caller(row)
        connections = await self.selector.list_usable(caller, MAX_CONNECTIONS + 1)
        operations = {
            f"{connector.name}_{operation.name}": operation
            for connector in self.connectors.values()
            for operation in connector.operations
            if caller.allows(connector.name, operation)
        }
        return Offer(
            code,
            caller,
            row.workspace,
            connections if len(connections) <= MAX_CONNECTIONS else (),
            operations,
        )

    def _leave(self, consent: ConsentRequest, **parameters: str) -> Response:
        """Send the browser back to the client.

        With a Refresh header instead of a redirect, since the policy does not allow forms to redirect to other origins.
        """
        url = consent.redirect(self.issuer, **parameters)
        return self._show("leave.html", consent, url=url, headers={"Refresh": f"0; url={url}"})

    def _show(
        self,
        template: str,
        consent: ConsentRequest,
        *,
        problem: str = "",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response:
        values = {"consent": consent, "connectors": self.connectors, "problem": problem} | values
        return self.pages.show(f"agents/{template}", status=status, headers=headers or {}, **values)

    def with_problem_page(
        self, page: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return *page*, with a page for every error that ends the consent."""

        async def with_problem_page(request: Request) -> Response:
            try:
                return await page(request)
            except (ConsentProblem, ClientRejected) as problem:
                return self.problem(str(problem))
            except GatewayError as error:
                return self.problem(f"{error.message} Try again.", error.status)

        return with_problem_page

    def problem(self, text: str, status: int = 400) -> Response:
        """Return the page for an error after which no browser is sent back to the client."""
        return self.pages.show("agents/problem.html", status=status, problem=text)


def _narrow(offer: Offer, form: FormData) -> Rights:
    """Return the rights that the person selected, never more than those of the code."""
    scope: KeyScope = "read_write" if offer.writes and _text(form, "scope") != "read" else "read"
    caller = offer.caller
    connection_ids = None if caller.connection_ids is None else sorted(caller.connection_ids)
    offered = [row.connection_id for row in offer.connections]
    selected = [one for one in offered if one in form.getlist("connection")]
    if offered and not selected:
        raise ConsentProblem("Select at least one connection.")
    operations = [name for name in offer.operations if name in form.getlist("operation")]
    if not operations:
        raise ConsentProblem("Select at least one operation.")
    return Rights(
        scope,
        # All of them includes connections and operations that are added later.
        connection_ids if selected == offered else selected,
        caller.operations if len(operations) == len(offer.operations) else operations,
    )


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
