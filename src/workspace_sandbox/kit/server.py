"""Faults and request log in front of an emulator."""

import asyncio
from email.utils import formatdate

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.faults import Fault
from workspace_sandbox.kit.stage import EmulatorContext, RecordedRequest


def with_faults_and_log(emulator: Emulator, application: web.Application) -> web.Application:
    """*application* with faults and journal in front of everything else that *emulator* does."""
    stage = emulator.stage

    @web.middleware
    async def play(request: web.Request, handler: Handler) -> web.StreamResponse:
        stage.under_way += 1
        stage.change_count += 1
        try:
            response = await answer(request, handler)
        finally:
            stage.under_way -= 1
        # Of one time with all that the response tells: clients compare the two.
        if not response.prepared:
            response.headers.setdefault("Date", formatdate(stage.clock.now(), usegmt=True))
        return response

    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        at = stage.clock.now()
        fault = await stage.next_fault(request)
        # Served in full even for ``drop_after``: the fault is that the answer to finished work is lost.
        response = await _perform(emulator, fault, request, handler)
        stage.journal.append(RecordedRequest(at, request.method, request.path, response.status if response else None))
        if response is None or (fault and fault.fault == "drop_after"):
            return _cut(request)
        if fault and fault.fault == "status" and fault.served:
            return fault.answer()
        if fault and fault.fault == "garbage":
            return web.Response(status=response.status, body=b'{"broken": <html>\xff', content_type="application/json")
        if fault and fault.fault == "slow_body":
            return await _trickle(stage, fault, request, response)
        return response

    # First of all, so that a fault meets unknown routes and refusals as well.
    application.middlewares.insert(0, play)
    return application


async def _perform(
    emulator: Emulator, fault: Fault | None, request: web.Request, handler: Handler
) -> web.StreamResponse | None:
    stage = emulator.stage
    if fault and fault.fault == "drop_before":
        return None
    if fault and fault.fault == "status" and not fault.served:
        return fault.answer()
    if fault and fault.fault == "throttle":
        return emulator.refused(emulator.refusals.throttled(stage, fault.seconds), request)
    if fault and fault.fault == "delay":
        # Read first, so that the request has certainly arrived although its answer is late.
        await request.read()
        stage.delay(fault)
    if absent := emulator.coverage.absent(request):
        message = f"{request.method} {absent.path} is the vendor's, and this stand-in does not play it."
        return emulator.refused(emulator.refusals.absent(message), request)
    response = await handler(request)
    # Whoever was refused before it was counted waits all the same.
    await stage.admitted()
    return response


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        # Aborted and not closed: a client must see a broken connection, and no orderly end of an answer.
        request.transport.abort()
    raise asyncio.CancelledError


async def _trickle(
    stage: EmulatorContext, fault: Fault, request: web.Request, response: web.StreamResponse
) -> web.StreamResponse:
    body = response.body if isinstance(response, web.Response) and isinstance(response.body, bytes) else b""
    headers = {"Content-Type": response.content_type, "Date": formatdate(stage.clock.now(), usegmt=True)}
    slow = web.StreamResponse(status=response.status, headers=headers)
    await slow.prepare(request)
    steps = 20
    for step in range(steps):
        await slow.write(body[step * len(body) // steps : (step + 1) * len(body) // steps])
        await stage.wait_for_fault(fault, fault.seconds / steps)
    await slow.write_eof()
    return slow
