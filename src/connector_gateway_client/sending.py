"""Sends calls, again where that is safe and worth while, within the time that a caller has."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from connector_gateway_client.answers import Answer
from connector_gateway_client.calls import Call, answer_of, pause_before
from connector_gateway_client.refusals import GatewayError, NoAnswer, UnreadableAnswer

Now = Callable[[], float]


class _Deadline:
    """How long a call may go on, by a clock that nobody sets."""

    def __init__(self, seconds: float, now: Now) -> None:
        self._now = now
        self._ends = now() + seconds
        self._attempt = 0

    def pause(self, error: GatewayError) -> float:
        """Seconds to wait before the next attempt; raises *error* where none is left or worth while."""
        self._attempt += 1
        seconds = pause_before(self._attempt, error)
        if seconds is None or self._now() + seconds > self._ends:
            raise error
        return seconds


def _answered(call: Call, response: httpx.Response) -> Answer[Any]:
    return answer_of(response.status_code, response.headers, response.content, dry_run=call.dry_run)


def _unanswered(fault: httpx.RequestError) -> GatewayError:
    if isinstance(fault, httpx.DecodingError):
        return UnreadableAnswer("What came is compressed in a way that cannot be read.")
    return NoAnswer(f"No answer came: {str(fault).rstrip('.') or type(fault).__name__}.")


class Sending:
    """Sends calls and waits for their answers."""

    def __init__(
        self,
        http: httpx.Client,
        retry_seconds: float,
        sleep: Callable[[float], object] = time.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    def send(self, call: Call) -> Answer[Any]:
        """The answer to *call*."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return self._once(call)
            except GatewayError as error:
                self._sleep(deadline.pause(error))

    def _once(self, call: Call) -> Answer[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as fault:
            raise _unanswered(fault) from fault
        return _answered(call, response)


class AsyncSending:
    """The same to be awaited."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        retry_seconds: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._http, self._retry_seconds, self._sleep, self._now = http, retry_seconds, sleep, now

    async def send(self, call: Call) -> Answer[Any]:
        """The answer to *call*."""
        deadline = _Deadline(self._retry_seconds, self._now)
        while True:
            try:
                return await self._once(call)
            except GatewayError as error:
                await self._sleep(deadline.pause(error))

    async def _once(self, call: Call) -> Answer[Any]:
        headers = {**call.headers, b"Content-Type": b"application/json"} if call.body else call.headers
        try:
            response = await self._http.request(
                call.method, call.path, params=call.query or None, content=call.body, headers=headers
            )
        except httpx.RequestError as fault:
            raise _unanswered(fault) from fault
        return _answered(call, response)
