"""Parsing of requests with the vendor's rules."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.data.object_types import KIND_NAMES, ObjectType
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed
from workspace_sandbox.kit.error_responses import require

MAX_INPUTS = 100
MAX_DIGITS = 18


def read_kind(request: web.Request, name: str = "type") -> ObjectType:
    """Return the object type in the path, by its plural, singular or numeric name."""
    word = request.match_info[name]
    return require(KIND_NAMES.get(word.lower()), invalid(f"Unable to infer object type from: {word}"))


async def read_body(request: web.Request) -> Any:
    """Return the JSON body of the request."""
    if request.content_type != "application/json":
        raise ApiError(415, "VALIDATION_ERROR", "HTTP 415 Unsupported Media Type")
    try:
        return json.loads(await request.text())
    except (ValueError, LookupError) as error:
        raise malformed(str(error)) from None


async def read_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON body of the request, which must be an object."""
    raw = await read_body(request)
    if not isinstance(raw, dict):
        raise malformed(f"Cannot deserialize value of type `Object` from {type(raw).__name__}")
    return raw


async def read_inputs(request: web.Request, maximum: int = MAX_INPUTS) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the body of a batch request and its inputs."""
    raw = await read_object(request)
    items = read_list(raw, "inputs")
    if not all(isinstance(one, dict) for one in items):
        raise malformed('Some required fields were not set: ["inputs"]')
    if not 0 < len(items) <= maximum:
        raise invalid(f"A batch takes between 1 and {maximum} inputs, received {len(items)}")
    return raw, items


def read_names(request: web.Request, parameter: str) -> list[str]:
    """Return a list parameter of the query, repeated or comma-separated."""
    return [name for values in request.query.getall(parameter, []) for name in values.split(",") if name]


def read_flag(request: web.Request, parameter: str) -> bool:
    """Return a boolean parameter of the query, False by default."""
    return request.query.get(parameter, "false").lower() == "true"


def positive_int(request: web.Request, parameter: str, default: int, maximum: int) -> int:
    """Return a positive integer parameter of the query."""
    text = request.query.get(parameter) or str(default)
    number = parse_digits(text)
    if number is None or not 0 < number <= maximum:
        raise invalid(f"{parameter} must be between 1 and {maximum}, received {text}")
    return number


def read_cursor(request: web.Request) -> int:
    """Return the ID after which a page begins."""
    return parse_cursor(request.query.get("after"))


def parse_cursor(value: Any) -> int:
    """Return the ID in a cursor, or 0 without one."""
    return require(parse_digits(str(value or "0")), invalid(f"after is not a valid cursor: {value}"))


def parse_digits(text: str) -> int | None:
    """Return the number that *text* contains as digits, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None


def read_integer(raw: Mapping[str, Any], name: str, otherwise: int, *, least: int | None = None) -> int:
    """Return the integer *name*, or *otherwise* if it is missing.

    Raises an error for other values and below *least*.
    """
    value = raw.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
        raise malformed(f"Cannot deserialize value of type `int` ({name})")
    return value


def read_list(raw: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list *name*, or an empty one if it is missing. Raises an error for other values."""
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise malformed(f"Cannot deserialize value of type `ArrayList` from {type(value).__name__} ({name})")
    return value
