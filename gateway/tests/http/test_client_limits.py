"""Limits for clients that send too much, send too slowly or do not read; other clients are unaffected."""

from collections import deque
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from connector_gateway.http.server.connection_limits import (
    MAX_LOG_LINES,
    ClientConnections,
    ConnectionLimits,
    client_network,
)
from connector_gateway.http.server.http11 import (
    BODY_SECONDS,
    HEAD_SECONDS,
    IDLE_SECONDS,
    LINGER_SECONDS,
    MAX_HEAD_BYTES,
    MAX_PIPELINED,
    UNREAD_SECONDS,
    ConnectionState,
)
from harness.core_fixture import FakeUpstream, connectors
from harness.gateway_server import Gateway, run_gateway
from harness.raw_http import RawHttpClient, open_raw_connection, passing, peers, unread
from harness.requirement import requirement
from harness.wait import wait_until
from workspace_sandbox.sandbox import Sandbox

THINGS = "/v1/connectors/shelf/things"
JSON = "Content-Type: application/json"


def count_connections(gateway: Gateway) -> int:
    """Return the number of connections that the server counts."""
    return len(peers(gateway))


def is_in_phase(gateway: Gateway, phase: ConnectionState) -> bool:
    """Return True if the server waits for that phase of a connection."""
    return phase in {peer._phase for peer in peers(gateway)}


@pytest.fixture
def client(gateway: Gateway) -> Iterator[RawHttpClient]:
    """A raw connection to the server."""
    with open_raw_connection(gateway.base_url) as client:
        yield client


def get_authorization_header(gateway: Gateway) -> str:
    return f"Authorization: Bearer {gateway.key}"


def get_latest_run(gateway: Gateway) -> dict[str, Any]:
    """Return the newest run."""
    run: dict[str, Any] = gateway.request("GET", "/v1/runs", params={"limit": 1}).body["data"][0]
    return run


# Rejected before reading


@requirement("common-168")
def test_an_exhausted_key_is_rejected_before_the_body_is_read(gateway: Gateway, client: RawHttpClient) -> None:
    caller = gateway.with_key(calls_per_minute=1)
    caller.get("/shelf/things")
    client.send_request("POST", THINGS, get_authorization_header(caller), JSON, "Content-Length: 1000")
    status, body = client.answer()

    assert (429, "rate_limited") == (status, body["error"]["code"])
    assert body["run_id"] == gateway.request("GET", f"/v1/runs/{body['run_id']}").body["data"]["run_id"]


