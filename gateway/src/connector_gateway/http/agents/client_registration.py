"""Clients of agents: registered without storage, or described by a document at their URL."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull
from pydantic import AnyUrl, ValidationError
from typing_extensions import override

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.core.single_flight_cache import SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, InvalidCursor

PREFIX = "agent_"
"""The prefix of the identifiers of registered clients. A signed description of the client follows."""

PUBLIC = "none"
"""The authentication method of clients without a secret."""

SCOPES = ("read", "write")

MAX_REDIRECT_URIS = 10
MAX_URI = 500
MAX_NAME = 100
MAX_DOCUMENT_BYTES = 16 * 1024
DOCUMENT_TIMEOUT_SECONDS = 5.0
DOCUMENT_SECONDS = 60.0
"""Seconds for which a client metadata document, or its error, is cached, so that requests in a loop fetch it once."""

MAX_DOCUMENTS = 1000
MAX_FETCHES = 20

LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
APP_SCHEMES = ("cursor", "vscode", "vscode-insiders", "windsurf")
"""Schemes of desktop applications that are no reversed domain name, which RFC 8252 recommends."""


class ClientRejected(Exception):
    """The client is unknown or invalid, so that no browser may be sent back to it. The message is for people."""


class AgentClient(OAuthClientInformationFull):
    """A client of an agent. It is public: it authenticates by PKCE and has no secret."""

    @property
    def title(self) -> str:
        """The name for people, as the client states it."""
        return (self.client_name or "").strip()[:MAX_NAME] or "An unnamed client"

    @property
    def domain(self) -> str:
        """The host of the client's metadata document. Empty if the client registered itself."""
        return urlsplit(self.client_id).hostname or "" if is_document_url(self.client_id) else ""

    @override
    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        # RFC 6749 allows servers to ignore scopes, and clients request some that only other servers know.
        return [scope for scope in (requested_scope or "").split() if scope in SCOPES] or None

    @override
    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        registered = self.redirect_uris or []
        if redirect_uri is None and len(registered) == 1:
            return registered[0]
        if redirect_uri is not None and any(_matches(one, redirect_uri) for one in registered):
            return redirect_uri
        raise InvalidRedirectUriError(
            f"The redirect URI {truncate(str(redirect_uri or ''))} is not one of the client's: "
            f"{', '.join(truncate(str(one)) for one in registered)}."
        )


class AgentClients:
    """Registers clients and finds them by their identifiers.

    The identifier of a registered client contains its description, signed, so that registrations occupy no storage.
    """

    def __init__(self, signer: CursorSigner, files: PublicFileFetcher, clock: Clock) -> None:
        self._signer = signer
        # The specification forbids to follow redirects.
        self._fetcher = replace(
            files, timeout_seconds=DOCUMENT_TIMEOUT_SECONDS, max_bytes=MAX_DOCUMENT_BYTES, max_redirects=0
        )
        self._documents: SingleFlight[str, AgentClient | ClientRejected] = SingleFlight(clock, MAX_DOCUMENTS)
        self._slots = asyncio.Semaphore(MAX_FETCHES)

    def register(self, client: OAuthClientInformationFull) -> None:
        """Replace the identifier of *client*, and its secret by none. Raises ``RegistrationError`` if it is invalid."""
        try:
            _check_redirect_uris(client.redirect_uris or [])
        except ValueError as error:
            raise RegistrationError("invalid_redirect_uri", str(error)) from error
        client.client_name = (client.client_name or "")[:MAX_NAME] or None
        client.token_endpoint_auth_method = PUBLIC
        client.client_secret = client.client_secret_expires_at = None
        description = client.model_dump(mode="json", include={"redirect_uris", "client_name"})
        client.client_id = PREFIX + self._signer.issue(description, PREFIX)

    async def get(self, client_id: str) -> AgentClient:
        """Return the client with *client_id*. Raises ``ClientRejected`` if it is unknown or invalid."""
        if is_document_url(client_id):
            client = await self._documents.get(client_id, partial(self._fetch, client_id), DOCUMENT_SECONDS)
            if isinstance(client, ClientRejected):
                raise ClientRejected(*client.args)
            return client
        try:
            description = self._signer.read(client_id.removeprefix(PREFIX), PREFIX)
        except InvalidCursor as error:
            raise ClientRejected("The client is not registered here. It has to register again.") from error
        return AgentClient(client_id=client_id, token_endpoint_auth_method=PUBLIC, **description)

    async def _fetch(self, client_id: str) -> AgentClient | ClientRejected:
        """Return the client that the document at *client_id* describes, or the reason why there is none."""
        try:
            async with self._slots:
                document = await self._fetcher.fetch(client_id, MAX_DOCUMENT_BYTES)
            return _parse_document(client_id, document.content or b"")
        except GatewayError as error:
            return ClientRejected(f"The client's metadata document cannot be read. {error.message}")
        except ClientRejected as error:
            return error


