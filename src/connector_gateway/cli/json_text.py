"""JSON that somebody typed."""

from typing import Any

from connector_gateway.core.arguments import decode
from connector_gateway.kit.errors import InvalidJson


def value_of(text: str) -> Any:
    """The value of a JSON text; ``ValueError`` says what is wrong with it."""
    try:
        return decode(text.encode())
    except InvalidJson as fault:
        raise ValueError(fault.message.partition(": ")[2].rstrip(".")) from fault
