"""Requests and responses of calls: the order of checks, headers, bodies and paths."""

import gzip
import re
from collections.abc import Mapping
from typing import Any

import pytest

from harness.core_fixture import REJECTED, FakeUpstream, in_doubt
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

THINGS = "/v1/connectors/shelf/things"
UNKNOWN = "conn_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"
RUN_ID = re.compile(r"run_[0-9A-HJKMNP-TV-Z]{26}")


def post(gateway: Gateway, content: bytes | str = b"{}", headers: Mapping[str, str | bytes] | None = None) -> Reply:
    sent: dict[str, Any] = {"Content-Type": "application/json"} | dict(headers or {})
    return gateway.request("POST", THINGS, content=content, headers=sent)


def put(gateway: Gateway, **body: Any) -> Reply:
    return gateway.post("/shelf/things", **({"name": "cup"} | body))


# Order of checks


@requirement("common-42", "common-43", "common-56")
@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic abc", "cgw_abc"])
def test_a_missing_key_is_rejected_before_all_other_checks(gateway: Gateway, header: str | None) -> None:
    headers = {"Content-Type": "text/plain"} | ({"Authorization": header} if header is not None else {})
    response = gateway.http.post(gateway.base_url + THINGS, content=b"{", headers=headers)

    assert (401, "missing_api_key") == (response.status_code, response.json()["error"]["code"])
    assert "Bearer" == response.headers["www-authenticate"]
    assert RUN_ID.fullmatch(response.json()["run_id"])


@requirement("common-57", "common-58")
@pytest.mark.parametrize("key", ["nonsense", "cgw_" + "a" * 49, "cgw_ä"])
def test_a_wrong_key_is_rejected_before_all_other_checks(gateway: Gateway, key: str) -> None:
    reply = post(gateway, b"{", {"Authorization": f"Bearer {key}".encode("latin-1")})

    assert (401, "invalid_api_key") == (reply.status, reply.code)
    assert "Bearer" == reply.headers["www-authenticate"]


@requirement("common-43", "common-61")
def test_a_read_key_on_a_write_route_is_rejected_before_the_body(gateway: Gateway) -> None:
    reader = gateway.with_key("read")
    replies = [post(reader, b"{"), post(reader, b"{}", {"Content-Type": "text/plain"}), post(reader, b"x" * 2_000_000)]

    assert [(403, "write_scope_required")] * 3 == [(reply.status, reply.code) for reply in replies]


@requirement("common-43")
def test_parameters_are_checked_before_the_connection(gateway: Gateway) -> None:
    assert 422 == put(gateway, name=5, connection_id=UNKNOWN).status
    assert 404 == put(gateway, connection_id=UNKNOWN).status


@requirement("common-43")
def test_the_connection_is_checked_before_idempotency(gateway: Gateway) -> None:
    put(gateway, idempotency_key="first")

    assert "connection_not_found" == put(gateway, idempotency_key="first", connection_id=UNKNOWN).code


# Bodies


@requirement("common-34")
def test_a_compressed_body_is_rejected_with_its_remedy(gateway: Gateway) -> None:
    reply = post(gateway, gzip.compress(b"{}"), {"Content-Encoding": "gzip"})

    assert (415, "unsupported_media_type") == (reply.status, reply.code)
    assert [{"header": "content-encoding"}] == reply.facts


@requirement("common-32", "common-33", "common-34", "common-35")
@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "invalid_json"),
        (b"", "application/json", 400, "invalid_json"),
        (b"[]", "application/json", 422, "invalid_parameters"),
        (b"null", "application/json", 422, "invalid_parameters"),
        (b"{}", "text/plain", 415, "unsupported_media_type"),
        (b"{}", "application/jsonx", 415, "unsupported_media_type"),
        (b"a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b"{}", "application/json; charset=utf-8", 422, "invalid_parameters"),
        (b"{}", "Application/JSON", 422, "invalid_parameters"),
        (b" " * 1_048_577, "application/json", 413, "payload_too_large"),
        (b'{"name": "\xff"}', "application/json", 400, "invalid_json"),
    ],
)
def test_an_unusable_body_is_rejected(gateway: Gateway, content: bytes, kind: str, status: int, code: str) -> None:
    reply = post(gateway, content, {"Content-Type": kind})

    assert (status, code) == (reply.status, reply.code)


