"""The gateway as a Python program sees it: ``Gateway``, and ``AsyncGateway`` to be awaited."""

import re
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from connector_gateway_client.operations import AsyncOperations, Operations
from connector_gateway_client.sending import AsyncTransport, SyncTransport

TIMEOUT_SECONDS = 150.0
"""Longer than the service lets a call take, which answers in any case."""

RETRY_SECONDS = 60.0
"""How long a call goes on with further attempts, unless told otherwise."""


def _described(base_url: str, api_key: str, timeout_seconds: float) -> dict[str, Any]:
    """What a client of httpx is made with; ``ValueError`` for what no attempt could be made with."""
    address = urlsplit(base_url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise ValueError(f"The address {base_url!r} is none: it begins with http:// or https:// and has a host.")
    if not re.fullmatch(r"[!-~]+", api_key):
        raise ValueError("The API key is empty, or has characters that no key has, such as a blank or a line break.")
    return {
        "base_url": base_url.rstrip("/"),
        "headers": {"Authorization": f"Bearer {api_key}"},
        "timeout": httpx.Timeout(timeout_seconds, connect=10.0),
    }


class Gateway(Operations):
    """All connectors, called one after the other; close it, or use it as a context."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry_seconds: float = RETRY_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._http = httpx.Client(**_described(base_url, api_key, timeout_seconds))
        super().__init__(SyncTransport(self._http, retry_seconds))

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncGateway(AsyncOperations):
    """All connectors, to be awaited; close it, or use it as a context."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry_seconds: float = RETRY_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._http = httpx.AsyncClient(**_described(base_url, api_key, timeout_seconds))
        super().__init__(AsyncTransport(self._http, retry_seconds))

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
