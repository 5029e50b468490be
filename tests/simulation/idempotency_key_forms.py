"""The forms of one idempotency key: headers, bodies and tools."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import quote

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import all_errors
from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.kit.operation import AnyOperation
from simulation.killable_process import Reply

Form = Literal["header", "padded", "display", "decomposed", "body", "both", "tool"]
FORMS: tuple[Form, ...] = get_args(Form)
STATUSES = {error.code: error.status for error in all_errors()}


@dataclass(frozen=True)
class Request:
    """A request in one of the forms."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any

    def reply(self, reply: Reply) -> Reply:
        """Return the response in the form of the route's response."""
        if self.path != "/mcp" or reply.status != 200:
            return reply
        content = reply.body["result"]["structuredContent"]
        return Reply(STATUSES[content["error"]["code"]] if "error" in content else 200, content)


def format_key(key: str) -> str:
    """Return the text of a key, with non-ASCII and composed characters."""
    return f"clé {key}"


def request(connector: str, api_call: tuple[str, str, dict[str, Any]], key: str | None, form: Form) -> Request:
    """Return the request for a write under *key* in a *form*."""
    method, path, body = api_call
    address = f"/v1/connectors/{connector}{path}"
    if key is None:
        return Request(method, address, {}, body)
    text = format_key(key)
    operation, named = _operation(connector, method, path)
    if form == "tool":
        return _tool(connector, operation, {**named, **body, IDEMPOTENCY_FIELD: text})
    in_body = form in {"body", "both"} and IDEMPOTENCY_FIELD in operation.parameters
    sent_body = {**body, IDEMPOTENCY_FIELD: f" {text}"} if in_body else body
    headers = {} if in_body and form == "body" else {"idempotency-key": _header(text, form)}
    return Request(method, address, headers, sent_body)


def _header(text: str, form: Form) -> str:
    match form:
        case "padded":
            return f"  {text}\t"
        case "display":
            return f'%"{quote(text)}"'
        case "decomposed":
            return unicodedata.normalize("NFD", text)
        case _:
            return text


def _operation(connector: str, method: str, path: str) -> tuple[AnyOperation, dict[str, str]]:
    """Return the operation of a path, and its path parameters."""
    segments = path.split("/")
    for operation in CONNECTORS[connector].operations:
        declared = operation.path.split("/")
        if operation.method == method and len(declared) == len(segments):
            pairs = list(zip(declared, segments, strict=True))
            if all(name == value or name.startswith("{") for name, value in pairs):
                return operation, {name[1:-1]: value for name, value in pairs if name.startswith("{")}
    raise LookupError(path)


def _tool(connector: str, operation: AnyOperation, arguments: Mapping[str, Any]) -> Request:
    params = {"name": f"{connector}_{operation.name}", "arguments": arguments}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Request("POST", "/mcp", {"host": "127.0.0.1", **headers}, message)
