"""Tool results: envelopes and errors as data and as text, limited to a size that agents accept."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic_core import from_json, to_json

from connector_gateway.core.calls.envelope import Envelope, error_envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.pages.text import visible
from connector_gateway.kit.errors import GatewayError, ResultTooLarge
from connector_gateway.kit.operation import AnyConnector, AnyOperation

MAX_BYTES = 128 * 1024
"""The maximum size of a result as JSON: about 30,000 words, which is what agents accept from one tool."""

MAX_READ_BYTES = 1024 * 1024
"""The size above which results of reads are rejected instead of shortened."""

DRY_RUN = "dry_run"
"""The name of the argument for a dry run, and of the field that replaces ``data`` in its result."""

TEXT_LIMITS = (20_000, 5_000, 1_000, 200)
"""The lengths to which texts are truncated, tried in order."""


def success_result(envelope: Envelope, operation: AnyOperation) -> CallToolResult:
    """Return the result of a successful call. Raises ``ResultTooLarge`` if a read returned too much."""
    text, body = truncate_result(envelope, operation)
    content: list[ContentBlock] = [TextContent(text=text.decode())]
    content += [TextContent(text=f"Warning: {warning}") for warning in envelope.warnings]
    return CallToolResult(content=[*content, *_resource_links(body.get("data"))], structured_content=body)


def truncate_result(envelope: Envelope, operation: AnyOperation) -> tuple[bytes, dict[str, Any]]:
    """Return an envelope as JSON and as data, with long texts truncated if it is large.

    Raises ``ResultTooLarge`` if that is not enough.
    """
    pieces = envelope.to_json()
    size = sum(map(len, pieces))
    # The result of a write is always returned, since the write took effect. A read can be repeated with a smaller page.
    if size > MAX_READ_BYTES and operation.scope == "read":
        raise _too_large(size)
    text = b"".join(map(bytes, pieces))
    body = from_json(text) | _header_fields(envelope)
    if size <= MAX_BYTES and not envelope.dry_run:
        return text, body
    body = body if size <= MAX_BYTES else _shorten(body, size, operation)
    # Under a separate name, so that agents do not mistake the plan for a result.
    body = {DRY_RUN if name == "data" and envelope.dry_run else name: value for name, value in body.items()}
    return to_json(body), body


def error_result(run: Run, connector: AnyConnector | None, error: GatewayError) -> CallToolResult:
    """Return the result of a call that ended with *error*, as text and as data."""
    body = error_envelope(run, connector, error)
    return CallToolResult(content=[TextContent(text=error_text(body))], structured_content=body, is_error=True)


def _header_fields(envelope: Envelope) -> dict[str, Any]:
    """Return the fields that HTTP responses carry in headers."""
    warnings = {"warnings": list(envelope.warnings)} if envelope.warnings else {}
    return warnings | ({"replayed": True} if envelope.replayed else {})


def _shorten(body: dict[str, Any], size: int, operation: AnyOperation) -> dict[str, Any]:
    """Return *body* with long texts truncated to fit. Results of writes are returned even if they do not fit."""
    for limit in TEXT_LIMITS:
        result: dict[str, Any] = body | {"data": _truncate(body["data"], limit), "shortened": True}
        if len(to_json(result)) <= MAX_BYTES:
            return result
    if operation.scope == "read":
        raise _too_large(size)
    return result


def _truncate(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… [cut: {limit:,} of {len(value):,} characters]"
    if isinstance(value, list):
        return [_truncate(item, limit) for item in value]
    if isinstance(value, dict):
        return {name: _truncate(item, limit) for name, item in value.items()}
    return value


def _too_large(size: int) -> ResultTooLarge:
    return ResultTooLarge(f"The result has {size:,} bytes, and tools return at most {MAX_BYTES:,}.")


def error_text(body: Mapping[str, Any]) -> str:
    """Return an error as text, the most useful lines first."""
    error = body["error"]
    lines = [f"{error['code']}: {error['message']}", f"What to do: {error['remedy']}"]
    lines += [f"Connect again: {one['reconnect_url']}" for one in error["details"] if "reconnect_url" in one]
    if "retry_after" in body:
        lines.append(f"Wait: {body['retry_after']} seconds.")
    # Details with only a code and a place repeat the first line.
    details = [detail for detail in error["details"] if detail.keys() - {"code", "place", "parameter"}]
    if details:
        lines.append(f"Details: {json.dumps(details, ensure_ascii=False, default=str)}")
    # Clients display it to people, and messages quote untrusted names and texts.
    return str(visible("\n".join([*lines, f"Run: {body['run_id']}"])))


def _resource_links(data: Any) -> Iterator[ContentBlock]:
    if isinstance(data, dict) and data.get("download_url"):
        yield ResourceLink(
            uri=data["download_url"],
            name=data["filename"],
            mime_type=data["mime_type"],
            size=data["size_bytes"],
            description=f"Can be fetched without a key until {data['expires_at']}.",
        )