@requirement("common-34")
def test_a_body_without_a_content_type_is_rejected(gateway: Gateway) -> None:
    request = gateway.http.build_request(
        "POST", gateway.base_url + THINGS, content=b"{}", headers={"Authorization": f"Bearer {gateway.key}"}
    )
    response = gateway.http.send(request)

    assert 415 == response.status_code


def test_a_missing_body_is_rejected_as_invalid_json(gateway: Gateway) -> None:
    reply = gateway.request("POST", THINGS)

    assert (400, "invalid_json") == (reply.status, reply.code)


@requirement("common-35")
def test_a_body_of_unknown_length_is_limited(gateway: Gateway) -> None:
    reply = post(gateway, (b" " * 65536 for _ in range(20)))  # type: ignore[arg-type]

    assert (413, "payload_too_large") == (reply.status, reply.code)


def test_a_chunked_body_is_read_completely(gateway: Gateway) -> None:
    connection_id = gateway.connections["shelf"]
    pieces = (piece.encode() for piece in ("{", f'"connection_id": "{connection_id}", ', '"name": "cup"', "}"))

    assert 200 == post(gateway, pieces).status  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["caf%E9=1", "%00=1", "a=1&a=2", "%ED%A0%80=1", "=", "&&&x", "name=%FF"])
def test_malformed_queries_are_rejected_with_the_error_shape(gateway: Gateway, query: str) -> None:
    connection_id = gateway.connections["shelf"]
    read = gateway.request("GET", f"{THINGS}?connection_id={connection_id}&{query}")
    write = post(gateway.with_key(), f'{{"connection_id": "{connection_id}", "name": "n"}}')
    written = gateway.request("POST", f"{THINGS}?{query}", json={"connection_id": connection_id, "name": "n"})

    assert (422, "invalid_parameters") == (read.status, read.code)
    assert 200 == write.status
    assert (422, "invalid_parameters") == (written.status, written.code)


@pytest.mark.parametrize(
    "page_id", ["..", "%2e%2e", "..%2fusers", "a%00b", "%ff", "x" * 300, "%f0%9f%8e%89", "a b", "a?b", "0b1c2d3e"]
)
def test_malicious_path_segments_do_not_reach_the_vendor(gateway: Gateway, page_id: str) -> None:
    reply = gateway.request(
        "PATCH",
        f"/v1/connectors/notes/pages/{page_id}",
        json={"connection_id": gateway.connections["notes"], "archived": True},
    )

    assert reply.status in {404, 405, 422}
    assert {"code", "message", "remedy", "details", "docs"} == reply.body["error"].keys()
    assert [] == gateway.journal("notes")


# Responses


@requirement("common-11", "common-12", "common-14", "common-15")
def test_a_response_contains_only_the_envelope(gateway: Gateway) -> None:
    one, many = put(gateway), gateway.get("/shelf/things")

    assert ["run_id", "connector", "status", "data"] == list(one.body)
    assert ["run_id", "connector", "status", "data", "next_cursor"] == list(many.body)
    assert ("shelf", "ok", None) == (many.body["connector"], many.body["status"], many.body["next_cursor"])


