"""Classification of the vendor's responses."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from connector_gateway.connectors.tables import vendor_models
from connector_gateway.connectors.tables.client import parse_throttle
from connector_gateway.connectors.tables.vendor_errors import unwrap
from connector_gateway.kit.errors import (
    BaseNotFound,
    ConnectionRevoked,
    FieldNotFound,
    FileTooLarge,
    GatewayError,
    InvalidCursor,
    RecordNotFound,
    SelectOptionMissing,
    TableNotFound,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
    ViewNotFound,
)
from connector_gateway.kit.upstream.client import ThrottleDelay
from connector_gateway.kit.upstream.pool import UpstreamResponse


def build_response(status: int, body: Any = b"", headers: Mapping[str, str] | None = None) -> UpstreamResponse:
    return UpstreamResponse(status, headers or {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def vendor_error(kind: str, message: str = "No.") -> dict[str, Any]:
    return {"error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, vendor_error("AUTHENTICATION_REQUIRED"), ConnectionRevoked),
        (401, b"", ConnectionRevoked),
        (403, vendor_error("INVALID_PERMISSIONS"), UpstreamForbidden),
        (403, vendor_error("INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND"), TableNotFound),
        (403, b"<html>", UpstreamForbidden),
        (404, {"error": "NOT_FOUND"}, RecordNotFound),
        (404, vendor_error("MODEL_ID_NOT_FOUND"), RecordNotFound),
        (404, b"", RecordNotFound),
        (413, vendor_error("REQUEST_TOO_LARGE"), FileTooLarge),
        (422, vendor_error("UNKNOWN_FIELD_NAME"), FieldNotFound),
        (422, vendor_error("INVALID_MULTIPLE_CHOICE_OPTIONS"), SelectOptionMissing),
        (422, vendor_error("INVALID_VALUE_FOR_COLUMN"), UpstreamRefused),
        (422, vendor_error("ROW_DOES_NOT_EXIST"), UpstreamRefused),
        (422, vendor_error("SOMETHING_NEW"), UpstreamRefused),
        (422, vendor_error("VIEW_NAME_NOT_FOUND"), ViewNotFound),
        (422, vendor_error("VIEW_ID_NOT_FOUND"), ViewNotFound),
        (422, {"error": {"type": "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"}}, InvalidCursor),
        (429, {"errors": [{"error": "PUBLIC_API_BILLING_LIMIT_EXCEEDED", "message": "Used up."}]}, UpstreamForbidden),
        (400, {"error": "BAD_REQUEST"}, UpstreamRefused),
        (418, b"[]", UpstreamUnexpected),
        (418, {"error": None}, UpstreamUnexpected),
        (418, {"errors": []}, UpstreamUnexpected),
        (418, {"errors": ["?"]}, UpstreamUnexpected),
        (418, {"errors": {"error": "RATE_LIMIT_REACHED"}}, UpstreamUnexpected),
        (418, {"error": {"type": 5, "message": ["No."]}}, UpstreamUnexpected),
        (418, {"error": ["INVALID_PERMISSIONS"]}, UpstreamUnexpected),
        (403, {"error": {"type": {"name": "INVALID_PERMISSIONS"}}}, UpstreamForbidden),
        (404, {"error": {"type": None}}, RecordNotFound),
        (422, {"error": {"type": "UNKNOWN_FIELD_NAME", "message": {"text": "?"}}}, UpstreamRefused),
        (422, b'"UNKNOWN_FIELD_NAME"', UpstreamRefused),
    ],
)
def test_a_vendor_error_is_mapped_to_a_gateway_error(status: int, body: Any, expected: type[GatewayError]) -> None:
    with pytest.raises(GatewayError) as raised:
        unwrap(build_response(status, body), vendor_models.RecordFields)

    assert expected is type(raised.value)


def test_the_error_of_a_404_depends_on_the_request() -> None:
    with pytest.raises(BaseNotFound):
        unwrap(build_response(404), vendor_models.RecordFields, missing=BaseNotFound)
    with pytest.raises(BaseNotFound):
        unwrap(
            build_response(403, vendor_error("INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND")),
            vendor_models.RecordFields,
            model=BaseNotFound,
        )


def test_vendor_text_is_in_the_details_and_not_in_the_message() -> None:
    with pytest.raises(UpstreamRefused) as raised:
        unwrap(
            build_response(422, vendor_error("INVALID_VALUE_FOR_COLUMN", 'Field "Größe" takes no text')),
            vendor_models.RecordFields,
        )

    assert 'INVALID_VALUE_FOR_COLUMN: Field "Größe" takes no text' == raised.value.private
    assert "The vendor rejected the values." == raised.value.message
    assert [
        {"vendor_code": "INVALID_VALUE_FOR_COLUMN", "vendor_message": 'Field "Größe" takes no text'}
    ] == raised.value.details


def test_the_reason_of_a_403_is_reported_without_credentials() -> None:
    with pytest.raises(UpstreamForbidden) as raised:
        unwrap(
            build_response(403, vendor_error("INVALID_PERMISSIONS", "Bearer patSecret may not do that.")),
            vendor_models.RecordFields,
        )

    assert [{"vendor_code": "INVALID_PERMISSIONS", "vendor_message": "… may not do that."}] == raised.value.details


def test_a_missing_object_is_reported_without_vendor_text() -> None:
    with pytest.raises(FieldNotFound) as raised:
        unwrap(
            build_response(422, vendor_error("UNKNOWN_FIELD_NAME", 'Unknown field name: "Nmae"')),
            vendor_models.RecordFields,
        )

    assert [] == raised.value.details


@pytest.mark.parametrize(
    ("status", "body", "headers", "seconds"),
    [
        (429, {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Slow."}]}, {}, 30),
        (429, {"error": {"type": "RATE_LIMIT_REACHED"}}, {}, 30),
        (429, {"error": "TOO_MANY_REQUESTS"}, {}, 30),
        (429, b"", {}, 30),
        (429, b"<html>", {"Retry-After": "7"}, 7),
        (503, {"error": {"type": "RETRIABLE_ERROR"}}, {}, 1),
        (503, {"error": {"type": "RETRIABLE_ERROR"}}, {"Retry-After": "4"}, 4),
    ],
)
def test_a_throttled_request_blocks_its_base(
    status: int, body: Any, headers: Mapping[str, str], seconds: float
) -> None:
    assert ThrottleDelay(seconds, {"base"}) == parse_throttle(build_response(status, body, headers))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {}),
        (429, {"error": {"type": "PUBLIC_API_BILLING_LIMIT_EXCEEDED"}}),
        (429, {"errors": [{"error": "PUBLIC_API_BILLING_LIMIT_EXCEEDED"}]}),
        (503, b"<html>"),
        (503, {"error": "SERVICE_UNAVAILABLE"}),
        (500, {"error": {"type": "RETRIABLE_ERROR"}}),
    ],
)
def test_other_responses_are_not_throttling(status: int, body: Any) -> None:
    assert parse_throttle(build_response(status, body)) is None
