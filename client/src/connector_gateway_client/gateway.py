"""The clients: ``Gateway``, and ``AsyncGateway`` for asyncio."""

import re
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from connector_gateway_client.operations import AsyncOperations, Operations
from connector_gateway_client.responses import AsyncPages, Pages, Response
from connector_gateway_client.routes_from_openapi import OPENAPI_PATH, OperationRoute, Routes, find_route, read_routes
from connector_gateway_client.transport import AsyncTransport, SyncTransport, parse_document, to_error

TIMEOUT_SECONDS = 150.0
"""The default timeout of a request, longer than the service allows for a call."""

RETRY_SECONDS = 60.0
"""The default time during which a call is retried, in seconds."""


def _http_options(base_url: str, api_key: str, timeout_seconds: float) -> dict[str, Any]:
    """Return the arguments of the httpx client. Raises ``ValueError`` for an invalid URL or key."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"The address {base_url!r} is none: it begins with http:// or https:// and has a host.")
    if not re.fullmatch(r"[!-~]+", api_key):
        raise ValueError("The API key is empty, or has characters that no key has, such as a blank or a line break.")
    return {
        "base_url": base_url.rstrip("/"),
        "headers": {"Authorization": f"Bearer {api_key}"},
        "timeout": httpx.Timeout(timeout_seconds, connect=10.0),
    }


class Gateway(Operations):
    """A synchronous client with a property for each connector. Close it, or use it as a context manager."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry_seconds: float = RETRY_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._http = httpx.Client(**_http_options(base_url, api_key, timeout_seconds))
        super().__init__(SyncTransport(self._http, retry_seconds))
        self._routes: Routes | None = None

    def call(
        self,
        connector: str,
        operation: str,
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        **parameters: Any,
    ) -> Response[Any]:
        """Call an operation by its names, such as that of a connector package, which has no method here.

        The first call requests the service's description of its operations. Raises ``ValueError`` if it has no such
        operation.
        """
        route = self._find_route(connector, operation)
        return self._sending.send(route.to_request(parameters, idempotency_key=idempotency_key, dry_run=dry_run))

    def pages(self, connector: str, operation: str, *, cursor: str | None = None, **parameters: Any) -> Pages[Any]:
        """Return the list of an operation by its names. Raises like ``call``."""
        route = self._find_route(connector, operation)
        return Pages(self._sending, route.to_request(parameters), cursor)

    def _find_route(self, connector: str, operation: str) -> OperationRoute:
        if self._routes is None:
            try:
                response = self._http.get(OPENAPI_PATH)
            except httpx.RequestError as error:
                raise to_error(error, self._http.base_url) from error
            self._routes = read_routes(parse_document(response))
        return find_route(self._routes, connector, operation)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncGateway(AsyncOperations):
    """An asynchronous client with a property for each connector. Close it, or use it as a context manager."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry_seconds: float = RETRY_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._http = httpx.AsyncClient(**_http_options(base_url, api_key, timeout_seconds))
        super().__init__(AsyncTransport(self._http, retry_seconds))
        self._routes: Routes | None = None

    async def call(
        self,
        connector: str,
        operation: str,
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        **parameters: Any,
    ) -> Response[Any]:
        """Call an operation by its names, such as that of a connector package, which has no method here.

        The first call requests the service's description of its operations. Raises ``ValueError`` if it has no such
        operation.
        """
        route = await self._find_route(connector, operation)
        return await self._sending.send(route.to_request(parameters, idempotency_key=idempotency_key, dry_run=dry_run))

    async def pages(
        self, connector: str, operation: str, *, cursor: str | None = None, **parameters: Any
    ) -> AsyncPages[Any]:
        """Return the list of an operation by its names. Raises like ``call``."""
        route = await self._find_route(connector, operation)
        return AsyncPages(self._sending, route.to_request(parameters), cursor)

    async def _find_route(self, connector: str, operation: str) -> OperationRoute:
        if self._routes is None:
            try:
                response = await self._http.get(OPENAPI_PATH)
            except httpx.RequestError as error:
                raise to_error(error, self._http.base_url) from error
            self._routes = read_routes(parse_document(response))
        return find_route(self._routes, connector, operation)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
