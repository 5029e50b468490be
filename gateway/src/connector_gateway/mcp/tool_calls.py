"""Tool calls of agents, which are performed like any other call."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from connector_gateway.core.access.keys import NEUTRALISE, Caller
from connector_gateway.core.call_executor import CallExecutor
from connector_gateway.core.calls.arguments import CONNECTION, Arguments, Body, decode
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.calls.response_envelope import Envelope
from connector_gateway.core.connections import UsableConnections
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.mcp.result_paging import CURSOR, Start, items_field
from connector_gateway.mcp.tools import CONFIRMATION, DRY_RUN, Tool

NULL = b"null"

Fields = dict[str, msgspec.Raw]
"""Unparsed arguments, since numbers are exact only in the JSON text."""


class _DryRunFlag(msgspec.Struct):
    """The part of the arguments that requests a dry run."""

    dry_run: Any = None


class ToolCaller:
    """Performs operations as tools. If no connection is specified, the only available one is used."""

    def __init__(self, executor: CallExecutor, choosing: UsableConnections) -> None:
        self._executor = executor
        self._choosing = choosing

    async def call(
        self,
        run: Run,
        caller: Caller,
        tool: Tool,
        arguments_json: bytes,
        confirmed_token: Callable[[], str | None] = lambda: None,
    ) -> Envelope:
        """Call *tool* with JSON *arguments_json* and return its envelope.

        *confirmed_token* returns the token of a write that a person has just confirmed, or raises.
        """
        arguments = Arguments(path={})
        run.dry_run = tool.operation.scope == "write" and _requests_dry_run(arguments_json)
        # The agent may act on instructions from untrusted content.
        run.mentions = None if caller.mentions == "allow" else NEUTRALISE
        read = partial(self._read, caller, tool, arguments, arguments_json, confirmed_token)
        return await self._executor.call(run, caller, tool.connector.name, tool.operation, arguments, read_body=read)

    async def _read(
        self,
        caller: Caller,
        tool: Tool,
        arguments: Arguments,
        arguments_json: bytes,
        confirmed_token: Callable[[], str | None],
    ) -> Body:
        """Return the body for *arguments_json*, and store fields that HTTP sends outside of the body in *arguments*."""
        fields = _decode(arguments_json)
        arguments.key = _pop_key(fields, tool.operation)
        _replace_cursor(fields, tool.operation)
        _pop_dry_run(fields, tool.operation)
        passed_on = _pop_confirmation(fields, tool.operation)
        arguments.confirmation = confirmed_token() or passed_on
        if bytes(fields.get(CONNECTION, NULL)) == NULL:
            fields.pop(CONNECTION, None)
            # In the query rather than in the body, so that the run records only parameters that the caller sent.
            arguments.query = [(CONNECTION, await self._choosing.resolve_single(caller, tool.connector.name))]
        return Body(msgspec.json.encode(fields))


def _decode(arguments_json: bytes) -> Fields:
    """Return the arguments by name. The protocol allows null for none. Raises ``InvalidParameters``."""
    try:
        return msgspec.json.decode(arguments_json, type=Fields | None) or {}
    except msgspec.ValidationError as error:
        raise InvalidParameters(
            "The arguments should be a JSON object, and not text that contains one.",
            {"parameter": "arguments", "message": "Input should be an object", "value": decode(arguments_json)},
        ) from error


def _replace_cursor(fields: Fields, operation: AnyOperation) -> None:
    """Replace a cursor for agents with that of the operation, if it has one. The operation validates other values."""
    value = decode(bytes(fields.get(CURSOR, NULL)))
    if items_field(operation) is None or not isinstance(value, str):
        return
    start = Start.parse(bytes(msgspec.json.encode({CURSOR: value})))
    fields.pop(CURSOR)
    if start.cursor:
        fields[CURSOR] = msgspec.Raw(msgspec.json.encode(start.cursor))


def _requests_dry_run(arguments_json: bytes) -> bool:
    """Return True if the arguments request a dry run. Invalid arguments are reported when they are read."""
    try:
        return msgspec.json.decode(arguments_json, type=_DryRunFlag).dry_run is True
    except msgspec.DecodeError:
        return False


def _pop_dry_run(fields: Fields, operation: AnyOperation) -> None:
    """Remove the dry-run flag from *fields*. Raises ``InvalidParameters`` if it is not a boolean."""
    if operation.scope == "read" or DRY_RUN not in fields:
        return
    value: Any = msgspec.json.decode(fields.pop(DRY_RUN))
    if value is not None and not isinstance(value, bool):
        raise InvalidParameters(
            f"Parameter {DRY_RUN} is invalid.",
            {"parameter": DRY_RUN, "message": "Input should be a valid boolean", "value": value},
        )


def _pop_confirmation(fields: Fields, operation: AnyOperation) -> str | None:
    """Remove the confirmation token from *fields* and return it. Anything but text is no valid token."""
    if operation.scope == "read" or CONFIRMATION not in fields:
        return None
    token = msgspec.json.decode(fields.pop(CONFIRMATION))
    return None if token is None else str(token)


def _pop_key(fields: Fields, operation: AnyOperation) -> NormalizedKey | None:
    """Remove the idempotency key from *fields* and return it, unless it is a body field of the operation."""
    if operation.scope == "read" or IDEMPOTENCY_FIELD in operation.parameters or IDEMPOTENCY_FIELD not in fields:
        return None
    # Use the decoder of bodies, which passes lone surrogates on to the validation of keys.
    key = decode(bytes(fields.pop(IDEMPOTENCY_FIELD)))
    if key is not None and not isinstance(key, str):
        raise InvalidParameters(
            f"Parameter {IDEMPOTENCY_FIELD} is invalid.",
            {"parameter": IDEMPOTENCY_FIELD, "message": "Input should be a valid string", "value": key},
        )
    return None if key is None else NormalizedKey.parse(key)
