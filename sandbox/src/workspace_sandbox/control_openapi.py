"""The OpenAPI document of the control routes, for programs in other languages."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from workspace_sandbox.kit.faults import KINDS
from workspace_sandbox.version import VERSION

TEXT, WHOLE, NUMBER, FLAG = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))
OBJECT: Mapping[str, Any] = {"type": "object"}
INSTANT: Mapping[str, Any] = {
    "oneOf": [{"type": "number"}, {"type": "string", "format": "date-time"}],
    "description": "Seconds since 1970, or a timestamp with its time zone.",
}


def _object(required: Iterable[str] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def _list_of(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


FAULT: Mapping[str, Any] = {
    "fault": {"enum": list(KINDS)},
    "times": {**WHOLE, "minimum": 0, "default": 1},
    "method": TEXT,
    "path": {**TEXT, "description": "The beginning of the path.", "default": "/"},
    "token": {**TEXT, "description": "The access token that the request presents."},
    "after": {**WHOLE, "minimum": 0, "description": "The number of matching requests to serve normally first."},
    "probability": {**NUMBER, "minimum": 0, "maximum": 1, "default": 1},
    "seed": {**WHOLE, "minimum": 0, "description": "The seed of the random numbers for probability."},
    "status": {**WHOLE, "minimum": 200, "maximum": 599, "default": 500},
    "headers": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
    "body": {"description": "A string is sent unchanged; any other value is sent as JSON."},
    "seconds": {**NUMBER, "minimum": 0},
    "served": {**FLAG, "default": False},
}
EXCHANGE = _object(
    ("at", "method", "path", "status"), at=NUMBER, method=TEXT, path=TEXT, status={"type": ["integer", "null"]}
)
CLOCK = _object(("now", "at", "frozen", "steered"), now=NUMBER, at=TEXT, frozen=FLAG, steered=FLAG)
DONE = _object(("done",), done={"const": True})
NAMED = _object(("name",), name={**TEXT, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"})
SNAPSHOTS = _object(("snapshots",), snapshots=_list_of(TEXT))
ROUTE = _object(
    ("method", "path", "support"),
    method=TEXT,
    path=TEXT,
    support={"enum": ["done", "partly", "absent"]},
    lacks={**TEXT, "description": "The unsupported features."},
)
COVERAGE = _object(
    ("source", "read_at", "done", "partly", "absent", "routes"),
    source=TEXT,
    read_at={**TEXT, "format": "date"},
    done=WHOLE,
    partly=WHOLE,
    absent=WHOLE,
    routes=_list_of(ROUTE),
)
ACT = _object(
    ("action", "does", "fields", "answers"),
    action=TEXT,
    does=TEXT,
    fields=_list_of({"type": "object", "properties": {"name": TEXT, "needed": FLAG, "about": TEXT}}),
    answers=TEXT,
)
ERROR = _object(("error",), error=TEXT)

BODIES: Mapping[str, Any] = {
    "add_fault": _object(("fault",), **FAULT),
    "turn_knobs": OBJECT,
    "act": {"type": "object", "properties": {"action": TEXT}, "required": ["action"]},
    "set_clock": _object(
        now=INSTANT, advance_seconds={**NUMBER, "minimum": 0}, frozen=FLAG, machine={**FLAG, "default": False}
    ),
    "save": NAMED,
    "load": NAMED,
    "forget": NAMED,
}
"""Schemas of the request bodies by operationId. Other routes have no body."""

RESPONSES: Mapping[str, Any] = {
    "reset": _object(("reset",), reset=_list_of(TEXT)),
    "tell_clock": CLOCK,
    "set_clock": CLOCK,
    "list_snapshots": SNAPSHOTS,
    "save": SNAPSHOTS,
    "forget": SNAPSHOTS,
    "read_journal": _list_of(EXCHANGE),
    "list_faults": _list_of(_object(("fault",), **FAULT, matched=WHOLE, done=WHOLE, left=WHOLE)),
    "turn_knobs": OBJECT,
    "act": OBJECT,
    "list_acts": _list_of(ACT),
    "tell_coverage": COVERAGE,
    "describe": OBJECT,
}
"""Schemas of the responses by operationId. Other routes return ``DONE``."""


def openapi(routes: Iterable[tuple[str, str, str, Any]], address: str, connectors: Iterable[str]) -> dict[str, Any]:
    """Return the OpenAPI document of *routes*, each given by its method, path, operationId and handler."""
    names = list(connectors)
    paths: dict[str, dict[str, Any]] = {}
    for method, path, name, handler in routes:
        paths.setdefault(path, {})[method.lower()] = _operation(path, name, handler, names)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Workspace sandbox: control routes", "version": VERSION},
        "servers": [{"url": address}],
        "paths": paths,
        "components": {"schemas": {"Error": ERROR}},
    }


def _operation(path: str, name: str, handler: Any, connectors: list[str]) -> dict[str, Any]:
    response = RESPONSES.get(name, DONE)
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": re.sub(r"``", "`", (handler.__doc__ or "").partition("\n")[0]),
        "responses": {
            "200": {"description": "Done.", "content": _json(response)},
            "4XX": {
                "description": "Rejected.",
                "content": _json({"$ref": "#/components/schemas/Error"}),
            },
        },
    }
    if "{connector}" in path:
        operation["parameters"] = [
            {"name": "connector", "in": "path", "required": True, "schema": {"type": "string", "enum": connectors}}
        ]
    if name in BODIES:
        operation["requestBody"] = {"required": True, "content": _json(BODIES[name])}
    return operation


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
