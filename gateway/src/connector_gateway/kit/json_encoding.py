"""JSON encoding of plain values: requests to vendors, plans and stored results.

pydantic supports everything that a model may contain, and takes two to four times as long. A write is encoded as JSON
four times.
"""

from typing import Any

import msgspec
from pydantic_core import to_jsonable_python

_ENCODER = msgspec.json.Encoder(enc_hook=to_jsonable_python)


def encode_json(value: Any) -> bytes:
    """Encode *value*, which consists of JSON types, as JSON. Other types are encoded as in responses."""
    return _ENCODER.encode(value)
