"""The routes of the authorization server: metadata, authorization, tokens, registration and revocation."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.revoke import RevocationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Message

from connector_gateway.core.access.agent_oauth import Agents
from connector_gateway.core.access.audit_trail import Audit
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.connections import UsableConnections
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.http.agents import RESOURCE, resource_metadata_url
from connector_gateway.http.agents.client_registration import PUBLIC, SCOPES, AgentClients
from connector_gateway.http.agents.consent import ConsentPages, ConsentProblem
from connector_gateway.http.agents.oauth_provider import AgentProvider, is_resource
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher
from connector_gateway.http.pages import Pages
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector

SERVER_METADATA = "/.well-known/oauth-authorization-server"
AUTHORIZE, CONSENT = "/oauth/authorize", "/oauth/consent"
TOKEN, REGISTER, REVOKE = "/oauth/token", "/oauth/register", "/oauth/revoke"

MAX_FORM_BYTES = 64 * 1024
"""Maximum size of a form or registration. A consent names up to 200 connections."""

GRANTS = ("authorization_code", "refresh_token")

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(eq=False, repr=False)
class AuthorizationServer:
    """The endpoints for clients, which serve one resource: the MCP endpoint."""

    provider: AgentProvider
    clients: AgentClients
    consent: ConsentPages
    audit: Audit
    issuer: str

    async def authorize(self, request: Request) -> Response:
        """Check an authorization request, and send the browser to the consent page."""
        params = request.query_params
        if len(params) < len(params.multi_items()):
            raise ConsentProblem("A parameter of the request is repeated.")
        provider = replace(self.provider, client=await self.clients.get(params.get("client_id", "")))
        response = await AuthorizationHandler(provider).handle(request)
        url = response.headers.get("location")
        if url is None:
            raise ConsentProblem(str(from_json(bytes(response.body))["error_description"]))
        if url.startswith(provider.consent_url):
            return response
        # The error of a request whose redirect URI is valid.
        return RedirectResponse(construct_redirect_uri(url, iss=self.issuer), 302, {"Cache-Control": "no-store"})

    async def issue(self, request: Request) -> Response:
        """Exchange a code or a refresh token for tokens."""
        form = await request.form()
        if len(form) < len(form.multi_items()):
            return _error("invalid_request", "A parameter is repeated.")
        if form.get("grant_type") not in GRANTS:
            return _error("unsupported_grant_type", f"grant_type is one of {', '.join(GRANTS)}.")
        resource = form.get("resource")
        if not is_resource(str(resource) if resource else None, self.provider.resource):
            return _error("invalid_target", f"Tokens are issued only for {self.provider.resource}.")
        response: Response = await TokenHandler(self.provider, ClientAuthenticator(self.provider)).handle(request)
        return response

    async def register(self, request: Request) -> Response:
        """Register a client."""
        options = ClientRegistrationOptions(enabled=True, default_scopes=list(SCOPES))
        return await RegistrationHandler(self.provider, options).handle(request)

    async def revoke(self, request: Request) -> Response:
        """Revoke the grant of a token."""
        # The package's handler requires the field of confidential clients. Public ones omit it.
        body = await request.body() + b"&client_secret="

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        handler = RevocationHandler(self.provider, ClientAuthenticator(self.provider))
        return await handler.handle(Request(request.scope, receive))

    def for_clients(self, endpoint: Endpoint) -> ASGIApp:
        """Return *endpoint* with limited bodies, the client as the actor, and errors in the format of OAuth."""

        async def respond(request: Request) -> Response:
            address = request.client.host if request.client else ""
            try:
                with act_as(self.audit, Actor("agent", address, "connect")):
                    return await endpoint(request)
            except GatewayError as error:
                return _error("temporarily_unavailable", error.message, error.status)

        return RequestBodyLimitMiddleware(request_response(respond), MAX_FORM_BYTES)

    def for_people(self, endpoint: Endpoint) -> ASGIApp:
        """Return *endpoint* with limited bodies and error pages."""
        return RequestBodyLimitMiddleware(request_response(self.consent.with_problem_page(endpoint)), MAX_FORM_BYTES)


def agent_routes(
    edge: ApiContext,
    *,
    agents: Agents,
    audit: Audit,
    signer: CursorSigner,
    selector: UsableConnections,
    connectors: Mapping[str, AnyConnector],
    pages: Pages,
    clock: Clock,
    base_url: str,
    files: PublicFileFetcher,
) -> list[Route]:
    """Return the routes of the authorization server."""
    clients = AgentClients(signer, files, clock)
    metadata, resource = _metadata(base_url)
    issuer = str(metadata.issuer)
    consent = ConsentPages(
        agents, clients, signer, selector, connectors, pages, audit, clock, issuer, edge.throttle.delay
    )
    provider = AgentProvider(agents, clients, signer, clock, str(resource.resource), base_url + CONSENT)
    server = AuthorizationServer(provider, clients, consent, audit, issuer)
    endpoints: Mapping[str, Mapping[str, ASGIApp]] = {
        urlsplit(resource_metadata_url(base_url)).path: {
            "GET": request_response(ProtectedResourceMetadataHandler(resource).handle)
        },
        SERVER_METADATA + urlsplit(base_url).path: {"GET": request_response(MetadataHandler(metadata).handle)},
        AUTHORIZE: {"GET": server.for_people(server.authorize)},
        CONSENT: {"GET": server.for_people(consent.ask), "POST": server.for_people(consent.decide)},
        TOKEN: {"POST": server.for_clients(server.issue)},
        REGISTER: {"POST": server.for_clients(server.register)},
        REVOKE: {"POST": server.for_clients(server.revoke)},
    }
    return [Route(path, MethodDispatcher(edge, methods)) for path, methods in endpoints.items()]


def _metadata(base_url: str) -> tuple[OAuthMetadata, ProtectedResourceMetadata]:
    """Return the metadata of the authorization server (RFC 8414) and of its resource (RFC 9728)."""
    values = {
        "issuer": base_url,
        "authorization_endpoint": base_url + AUTHORIZE,
        "token_endpoint": base_url + TOKEN,
        "registration_endpoint": base_url + REGISTER,
        "revocation_endpoint": base_url + REVOKE,
        "scopes_supported": SCOPES,
        "grant_types_supported": GRANTS,
        "token_endpoint_auth_methods_supported": [PUBLIC],
        "revocation_endpoint_auth_methods_supported": [PUBLIC],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
    resource = {
        "resource": base_url + RESOURCE,
        "authorization_servers": [base_url],
        "scopes_supported": SCOPES,
        "resource_name": "Connector gateway",
    }
    return OAuthMetadata.model_validate(values), ProtectedResourceMetadata.model_validate(resource)


def _error(error: str, description: str, status: int = 400) -> Response:
    return JSONResponse({"error": error, "error_description": description}, status, {"Cache-Control": "no-store"})
