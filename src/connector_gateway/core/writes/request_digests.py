"""Digests of what a call asks for, by which a repeat under its idempotency key is compared with it."""

import hashlib
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD, Params


class Asked(NamedTuple):
    """Digests of the object that a call acts on, and of its other parameters."""

    target: str
    parameters: str


def asked(operation: AnyOperation, params: Params) -> Asked:
    """Return the digests of a call."""
    target: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in vars(params).items():
        # Null means the same as leaving the parameter out, and so does the parameter of a later release.
        if value is not None and name != IDEMPOTENCY_FIELD:
            (target if name in operation.target_names else others)[name] = value
    return Asked(_digest(target), _digest(others))


def _plain(value: Any) -> Any:
    return vars(value) if isinstance(value, BaseModel) else str(value)


_ORDERED = msgspec.json.Encoder(enc_hook=_plain, order="deterministic")


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(_ORDERED.encode(content)).hexdigest()
