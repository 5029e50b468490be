"""Clients that send too much, too slowly, or read nothing: each is bounded, and nobody else notices."""

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
from connector_gateway.http.server.http11_protocol import (
    BODY_SECONDS,
    HEAD_SECONDS,
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


def connected(gateway: Gateway) -> int:
    """How many connections the server counts."""
    return len(peers(gateway))


def waits_for(gateway: Gateway, phase: ConnectionState) -> bool:
    """Whether the server waits for that of somebody."""
    return phase in {peer._phase for peer in peers(gateway)}


@pytest.fixture
def speaker(gateway: Gateway) -> Iterator[RawHttpClient]:
    """A connection to the server."""
    with open_raw_connection(gateway.base_url) as client:
        yield client


def authorised(gateway: Gateway) -> str:
    return f"Authorization: Bearer {gateway.key}"


def latest(gateway: Gateway) -> dict[str, Any]:
    """The newest run."""
    run: dict[str, Any] = gateway.request("GET", "/v1/runs", params={"limit": 1}).body["data"][0]
    return run


# What is read at all


@requirement("common-168")
def test_an_exhausted_key_is_rejected_before_the_body_is_read(gateway: Gateway, speaker: RawHttpClient) -> None:
    caller = gateway.with_key(calls_per_minute=1)
    caller.get("/shelf/things")
    speaker.ask("POST", THINGS, authorised(caller), JSON, "Content-Length: 1000")
    status, body = speaker.answer()

    assert (429, "rate_limited") == (status, body["error"]["code"])
    assert body["run_id"] == gateway.request("GET", f"/v1/runs/{body['run_id']}").body["data"]["run_id"]


@requirement("common-168")
def test_a_read_key_is_rejected_before_the_body_is_read(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, authorised(gateway.with_key("read")), JSON, "Content-Length: 1000")
    status, body = speaker.answer()

    assert (403, "write_scope_required") == (status, body["error"]["code"])


def test_who_sends_the_rest_of_a_body_that_nobody_reads_goes_on_with_the_same_connection(
    gateway: Gateway, speaker: RawHttpClient
) -> None:
    speaker.ask("POST", THINGS, JSON, "Content-Length: 1000")
    first, _ = speaker.answer()
    speaker.say(b"x" * 1000)
    speaker.ask("GET", "/healthz")

    assert (401, (200, {"status": "alive"})) == (first, speaker.answer())


@requirement("common-169")
@pytest.mark.parametrize("header", ["Authorization", "Idempotency-Key", "Content-Type"])
def test_a_header_that_decides_something_must_stand_once(gateway: Gateway, speaker: RawHttpClient, header: str) -> None:
    headers = {"Authorization": f"Bearer {gateway.key}", "Content-Type": "application/json", "Idempotency-Key": "k"}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    speaker.ask("POST", THINGS, *lines, f"{header}: {headers[header]}", "Content-Length: 2", body=b"{}")
    status, body = speaker.answer()

    assert (400, "malformed_request") == (status, body["error"]["code"])
    assert header.lower() in body["error"]["message"]


@requirement("common-169")
def test_a_duplicate_idempotency_key_appears_in_the_history(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, authorised(gateway), JSON, *["Idempotency-Key: k"] * 2, "Content-Length: 2", body=b"{}")
    _, body = speaker.answer()

    assert (body["run_id"], "malformed_request") == (latest(gateway)["run_id"], latest(gateway)["code"])


@pytest.mark.parametrize("path", ["/v1/workspaces", "/v1/nothing"])
def test_other_routes_reject_a_second_authorisation_as_well(
    gateway: Gateway, speaker: RawHttpClient, path: str
) -> None:
    speaker.ask("GET", path, authorised(gateway), authorised(gateway))

    assert speaker.answer()[0] in {400, 404}


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
    gateway: Gateway, speaker: RawHttpClient, head: str
) -> None:
    speaker.say(head + "\r\n")
    status, body = speaker.answer()

    assert (431, "headers_too_large") == (status, body["error"]["code"])
    assert b"" == speaker.hear()


