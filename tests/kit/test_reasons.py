"""What callers are told of a vendor's reasons."""

from typing import Any

import pytest

from connector_gateway.kit.reasons import MAX_MESSAGE, vendor_reason


@pytest.mark.parametrize(
    ("code", "message", "told"),
    [
        ("invalid", "Bad value.", [{"vendor_code": "invalid", "vendor_message": "Bad value."}]),
        ("invalid", None, [{"vendor_code": "invalid"}]),
        (None, {"text": "odd"}, []),
        (400, "  \n ", []),
        ("", "two\nlines\u202e", [{"vendor_message": "two lines"}]),
        ("", "token=abc123 was refused", [{"vendor_message": "token=… was refused"}]),
        ("", "Authorization: Bearer abc.def is bad", [{"vendor_message": "Authorization: Bearer … is bad"}]),
        ("", "x" * 600, [{"vendor_message": "x" * (MAX_MESSAGE - 1) + "…"}]),
    ],
)
def test_a_reason_is_one_line_of_text_without_credentials(code: Any, message: Any, told: list[dict[str, str]]) -> None:
    assert vendor_reason(code, message) == told
