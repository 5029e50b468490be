"""Suggestions for mistyped names: the allowed values, and the closest match."""

import time

import pytest

from connector_gateway.core.error_serialization import truncate_details
from connector_gateway.kit.errors.suggestions import closest_match
from harness.gateway_server import Gateway
from harness.requirement import requirement

NOTES = [
    "GET /v1/connectors/notes/databases",
    "POST /v1/connectors/notes/pages",
    "PATCH /v1/connectors/notes/pages/{page_id}",
    "POST /v1/connectors/notes/pages/search",
    "GET /v1/connectors/notes/events",
]


@requirement("common-26")
def test_a_mistyped_query_parameter_gets_a_suggestion(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", querry="leads")
    (detail,) = reply.body["error"]["details"]

    assert "query" == detail["did_you_mean"]
    assert ["connection_id", "query", "limit", "cursor"] == detail["allowed"]
    assert "Parameter querry is invalid. Did you mean query?" == reply.body["error"]["message"]


@requirement("common-182")
def test_a_mistyped_body_parameter_gets_a_suggestion(gateway: Gateway) -> None:
    reply = gateway.post("/notes/pages", databaseId="d", properties={})
    details = {detail["parameter"]: detail for detail in reply.body["error"]["details"]}

    assert "database_id" == details["databaseId"]["did_you_mean"]
    assert "connection_id" in details["databaseId"]["allowed"]


@requirement("common-182")
def test_path_parameters_are_not_among_the_allowed_names(gateway: Gateway) -> None:
    reply = gateway.request("PATCH", "/v1/connectors/notes/pages/p", json={"propertys": {}})
    details = {detail["parameter"]: detail for detail in reply.body["error"]["details"]}

    assert "properties" == details["propertys"]["did_you_mean"]
    assert "page_id" not in details["propertys"]["allowed"]


def test_a_name_without_similar_names_only_lists_the_allowed_names(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", zzz="1")
    (detail,) = reply.facts

    assert {"parameter", "message", "allowed"} == set(detail)


@requirement("common-182")
def test_a_mistyped_connector_gets_a_suggestion(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/v1/connectors/note/databases")
    (detail,) = reply.body["error"]["details"]

    assert (404, "route_not_found") == (reply.status, reply.code)
    assert 'There is no connector "note". Did you mean notes?' == reply.body["error"]["message"]
    assert ["notes", "shelf"] == detail["allowed"]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/connectors/notes/database", NOTES[0]),
        ("/v1/connectors/notes/databases/", NOTES[0]),
        ("/v1/connectors/notes/page/0123", NOTES[2]),
    ],
)
@requirement("common-183")
def test_a_mistyped_path_of_a_connector_gets_a_suggestion(gateway: Gateway, path: str, meant: str) -> None:
    reply = gateway.request("GET", path)
    (detail,) = reply.body["error"]["details"]

    assert (404, meant) == (reply.status, detail["did_you_mean"])
    assert NOTES == detail["allowed"]


@pytest.mark.parametrize("path", ["/v1/connectors", "/v1/connectors/"])
@requirement("common-183")
def test_a_path_that_ends_before_the_connector_lists_the_connectors(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path)

    assert "The path ends before the connector." == reply.body["error"]["message"]
    assert [{"parameter": "connector", "allowed": ["notes", "shelf"]}] == reply.facts


@pytest.mark.parametrize("path", ["/v1/connectors/notes", "/v1/connectors/notes/"])
@requirement("common-183")
def test_a_path_that_ends_after_the_connector_lists_the_possible_paths(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path)

    assert "The path ends after the connector notes." == reply.body["error"]["message"]
    assert [{"allowed": NOTES}] == reply.facts


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/notes/databases", NOTES[0]),
        ("/v1/connector/notes/databases", NOTES[0]),
        ("/v1/connection", "GET or POST /v1/connections"),
        ("/v1/run/run_1", "GET /v1/runs/{run_id}"),
        ("/doc", "GET /docs"),
    ],
)
@requirement("common-183")
def test_any_mistyped_path_gets_a_suggestion(gateway: Gateway, path: str, meant: str) -> None:
    reply = gateway.request("GET", path)

    assert [{"did_you_mean": meant}] == reply.facts


def test_an_unencoded_url_in_a_path_is_rejected_with_its_remedy(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/v1/connectors/notes/pages/https://example.com/page")

    assert "percent-encoded" in reply.body["error"]["message"]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("{key}", "The Authorization header lacks the word Bearer before the API key."),
        ("Token {key}", "The Authorization header does not begin with the word Bearer."),
        ("Bearer", "The Authorization header has no API key after the word Bearer."),
        ("", "The request has no API key."),
    ],
)
@requirement("common-56", "common-186")
def test_a_key_outside_the_authorization_header_is_rejected_with_a_remedy(
    gateway: Gateway, header: str, said: str
) -> None:
    sent = header.format(key=gateway.key)
    reply = gateway.request("GET", "/v1/connectors/notes/databases", headers={"Authorization": sent})

    assert (401, "missing_api_key") == (reply.status, reply.code)
    assert said == reply.body["error"]["message"]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Bearer Bearer {key}", "The word Bearer occurs twice before the API key."),
        ("Bearer {key}x", "The API key is incomplete or mistyped."),
        ("Bearer API_KEY", "This is not an API key of this gateway. Its keys begin with cgw_."),
    ],
)
@requirement("common-186")
def test_a_malformed_key_is_distinguished_from_an_unknown_key(gateway: Gateway, header: str, said: str) -> None:
    sent = header.format(key=gateway.key)
    reply = gateway.request("GET", "/v1/connectors/notes/databases", headers={"Authorization": sent})

    assert (401, "invalid_api_key") == (reply.status, reply.code)
    assert said == reply.body["error"]["message"]
    assert gateway.key not in str(reply.body)


@requirement("common-182")
def test_an_unknown_option_of_the_vendor_gets_a_suggestion() -> None:
    (detail,) = truncate_details([{"property": "Stage", "value": "opne", "allowed": ["Open", "Won"]}])

    assert "Open" == detail["did_you_mean"]


def test_very_long_names_are_not_compared() -> None:
    known = [f"{'x' * 90}{number}" for number in range(5000)]
    started = time.thread_time()

    assert closest_match("y" * 1_000_000, known) is None
    assert closest_match("x" * 80 + "y" * 20, known) is not None
    assert time.thread_time() - started < 1