@requirement("common-168")
def test_a_read_key_is_rejected_before_the_body_is_read(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request(
        "POST", THINGS, get_authorization_header(gateway.with_key("read")), JSON, "Content-Length: 1000"
    )
    status, body = client.answer()

    assert (403, "write_scope_required") == (status, body["error"]["code"])


def test_the_connection_remains_usable_after_an_unread_body(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("POST", THINGS, JSON, "Content-Length: 1000")
    first, _ = client.answer()
    client.say(b"x" * 1000)
    client.send_request("GET", "/healthz")

    assert (401, (200, {"status": "alive"})) == (first, client.answer())


@requirement("common-169")
@pytest.mark.parametrize("header", ["Authorization", "Idempotency-Key", "Content-Type"])
def test_repeated_significant_headers_are_rejected(gateway: Gateway, client: RawHttpClient, header: str) -> None:
    headers = {"Authorization": f"Bearer {gateway.key}", "Content-Type": "application/json", "Idempotency-Key": "k"}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    client.send_request("POST", THINGS, *lines, f"{header}: {headers[header]}", "Content-Length: 2", body=b"{}")
    status, body = client.answer()

    assert (400, "malformed_request") == (status, body["error"]["code"])
    assert header.lower() in body["error"]["message"]


@requirement("common-169")
def test_a_duplicate_idempotency_key_appears_in_the_history(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request(
        "POST",
        THINGS,
        get_authorization_header(gateway),
        JSON,
        *["Idempotency-Key: k"] * 2,
        "Content-Length: 2",
        body=b"{}",
    )
    _, body = client.answer()

    assert (body["run_id"], "malformed_request") == (get_latest_run(gateway)["run_id"], get_latest_run(gateway)["code"])


@pytest.mark.parametrize("path", ["/v1/workspaces", "/v1/nothing"])
def test_other_routes_reject_a_second_authorization_header(gateway: Gateway, client: RawHttpClient, path: str) -> None:
    client.send_request("GET", path, get_authorization_header(gateway), get_authorization_header(gateway))

    assert client.answer()[0] in {400, 404}


# Headers and trailers


@requirement("common-171")
@pytest.mark.parametrize(
    "head",
    [
        "GET /healthz HTTP/1.1\r\nHost: x\r\n" + f"X-One: {'x' * MAX_HEAD_BYTES}\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n" + f"X-Many: {'x' * 100}\r\n" * 700,
        f"GET /{'x' * MAX_HEAD_BYTES} HTTP/1.1\r\n",
    ],
    ids=["one", "many", "address"],
)
def test_too_large_headers_are_rejected_with_the_error_shape(
    gateway: Gateway, client: RawHttpClient, head: str
) -> None:
    client.say(head + "\r\n")
    status, body = client.answer()

    assert (431, "headers_too_large") == (status, body["error"]["code"])
    assert b"" == client.hear()


@requirement("common-171")
def test_an_endless_header_is_rejected_before_it_ends(gateway: Gateway, client: RawHttpClient) -> None:
    client.say("GET /healthz HTTP/1.1\r\nX-Endless: " + "x" * 400_000)

    assert 431 == client.answer()[0]


@requirement("common-171")
def test_endless_trailers_close_the_connection(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("POST", THINGS, get_authorization_header(gateway), JSON, "Transfer-Encoding: chunked")
    client.say("2\r\n{}\r\n0\r\n" + f"X-More: {'x' * 100}\r\n" * 1000)

    assert b"" == client.hear()


def test_a_trailer_is_not_used_as_a_header(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("POST", THINGS, JSON, "Transfer-Encoding: chunked")
    client.say(f"2\r\n{{}}\r\n0\r\n{get_authorization_header(gateway)}\r\n\r\n")

    assert 401 == client.answer()[0]


def test_a_body_in_tiny_chunks_is_read(gateway: Gateway, client: RawHttpClient) -> None:
    body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "{"n" * 20_000}"}}'
    client.send_request("POST", THINGS, get_authorization_header(gateway), JSON, "Transfer-Encoding: chunked")
    client.say("".join(f"1\r\n{character}\r\n" for character in body) + "0\r\n\r\n")

    assert 200 == client.answer()[0]


def test_chunks_with_endless_extensions_close_the_connection(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("POST", THINGS, get_authorization_header(gateway), JSON, "Transfer-Encoding: chunked")
    client.say(f"1;{'x' * 1000}\r\n \r\n" * 500)

    assert b"" == client.hear()


@requirement("common-170")
@pytest.mark.parametrize(
    "text", ["HELLO\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /é HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02"]
)
def test_invalid_http_is_rejected_with_the_error_shape(gateway: Gateway, client: RawHttpClient, text: str) -> None:
    client.say(text)
    status, body = client.answer()

    assert (400, "malformed_request") == (status, body["error"]["code"])
    assert body["run_id"].startswith("run_")


def test_a_protocol_upgrade_is_ignored(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("GET", "/healthz", "Connection: Upgrade", "Upgrade: websocket")

    assert (200, {"status": "alive"}) == client.answer()


def test_some_requests_can_be_pipelined(gateway: Gateway, client: RawHttpClient) -> None:
    client.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    client.say("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert 51 == client.hear().count(b"HTTP/1.1 200 OK")


@requirement("common-170")
def test_endless_pipelining_closes_the_connection(gateway: Gateway, client: RawHttpClient) -> None:
    client.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * (MAX_PIPELINED + 2))

    assert client.hear().count(b"HTTP/1.1 200 OK") < MAX_PIPELINED


# Protocol errors are counted and logged


def count_rejections(gateway: Gateway, reason: str) -> float:
    """Return the number of rejections for that reason."""
    text = gateway.http.get(f"{gateway.base_url}/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return sum(s.value for s in samples if s.name == "gateway_protocol_refusals_total" and s.labels["reason"] == reason)


@requirement("common-190")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HELLO\r\n\r\n", "malformed_request"),
        (f"GET /healthz HTTP/1.1\r\nX-One: {'x' * MAX_HEAD_BYTES}\r\n\r\n", "headers_too_large"),
    ],
)
def test_protocol_errors_are_counted_and_logged_without_content(
    gateway: Gateway, client: RawHttpClient, text: str, reason: str
) -> None:
    before = count_rejections(gateway, reason)
    passing(gateway, 0)  # restart the count of logged lines
    with capture_logs() as logged:
        client.say(text)
        _, body = client.answer()

    expected = {"event": "rejected by protocol", "log_level": "warning", "code": reason, "client": "127.0.0.1"}
    assert 1 == count_rejections(gateway, reason) - before
    assert [{**expected, "run_id": body["run_id"]}] == logged


def test_late_headers_are_counted(gateway: Gateway, client: RawHttpClient) -> None:
    before = count_rejections(gateway, "request_incomplete")
    client.say("GET /healthz HTTP/1.1\r\nX-Slow: ")
    wait_until(lambda: is_in_phase(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS)
    client.answer()

    assert 1 == count_rejections(gateway, "request_incomplete") - before


def test_many_rejections_are_logged_in_a_few_lines() -> None:
    counted = create_connections()
    with capture_logs() as logged:
        deque(
            map(counted.record_rejection, [FakeConnection("a", 0)] * (MAX_LOG_LINES + 5), repeat("malformed_request")),
            maxlen=0,
        )
        counted.check_timeouts(0)
        counted.record_rejection(FakeConnection("a", 0), "malformed_request")

    assert MAX_LOG_LINES + 6 == counted.rejections["malformed_request"]
    assert [5] == [line["and_more"] for line in logged if "and_more" in line]
    assert MAX_LOG_LINES + 2 == len(logged)


# Timeouts


@requirement("common-172")
def test_late_headers_are_rejected(gateway: Gateway, client: RawHttpClient) -> None:
    client.say("GET /healthz HTTP/1.1\r\nX-Slow: ")
    wait_until(lambda: is_in_phase(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS - 1)
    client.say("x")
    passing(gateway, HEAD_SECONDS)
    status, body = client.answer()

    assert (408, "request_incomplete") == (status, body["error"]["code"])
    assert b"" == client.hear()


@requirement("common-172")
def test_silent_connections_are_closed(gateway: Gateway, client: RawHttpClient) -> None:
    wait_until(lambda: is_in_phase(gateway, ConnectionState.NEW))
    passing(gateway, HEAD_SECONDS)

    assert b"" == client.hear()


def test_an_idle_connection_is_closed_some_seconds_after_its_response(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("GET", "/healthz")
    client.answer()
    wait_until(lambda: is_in_phase(gateway, ConnectionState.IDLE))
    passing(gateway, IDLE_SECONDS)

    assert b"" == client.hear()


def test_empty_lines_do_not_extend_the_timeout(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("GET", "/healthz")
    client.answer()
    client.say("\r\n")
    wait_until(lambda: is_in_phase(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS)

    assert 408 == client.answer()[0]


@requirement("common-173")
def test_a_late_body_is_rejected_and_appears_in_the_history(gateway: Gateway, client: RawHttpClient) -> None:
    client.send_request("POST", THINGS, get_authorization_header(gateway), JSON, "Content-Length: 1000", body=b"{")
    wait_until(lambda: is_in_phase(gateway, ConnectionState.BODY))
    passing(gateway, BODY_SECONDS)
    status, body = client.answer()
    passing(gateway, BODY_SECONDS + LINGER_SECONDS)

    assert (408, "request_incomplete") == (status, body["error"]["code"])
    assert b"" == client.hear()
    assert (body["run_id"], "request_incomplete") == (
        get_latest_run(gateway)["run_id"],
        get_latest_run(gateway)["code"],
    )


@requirement("common-173")
def test_a_call_with_an_incomplete_body_is_not_performed(gateway: Gateway, shelf: FakeUpstream) -> None:
    gateway.get("/shelf/things")
    before = get_latest_run(gateway)["run_id"]
    body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "n"}}'.encode()
    with open_raw_connection(gateway.base_url) as client:
        client.send_request(
            "POST", THINGS, get_authorization_header(gateway), JSON, f"Content-Length: {len(body) + 9}", body=body
        )
    wait_until(lambda: get_latest_run(gateway)["run_id"] != before)

    assert ("error", "request_incomplete") == (get_latest_run(gateway)["status"], get_latest_run(gateway)["code"])
    assert [] == shelf.things


def test_a_slow_call_is_not_aborted_while_its_client_waits(gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.gate.clear()
    with open_raw_connection(gateway.base_url) as client:
        body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "n"}}'.encode()
        client.send_request(
            "POST", THINGS, get_authorization_header(gateway), JSON, f"Content-Length: {len(body)}", body=body
        )
        gateway.run(shelf.wait_for_request())
        passing(gateway, 10 * BODY_SECONDS)
        gateway.loop.call_soon_threadsafe(shelf.gate.set)

        assert 200 == client.answer()[0]


# Unread responses


def stall(client: RawHttpClient, gateway: Gateway) -> None:
    """Request more than the buffers can hold, and read nothing of it."""
    client.say("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
    wait_until(lambda: unread(gateway) == 1)


@requirement("common-174")
def test_an_unread_response_is_aborted(gateway: Gateway) -> None:
    with open_raw_connection(gateway.base_url, buffer_bytes=4096) as client:
        stall(client, gateway)
        passing(gateway, 0)
        passing(gateway, UNREAD_SECONDS - 1)
        before = count_connections(gateway)
        passing(gateway, UNREAD_SECONDS + 1)
        wait_until(lambda: count_connections(gateway) < before)


# Limits of connections and bytes


@pytest.fixture
def limited_gateway(tmp_path: Path) -> Iterator[Gateway]:
    limits: dict[str, Any] = {"GATEWAY_MAX_CONNECTIONS": "4", "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "2"}
    with run_gateway(Sandbox({}), tmp_path, connectors=connectors(FakeUpstream()), **limits) as gateway:
        yield gateway


@requirement("common-175")
def test_excess_connections_of_one_address_are_rejected(limited_gateway: Gateway) -> None:
    with open_raw_connection(limited_gateway.base_url) as one, open_raw_connection(limited_gateway.base_url) as two:
        one.send_request("GET", "/healthz")
        two.send_request("GET", "/healthz")
        responses = [one.answer()[0], two.answer()[0]]
        with open_raw_connection(limited_gateway.base_url) as third:
            status, body = third.answer()

    assert [200, 200] == responses
    assert (503, "overloaded", 5) == (status, body["error"]["code"], body["retry_after"])


def test_a_closed_connection_frees_its_slot(limited_gateway: Gateway) -> None:
    with open_raw_connection(limited_gateway.base_url), open_raw_connection(limited_gateway.base_url):
        wait_until(lambda: count_connections(limited_gateway) == 2)
    wait_until(lambda: count_connections(limited_gateway) == 0)

    assert 200 == limited_gateway.request("GET", "/healthz").status


class FakeConnection:
    """A connection that records whether it was aborted."""

    def __init__(self, address: str, moved_at: float) -> None:
        self.address = address
        self.last_active_at = moved_at
        self.was_aborted = False

    def check_timeouts(self, now: float) -> None:
        """Find no timeout."""

    def abort(self, reason: str) -> None:
        self.was_aborted = True
        self.reason = reason


def create_connections(**limits: int) -> ClientConnections:
    return ClientConnections(ConnectionLimits(**limits))


@requirement("common-176")
def test_the_longest_idle_requests_are_aborted_above_the_limit() -> None:
    counted = create_connections(held_bytes_per_address=100, held_bytes=1000)
    slowest, slow, newest = FakeConnection("a", 1), FakeConnection("a", 2), FakeConnection("a", 0)
    counted.reserve_buffer(slow, 40)
    counted.reserve_buffer(slowest, 40)
    counted.reserve_buffer(newest, 50)

    assert [True, False, False] == [peer.was_aborted for peer in (slowest, slow, newest)]


@requirement("common-176")
def test_one_address_does_not_abort_requests_of_another() -> None:
    counted = create_connections(held_bytes_per_address=100, held_bytes=1000)
    other, newest = FakeConnection("b", 0), FakeConnection("a", 5)
    counted.reserve_buffer(other, 90)
    counted.reserve_buffer(newest, 90)

    assert [False, False] == [peer.was_aborted for peer in (other, newest)]


def test_the_total_of_all_addresses_is_limited() -> None:
    counted = create_connections(held_bytes_per_address=100, held_bytes=150)
    other, newest = FakeConnection("b", 0), FakeConnection("a", 5)
    counted.reserve_buffer(other, 90)
    counted.reserve_buffer(newest, 90)

    assert [True, False] == [peer.was_aborted for peer in (other, newest)]


def test_released_bytes_are_not_counted() -> None:
    counted = create_connections(held_bytes_per_address=100, held_bytes=1000)
    other, newest = FakeConnection("a", 0), FakeConnection("a", 5)
    counted.reserve_buffer(other, 90)
    counted.release(other)
    counted.reserve_buffer(newest, 90)

    assert not other.was_aborted


def test_a_single_request_above_the_limit_is_not_aborted() -> None:
    counted = create_connections(held_bytes_per_address=100, held_bytes=100)
    only = FakeConnection("a", 0)
    counted.reserve_buffer(only, 500)

    assert not only.was_aborted


@pytest.mark.parametrize(
    ("address", "counted_as"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, counted_as: str) -> None:
    assert counted_as == client_network(address)


# Connection identifiers


@requirement("common-177")
@pytest.mark.parametrize("named", ["conn_x", "c" * 60_000, "../conn_01KAJ5T6M0Q7Z3X9V2B8N4C1DF", "conn_é"])
def test_invalid_connection_ids_are_neither_cached_nor_echoed_in_full(gateway: Gateway, named: str) -> None:
    known = len(gateway.app.connections._cache._values)
    reply = gateway.get("/shelf/things", connection_id=named)

    assert (404, "connection_not_found") == (reply.status, reply.code)
    assert len(str(reply.body)) < 1000
    assert known == len(gateway.app.connections._cache._values)
