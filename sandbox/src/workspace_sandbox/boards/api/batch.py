"""Batch requests."""

import re
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.error_responses import ApiError
from workspace_sandbox.boards.request import ApiRequest

MAX_BATCH_URLS = 10
PART_NAMES = {400: "BadRequestError", 401: "UnauthorizedError", 404: "NotFoundError"}
_COMMA = re.compile(r",(?=/|%2[Ff])")


def urls(arguments: Arguments) -> list[str]:
    """Return the URLs of a batch. A comma separates URLs only if a path follows it."""
    parts = [unquote(url) if url.startswith("%") else url for url in _COMMA.split(str(arguments.raw("urls") or ""))]
    if not 1 <= len(parts) <= MAX_BATCH_URLS or not all(url.startswith("/") for url in parts):
        raise arguments.error("urls")
    return parts


def batch(request: ApiRequest) -> Any:
    """Return the responses of several GET routes in order, including errors."""
    return [_part(request, url) for url in urls(request.arguments)]


def _part(request: ApiRequest, url: str) -> dict[str, Any]:
    try:
        return {"200": request.get(url)}
    except web.HTTPNotFound:
        problem = ApiError(404, f"Cannot GET /1{url}")
    except ApiError as error:
        problem = error
    message = problem.body if isinstance(problem.body, str) else problem.body["message"]
    return {"name": PART_NAMES.get(problem.status, "Error"), "message": message, "statusCode": problem.status}
