"""A field that the vendor documents is not reported as a change of its API."""

import json
from importlib.resources import files
from typing import Any

import pytest
from msgspec import inspect

from connector_gateway.connectors.mail import UNREAD_FIELDS, vendor_models

DOCUMENT = files("googleapiclient") / "discovery_cache" / "documents" / "gmail.v1.json"


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        (vendor_models.MessageList, "ListMessagesResponse"),
        (vendor_models.Listed, "Message"),
        (vendor_models.Message, "Message"),
        (vendor_models.Part, "MessagePart"),
        (vendor_models.Content, "MessagePartBody"),
        (vendor_models.Thread, "Thread"),
        (vendor_models.Draft, "Draft"),
        (vendor_models.Label, "Label"),
        (vendor_models.Profile, "Profile"),
        (vendor_models.SendAs, "SendAs"),
    ],
)
def test_every_documented_field_is_read_or_listed(model: Any, schema: str) -> None:
    documented = json.loads(DOCUMENT.read_text(encoding="utf-8"))["schemas"][schema]["properties"]
    shape = inspect.type_info(model)
    assert isinstance(shape, inspect.StructType)

    assert set() == set(documented) - UNREAD_FIELDS - {field.encode_name for field in shape.fields}
