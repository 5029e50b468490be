"""Results of tools: envelopes and errors as agents read them, as data and as text, never larger than they can take."""

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
"""Of a result as JSON: some 30,000 words, which is about what agents take of one tool."""

MAX_READ_BYTES = 1024 * 1024
"""What is not even read in order to be shortened."""

DRY_RUN = "dry_run"
"""What is told in place of ``data`` where nothing was written; so is the argument that asks for it."""

TEXT_LIMITS = (20_000, 5_000, 1_000, 200)
"""Characters after which texts are cut, tried in turn."""


def success_result(envelope: Envelope, operation: AnyOperation) -> CallToolResult:
    """The result of a call that went well; ``ResultTooLarge`` where too much was read."""
    text, body = truncate_result(envelope, operation)
    content: list[ContentBlock] = [TextContent(text=text.decode())]
    content += [TextContent(text=f"Warning: {warning}") for warning in envelope.warnings]
    return CallToolResult(content=[*content, *_resource_links(body.get("data"))], structured_content=body)


def truncate_result(envelope: Envelope, operation: AnyOperation) -> tuple[bytes, dict[str, Any]]:
    """An envelope as JSON and as data, with long texts cut where it is large; ``ResultTooLarge`` beyond that."""
    pieces = envelope.to_json()
    size = sum(map(len, pieces))
    # A write has happened, so its result is read and cut at any price; a read can be asked for less.
    if size > MAX_READ_BYTES and operation.scope == "read":
        raise _too_large(size)
    text = b"".join(map(bytes, pieces))
    body = from_json(text) | _told(envelope)
    if size <= MAX_BYTES and not envelope.dry_run:
        return text, body
    body = body if size <= MAX_BYTES else _shortened(body, size, operation)
    # Under a name of its own, so that nobody takes what would be done for what was done.
    body = {DRY_RUN if name == "data" and envelope.dry_run else name: value for name, value in body.items()}
    return to_json(body), body


def failed(run: Run, connector: AnyConnector, error: GatewayError) -> CallToolResult:
    """The result of a call that ended with *error*, in words and as data."""
    body = error_envelope(run, connector, error)
    return CallToolResult(content=[TextContent(text=error_text(body))], structured_content=body, is_error=True)


def _told(envelope: Envelope) -> dict[str, Any]:
    """What headers tell elsewhere."""
    warnings = {"warnings": list(envelope.warnings)} if envelope.warnings else {}
    return warnings | ({"replayed": True} if envelope.replayed else {})


def _shortened(body: dict[str, Any], size: int, operation: AnyOperation) -> dict[str, Any]:
    """*body* with long texts cut, so that it is small enough; a write has happened, and is told in any case."""
    for limit in TEXT_LIMITS:
        found: dict[str, Any] = body | {"data": _cut(body["data"], limit), "shortened": True}
        if len(to_json(found)) <= MAX_BYTES:
            return found
    if operation.scope == "read":
        raise _too_large(size)
    return found


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… [cut: {limit:,} of {len(value):,} characters]"
    if isinstance(value, list):
        return [_cut(item, limit) for item in value]
    if isinstance(value, dict):
        return {name: _cut(item, limit) for name, item in value.items()}
    return value


def _too_large(size: int) -> ResultTooLarge:
    return ResultTooLarge(f"The result has {size:,} bytes, and a tool gives {MAX_BYTES:,} at most.")


def error_text(body: Mapping[str, Any]) -> str:
    """An error as sentences, the most useful first."""
    error = body["error"]
    lines = [f"{error['code']}: {error['message']}", f"What to do: {error['remedy']}"]
    lines += [f"Connect again: {one['reconnect_url']}" for one in error["details"] if "reconnect_url" in one]
    if "retry_after" in body:
        lines.append(f"Wait: {body['retry_after']} seconds.")
    # The code and the place alone say nothing that the first line does not.
    details = [detail for detail in error["details"] if detail.keys() - {"code", "place", "parameter"}]
    if details:
        lines.append(f"Details: {json.dumps(details, ensure_ascii=False, default=str)}")
    # Clients show it to people too, and messages quote names and texts that others chose.
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
