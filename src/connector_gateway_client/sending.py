"""Sends calls, again where that is safe and worth while, within the time that a caller has."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from connector_gateway_client.answers import Response
from connector_gateway_client.calls import RequestSpec, parse_response, retry_delay
from connector_gateway_client.errors import OutcomeUnknown
from connector_gateway_client.refusals import ConnectionFailed, GatewayError, InvalidResponse

Now = Callable[[], float]


class _Deadline:
    """How long a call may go on, by a clock that nobody sets."""

    def __init__(self, seconds: float, now: Now) -> None:
        self._now = now
        self._ends = now() + seconds
        self._attempt = 0

    def pause(self, error: GatewayError) -> float:
        """Return the seconds until the next attempt, or raise *error* if none can succeed in time.

        A write in doubt is attempted once more at the end, since the service then may know more.
        """
        self._attempt += 1
        seconds, left = retry_delay(self._attempt, error), self._ends - self._now()
        if seconds is not None and seconds > left > 0 and isinstance(error, OutcomeUnknown):
            return left
        if seconds is None or seconds > left:
            raise error
        return seconds


def _answered(call: RequestSpec, response: httpx.Response) -> Response[Any]:
    return parse_response(response.status_code, response.headers, response.content, dry_run=call.dry_run)


def _unanswered(fault: httpx.RequestError, address: httpx.URL) -> GatewayError:
    if isinstance(fault, httpx.DecodingError):
        return InvalidResponse("What came is compressed in a way that cannot be read.")
    reason = str(fault).rstrip(".") or type(fault).__name__
    return ConnectionFailed(f"No answer came from {str(address).rstrip('/')}: {reason}.")


class SyncTransport:
    """Sends calls and waits for their answers."""

    def __init__(
        self,
        http: httpx.Client,
        retry_seconds: float,
        sleep: Callable[[float], object] = time.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    def send(self, call: RequestSpec) -> Response[Any]:
        """The answer to *call*."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return self._once(call)
            except GatewayError as error:
                error.idempotency_key = call.sent_key
                self._sleep(deadline.pause(error))

    def _once(self, call: RequestSpec) -> Response[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as fault:
            raise _unanswered(fault, self._http.base_url) from fault
        return _answered(call, response)


class AsyncTransport:
    """The same to be awaited."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        retry_seconds: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    async def send(self, call: RequestSpec) -> Response[Any]:
        """The answer to *call*."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return await self._once(call)
            except GatewayError as error:
                error.idempotency_key = call.sent_key
                await self._sleep(deadline.pause(error))

    async def _once(self, call: RequestSpec) -> Response[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = await self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as fault:
            raise _unanswered(fault, self._http.base_url) from fault
        return _answered(call, response)
