"""The control routes, with which tests inspect and change the emulators.

They are served on the sandbox's own port only.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from aiohttp import web

from workspace_sandbox.control_openapi import openapi
from workspace_sandbox.kit.clock import ControllableClock, format_timestamp
from workspace_sandbox.kit.deliberate_deviations import false_fact_field
from workspace_sandbox.kit.emulator import MAX_REQUEST_BYTES, Emulator
from workspace_sandbox.kit.faults import parse_fault
from workspace_sandbox.kit.input_validation import (
    Field,
    InvalidInput,
    flag,
    non_negative_int,
    non_negative_number,
    numbers,
    read,
    suggest,
    text,
    texts,
)
from workspace_sandbox.kit.user_actions import actions_json
from workspace_sandbox.origin_check import reject_cross_origin
from workspace_sandbox.snapshots import Snapshots, parse_snapshot_name

DONE = {"done": True}
SECONDS_SUFFIX = "_seconds"
ROUTES_HINT = (
    "This port controls the emulators, which listen on the next ports: GET /_control/openapi.json lists all routes, "
    "such as POST /_control/reset, GET and POST /_control/clock, and below /_control/<connector> GET and DELETE "
    "requests, GET, POST and DELETE faults, POST knobs, revoke, authorise and act, GET acts and coverage."
)
"""The hint in the response to an unknown control route."""


class ControlTarget(Protocol):
    """The sandbox that the control routes act on."""

    address: str
    emulators: dict[str, Emulator]
    clock: ControllableClock

    @property
    def released(self) -> Callable[[], None]:
        """Return the callback for when throttled clients may send requests again."""

    def reset(self) -> None:
        """Restore the initial state."""

    snapshots: Snapshots

    def save(self, name: str) -> None:
        """Save the complete state under *name*."""

    def load(self, name: str) -> None:
        """Restore the state that was saved under *name*."""

    def forget(self, name: str) -> None:
        """Delete the snapshot *name*."""


EmulatorHandler = Callable[[Emulator, Mapping[str, Any]], Any]
"""Reads or changes one emulator, with the parameters of a request body."""

SandboxHandler = Callable[[ControlTarget, Mapping[str, Any]], Any]
"""Reads or changes the sandbox as a whole."""


@dataclass(frozen=True, slots=True)
class ControlRoute:
    """A control route. Routes of one emulator are below ``/_control/{connector}``."""

    method: str
    path: str
    handler: EmulatorHandler | None = None
    sandbox_handler: SandboxHandler | None = None
    releases_throttled: bool = False
    """Whether throttled clients may send requests again afterwards."""
    operation_id: str = ""
    """The operationId in the OpenAPI document, by default the name of the handler."""

    @property
    def operation(self) -> tuple[str, str, str, Any]:
        """The method, path, operationId and handler."""
        handler: Any = self.handler or self.sandbox_handler
        return self.method, self.path, self.operation_id or handler.__name__, handler


def create_control_app(sandbox: ControlTarget, host: str) -> web.Application:
    """Create the web application with the control routes of *sandbox*, which listens on *host*."""

    async def unknown(request: web.Request) -> web.Response:
        return _error_response(404, f"No control route is {request.method} {request.path}. {ROUTES_HINT}")

    application = web.Application(
        middlewares=[reject_cross_origin(host, _error_response)], client_max_size=MAX_REQUEST_BYTES
    )
    for route in CONTROLS:
        application.router.add_route(route.method, route.path, _handler(sandbox, route))
    # The last route, so that it also matches wrong methods.
    application.router.add_route("*", "/{path:.*}", unknown)
    return application


def _handler(sandbox: ControlTarget, route: ControlRoute) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            content = _call_route(sandbox, route, request, await _body(request))
            if route.releases_throttled:
                sandbox.released()
            return _respond(200, content)
        except UnknownEmulator as error:
            return _error_response(404, str(error))
        except InvalidInput as error:
            return _error_response(400, str(error))
        except (TypeError, ValueError, KeyError) as error:
            return _error_response(422, f"{type(error).__name__}: {error}")

    return handle


def _call_route(sandbox: ControlTarget, route: ControlRoute, request: web.Request, body: Mapping[str, Any]) -> Any:
    if route.sandbox_handler is not None:
        return route.sandbox_handler(sandbox, body)
    emulator = sandbox.emulators.get(request.match_info["connector"])
    if emulator is None:
        raise UnknownEmulator(f"Unknown emulator; running: {', '.join(sandbox.emulators)}.")
    # A request that only reads leaves the initial state intact, so that a later reset is free.
    if request.method != "GET":
        emulator.context.change_count += 1
    return route.handler(emulator, body) if route.handler else DONE


class UnknownEmulator(Exception):
    """The emulator in the path does not exist."""


async def _body(request: web.Request) -> Mapping[str, Any]:
    content = await request.read()
    if not content.strip():
        return {}
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object.")
    return body


def read_journal(emulator: Emulator, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all requests since the log was last cleared, oldest first."""
    return emulator.context.request_log.to_json()


