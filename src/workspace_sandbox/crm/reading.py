"""Reading requests the way the vendor does, and the answers that several routes share."""

import json
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.catalogue import KIND_NAMES, Kind
from workspace_sandbox.crm.rejections import Rejection, invalid, malformed
from workspace_sandbox.crm.shapes import digits, list_in
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.values import timestamp

MOST_INPUTS = 100


def kind_of(request: web.Request, name: str = "type") -> Kind:
    """The object type in the path, by its plural, singular or numeric name."""
    word = request.match_info[name]
    kind = KIND_NAMES.get(word.lower())
    if kind is None:
        raise invalid(f"Unable to infer object type from: {word}")
    return kind


async def body(request: web.Request) -> Any:
    """The JSON of the request."""
    if request.content_type != "application/json":
        raise Rejection(415, "VALIDATION_ERROR", "HTTP 415 Unsupported Media Type")
    try:
        return json.loads(await request.text())
    except (ValueError, LookupError) as fault:
        raise malformed(str(fault)) from None


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
    number = digits(str(given or "0"))
    if number is None:
        raise invalid(f"after is not a valid cursor: {given}")
    return number


def paged(request: web.Request, results: list[dict[str, Any]], after: str | None, **more: Any) -> web.Response:
    """A page, which says where the next one starts if there is one."""
    answer: dict[str, Any] = {**more, "results": results}
    if after is not None:
        link = request.url.update_query(after=after)
        answer["paging"] = {"next": {"after": after, "link": str(link)}}
    return web.json_response(answer)


def batch(
    portal: Portal, results: list[dict[str, Any]], errors: Iterable[Rejection] = (), *, status: int = 200
) -> web.Response:
    """The answer to a batch; with errors beside the results it is a 207."""
    at = timestamp(portal.now)
    answer: dict[str, Any] = {"status": "COMPLETE", "results": results, "startedAt": at, "completedAt": at}
    if failed := [error.entry() for error in errors]:
        answer |= {"numErrors": len(failed), "errors": failed}
        status = 207
    return web.json_response(answer, status=status)
