"""Batches: several requests in one ``multipart/mixed`` body, and their responses in another."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

from workspace_sandbox.mail.api.uploads import read_part
from workspace_sandbox.mail.data.mime_parser import parse_parameters, read_headers, split_head, split_sections
from workspace_sandbox.mail.error_responses import ApiError, invalid
from workspace_sandbox.mail.raw_http import HttpRequest, Reply

# The discovery document names the second path. The batching guide shows both.
PATHS = ("/batch", "/batch/gmail/v1")
MAX_INNER = 100
REQUEST_LINE = re.compile(
    rb"\s*(?P<verb>[A-Za-z]+) +(?:https?://[^/\s]*)?(?P<path>/[^?\s]*)(?:\?(?P<query>\S*))?"
    rb"(?: +HTTP/[\d.]+)?[ \t]*(?:\r?\n|\Z)"
)
Inner = tuple[str, HttpRequest]


def read_batch(http_request: HttpRequest) -> list[Inner]:
    """Return the requests in the batch, each with its ``Content-ID``. They inherit the batch's credential."""
    media_type, options = parse_parameters(http_request.headers.get("content-type", ""))
    boundary = options.get("boundary", "")
    if media_type != "multipart/mixed" or not boundary:
        raise _batch_error("The batch request must be multipart/mixed with a boundary.")
    spans = split_sections(http_request.body, 0, len(http_request.body), boundary.encode("latin-1", "replace"))
    if not spans:
        raise _batch_error("The batch request contains no calls.")
    # The guide recommends at most fifty. The hard limit is a hundred.
    if len(spans) > MAX_INNER:
        raise invalid(f"Inner request count exceeds the limit. Received: {len(spans)}, Limit: {MAX_INNER}")
    return [_read_inner(http_request, start, end) for start, end in spans]


def write_batch(replies: Sequence[tuple[str, Reply]], boundary: str) -> Reply:
    """Combine *replies* into one response, each under the ``Content-ID`` of its request."""
    dashes = f"--{boundary}".encode()
    parts = [dashes + b"\r\n" + _write_part(content_id, reply) + b"\r\n" for content_id, reply in replies]
    content = b"".join(parts) + dashes + b"--\r\n"
    return Reply(200, content, {"Content-Type": f"multipart/mixed; boundary={boundary}"})


def _read_inner(outer: HttpRequest, start: int, end: int) -> Inner:
    part = read_part(outer.body, start, end)
    line = REQUEST_LINE.match(outer.body, part.start, part.end)
    if not line or part.mime_type != "application/http":
        raise _batch_error("A part of the batch request is not an HTTP request.")
    head_end, body = split_head(outer.body, line.end(), part.end)
    headers = {name.lower(): value for name, value in read_headers(outer.body, line.end(), head_end)}
    verb, path, query = ((line[name] or b"").decode("latin-1") for name in ("verb", "path", "query"))
    # The other outer headers do not apply to the inner requests.
    shared = {name: value for name, value in outer.headers.items() if name == "authorization"}
    pairs = parse_qsl(query, keep_blank_values=True)
    inner = HttpRequest(verb.upper(), unquote(path), pairs, shared | headers, outer.body[body : part.end], outer.origin)
    return part.header("Content-ID") or "", inner


def _write_part(content_id: str, reply: Reply) -> bytes:
    echoed = f"Content-ID: <response-{content_id.strip().strip('<>')}>\r\n" if content_id else ""
    status = HTTPStatus(reply.status)
    headers = {**reply.headers, "Content-Length": str(len(reply.content))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"Content-Type: application/http\r\n{echoed}\r\nHTTP/1.1 {status.value} {status.phrase}\r\n{lines}\r\n"
    return head.encode("latin-1", "replace") + reply.content


def _batch_error(reason: str) -> ApiError:
    return ApiError(400, "INVALID_ARGUMENT", "badRequest", f"Failed to parse batch request, error: {reason}")
