"""The control routes: what tests read and set, on the sandbox's own port only."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.faults import Fault
from workspace_sandbox.kit.server import application

Steer = Callable[[Emulator, Mapping[str, Any]], Any]
DONE = {"done": True}
THERE_IS = (
    "This port steers the stand-ins, which answer on the next ports: POST /_control/reset, and below "
    "/_control/<connector> GET and DELETE requests, POST and DELETE faults, POST knobs, revoke, authorise and act."
)
"""What somebody is told who asks this port for something else."""

FAULT_FIELDS = {field.name for field in fields(Fault)}


def control(emulators: Mapping[str, Emulator]) -> web.Application:
    """The control application over *emulators*, by connector name."""

    def steered(steer: Steer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            emulator = emulators.get(request.match_info["connector"])
            if emulator is None:
                return _refuse(404, f"No emulator of that name; there are {', '.join(emulators)}.")
            try:
                body = await request.json() if request.body_exists else {}
                return web.json_response(steer(emulator, body))
            except (TypeError, ValueError, KeyError) as fault:
                return _refuse(422, f"{type(fault).__name__}: {fault}")

        return handle

    async def unknown(request: web.Request) -> web.Response:
        return _refuse(404, f"There is nothing at {request.method} {request.path}. {THERE_IS}")

    async def reset_all(_: web.Request) -> web.Response:
        for emulator in emulators.values():
            emulator.stage.reset()
            emulator.reset()
        return web.json_response({"reset": list(emulators)})

    prefix = "/_control/{connector}"
    return application(
        [
            web.post("/_control/reset", reset_all),
            web.get(f"{prefix}/requests", steered(read_journal)),
            web.delete(f"{prefix}/requests", steered(clear_journal)),
            web.post(f"{prefix}/faults", steered(add_fault)),
            web.delete(f"{prefix}/faults", steered(clear_faults)),
            web.post(f"{prefix}/knobs", steered(turn_knobs)),
            web.post(f"{prefix}/revoke", steered(revoke)),
            web.post(f"{prefix}/authorise", steered(authorise)),
            web.post(f"{prefix}/act", steered(lambda emulator, action: emulator.act(action))),
            # Last of all, so that a wrong method is told here, too.
            web.route("*", "/{path:.*}", unknown),
        ]
    )


def read_journal(emulator: Emulator, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every exchange since the last clearing, oldest first."""
    return [asdict(exchange) for exchange in emulator.stage.journal]


def clear_journal(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Forget the exchanges so far."""
    emulator.stage.journal.clear()
    return DONE


def add_fault(emulator: Emulator, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Add a fault for the next matching requests."""
    emulator.stage.faults.append(Fault(**{name: value for name, value in wanted.items() if name in FAULT_FIELDS}))
    return DONE


def clear_faults(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Remove all faults; requests that a fault holds up go on at once."""
    emulator.stage.forget_faults()
    return DONE


def turn_knobs(emulator: Emulator, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Change knobs of the emulator; an unknown one is refused with those there are."""
    # A misspelt knob that is accepted would make a test pass for the wrong reason.
    unknown = wanted.keys() - emulator.stage.default_knobs.keys()
    if unknown:
        message = f"no knob {', '.join(sorted(unknown))}; there are {', '.join(emulator.stage.default_knobs)}"
        raise ValueError(message)
    emulator.stage.knobs.update(wanted)
    return dict(emulator.stage.knobs)


def revoke(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Withdraw every authorisation there is."""
    emulator.revoke()
    return DONE


def authorise(emulator: Emulator, _: Mapping[str, Any]) -> dict[str, Any]:
    """Give all of it back."""
    emulator.authorise()
    return DONE


def _refuse(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)
