"""Digests of a call's parameters, to compare a repeat under an idempotency key with the first call."""

import hashlib
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from connector_gateway.kit.models import IDEMPOTENCY_FIELD, Params
from connector_gateway.kit.operation import AnyOperation


class RequestDigests(NamedTuple):
    """Digests of the parameters that name the target of a call, and of its other parameters."""

    target: str
    parameters: str


def digest_request(operation: AnyOperation, params: Params) -> RequestDigests:
    """Return the digests of a call."""
    target: dict[str, Any] = {}
    others: dict[str, Any] = {}
    target_names = operation.target_names
    for name, value in vars(params).items():
        # Null means the same as an omitted parameter, so parameters added by a later release do not change digests.
        if value is not None and name != IDEMPOTENCY_FIELD:
            (target if name in target_names else others)[name] = value
    return RequestDigests(_digest(target), _digest(others))


def _to_plain(value: Any) -> Any:
    return vars(value) if isinstance(value, BaseModel) else str(value)


_ORDERED = msgspec.json.Encoder(enc_hook=_to_plain, order="deterministic")


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(_ORDERED.encode(content)).hexdigest()