@requirement("common-171")
def test_an_endless_header_is_rejected_before_it_ends(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.say("GET /healthz HTTP/1.1\r\nX-Endless: " + "x" * 400_000)

    assert 431 == speaker.answer()[0]


@requirement("common-171")
def test_trailers_without_end_break_the_connection(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, authorised(gateway), JSON, "Transfer-Encoding: chunked")
    speaker.say("2\r\n{}\r\n0\r\n" + f"X-More: {'x' * 100}\r\n" * 1000)

    assert b"" == speaker.hear()


def test_a_trailer_is_no_header(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, JSON, "Transfer-Encoding: chunked")
    speaker.say(f"2\r\n{{}}\r\n0\r\n{authorised(gateway)}\r\n\r\n")

    assert 401 == speaker.answer()[0]


def test_a_body_in_very_small_chunks_is_read(gateway: Gateway, speaker: RawHttpClient) -> None:
    body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "{"n" * 20_000}"}}'
    speaker.ask("POST", THINGS, authorised(gateway), JSON, "Transfer-Encoding: chunked")
    speaker.say("".join(f"1\r\n{character}\r\n" for character in body) + "0\r\n\r\n")

    assert 200 == speaker.answer()[0]


def test_chunks_with_endless_extensions_break_the_connection(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, authorised(gateway), JSON, "Transfer-Encoding: chunked")
    speaker.say(f"1;{'x' * 1000}\r\n \r\n" * 500)

    assert b"" == speaker.hear()


@requirement("common-170")
@pytest.mark.parametrize(
    "text", ["HELLO\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /é HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02"]
)
def test_invalid_http_is_rejected_with_the_error_shape(gateway: Gateway, speaker: RawHttpClient, text: str) -> None:
    speaker.say(text)
    status, body = speaker.answer()

    assert (400, "malformed_request") == (status, body["error"]["code"])
    assert body["run_id"].startswith("run_")


