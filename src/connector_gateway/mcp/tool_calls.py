"""Calls of agents: their arguments, passed on to the one way of a call."""

from functools import partial
from typing import Any

import msgspec

from connector_gateway.core.access.keys import NEUTRALISE, Caller
from connector_gateway.core.calls.arguments import CONNECTION, Arguments, Body, decode
from connector_gateway.core.calls.envelope import Envelope
from connector_gateway.core.calls.gateway import Gateway
from connector_gateway.core.connections import ConnectionSelector
from connector_gateway.core.history.runs import Run
from connector_gateway.core.writes.key_text import KeyText
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD
from connector_gateway.mcp.results import DRY_RUN
from connector_gateway.mcp.tools import Tool

NULL = b"null"

Fields = dict[str, msgspec.Raw]
"""Arguments as they came: numbers are exact only in the text itself."""


class _DryRunFlag(msgspec.Struct):
    """Of arguments, only whether nothing is to be written."""

    dry_run: Any = None


class ToolCaller:
    """Performs operations as tools; a connection that is not named is found where there is only one."""

    def __init__(self, gateway: Gateway, choosing: ConnectionSelector) -> None:
        self._gateway = gateway
        self._choosing = choosing

    async def envelope(self, run: Run, caller: Caller, tool: Tool, given: bytes) -> Envelope:
        """The envelope of *tool*, called with the arguments *given* as JSON."""
        arguments = Arguments(path={})
        run.dry_run = tool.operation.scope == "write" and _asks_for_dry_run(given)
        # What an agent writes may be what a stranger told it to.
        run.mentions = None if caller.mentions == "allow" else NEUTRALISE
        read = partial(self._read, caller, tool, arguments, given)
        return await self._gateway.call(run, caller, tool.connector.name, tool.operation, arguments, read_body=read)

    async def _read(self, caller: Caller, tool: Tool, arguments: Arguments, given: bytes) -> Body:
        """The body for *given*; what travels beside a body elsewhere is put into *arguments*."""
        # The protocol lets clients write null for no arguments.
        fields = msgspec.json.decode(given, type=Fields | None) or {}
        arguments.key = _taken_key(fields, tool.operation)
        _take_dry_run(fields, tool.operation)
        if bytes(fields.get(CONNECTION, NULL)) == NULL:
            fields.pop(CONNECTION, None)
            # Beside the body rather than in it, so that a run tells what the caller has sent.
            arguments.query = [(CONNECTION, await self._choosing.resolve_single(caller, tool.connector.name))]
        return Body(msgspec.json.encode(fields))


def _asks_for_dry_run(given: bytes) -> bool:
    """Whether nothing is to be written; what is wrong with the arguments is told when they are read."""
    try:
        return msgspec.json.decode(given, type=_DryRunFlag).dry_run is True
    except msgspec.DecodeError:
        return False


def _take_dry_run(fields: Fields, operation: AnyOperation) -> None:
    """Take out of *fields* whether nothing is to be written; what is neither true nor false must not be guessed."""
    if operation.scope == "read" or DRY_RUN not in fields:
        return
    wanted: Any = msgspec.json.decode(fields.pop(DRY_RUN))
    if wanted is not None and not isinstance(wanted, bool):
        raise InvalidParameters(
            f"Parameter {DRY_RUN} cannot be used as given.",
            {"parameter": DRY_RUN, "message": "Input should be a valid boolean", "value": wanted},
        )


def _taken_key(fields: Fields, operation: AnyOperation) -> KeyText | None:
    """The idempotency key, taken out of *fields* where the operation has none in its body."""
    if operation.scope == "read" or IDEMPOTENCY_FIELD in operation.parameters or IDEMPOTENCY_FIELD not in fields:
        return None
    # By the decoder of bodies, which lets halves of surrogate pairs through to the check of keys.
    key = decode(bytes(fields.pop(IDEMPOTENCY_FIELD)))
    if key is not None and not isinstance(key, str):
        raise InvalidParameters(
            f"Parameter {IDEMPOTENCY_FIELD} cannot be used as given.",
            {"parameter": IDEMPOTENCY_FIELD, "message": "Input should be a valid string", "value": key},
        )
    return None if key is None else KeyText.of(key)
