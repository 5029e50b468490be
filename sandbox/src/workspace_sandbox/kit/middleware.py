"""Fault injection and request logging in front of an emulator."""

import asyncio
from email.utils import formatdate

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import EmulatorContext, RecordedRequest
from workspace_sandbox.kit.faults import Fault


def with_faults_and_log(emulator: Emulator, application: web.Application) -> web.Application:
    """Add fault injection and request logging to *application*, in front of the handlers of *emulator*."""
    context = emulator.context

    @web.middleware
    async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
        context.requests_in_progress += 1
        context.change_count += 1
        try:
            response = await respond(request, handler)
        finally:
            context.requests_in_progress -= 1
        # The same clock as in the body, because clients compare the two.
        if not response.prepared:
            response.headers.setdefault("Date", formatdate(context.clock.now(), usegmt=True))
        return response

    async def respond(request: web.Request, handler: Handler) -> web.StreamResponse:
        at = context.clock.now()
        fault = await context.next_fault(request)
        # Served completely even for ``drop_after``: the fault is that the response to finished work is lost.
        response = await _perform(emulator, fault, request, handler)
        context.request_log.append(
            RecordedRequest(at, request.method, request.path, response.status if response else None)
        )
        if response is None or (fault and fault.fault == "drop_after"):
            return _abort(request)
        if fault and fault.fault == "status" and fault.served:
            return fault.response()
        if fault and fault.fault == "garbage":
            return web.Response(status=response.status, body=b'{"broken": <html>\xff', content_type="application/json")
        if fault and fault.fault == "slow_body":
            return await _send_slowly(context, fault, request, response)
        return response

    # The first middleware, so that faults also affect unknown routes and error responses.
    application.middlewares.insert(0, handle)
    return application


async def _perform(
    emulator: Emulator, fault: Fault | None, request: web.Request, handler: Handler
) -> web.StreamResponse | None:
    context = emulator.context
    if fault and fault.fault == "drop_before":
        return None
    if fault and fault.fault == "status" and not fault.served:
        return fault.response()
    if fault and fault.fault == "throttle":
        return emulator.error_response(emulator.errors.throttled(context, fault.seconds), request)
    if fault and fault.fault == "delay":
        # Read first, so that the request was certainly received although its response is late.
        await request.read()
        context.delay_request(fault)
    if absent := emulator.coverage.find_unsupported(request):
        message = f"{request.method} {absent.path} is a route of the vendor, but this emulator does not support it."
        return emulator.error_response(emulator.errors.not_implemented(message), request)
    response = await handler(request)
    # Requests that were rejected before they were counted wait as well.
    await context.wait_if_delayed()
    false_fact = emulator.false_facts.get(context.knobs["lie"])
    return await false_fact.apply(request, response) if false_fact else response


def _abort(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        # Aborted and not closed, so that the client sees a broken connection instead of a truncated response.
        request.transport.abort()
    raise asyncio.CancelledError


async def _send_slowly(
    context: EmulatorContext, fault: Fault, request: web.Request, response: web.StreamResponse
) -> web.StreamResponse:
    body = response.body if isinstance(response, web.Response) and isinstance(response.body, bytes) else b""
    headers = {"Content-Type": response.content_type, "Date": formatdate(context.clock.now(), usegmt=True)}
    slow = web.StreamResponse(status=response.status, headers=headers)
    await slow.prepare(request)
    steps = 20
    for step in range(steps):
        await slow.write(body[step * len(body) // steps : (step + 1) * len(body) // steps])
        await context.wait_for_fault(fault, fault.seconds / steps)
    await slow.write_eof()
    return slow
