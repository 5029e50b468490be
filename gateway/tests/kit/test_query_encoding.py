"""The encoding of query strings."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from connector_gateway.kit.upstream import client


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 20, "page_token": "a_b", "q": "from:a@b after:1 ü", "flag": True, "none": ""},
        [("filter_properties", "title"), ("filter_properties", "a%3Ab"), ("x y", "~-._/+&=")],
        {"digits": "١٢", "letters": "Größe"},
    ],
)
def test_a_query_is_encoded_like_a_form(query: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> None:
    assert f"?{urlencode(query)}" == client._encode_query(query)
