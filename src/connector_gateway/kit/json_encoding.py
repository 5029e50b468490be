"""JSON texts of plain values: what is sent to third parties, planned, and kept of it.

pydantic writes whatever a model may hold, and takes two to four times as long. A write is put into JSON four times
(decision 73).
"""

from typing import Any

import msgspec
from pydantic_core import to_jsonable_python

_ENCODER = msgspec.json.Encoder(enc_hook=to_jsonable_python)


def encode_json(value: Any) -> bytes:
    """*value*, made of what JSON has, as JSON; what JSON has not is written as answers have it."""
    return _ENCODER.encode(value)
