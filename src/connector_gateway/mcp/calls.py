"""Calls of agents: their arguments, passed on to the one way of a call."""

from functools import partial
from typing import Any

import msgspec

from connector_gateway.core.arguments import CONNECTION, Arguments, Body
from connector_gateway.core.connections import Choosing
from connector_gateway.core.envelope import Envelope
from connector_gateway.core.gateway import Gateway
from connector_gateway.core.keys import Caller
from connector_gateway.core.runs import Run
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD
from connector_gateway.mcp.tools import Tool

NULL = b"null"

Fields = dict[str, msgspec.Raw]
"""Arguments as they came: numbers are exact only in the text itself."""


class Calls:
    """Performs operations as tools; a connection that is not named is found where there is only one."""

    def __init__(self, gateway: Gateway, choosing: Choosing) -> None:
        self._gateway = gateway
        self._choosing = choosing

    async def envelope(self, run: Run, caller: Caller, tool: Tool, given: bytes) -> Envelope:
        """The envelope of *tool*, called with the arguments *given* as JSON."""
        arguments = Arguments(path={})
        read = partial(self._read, caller, tool, arguments, given)
        return await self._gateway.call(run, caller, tool.connector, tool.operation, arguments, read_body=read)

    async def _read(self, caller: Caller, tool: Tool, arguments: Arguments, given: bytes) -> Body:
        """The body for *given*; what travels beside a body elsewhere is put into *arguments*."""
        # The protocol lets clients write null for no arguments.
        fields = msgspec.json.decode(given, type=Fields | None) or {}
        arguments.idempotency_header = _taken_key(fields, tool.operation)
        if bytes(fields.get(CONNECTION, NULL)) == NULL:
            fields.pop(CONNECTION, None)
            # Beside the body rather than in it, so that a run tells what the caller has sent.
            arguments.query = [(CONNECTION, await self._choosing.only(caller, tool.connector))]
        return Body(msgspec.json.encode(fields))


def _taken_key(fields: Fields, operation: AnyOperation) -> str | None:
    """The idempotency key, taken out of *fields* where the operation has none in its body."""
    if operation.scope == "read" or IDEMPOTENCY_FIELD in operation.parameters or IDEMPOTENCY_FIELD not in fields:
        return None
    key: Any = msgspec.json.decode(fields.pop(IDEMPOTENCY_FIELD))
    if key is not None and not isinstance(key, str):
        raise InvalidParameters(
            f"Parameter {IDEMPOTENCY_FIELD} cannot be used as given.",
            {"parameter": IDEMPOTENCY_FIELD, "message": "Input should be a valid string", "value": key},
        )
    return key
