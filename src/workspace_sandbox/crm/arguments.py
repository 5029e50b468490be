"""Parsing of requests with the vendor's rules."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.kinds import KIND_NAMES, Kind
from workspace_sandbox.crm.wire import ApiError, invalid, malformed
from workspace_sandbox.kit.refusals import require

MOST_INPUTS = 100
MOST_DIGITS = 18


def kind_of(request: web.Request, name: str = "type") -> Kind:
    """Return the object type in the path, by its plural, singular or numeric name."""
    word = request.match_info[name]
    return require(KIND_NAMES.get(word.lower()), invalid(f"Unable to infer object type from: {word}"))


async def body(request: web.Request) -> Any:
    """Return the JSON body of the request."""
    if request.content_type != "application/json":
        raise ApiError(415, "VALIDATION_ERROR", "HTTP 415 Unsupported Media Type")
    try:
        return json.loads(await request.text())
    except (ValueError, LookupError) as error:
        raise malformed(str(error)) from None


async def record_body(request: web.Request) -> dict[str, Any]:
    """Return the JSON body of the request, which must be an object."""
    raw = await body(request)
    if not isinstance(raw, dict):
        raise malformed(f"Cannot deserialize value of type `Object` from {type(raw).__name__}")
    return raw


async def inputs(request: web.Request, most: int = MOST_INPUTS) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the body of a batch request and its inputs."""
    raw = await record_body(request)
    items = list_in(raw, "inputs")
    if not all(isinstance(one, dict) for one in items):
        raise malformed('Some required fields were not set: ["inputs"]')
    if not 0 < len(items) <= most:
        raise invalid(f"A batch takes between 1 and {most} inputs, received {len(items)}")
    return raw, items


def names(request: web.Request, parameter: str) -> list[str]:
    """Return a list parameter of the query, repeated or comma-separated."""
    return [name for values in request.query.getall(parameter, []) for name in values.split(",") if name]


def flag(request: web.Request, parameter: str) -> bool:
    """Return a boolean parameter of the query, False by default."""
    return request.query.get(parameter, "false").lower() == "true"


def whole(request: web.Request, parameter: str, default: int, most: int) -> int:
    """Return a positive integer parameter of the query."""
    text = request.query.get(parameter) or str(default)
    number = digits(text)
    if number is None or not 0 < number <= most:
        raise invalid(f"{parameter} must be between 1 and {most}, received {text}")
    return number


def cursor(request: web.Request) -> int:
    """Return the ID after which a page begins."""
    return position(request.query.get("after"))


def position(given: Any) -> int:
    """Return the ID in a cursor, or 0 without one."""
    return require(digits(str(given or "0")), invalid(f"after is not a valid cursor: {given}"))


def digits(text: str) -> int | None:
    """Return the number that *text* contains as digits, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def integer_in(raw: Mapping[str, Any], name: str, otherwise: int, *, least: int | None = None) -> int:
    """Return the integer *name*, or *otherwise* if it is missing.

    Raises an error for other values and below *least*.
    """
    value = raw.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
        raise malformed(f"Cannot deserialize value of type `int` ({name})")
    return value


def list_in(raw: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list *name*, or an empty one if it is missing. Raises an error for other values."""
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise malformed(f"Cannot deserialize value of type `ArrayList` from {type(value).__name__} ({name})")
    return value