def clear_journal(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Clear the request log."""
    emulator.context.request_log.clear()
    return DONE


def list_faults(emulator: Emulator, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all faults since they were last cleared, with the counts of matched, affected and remaining requests."""
    return [fault.to_json() for fault in emulator.context.faults]


def add_fault(emulator: Emulator, options: Mapping[str, Any]) -> dict[str, Any]:
    """Add a fault for the next matching requests."""
    emulator.context.faults.append(parse_fault(options))
    return DONE


def clear_faults(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Remove all faults. Delayed requests continue immediately."""
    emulator.context.clear_faults()
    return DONE


def set_knobs(emulator: Emulator, options: Mapping[str, Any]) -> dict[str, Any]:
    """Set knobs of the emulator, and return all of them. Invalid values are rejected."""
    readers = {"lie": false_fact_field(emulator.false_facts), **emulator.knob_readers}
    emulator.context.knobs.update(parse_knobs(options, emulator.context.default_knobs, readers))
    return dict(emulator.context.knobs)


def parse_knobs(
    changes: Mapping[str, Any], defaults: Mapping[str, Any], readers: Mapping[str, Field]
) -> dict[str, Any]:
    """Validate the knob *changes* by the *readers*, or by the types of the *defaults*.

    Raises ``InvalidInput`` with all errors.
    """
    errors: list[str] = []
    for name, value in changes.items():
        if name not in defaults:
            errors.append(f"Unknown knob {name!r}; {suggest(name, defaults)}")
            continue
        try:
            (readers.get(name) or _knob_reader(name, defaults[name]))(value)
        except ValueError as error:
            errors.append(f"{name} {error}.")
    if errors:
        raise InvalidInput(" ".join(errors))
    # Values are not converted, so that an integer is returned as one.
    return dict(changes)


def _knob_reader(name: str, default: Any) -> Field:
    """Return the reader of the knob *name*, by the type of *default*."""
    if isinstance(default, list | tuple):
        return numbers if name.endswith(SECONDS_SUFFIX) else texts
    if isinstance(default, float) or name.endswith(SECONDS_SUFFIX):
        return non_negative_number
    return {bool: flag, int: non_negative_int, str: text}[type(default)]


def revoke(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Revoke all authorisations."""
    emulator.revoke()
    return DONE


def authorise(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Restore all revoked authorisations."""
    emulator.authorise()
    return DONE


def get_coverage(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the support of every route in the vendor's published document: done, partly, or absent."""
    return emulator.coverage.to_json()


def act(emulator: Emulator, action: Mapping[str, Any]) -> dict[str, Any]:
    """Perform a user action in the application."""
    return emulator.perform(action)


def list_acts(emulator: Emulator, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the user actions of the application with their fields."""
    return actions_json(emulator.user_actions)


def describe(sandbox: ControlTarget, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return this document."""
    return openapi((route.operation for route in CONTROLS), sandbox.address, sandbox.emulators)


def reset(sandbox: ControlTarget, _: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the initial state: objects, knobs, request logs, faults, authorisations and the clock."""
    sandbox.reset()
    return {"reset": list(sandbox.emulators)}


def get_clock(sandbox: ControlTarget, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the time that all emulators use, and whether the clock is frozen."""
    now = sandbox.clock.now()
    return {
        "now": now,
        "at": format_timestamp(now),
        "frozen": sandbox.clock.frozen,
        "steered": sandbox.clock.is_adjusted,
    }


def set_clock(sandbox: ControlTarget, options: Mapping[str, Any]) -> dict[str, Any]:
    """Release, freeze, set and advance the clock, in order: ``machine``, ``frozen``, ``now``, ``advance_seconds``."""
    changes = read(options, CLOCK)
    if changes.get("machine"):
        sandbox.clock.release()
    if "frozen" in changes:
        (sandbox.clock.freeze if changes["frozen"] else sandbox.clock.run)()
    if "now" in changes:
        sandbox.clock.set(changes["now"])
    if "advance_seconds" in changes:
        sandbox.clock.set(min(sandbox.clock.now() + changes["advance_seconds"], LATEST))
    return get_clock(sandbox, {})


def list_snapshots(sandbox: ControlTarget, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the snapshots."""
    return {"snapshots": sandbox.snapshots.names()}


def save(sandbox: ControlTarget, options: Mapping[str, Any]) -> dict[str, Any]:
    """Save the state of all emulators, with their knobs and the clock, under a name."""
    sandbox.save(read(options, NAMED, required=NAMED)["name"])
    return list_snapshots(sandbox, {})


def load(sandbox: ControlTarget, options: Mapping[str, Any]) -> dict[str, Any]:
    """Restore a saved state. Faults, request logs and pending deliveries are cleared."""
    sandbox.load(read(options, NAMED, required=NAMED)["name"])
    return DONE


def forget(sandbox: ControlTarget, options: Mapping[str, Any]) -> dict[str, Any]:
    """Delete a snapshot."""
    sandbox.forget(read(options, NAMED, required=NAMED)["name"])
    return list_snapshots(sandbox, {})


NAMED: Mapping[str, Field] = {"name": parse_snapshot_name}

LATEST = 253_370_764_800.0
"""The start of the year 9999, near the end of the range of Python's dates."""


def _instant(value: Any) -> float:
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("must be seconds since 1970, or a timestamp such as 2026-11-22T12:00:00Z") from None
        if at.tzinfo is None:
            raise ValueError("must name its time zone, such as Z")
        value = max(0.0, at.timestamp())
    if non_negative_number(value) > LATEST:
        raise ValueError("must be before the year 9999")
    return non_negative_number(value)


CLOCK: Mapping[str, Field] = {"now": _instant, "advance_seconds": non_negative_number, "frozen": flag, "machine": flag}

HERE = "/_control/{connector}"
CONTROLS: Sequence[ControlRoute] = (
    ControlRoute("GET", "/_control/openapi.json", sandbox_handler=describe),
    ControlRoute("POST", "/_control/reset", sandbox_handler=reset, releases_throttled=True),
    ControlRoute("GET", "/_control/clock", sandbox_handler=get_clock, operation_id="tell_clock"),
    ControlRoute("POST", "/_control/clock", sandbox_handler=set_clock, releases_throttled=True),
    ControlRoute("GET", "/_control/snapshots", sandbox_handler=list_snapshots),
    ControlRoute("POST", "/_control/save", sandbox_handler=save),
    ControlRoute("POST", "/_control/load", sandbox_handler=load, releases_throttled=True),
    ControlRoute("POST", "/_control/forget", sandbox_handler=forget),
    ControlRoute("GET", f"{HERE}/requests", read_journal),
    ControlRoute("DELETE", f"{HERE}/requests", clear_journal),
    ControlRoute("GET", f"{HERE}/faults", list_faults),
    ControlRoute("POST", f"{HERE}/faults", add_fault),
    ControlRoute("DELETE", f"{HERE}/faults", clear_faults, releases_throttled=True),
    ControlRoute("POST", f"{HERE}/knobs", set_knobs, operation_id="turn_knobs"),
    ControlRoute("POST", f"{HERE}/revoke", revoke),
    ControlRoute("POST", f"{HERE}/authorise", authorise),
    ControlRoute("POST", f"{HERE}/act", act),
    ControlRoute("GET", f"{HERE}/acts", list_acts),
    ControlRoute("GET", f"{HERE}/coverage", get_coverage, operation_id="tell_coverage"),
)
"""All control routes: those of the sandbox first, then those of one emulator."""


def _error_response(status: int, message: str) -> web.Response:
    return _respond(status, {"error": message})


def _respond(status: int, content: Any) -> web.Response:
    """Return a JSON response that ends with a newline for terminals."""
    return web.json_response(text=f"{json.dumps(content)}\n", status=status)
