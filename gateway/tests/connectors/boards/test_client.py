"""Interpretation of single vendor responses by the boards client."""

import json
from typing import Any

import pytest

from connector_gateway.connectors.boards import vendor_models
from connector_gateway.connectors.boards.client import authorise, parse_throttle
from connector_gateway.connectors.boards.vendor_errors import (
    ERRORS,
    MissingTarget,
    remove_credentials,
    to_gateway_error,
    unwrap,
)
from connector_gateway.kit.errors import (
    BoardNotAuthorised,
    CardNotFound,
    ConnectionRevoked,
    ConnectionScopeMissing,
    GatewayError,
    ListNotFound,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.client import ThrottleDelay
from connector_gateway.kit.upstream.pool import UpstreamResponse

KEY = "0d2f5b7c9e1a4836b5c7d9e0f1a2b3c4"
TOKEN = "ATTA" + "4b1d9f7e3c5a6802" * 4
CARD = MissingTarget(CardNotFound, "card_id", "c1")


def create_response(status: int, body: Any = "", **headers: str) -> UpstreamResponse:
    text = body if isinstance(body, str) else json.dumps(body)
    return UpstreamResponse(status, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())


def test_credentials_are_escaped_in_the_authorization_header() -> None:
    headers = authorise({"key": "k", "token": 't", realm="x\r\n'})

    assert 'OAuth oauth_consumer_key="k", oauth_token="t%22%2C%20realm%3D%22x%0D%0A"' == headers["Authorization"]


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, "invalid id", CardNotFound),
        (400, "invalid value for text", UpstreamRefused),
        (400, "invalid value for idList", ListNotFound),
        (400, "invalid value for idLabels", UpstreamRefused),
        (400, {"message": "invalid value for name", "error": "ERROR"}, UpstreamRefused),
        (401, "invalid token", ConnectionRevoked),
        (401, "invalid app token", ConnectionRevoked),
        (401, "invalid key", ConnectionRevoked),
        (401, {"message": "invalid token", "error": {"code": 7}}, ConnectionRevoked),
        (400, {"error": {"code": 7, "why": ["unclear"]}}, UpstreamRefused),
        (401, "expired token", ConnectionRevoked),
        (401, {"message": "missing scopes"}, ConnectionScopeMissing),
        (401, "unauthorized permission requested", BoardNotAuthorised),
        (401, "unauthorized card permission requested", BoardNotAuthorised),
        (403, "invalid token", UpstreamForbidden),
        (404, "The requested resource was not found.", CardNotFound),
        (404, "model not found", ListNotFound),
        (404, "could not find the board that the card belongs to", ListNotFound),
        (404, "List a1 does not exist on board b1", ListNotFound),
        (449, "", UpstreamUnexpected),
        (302, "", UpstreamUnexpected),
    ],
)
def test_error_is_classified_by_status_and_text(status: int, body: Any, error: type[GatewayError]) -> None:
    assert to_gateway_error(create_response(status, body), CARD) is error


def test_404_without_a_target_is_unexpected() -> None:
    assert to_gateway_error(create_response(404, "Cannot GET /1/nothing"), None) is UpstreamUnexpected


def test_vendor_text_is_private_and_free_of_credentials() -> None:
    vendor_text = f"Cannot GET /1/nothing?key={KEY}&token={TOKEN}&fields=id"

    with pytest.raises(CardNotFound) as error:
        unwrap(create_response(404, vendor_text), vendor_models.Card, CARD)

    assert "Cannot GET /1/nothing?key=…&token=…&fields=id" == error.value.private
    assert [{"parameter": "card_id", "value": "c1"}] == error.value.details
    assert "nothing" not in error.value.message


@pytest.mark.parametrize("secret", [KEY, TOKEN, "f" * 64])
def test_bare_secrets_are_removed_but_not_identifiers(secret: str) -> None:
    assert "no … for 5f00aa00aa00aa00aa00aa00" == remove_credentials(f"no {secret} for 5f00aa00aa00aa00aa00aa00")


@pytest.mark.parametrize(
    ("body", "details"),
    [
        (" plain \n", [{"vendor_message": "plain"}]),
        ({"message": "json", "error": "ERROR"}, [{"vendor_code": "ERROR", "vendor_message": "json"}]),
        ({"message": 5, "error": ["ERROR"]}, []),
        ({}, []),
        ([], []),
        ("", []),
        ("<html>", []),
        (f"no {TOKEN}", [{"vendor_message": "no …"}]),
    ],
)
def test_reason_is_read_from_text_or_json(body: Any, details: list[dict[str, str]]) -> None:
    assert details == ERRORS.create_error(create_response(400, body), UpstreamRefused).details


@pytest.mark.parametrize(
    ("response", "delay"),
    [
        (create_response(200), None),
        (create_response(503), None),
        (create_response(429), ThrottleDelay(10.0, {"token"})),
        (create_response(429, "<html>"), ThrottleDelay(10.0, {"token"})),
        (create_response(429, {"error": "API_TOKEN_LIMIT_EXCEEDED"}), ThrottleDelay(10.0, {"token"})),
        (create_response(429, {"error": "API_TOKEN_DB_LIMIT_EXCEEDED"}), ThrottleDelay(10.0, {"token"})),
        (create_response(429, {"error": "API_KEY_LIMIT_EXCEEDED"}), ThrottleDelay(10.0, {"key"})),
        (
            create_response(429, {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}),
            ThrottleDelay(900.0, {"members"}),
        ),
        (create_response(429, {"error": "API_KEY_LIMIT_EXCEEDED"}, Retry_After="3"), ThrottleDelay(3.0, {"key"})),
        (create_response(429, {"error": "API_TOO_MANY_CARDS_REQUESTED"}), None),
    ],
)
def test_throttling_delays_only_the_exhausted_budget(response: UpstreamResponse, delay: ThrottleDelay | None) -> None:
    assert parse_throttle(response) == delay
