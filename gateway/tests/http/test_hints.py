"""What is said to somebody who mistyped: what is allowed, and what was probably meant."""

import time

import pytest

from connector_gateway.core.calls.error_details import truncate_details
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
def test_a_mistyped_parameter_of_a_query_is_recognised(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", querry="leads")
    (fault,) = reply.body["error"]["details"]

    assert "query" == fault["did_you_mean"]
    assert ["connection_id", "query", "limit", "cursor"] == fault["allowed"]
    assert "Parameter querry cannot be used as given. Did you mean query?" == reply.body["error"]["message"]


@requirement("common-182")
def test_a_mistyped_parameter_of_a_body_is_recognised(gateway: Gateway) -> None:
    reply = gateway.post("/notes/pages", databaseId="d", properties={})
    faults = {fault["parameter"]: fault for fault in reply.body["error"]["details"]}

    assert "database_id" == faults["databaseId"]["did_you_mean"]
    assert "connection_id" in faults["databaseId"]["allowed"]


@requirement("common-182")
def test_what_travels_in_the_path_is_not_listed_beside_it(gateway: Gateway) -> None:
    reply = gateway.request("PATCH", "/v1/connectors/notes/pages/p", json={"propertys": {}})
    faults = {fault["parameter"]: fault for fault in reply.body["error"]["details"]}

    assert "properties" == faults["propertys"]["did_you_mean"]
    assert "page_id" not in faults["propertys"]["allowed"]


def test_a_name_that_is_like_nothing_is_only_told_what_is_allowed(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", zzz="1")
    (fault,) = reply.facts

    assert {"parameter", "message", "allowed"} == set(fault)


@requirement("common-182")
def test_a_mistyped_connector_is_recognised(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/v1/connectors/note/databases")
    (fault,) = reply.body["error"]["details"]

    assert (404, "route_not_found") == (reply.status, reply.code)
    assert 'There is no connector "note". Did you mean notes?' == reply.body["error"]["message"]
    assert ["notes", "shelf"] == fault["allowed"]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/connectors/notes/database", NOTES[0]),
        ("/v1/connectors/notes/databases/", NOTES[0]),
        ("/v1/connectors/notes/page/0123", NOTES[2]),
    ],
)
@requirement("common-183")
def test_a_mistyped_path_is_recognised_among_those_of_its_connector(gateway: Gateway, path: str, meant: str) -> None:
    reply = gateway.request("GET", path)
    (fault,) = reply.body["error"]["details"]

    assert (404, meant) == (reply.status, fault["did_you_mean"])
    assert NOTES == fault["allowed"]


@pytest.mark.parametrize("path", ["/v1/connectors", "/v1/connectors/"])
@requirement("common-183")
def test_an_address_that_ends_before_the_connector_is_told_which_there_are(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path)

    assert "The address ends before the connector." == reply.body["error"]["message"]
    assert [{"parameter": "connector", "allowed": ["notes", "shelf"]}] == reply.facts


@pytest.mark.parametrize("path", ["/v1/connectors/notes", "/v1/connectors/notes/"])
@requirement("common-183")
def test_an_address_that_ends_after_the_connector_is_told_what_may_follow(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path)

    assert "The address ends after the connector notes." == reply.body["error"]["message"]
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
def test_a_mistyped_path_is_recognised_among_all(gateway: Gateway, path: str, meant: str) -> None:
    reply = gateway.request("GET", path)

    assert [{"did_you_mean": meant}] == reply.facts


def test_an_address_in_a_path_is_told_to_be_encoded(gateway: Gateway) -> None:
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
def test_who_sends_a_key_in_another_way_is_told_what_is_missing(gateway: Gateway, header: str, said: str) -> None:
    sent = header.format(key=gateway.key)
    reply = gateway.request("GET", "/v1/connectors/notes/databases", headers={"Authorization": sent})

    assert (401, "missing_api_key") == (reply.status, reply.code)
    assert said == reply.body["error"]["message"]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Bearer Bearer {key}", "The word Bearer occurs twice before the API key."),
        ("Bearer {key}x", "The API key is incomplete or mistyped."),
        ("Bearer API_KEY", "This is no API key of this gateway; they begin with cgw_."),
    ],
)
@requirement("common-186")
def test_a_key_that_cannot_be_one_is_told_apart_from_one_that_is_unknown(
    gateway: Gateway, header: str, said: str
) -> None:
    sent = header.format(key=gateway.key)
    reply = gateway.request("GET", "/v1/connectors/notes/databases", headers={"Authorization": sent})

    assert (401, "invalid_api_key") == (reply.status, reply.code)
    assert said == reply.body["error"]["message"]
    assert gateway.key not in str(reply.body)


@requirement("common-182")
def test_an_unknown_option_of_a_third_party_is_recognised_as_well() -> None:
    (told,) = truncate_details([{"property": "Stage", "value": "opne", "allowed": ["Open", "Won"]}])

    assert "Open" == told["did_you_mean"]


def test_names_without_end_are_compared_with_nothing() -> None:
    known = [f"{'x' * 90}{number}" for number in range(5000)]
    started = time.thread_time()

    assert closest_match("y" * 1_000_000, known) is None
    assert closest_match("x" * 80 + "y" * 20, known) is not None
    assert time.thread_time() - started < 1
