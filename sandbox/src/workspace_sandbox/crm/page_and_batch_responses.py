"""Responses with pages, and responses to batches."""

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.error_responses import ApiError
from workspace_sandbox.kit.clock import format_timestamp


def page_response(request: web.Request, results: list[dict[str, Any]], after: str | None, **more: Any) -> web.Response:
    """Return a page, with a link to the next one if there is one."""
    response: dict[str, Any] = {**more, "results": results}
    if after is not None:
        link = request.url.update_query(after=after)
        response["paging"] = {"next": {"after": after, "link": str(link)}}
    return web.json_response(response)


def batch_response(
    now: float, results: list[dict[str, Any]], errors: Iterable[ApiError] = (), *, status: int = 200
) -> web.Response:
    """Return the response to a batch, which is a 207 if there are errors."""
    at = format_timestamp(now)
    response: dict[str, Any] = {"status": "COMPLETE", "results": results, "startedAt": at, "completedAt": at}
    if failed := [error.entry() for error in errors]:
        response |= {"numErrors": len(failed), "errors": failed}
        # A partial failure has a successful status, which clients that check nothing else miss.
        status = 207
    return web.json_response(response, status=status)
