"""The question to a person, through the form of the agent's client, whether a write may be sent (elicitation).

Source: modelcontextprotocol.io/specification/2026-07-28 (client/elicitation, basic/patterns/mrtr), read 2026-11.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from connector_gateway.kit.errors import ConfirmationDeclined, ConfirmationRequired
from connector_gateway.mcp.elicitation_support import shows_forms
from connector_gateway.mcp.text_escaping import disarm, reveal
from connector_gateway.mcp.tools import Tool

QUESTION, FIELD = "confirmation", "confirm"
"""The name of the request in the result, and of the field in its form."""

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {FIELD: {"type": "boolean", "title": "Send it", "default": False}},
    "required": [FIELD],
}

MAX_CHARACTERS = 6_000
"""The maximum length of the shown dry run."""

MAX_TEXT_CHARACTERS = 2_000
"""The maximum length of one of its texts, so that a long one does not hide the others."""


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Return True if the client of *context* shows forms, and its protocol version has questions in results."""
    capabilities = context.session.client_capabilities
    return context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS and shows_forms(
        capabilities.elicitation if capabilities else None
    )


def question(error: ConfirmationRequired, tool: Tool, account: str) -> InputRequiredResult:
    """Return the question whether the dry run of *error* may be sent. The client repeats the call with the token."""
    params = ElicitRequestFormParams(message=_message(error.dry_run, tool, account), requested_schema=FORM)
    token = error.details[0]["confirmation_token"]
    return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=params)}, request_state=token)


def confirmed_token(params: CallToolRequestParams) -> str | None:
    """Return the token of a call that a person has confirmed, or None if nobody was asked or has answered.

    Raises ``ConfirmationDeclined``.
    """
    answer = (params.input_responses or {}).get(QUESTION)
    if params.request_state is None or not isinstance(answer, ElicitResult):
        return None
    # Nothing else of the form is read: it cannot change the call.
    if answer.action == "accept" and (answer.content or {}).get(FIELD) is True:
        return params.request_state
    closed = answer.action == "cancel"
    raise ConfirmationDeclined(f"The user {'closed the question' if closed else 'declined'}. Nothing was sent.")


def _message(dry_run: Mapping[str, Any], tool: Tool, account: str) -> str:
    """Return the question. Every line of third-party content is marked, so that none can imitate the others."""
    content: dict[str, Any] = {"account": account, "notifies": dry_run["notifies"], "refused": dry_run["refused"]}
    for number, one in enumerate(dry_run["requests"], 1):
        content[f"{number}. {one['step']}, {one['method']} {one['path']}"] = _content(one)
    content |= {f"{one['parameter']} ({one['type']})": one["written"] for one in dry_run["casts"]}
    text = disarm("\n".join(f"> {line}" for line in _lines(reveal(content))))
    left_out = len(text) - MAX_CHARACTERS
    return "\n".join(
        [
            f"{tool.declaration.title}. Nothing has been sent yet.",
            f"The lines after > are content of the agent and of {tool.connector.vendor}. Check them.",
            *([f"{left_out:,} more characters are not shown here. Decline if you need them."] if left_out > 0 else []),
            "",
            text[:MAX_CHARACTERS],
        ]
    )


def _content(request: Mapping[str, Any]) -> Any:
    """Return what a person can read of a withheld request, or its size."""
    content = request["body"] if request.get("preview") is None else request["preview"]
    return f"{request['body_bytes']:,} bytes" if content is None else content


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield *value* as indented lines, without empty values."""
    entries = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    for name, item in entries:
        if item is None or item in ("", [], {}):
            continue
        label = name if name == "-" else f"{name}:"
        nested = isinstance(item, dict | list)
        first, *rest = (label if nested else f"{label} {_shorten(str(item))}").splitlines()
        yield indent + first
        # Splits at all line ends, also in names, because each line has to be marked.
        yield from (f"{indent}  {line}" for line in rest)
        if nested:
            yield from _lines(item, f"{indent}  ")


def _shorten(text: str) -> str:
    left_out = len(text) - MAX_TEXT_CHARACTERS
    return text if left_out <= 0 else f"{text[:MAX_TEXT_CHARACTERS]} … ({left_out:,} more characters)"
