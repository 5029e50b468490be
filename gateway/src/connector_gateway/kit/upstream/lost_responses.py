"""Calls that lose a response of the vendor on purpose, to check that their write happens once nevertheless."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from connector_gateway.kit.upstream.budget import Reservation
from connector_gateway.kit.upstream.client import Request, UpstreamClient
from connector_gateway.kit.upstream.http_origin import begin_at_any_time
from connector_gateway.kit.upstream.memory_budget import ResponseMeter
from connector_gateway.kit.upstream.pool import NO_SECRETS, ConnectionLost, Transport, UpstreamResponse


class ResponseLosingClient(UpstreamClient):
    """A client that loses the response to the first request that writes."""

    is_lost: bool = False

    async def _send_once(
        self, request: Request, secrets: Mapping[str, str], reservation: Reservation, queued: float
    ) -> UpstreamResponse:
        if self.is_lost or not request.writes:
            return await super()._send_once(request, secrets, reservation, queued)
        shared = self.service
        self.service = replace(shared, transport=_ClosingTransport(shared.transport))
        try:
            return await super()._send_once(request, secrets, reservation, queued)
        except ConnectionLost:
            self.is_lost = True
            raise
        finally:
            self.service = shared


class _ClosingTransport(Transport):
    """Sends through the pool of another transport, and closes each connection as soon as the request is sent."""

    def __init__(self, pool: Transport) -> None:
        self._pool = pool

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        meter: ResponseMeter | None = None,
        *,
        begin: Callable[[], bool] = begin_at_any_time,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> UpstreamResponse:
        loop = asyncio.get_running_loop()

        # The pool writes the request without awaiting anything in between, so the timeout ends the first wait after it.
        def begin_and_close() -> bool:
            begins = begin()
            if begins:
                closing.reschedule(loop.time())
            return begins

        try:
            async with asyncio.timeout(None) as closing:
                return await self._pool.send(method, url, headers, body, meter, begin=begin_and_close, secrets=secrets)
        except TimeoutError as error:
            raise ConnectionLost("The gateway closed the connection, as the caller requested.") from error
