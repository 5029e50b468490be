"""Reading requests the way the vendor does."""

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
    """The object type in the path, by its plural, singular or numeric name."""
    word = request.match_info[name]
    return require(KIND_NAMES.get(word.lower()), invalid(f"Unable to infer object type from: {word}"))


async def body(request: web.Request) -> Any:
    """The JSON of the request."""
    if request.content_type != "application/json":
        raise ApiError(415, "VALIDATION_ERROR", "HTTP 415 Unsupported Media Type")
    try:
        return json.loads(await request.text())
    except (ValueError, LookupError) as error:
        raise malformed(str(error)) from None


async def record_body(request: web.Request) -> dict[str, Any]:
    """The JSON object of the request."""
    raw = await body(request)
    if not isinstance(raw, dict):
        raise malformed(f"Cannot deserialize value of type `Object` from {type(raw).__name__}")
    return raw


async def inputs(request: web.Request, most: int = MOST_INPUTS) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The body of a batch and its inputs."""
    raw = await record_body(request)
    given = list_in(raw, "inputs")
    if not all(isinstance(one, dict) for one in given):
        raise malformed('Some required fields were not set: ["inputs"]')
    if not 0 < len(given) <= most:
        raise invalid(f"A batch takes between 1 and {most} inputs, received {len(given)}")
    return raw, given


def names(request: web.Request, parameter: str) -> list[str]:
    """A list in the query, repeated or joined by commas."""
    return [name for given in request.query.getall(parameter, []) for name in given.split(",") if name]


def flag(request: web.Request, parameter: str) -> bool:
    """A boolean in the query, false when absent."""
    return request.query.get(parameter, "false").lower() == "true"


def whole(request: web.Request, parameter: str, default: int, most: int) -> int:
    """A positive number in the query."""
    text = request.query.get(parameter) or str(default)
    number = digits(text)
    if number is None or not 0 < number <= most:
        raise invalid(f"{parameter} must be between 1 and {most}, received {text}")
    return number


def cursor(request: web.Request) -> int:
    """The id behind which a list goes on."""
    return position(request.query.get("after"))


def position(given: Any) -> int:
    """The id that a cursor stands for; 0 without one."""
    return require(digits(str(given or "0")), invalid(f"after is not a valid cursor: {given}"))


def digits(text: str) -> int | None:
    """The number that *text* spells in plain digits, if it does."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def integer_in(raw: Mapping[str, Any], name: str, otherwise: int, *, least: int | None = None) -> int:
    """The integer under *name*, *otherwise* when absent; refused if it is something else or below *least*."""
    given = raw.get(name, otherwise)
    if not isinstance(given, int) or isinstance(given, bool) or (least is not None and given < least):
        raise malformed(f"Cannot deserialize value of type `int` ({name})")
    return given


def list_in(raw: Mapping[str, Any], name: str) -> list[Any]:
    """The list under *name*, empty when absent; refused if it is something else."""
    given = raw.get(name)
    if given is None:
        return []
    if not isinstance(given, list):
        raise malformed(f"Cannot deserialize value of type `ArrayList` from {type(given).__name__} ({name})")
    return given