def _parse_document(client_id: str, content: bytes) -> AgentClient:
    try:
        client = AgentClient.model_validate_json(content)
    except ValidationError as error:
        raise ClientRejected("The client's metadata document is not valid.") from error
    if client.client_id != client_id:
        raise ClientRejected("The client's metadata document names another client_id than its own URL.")
    if client.token_endpoint_auth_method not in {None, PUBLIC} or client.client_secret:
        raise ClientRejected("Only public clients are supported: token_endpoint_auth_method has to be none.")
    try:
        _check_redirect_uris(client.redirect_uris or [])
    except ValueError as error:
        raise ClientRejected(f"The client's metadata document is not valid. {error}") from error
    return client


def is_document_url(client_id: str) -> bool:
    """Return True if *client_id* is the URL of a client metadata document: https, with a path and no fragment."""
    try:
        parts = urlsplit(client_id)
    except ValueError:
        return False
    segments = parts.path.split("/")
    is_plain = "#" not in client_id and "@" not in parts.netloc and not {".", ".."} & set(segments)
    return parts.scheme == "https" and bool(parts.hostname) and parts.path not in {"", "/"} and is_plain


def describe_target(uri: AnyUrl) -> str:
    """Return where a redirect URI leads, for people."""
    if _is_loopback(uri):
        return "this computer"
    return str(uri.host) if uri.scheme == "https" else f"the application {uri.scheme}"


def _check_redirect_uris(uris: Sequence[AnyUrl]) -> None:
    """Raise ``ValueError`` unless all *uris* lead to a web server with TLS, to this computer or to an application."""
    if not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise ValueError(f"One to {MAX_REDIRECT_URIS} redirect URIs are required.")
    for uri in uris:
        text = str(uri)
        if len(text) > MAX_URI:
            raise ValueError(f"A redirect URI has at most {MAX_URI} characters.")
        if uri.fragment is not None or uri.username is not None or uri.password is not None:
            raise ValueError(f"The redirect URI {truncate(text)} has a fragment or credentials.")
        is_application = "." in uri.scheme or uri.scheme in APP_SCHEMES
        if not ((uri.scheme == "https" and uri.host) or _is_loopback(uri) or is_application):
            raise ValueError(
                f"The redirect URI {truncate(text)} is neither an https URL, nor an http URL of this computer, nor the "
                "scheme of an application."
            )


def _is_loopback(uri: AnyUrl) -> bool:
    return uri.scheme == "http" and uri.host in LOOPBACK


def _matches(registered: AnyUrl, requested: AnyUrl) -> bool:
    """Return True if the URIs are equal, apart from the port of this computer, which RFC 8252 leaves open."""
    if registered == requested:
        return True
    return (
        _is_loopback(registered) and _is_loopback(requested) and _without_port(registered) == _without_port(requested)
    )


def _without_port(uri: AnyUrl) -> Sequence[str | None]:
    return uri.host, uri.username, uri.password, uri.path, uri.query, uri.fragment