def test_what_asks_for_another_protocol_is_answered_in_this_one(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("GET", "/healthz", "Connection: Upgrade", "Upgrade: websocket")

    assert (200, {"status": "alive"}) == speaker.answer()


def test_a_few_requests_may_be_sent_ahead(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    speaker.say("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert 51 == speaker.hear().count(b"HTTP/1.1 200 OK")


@requirement("common-170")
def test_requests_without_end_sent_ahead_break_the_connection(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * (MAX_PIPELINED + 2))

    assert speaker.hear().count(b"HTTP/1.1 200 OK") < MAX_PIPELINED


# What is refused before there is a call is counted, and told to the operator


def rejection_count(gateway: Gateway, reason: str) -> float:
    """How often something was refused for that reason."""
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
def test_what_the_protocol_refuses_is_counted_and_logged_without_its_content(
    gateway: Gateway, speaker: RawHttpClient, text: str, reason: str
) -> None:
    before = rejection_count(gateway, reason)
    passing(gateway, 0)  # lines are counted anew
    with capture_logs() as logged:
        speaker.say(text)
        _, body = speaker.answer()

    expected = {"event": "rejected by protocol", "log_level": "warning", "code": reason, "client": "127.0.0.1"}
    assert 1 == rejection_count(gateway, reason) - before
    assert [{**expected, "run_id": body["run_id"]}] == logged


def test_headers_that_come_late_are_counted(gateway: Gateway, speaker: RawHttpClient) -> None:
    before = rejection_count(gateway, "request_incomplete")
    speaker.say("GET /healthz HTTP/1.1\r\nX-Slow: ")
    wait_until(lambda: waits_for(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS)
    speaker.answer()

    assert 1 == rejection_count(gateway, "request_incomplete") - before


def test_many_rejections_are_logged_in_a_few_lines() -> None:
    counted = clients()
    with capture_logs() as logged:
        deque(
            map(counted.record_rejection, [Peer("a", 0)] * (MAX_LOG_LINES + 5), repeat("malformed_request")), maxlen=0
        )
        counted.check_timeouts(0)
        counted.record_rejection(Peer("a", 0), "malformed_request")

    assert MAX_LOG_LINES + 6 == counted.rejections["malformed_request"]
    assert [5] == [line["and_more"] for line in logged if "and_more" in line]
    assert MAX_LOG_LINES + 2 == len(logged)


# Time


@requirement("common-172")
def test_late_headers_are_rejected(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.say("GET /healthz HTTP/1.1\r\nX-Slow: ")
    wait_until(lambda: waits_for(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS - 1)
    speaker.say("x")
    passing(gateway, HEAD_SECONDS)
    status, body = speaker.answer()

    assert (408, "request_incomplete") == (status, body["error"]["code"])
    assert b"" == speaker.hear()


@requirement("common-172")
def test_who_connects_and_says_nothing_is_cut(gateway: Gateway, speaker: RawHttpClient) -> None:
    wait_until(lambda: waits_for(gateway, ConnectionState.NEW))
    passing(gateway, HEAD_SECONDS)

    assert b"" == speaker.hear()


def test_empty_lines_do_not_keep_a_connection_open(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("GET", "/healthz")
    speaker.answer()
    speaker.say("\r\n")
    wait_until(lambda: waits_for(gateway, ConnectionState.HEAD))
    passing(gateway, HEAD_SECONDS)

    assert 408 == speaker.answer()[0]


@requirement("common-173")
def test_a_late_body_is_rejected_and_appears_in_the_history(gateway: Gateway, speaker: RawHttpClient) -> None:
    speaker.ask("POST", THINGS, authorised(gateway), JSON, "Content-Length: 1000", body=b"{")
    wait_until(lambda: waits_for(gateway, ConnectionState.BODY))
    passing(gateway, BODY_SECONDS)
    status, body = speaker.answer()
    passing(gateway, BODY_SECONDS + LINGER_SECONDS)

    assert (408, "request_incomplete") == (status, body["error"]["code"])
    assert b"" == speaker.hear()
    assert (body["run_id"], "request_incomplete") == (latest(gateway)["run_id"], latest(gateway)["code"])


@requirement("common-173")
def test_a_call_whose_body_breaks_off_is_not_carried_out(gateway: Gateway, shelf: FakeUpstream) -> None:
    gateway.get("/shelf/things")
    before = latest(gateway)["run_id"]
    body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "n"}}'.encode()
    with open_raw_connection(gateway.base_url) as speaker:
        speaker.ask("POST", THINGS, authorised(gateway), JSON, f"Content-Length: {len(body) + 9}", body=body)
    wait_until(lambda: latest(gateway)["run_id"] != before)

    assert ("error", "request_incomplete") == (latest(gateway)["status"], latest(gateway)["code"])
    assert [] == shelf.things


def test_a_call_that_takes_long_is_not_cut_while_its_client_waits(gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.gate.clear()
    with open_raw_connection(gateway.base_url) as speaker:
        body = f'{{"connection_id": "{gateway.connections["shelf"]}", "name": "n"}}'.encode()
        speaker.ask("POST", THINGS, authorised(gateway), JSON, f"Content-Length: {len(body)}", body=body)
        gateway.run(shelf.wait_for_request())
        passing(gateway, 10 * BODY_SECONDS)
        gateway.loop.call_soon_threadsafe(shelf.gate.set)

        assert 200 == speaker.answer()[0]


# Answers that nobody reads


def stall(speaker: RawHttpClient, gateway: Gateway) -> None:
    """Ask for more than fits on the way, and read nothing of it."""
    speaker.say("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
    wait_until(lambda: unread(gateway) == 1)


@requirement("common-174")
def test_an_answer_that_nobody_reads_is_cut(gateway: Gateway) -> None:
    with open_raw_connection(gateway.base_url, buffer_bytes=4096) as speaker:
        stall(speaker, gateway)
        passing(gateway, 0)
        passing(gateway, UNREAD_SECONDS - 1)
        before = connected(gateway)
        passing(gateway, UNREAD_SECONDS + 1)
        wait_until(lambda: connected(gateway) < before)


# How many, and how much


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Gateway]:
    limits: dict[str, Any] = {"GATEWAY_MAX_CONNECTIONS": "4", "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "2"}
    with run_gateway(Sandbox({}), tmp_path, connectors=connectors(FakeUpstream()), **limits) as gateway:
        yield gateway


@requirement("common-175")
def test_too_many_connections_of_one_address_are_rejected(narrow: Gateway) -> None:
    with open_raw_connection(narrow.base_url) as one, open_raw_connection(narrow.base_url) as two:
        one.ask("GET", "/healthz")
        two.ask("GET", "/healthz")
        answers = [one.answer()[0], two.answer()[0]]
        with open_raw_connection(narrow.base_url) as third:
            status, body = third.answer()

    assert [200, 200] == answers
    assert (503, "overloaded", 5) == (status, body["error"]["code"], body["retry_after"])


def test_a_closed_connection_frees_its_slot(narrow: Gateway) -> None:
    with open_raw_connection(narrow.base_url), open_raw_connection(narrow.base_url):
        wait_until(lambda: connected(narrow) == 2)
    wait_until(lambda: connected(narrow) == 0)

    assert 200 == narrow.request("GET", "/healthz").status


class Peer:
    """A connection that notes that it was cut."""

    def __init__(self, address: str, moved_at: float) -> None:
        self.address = address
        self.last_active_at = moved_at
        self.was_cut = False

    def check_timeouts(self, now: float) -> None:
        """Nothing is ever late."""

    def abort(self, reason: str) -> None:
        self.was_cut = True
        self.reason = reason


def clients(**limits: int) -> ClientConnections:
    return ClientConnections(ConnectionLimits(**limits))


@requirement("common-176")
def test_above_the_limit_the_longest_idle_requests_are_cut() -> None:
    counted = clients(held_bytes_per_address=100, held_bytes=1000)
    slowest, slow, newest = Peer("a", 1), Peer("a", 2), Peer("a", 0)
    counted.reserve_buffer(slow, 40)
    counted.reserve_buffer(slowest, 40)
    counted.reserve_buffer(newest, 50)

    assert [True, False, False] == [peer.was_cut for peer in (slowest, slow, newest)]


@requirement("common-176")
def test_an_address_does_not_cost_another_its_answers() -> None:
    counted = clients(held_bytes_per_address=100, held_bytes=1000)
    other, newest = Peer("b", 0), Peer("a", 5)
    counted.reserve_buffer(other, 90)
    counted.reserve_buffer(newest, 90)

    assert [False, False] == [peer.was_cut for peer in (other, newest)]


def test_all_addresses_together_are_bounded_too() -> None:
    counted = clients(held_bytes_per_address=100, held_bytes=150)
    other, newest = Peer("b", 0), Peer("a", 5)
    counted.reserve_buffer(other, 90)
    counted.reserve_buffer(newest, 90)

    assert [True, False] == [peer.was_cut for peer in (other, newest)]


def test_what_is_released_counts_no_more() -> None:
    counted = clients(held_bytes_per_address=100, held_bytes=1000)
    other, newest = Peer("a", 0), Peer("a", 5)
    counted.reserve_buffer(other, 90)
    counted.release(other)
    counted.reserve_buffer(newest, 90)

    assert not other.was_cut


def test_a_request_larger_than_the_limit_is_not_cut_for_itself() -> None:
    counted = clients(held_bytes_per_address=100, held_bytes=100)
    only = Peer("a", 0)
    counted.reserve_buffer(only, 500)

    assert not only.was_cut


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
def test_of_ipv6_a_network_counts_as_one_address(address: str, counted_as: str) -> None:
    assert counted_as == client_network(address)


# What names a connection


@requirement("common-177")
@pytest.mark.parametrize("named", ["conn_x", "c" * 60_000, "../conn_01KAJ5T6M0Q7Z3X9V2B8N4C1DF", "conn_é"])
def test_what_cannot_name_a_connection_is_neither_remembered_nor_repeated_at_length(
    gateway: Gateway, named: str
) -> None:
    known = len(gateway.app.connections._cache._values)
    reply = gateway.get("/shelf/things", connection_id=named)

    assert (404, "connection_not_found") == (reply.status, reply.code)
    assert len(str(reply.body)) < 1000
    assert known == len(gateway.app.connections._cache._values)
