"""The format of JSON-RPC messages. Source: jsonrpc.org/specification, read 2026-11."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from connector_gateway.core.error_serialization import validation_details
from connector_gateway.kit.errors import InvalidMessage

RESPONSE_FIELDS = ("result", "error")
"""The fields that a response of a client has instead of ``method``."""


def _identifier(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("identifier", "Should be a string or an integer")
    return value


class Message(BaseModel):
    """A request, or a notification if it has no ``id``."""

    model_config = ConfigDict(strict=True)

    jsonrpc: Literal["2.0"]
    method: str
    id: Annotated[Any, AfterValidator(_identifier)] = 0
    params: dict[str, Any] | None = None


def validate_message(value: Any) -> None:
    """Raise ``InvalidMessage`` with all violations, unless *value* is a valid message."""
    if not isinstance(value, dict):
        raise InvalidMessage("A message must be a JSON object. Batches are not supported.")
    if "method" not in value and any(name in value for name in RESPONSE_FIELDS):
        return
    try:
        Message.model_validate(value)
    except ValidationError as error:
        violations = validation_details(error)
        names = ", ".join(str(one["parameter"]) for one in violations)
        raise InvalidMessage(f"The message is not valid JSON-RPC 2.0: see {names}.", *violations) from error
