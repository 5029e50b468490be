"""Transports that send calls, and retry them within a deadline if that is safe."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from connector_gateway_client.base_errors import ConnectionFailed, GatewayError, InvalidResponse
from connector_gateway_client.errors import OutcomeUnknown
from connector_gateway_client.http_encoding import RequestSpec, parse_response, retry_delay
from connector_gateway_client.responses import Response

Now = Callable[[], float]


class _Deadline:
    """The deadline of a call, on a monotonic clock."""

    def __init__(self, seconds: float, now: Now) -> None:
        self._now = now
        self._ends_at = now() + seconds
        self._attempt = 0

    def delay(self, error: GatewayError) -> float:
        """Return the seconds until the next attempt, or raise *error* if none can succeed in time.

        A write with an unknown outcome is retried once more at the deadline, since the service may know it by then.
        """
        self._attempt += 1
        seconds, remaining = retry_delay(self._attempt, error), self._ends_at - self._now()
        if seconds is not None and seconds > remaining > 0 and isinstance(error, OutcomeUnknown):
            return remaining
        if seconds is None or seconds > remaining:
            raise error
        return seconds


def _decode(call: RequestSpec, response: httpx.Response) -> Response[Any]:
    return parse_response(response.status_code, response.headers, response.content, dry_run=call.dry_run)


def parse_document(response: httpx.Response) -> dict[str, Any]:
    """Return the OpenAPI document of the service. Raises ``InvalidResponse`` if *response* is none."""
    try:
        document: dict[str, Any] = response.raise_for_status().json()
        _ = document["paths"]
    except (httpx.HTTPStatusError, ValueError, KeyError, TypeError) as error:
        raise InvalidResponse(
            f"The response with status {response.status_code} is not an OpenAPI document.", status=response.status_code
        ) from error
    return document


def to_error(error: httpx.RequestError, url: httpx.URL) -> GatewayError:
    """Return the error of a request without a response."""
    if isinstance(error, httpx.DecodingError):
        return InvalidResponse("The response is compressed and cannot be decompressed.")
    reason = str(error).rstrip(".") or type(error).__name__
    return ConnectionFailed(f"No answer came from {str(url).rstrip('/')}: {reason}.")


class SyncTransport:
    """Sends calls synchronously."""

    def __init__(
        self,
        http: httpx.Client,
        retry_seconds: float,
        sleep: Callable[[float], object] = time.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    def send(self, call: RequestSpec) -> Response[Any]:
        """Send *call* and return its response, after retries if needed."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return self._once(call)
            except GatewayError as error:
                error.idempotency_key = call.effective_key
                if not call.may_retry(error):
                    raise
                self._sleep(deadline.delay(error))

    def _once(self, call: RequestSpec) -> Response[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as error:
            raise to_error(error, self._http.base_url) from error
        return _decode(call, response)


class AsyncTransport:
    """Sends calls asynchronously."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        retry_seconds: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    async def send(self, call: RequestSpec) -> Response[Any]:
        """Send *call* and return its response, after retries if needed."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return await self._once(call)
            except GatewayError as error:
                error.idempotency_key = call.effective_key
                if not call.may_retry(error):
                    raise
                await self._sleep(deadline.delay(error))

    async def _once(self, call: RequestSpec) -> Response[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = await self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as error:
            raise to_error(error, self._http.base_url) from error
        return _decode(call, response)