@requirement("common-44")
def test_an_error_response_has_the_error_shape(gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.troubles.append(REJECTED)
    reply = put(gateway)

    assert {"run_id", "connector", "error"} == reply.body.keys()
    assert {"code", "message", "remedy", "details", "docs"} == reply.body["error"].keys()
    assert ("shelf", "upstream_refused") == (reply.body["connector"], reply.code)


@requirement("common-41", "common-42")
def test_body_and_header_contain_the_run_id(gateway: Gateway) -> None:
    replies = [put(gateway), put(gateway, name=5), gateway.get("/shelf/things", colours="x")]

    assert all(RUN_ID.fullmatch(reply.body["run_id"]) for reply in replies)
    assert [reply.body["run_id"] for reply in replies] == [reply.headers["x-run-id"] for reply in replies]


@requirement("common-136")
def test_every_response_has_its_timings(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases")
    timing = re.fullmatch(
        r"queue;dur=(\d+\.\d), upstream;dur=(\d+\.\d), gateway;dur=(\d+\.\d)", reply.headers["server-timing"]
    )

    assert timing is not None
    assert float(timing[2]) > 0


@requirement("common-18", "common-19")
def test_responses_are_not_cacheable(gateway: Gateway) -> None:
    replies = [put(gateway), put(gateway, name=5), gateway.request("GET", "/v1/nothing")]

    assert ["no-store"] * 3 == [reply.headers["cache-control"] for reply in replies]
    assert ["application/json"] * 3 == [reply.headers["content-type"] for reply in replies]


@requirement("common-134")
@pytest.mark.parametrize("path", [THINGS, "/v1/nothing", "/v1/runs"])
def test_the_request_id_of_the_caller_is_echoed(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path, headers={"X-Request-Id": "mine-42"})

    assert "mine-42" == reply.headers["x-request-id"]


def test_a_too_long_request_id_is_not_echoed(gateway: Gateway) -> None:
    reply = gateway.request("GET", THINGS, headers={"X-Request-Id": "x" * 201})

    assert "x-request-id" not in reply.headers


@requirement("common-135")
def test_the_trace_of_the_caller_is_accepted(gateway: Gateway) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    assert "run_id" in gateway.request("GET", THINGS, headers={"traceparent": trace}).body


@requirement("common-88")
def test_a_replayed_response_is_marked(gateway: Gateway) -> None:
    first, again = put(gateway, idempotency_key="twice"), put(gateway, idempotency_key="twice")

    assert "idempotent-replayed" not in first.headers
    assert "true" == again.headers["idempotent-replayed"]


@requirement("common-46", "common-80")
def test_an_unknown_outcome_has_a_remedy(gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.troubles.append(in_doubt("silent"))
    reply = put(gateway, idempotency_key="silent")

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert str(reply.body["retry_after"]) == reply.headers["retry-after"]
    assert "same idempotency key" in reply.body["error"]["remedy"]


@requirement("common-55")
def test_an_internal_error_has_the_error_shape_and_reveals_no_detail(gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.things.append(5)  # type: ignore[arg-type]
    reply = gateway.get("/shelf/things")

    assert (500, "internal_error") == (reply.status, reply.code)
    assert "5" not in reply.body["error"]["message"]
    assert [] == reply.details


# Paths


@requirement("common-2", "common-9", "common-36")
@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v2/connectors/notes/databases",
        "/v1/connectors",
        "/v1/connectors/",
        "/v1/connectors/nowhere/things",
        "/v1/connectors/shelf",
        "/v1/connectors/shelf/",
        "/v1/connectors/shelf/things/",
        "/v1/connectors/shelf//things",
        "/v1/connectors/shelf/things/1/2/3",
        "/v1/connectors/notes/pages/",
        "/v1/runs/",
        "/V1/runs",
        "/_control/notes/requests",
        "/%00",
        "/%ff",
    ],
)
def test_an_unknown_path_returns_404_in_the_error_shape(gateway: Gateway, path: str) -> None:
    reply = gateway.request("GET", path)

    assert (404, "route_not_found") == (reply.status, reply.code)
    assert {"run_id", "connector", "error"} == reply.body.keys()


@requirement("common-36", "common-37")
@pytest.mark.parametrize(
    ("method", "path", "connector"),
    [
        ("DELETE", THINGS, "shelf"),
        ("GET", "/v1/connectors/notes/nothing", "notes"),
        ("GET", "/v1/connectors/nothing/pages", None),
        ("PUT", "/v1/keys", None),
    ],
)
def test_an_unknown_operation_is_reported_with_its_connector(
    gateway: Gateway, method: str, path: str, connector: str | None
) -> None:
    assert connector == gateway.request(method, path).body["connector"]


@requirement("common-37")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", THINGS, "GET, HEAD, POST"),
        ("OPTIONS", THINGS, "GET, HEAD, POST"),
        ("HEAD", "/v1/connectors/notes/pages", "POST"),
        ("GET", "/v1/connectors/notes/pages", "POST"),
        ("PUT", "/v1/connectors/notes/pages/0b1c2d3e", "PATCH"),
        ("GET", "/v1/connectors/notes/pages/0b1c2d3e", "PATCH"),
        ("PUT", "/v1/keys", "GET, HEAD, POST"),
        ("POST", "/v1/runs", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("DELETE", "/openapi.json", "GET, HEAD"),
    ],
)
def test_an_unsupported_method_is_rejected_with_the_allowed_methods(
    gateway: Gateway, method: str, path: str, allowed: str
) -> None:
    response = gateway.http.request(method, gateway.base_url + path, headers={"Authorization": f"Bearer {gateway.key}"})

    assert 405 == response.status_code
    assert allowed == response.headers["allow"]
    assert method == "HEAD" or response.json()["error"]["code"] == "method_not_allowed"
    assert "no-store" == response.headers["cache-control"]


@requirement("common-222")
def test_head_returns_the_headers_of_get_without_a_body(gateway: Gateway) -> None:
    query = f"?connection_id={gateway.connections['notes']}"
    read, head = (
        gateway.http.request(
            method,
            f"{gateway.base_url}/v1/connectors/notes/databases{query}",
            headers={"Authorization": f"Bearer {gateway.key}"},
        )
        for method in ("GET", "HEAD")
    )

    assert (200, b"") == (head.status_code, head.content)
    assert read.headers["content-length"] == head.headers["content-length"]


# Rate limit of a key


@requirement("common-46", "common-70", "common-71", "common-73")
def test_the_121st_call_of_a_minute_is_rejected(gateway: Gateway) -> None:
    caller = gateway.with_key()
    left = [int(caller.get("/shelf/things").headers["x-service-ratelimit-remaining"]) for _ in range(120)]
    reply = caller.get("/shelf/things")

    assert list(range(119, -1, -1)) == left
    assert (429, "rate_limited") == (reply.status, reply.code)
    assert 1 <= reply.body["retry_after"] <= 60
    assert str(reply.body["retry_after"]) == reply.headers["retry-after"]
    assert "0" == reply.headers["x-service-ratelimit-remaining"]


@requirement("common-70", "common-73")
def test_rejected_calls_count_against_the_limit(gateway: Gateway) -> None:
    caller = gateway.with_key("read", calls_per_minute=10)
    replies = [
        caller.get("/shelf/things"),
        caller.get("/shelf/things", colour=""),
        caller.get("/shelf/things", limit="x"),
        put(caller),
        caller.get("/notes/databases", connection_id=UNKNOWN),
    ]

    assert ["9", "8", "7", "6", "5"] == [reply.headers["x-service-ratelimit-remaining"] for reply in replies]


@requirement("common-73")
def test_requests_without_a_route_do_not_count_against_the_limit(gateway: Gateway) -> None:
    caller = gateway.with_key(calls_per_minute=10)
    replies = [
        caller.request("GET", "/v1/nothing"),
        caller.request("DELETE", THINGS),
    ]

    assert ["10"] * 2 == [reply.headers["x-service-ratelimit-remaining"] for reply in replies]


@requirement("common-73")
def test_responses_without_a_valid_key_have_no_rate_limit_headers(gateway: Gateway) -> None:
    replies = [
        gateway.request("GET", path, headers={"Authorization": "Bearer wrong"})
        for path in (THINGS, "/v1/nothing", "/v1/runs")
    ]

    assert ["0"] * 3 == [reply.headers["x-service-ratelimit-remaining"] for reply in replies]


@requirement("common-74")
def test_the_limit_is_also_reported_in_the_draft_standard_headers(gateway: Gateway) -> None:
    reply = gateway.with_key(calls_per_minute=10).get("/shelf/things")

    assert '"key";q=10;w=60' == reply.headers["ratelimit-policy"]
    assert reply.headers["ratelimit"].startswith('"key";r=9;t=')


def test_concurrent_calls_do_not_exceed_the_limit(gateway: Gateway) -> None:
    caller = gateway.with_key(calls_per_minute=7)
    replies = gateway.together(*[lambda: caller.get("/shelf/things")] * 20)

    assert 7 == sum(reply.status == 200 for reply in replies)


# History


@requirement("common-112", "common-114")
def test_a_run_is_readable_as_soon_as_its_response_arrives(gateway: Gateway) -> None:
    replies = gateway.together(*[lambda: gateway.get("/shelf/things")] * 8, *[lambda: put(gateway, name=5)] * 8)
    runs = [gateway.request("GET", f"/v1/runs/{reply.body['run_id']}") for reply in replies]

    assert [200] * 16 == [reply.status for reply in runs]


@requirement("common-111")
def test_a_run_reports_its_outcome(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", limit=1)
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]

    assert ("ok", 200, None) == (run["status"], run["http_status"], run["code"])
    assert ("notes", "list_databases", "http") == (run["connector"], run["operation"], run["surface"])
    assert gateway.connections["notes"] == run["connection_id"]
    assert {"at", "method", "path", "status", "wait_ms", "duration_ms"} == run["upstream"][0].keys()
    assert run["duration_ms"] >= run["upstream"][0]["duration_ms"] > 0


@requirement("common-111", "common-120")
def test_a_rejected_run_stores_names_and_no_values(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["database_id"]
    values = {"Name": "Acme", "Stage": "Sesame", "Value": "Sesame"}
    reply = gateway.post("/notes/pages", database_id=database_id, properties=values)
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]

    assert {"Stage", "Value"} & {detail["property"] for detail in run["details"]}
    assert "Sesame" in str(reply.body)
    assert "Sesame" not in str(run)


def test_a_successful_run_has_no_details(gateway: Gateway) -> None:
    reply = gateway.get("/shelf/things")

    assert gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]["details"] is None


