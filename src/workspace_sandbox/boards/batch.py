"""Answers to several questions at once."""

import re
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.wire import Refusal

MOST_IN_BATCH = 10
PART_NAMES = {400: "BadRequestError", 401: "UnauthorizedError", 404: "NotFoundError"}
_COMMA = re.compile(r",(?=/|%2[Ff])")


def urls(arguments: Arguments) -> list[str]:
    """The parts of a batch; commas inside a part do not separate unless a path follows them."""
    found = [unquote(url) if url.startswith("%") else url for url in _COMMA.split(str(arguments.raw("urls") or ""))]
    if not 1 <= len(found) <= MOST_IN_BATCH or not all(url.startswith("/") for url in found):
        raise arguments.refusal("urls")
    return found


def batch(ask: ApiRequest) -> Any:
    """The answers of several GET routes, in order, refusals among them."""
    return [_part(ask, url) for url in urls(ask.arguments)]


def _part(ask: ApiRequest, url: str) -> dict[str, Any]:
    try:
        return {"200": ask.get(url)}
    except web.HTTPNotFound:
        refusal = Refusal(404, f"Cannot GET /1{url}")
    except Refusal as refused:
        refusal = refused
    message = refusal.body if isinstance(refusal.body, str) else refusal.body["message"]
    return {"name": PART_NAMES.get(refusal.status, "Error"), "message": message, "statusCode": refusal.status}