def test_many_details_and_long_names_are_truncated_in_the_run(gateway: Gateway) -> None:
    reply = put(gateway, **{f"{'x' * 500}{number}": 1 for number in range(100)})
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]

    assert 20 == len(run["details"])
    assert 200 >= max(len(detail["parameter"]) for detail in run["details"])


def test_a_rate_limited_call_has_a_run(gateway: Gateway) -> None:
    caller = gateway.with_key(calls_per_minute=1)
    caller.get("/shelf/things")
    reply = caller.get("/shelf/things")

    assert "rate_limited" == gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]["code"]


@requirement("common-120")
def test_the_history_contains_no_values_texts_or_tokens(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["database_id"]
    reply = gateway.post(
        "/notes/pages", database_id=database_id, properties={"Name": "Sesame opens"}, children=["Sesame closes"]
    )
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body["data"]

    assert "Sesame" not in str(run)
    assert gateway.sandbox.emulators["notes"].credentials()["token"] not in str(run)


# Concurrency


# Versions


@requirement("common-9")
@pytest.mark.parametrize("header", ["Accept-Version", "X-Api-Version", "Version"])
def test_version_headers_are_ignored(gateway: Gateway, header: str) -> None:
    query = {"connection_id": gateway.connections["shelf"]}

    assert 200 == gateway.request("GET", THINGS, params=query, headers={header: "2"}).status


@requirement("common-9")
@pytest.mark.parametrize("name", ["version", "api_version", "v"])
def test_version_parameters_are_rejected(gateway: Gateway, name: str) -> None:
    assert [name] == [detail["parameter"] for detail in gateway.get("/shelf/things", **{name: "1"}).details]


def test_an_encoded_slash_stays_inside_its_segment(gateway: Gateway) -> None:
    reply = gateway.request("PATCH", "/v1/connectors/notes/pages/a%2Fsearch", json={"connection_id": "conn_x"})

    assert 422 == reply.status
    assert "page_id" in [detail["parameter"] for detail in reply.details]
