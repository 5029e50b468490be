"""The Python client: its requests, its parsing of responses, and its retries."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, assert_type

import httpx
import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import all_errors
from connector_gateway.kit.events import Observation
from connector_gateway_client import (
    AsyncGateway,
    ConnectionFailed,
    DryRun,
    GatewayError,
    InvalidResponse,
    Response,
    errors,
)
from connector_gateway_client import Gateway as Client
from connector_gateway_client.http_encoding import BY_CODE, RequestSpec, parse_response, retry_delay
from connector_gateway_client.models import CreatedCard
from connector_gateway_client.responses import Events, FeedPosition
from connector_gateway_client.transport import AsyncTransport, SyncTransport
from harness.gateway_server import Gateway, run_gateway
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

README = (Path(__file__).parents[2] / "client" / "README.md").read_text(encoding="utf-8")
STRANGE_PAGE = "11111111111141118111111111111111"
OPERATIONS = [(connector.name, one.name) for connector in CONNECTORS.values() for one in connector.operations]
WRITE = RequestSpec("POST", "/v1/connectors/boards/cards", {"name": "Plan"}, writes=True)
DONE = {"run_id": "run_1", "connector": "boards", "status": "ok", "data": {"card_id": "c"}}
DONE_NOW = httpx.Response(200, json=DONE)
UNKNOWN = {"code": "outcome_unknown", "message": "Not known.", "remedy": "Repeat it.", "details": []}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_emulators(**EMULATORS) as sandbox, run_gateway(sandbox, tmp_path_factory.mktemp("client")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def client(served: Gateway) -> Iterator[Client]:
    with Client(served.base_url, served.key) as client:
        yield client


class Script:
    """Returns scripted responses in order, and records the requests."""

    def __init__(self, *answers: httpx.Response | httpx.TransportError) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = self.answers.pop(0)
        if isinstance(response, httpx.TransportError):
            raise response
        return response

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    @property
    def transport(self) -> SyncTransport:
        http = httpx.Client(base_url="http://gateway", transport=httpx.MockTransport(self))
        return SyncTransport(http, 60, self.pauses.append, lambda: sum(self.pauses))

    @property
    def async_transport(self) -> AsyncTransport:
        http = httpx.AsyncClient(base_url="http://gateway", transport=httpx.MockTransport(self))
        return AsyncTransport(http, 60, self.sleep, lambda: sum(self.pauses))

    @property
    def keys(self) -> list[str]:
        return [request.headers["Idempotency-Key"] for request in self.requests]


def unknown(seconds: int = 3) -> httpx.Response:
    return httpx.Response(502, json={"run_id": "run_0", "error": UNKNOWN, "retry_after": seconds})


@pytest.mark.parametrize(("connector", "operation"), OPERATIONS)
def test_every_operation_is_a_method(client: Client, connector: str, operation: str) -> None:
    assert callable(getattr(getattr(client, connector), operation))


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(errors.__file__).parent / "py.typed").exists()


def test_every_code_is_an_exception() -> None:
    assert {error.code for error in all_errors()} == BY_CODE.keys()
    assert {code: error.code for code, error in BY_CODE.items()} == {code: code for code in BY_CODE}


def test_a_write_returns_the_created_object(served: Gateway, client: Client) -> None:
    list_id = served.examples("boards")["list_ids"][0]
    card = client.boards.create_card(connection_id=served.connections["boards"], list_id=list_id, name="From Python")
    assert_type(card, Response[CreatedCard])

    assert "From Python" == served.sandbox.emulators["boards"].store.cards[card.data["card_id"]].name  # type: ignore[attr-defined]


def test_a_dry_run_writes_nothing(served: Gateway, client: Client) -> None:
    list_id, connection_id = served.examples("boards")["list_ids"][0], served.connections["boards"]
    served.clear("boards")
    dry = client.boards.create_card(connection_id=connection_id, list_id=list_id, name="Dry", dry_run=True)
    assert_type(dry.plan, DryRun)

    assert ["create the card"] == [request["step"] for request in dry.plan["requests"]]
    assert {"GET"} == {method for method, _, _ in served.journal("boards")}


@requirement("requests-1")
def test_a_request_of_your_own_returns_the_response_of_the_vendor(served: Gateway) -> None:
    key = served.with_key(passthrough=True).key
    with Client(served.base_url, key) as client:
        me = client.request(connection_id=served.connections["notes"], method="GET", path="/v1/users/me")

    assert (200, "user") == (me.data["status"], me.data["body"]["object"])


def test_a_response_without_dry_run_has_no_plan() -> None:
    response = parse_response(200, {}, json.dumps(DONE).encode(), dry_run=False)

    with pytest.raises(ValueError, match="not a dry run"):
        _ = response.plan


def test_a_write_with_a_repeated_key_is_replayed(served: Gateway, client: Client) -> None:
    list_id, connection_id = served.examples("boards")["list_ids"][0], served.connections["boards"]
    cards = [
        client.boards.create_card(connection_id=connection_id, list_id=list_id, name="Once", idempotency_key="once")
        for _ in range(2)
    ]

    assert [False, True] == [card.replayed for card in cards]


def test_a_list_is_fetched_page_by_page(served: Gateway, client: Client) -> None:
    connection_id = served.connections["notes"]
    databases = list(client.notes.list_databases(connection_id=connection_id))
    single = list(client.notes.list_databases(connection_id=connection_id, limit=1))
    pages = list(client.notes.list_databases(connection_id=connection_id, limit=1).pages())

    assert databases == single
    assert [1] * len(databases) == [len(page.data) for page in pages]


async def test_the_async_client_returns_lists_and_data(served: Gateway) -> None:
    connection_id = served.connections["notes"]
    async with AsyncGateway(served.base_url, served.key) as client:
        titles = [one["title"] async for one in client.notes.list_databases(connection_id=connection_id, limit=1)]
        properties = await client.crm.list_properties(connection_id=served.connections["crm"], object_type="contacts")

    assert (True, True) == (len(titles) > 1, bool(properties.data))


def test_the_readme_example_runs(served: Gateway, client: Client) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    database = {"connection_id": served.connections["notes"], "database_id": served.examples("notes")["database_id"]}
    printed: list[tuple[str, ...]] = []
    names = {"api_key": served.key, "other": STRANGE_PAGE, "print": lambda *words: printed.append(words)}
    exec(text.replace("http://127.0.0.1:8080", served.base_url), names | database)
    page, *titles, remedy = printed
    matches = client.notes.search_pages(property="Name", value="Plan", **database).data["pages"]
    listed = [(one["title"],) for one in client.notes.list_databases(connection_id=database["connection_id"])]

    assert [page[0]] == [match["page_id"] for match in matches]
    assert (listed, True) == (titles, "search" in remedy[0])


def test_an_error_response_raises_the_exception_of_its_code(served: Gateway, client: Client) -> None:
    with pytest.raises(errors.ListNotFound) as error:
        client.boards.create_card(connection_id=served.connections["boards"], list_id="f" * 24, name="Nowhere")

    assert (404, True) == (error.value.status, error.value.run_id is not None)
    assert error.value.remedy


def test_a_traceback_contains_message_remedy_and_run(served: Gateway, client: Client) -> None:
    with pytest.raises(errors.InvalidParameters) as error:
        client.boards.create_card(connection_id=served.connections["boards"], list_id="f" * 24, name="")

    assert [
        "invalid_parameters: Parameter name is invalid.",
        "name: String should have at least 1 character",
        f"What to do: {error.value.remedy}",
        f"Run: {error.value.run_id}",
    ] == str(error.value).splitlines()


def test_an_invalid_key_raises_invalid_api_key(served: Gateway) -> None:
    with Client(served.base_url, "cg_wrong") as client, pytest.raises(errors.InvalidApiKey):
        list(client.notes.list_databases(connection_id="any"))


def test_an_unreachable_service_is_named_by_its_url() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with Client(address, "key", retry_seconds=0) as client, pytest.raises(ConnectionFailed) as error:
        list(client.notes.list_databases(connection_id="any"))

    assert f"No answer came from {address}: " in str(error.value)


def test_a_revoked_connection_has_its_reconnect_link() -> None:
    details = [{"parameter": "connection_id"}, {"reconnect_url": "http://gateway/connect/x"}]
    error = {"code": "connection_revoked", "message": "Withdrawn.", "details": details}

    with pytest.raises(errors.ConnectionRevoked, match="Connect again: http://gateway/connect/x") as raised:
        parse_response(401, {}, json.dumps(DONE | {"error": error}).encode(), dry_run=False)
    assert "http://gateway/connect/x" == raised.value.reconnect_url


def test_the_generated_key_is_in_the_error() -> None:
    with pytest.raises(errors.OutcomeUnknown) as error:
        Script(unknown(9), *[unknown(99)] * 2).transport.send(WRITE)

    assert WRITE.generated_key == error.value.idempotency_key
    assert f"Repeat with: idempotency_key='{WRITE.generated_key}'" in str(error.value)


@pytest.mark.parametrize("code", ["upstream_unavailable", "upstream_error", "upstream_timeout", "of_a_later_release"])
def test_four_failures_of_a_keyed_write_are_retried(code: str) -> None:
    failure = httpx.Response(503, json={"run_id": "run_0", "error": UNKNOWN | {"code": code}})
    script = Script(*[failure] * 4, DONE_NOW)
    response = script.transport.send(WRITE)

    assert ("run_1", [WRITE.generated_key] * 5) == (response.run_id, script.keys)
    assert sum(script.pauses) <= 60


@pytest.mark.parametrize("code", ["secret_unreadable", "upstream_unexpected", "outcome_unknown"])
def test_a_failure_that_lasts_is_not_retried(code: str) -> None:
    script = Script(httpx.Response(503, json={"run_id": "run_0", "error": UNKNOWN | {"code": code}}))

    with pytest.raises(GatewayError):
        script.transport.send(WRITE)
    assert [] == script.pauses


@requirement("requests-8")
@pytest.mark.parametrize("failure", [httpx.ReadError("cut"), unknown()])
def test_a_request_of_your_own_is_not_sent_again(failure: httpx.Response | httpx.TransportError) -> None:
    script = Script(failure)

    with pytest.raises(GatewayError):
        script.transport.send(RequestSpec("POST", "/v1/connections/c/request", {}, once=True))
    assert 1 == len(script.requests)


def test_a_rate_limited_request_of_your_own_is_sent_again() -> None:
    limited = httpx.Response(429, json={"run_id": "r", "error": UNKNOWN | {"code": "rate_limited"}, "retry_after": 1})
    script = Script(limited, DONE_NOW)

    assert "run_1" == script.transport.send(RequestSpec("POST", "/v1/connections/c/request", {}, once=True)).run_id


def test_a_write_in_doubt_is_retried_with_its_key_after_retry_after() -> None:
    script = Script(unknown(7), httpx.Response(200, json=DONE))
    response = script.transport.send(WRITE)

    assert ("run_1", [7]) == (response.run_id, script.pauses)
    assert [WRITE.generated_key] * 2 == script.keys


async def test_an_async_write_in_doubt_is_retried_with_its_key() -> None:
    script = Script(unknown(7), httpx.ReadError("cut"), httpx.Response(200, json=DONE))
    response = await script.async_transport.send(WRITE)

    assert ("run_1", 7, 2) == (response.run_id, script.pauses[0], len(script.pauses))
    assert [WRITE.generated_key] * 3 == script.keys


def test_an_interrupted_response_is_requested_again() -> None:
    script = Script(httpx.RemoteProtocolError("cut"), httpx.Response(200, json=DONE))
    response = script.transport.send(WRITE)

    assert ("run_1", [WRITE.generated_key] * 2) == (response.run_id, script.keys)


def test_a_lasting_rate_limit_is_raised_after_the_retry_time() -> None:
    error = UNKNOWN | {"code": "rate_limited"}
    limited = httpx.Response(429, json={"run_id": "run_0", "error": error, "retry_after": 20})
    script = Script(*[limited] * 9)

    with pytest.raises(errors.RateLimited):
        script.transport.send(WRITE)
    assert [20, 20, 20] == script.pauses


@pytest.mark.parametrize(("retry_after", "pauses"), [(0, [0.5]), (0.1, [0.5]), (2, [2])])
def test_a_retry_after_of_zero_still_delays_the_retry(retry_after: float, pauses: list[float]) -> None:
    script = Script(httpx.Response(503, json={"run_id": "r", "error": UNKNOWN, "retry_after": retry_after}), DONE_NOW)
    script.transport.send(WRITE)

    assert pauses == script.pauses


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "", "ftp://gateway", "http://", "gateway.example"])
def test_an_invalid_url_is_rejected_immediately(address: str) -> None:
    with pytest.raises(ValueError, match="begins with http"):
        Client(address, "key")


@pytest.mark.parametrize("key", ["", "key\n", "a key", "k\u00e4y"])
def test_an_invalid_key_is_rejected_immediately(key: str) -> None:
    with pytest.raises(ValueError, match="The API key"):
        AsyncGateway("http://127.0.0.1:1", key)


def test_a_truncated_response_is_requested_again() -> None:
    body = json.dumps(DONE).encode()
    with run_truncating_server([body[:10], body]) as address, Client(address, "key") as client:
        response = client.boards.create_card(connection_id="c", list_id="l", name="n")

    assert "run_1" == response.run_id


@contextmanager
def run_truncating_server(bodies: list[bytes]) -> Iterator[str]:
    """Run a server that sends *bodies* in order, each with the length of the last one. Yields its URL."""
    length, left = len(bodies[-1]), iter(bodies)

    class Cutting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(next(left))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_retry_after_above_the_limit_raises_immediately() -> None:
    error = UNKNOWN | {"code": "rate_limited"}
    script = Script(httpx.Response(429, json={"run_id": "run_0", "error": error, "retry_after": 61}))

    with pytest.raises(errors.RateLimited) as raised:
        script.transport.send(WRITE)
    assert ([], 61) == (script.pauses, raised.value.retry_after)


def test_a_write_in_doubt_for_longer_is_retried_once_at_the_end() -> None:
    script = Script(unknown(20), unknown(61), unknown(61))

    with pytest.raises(errors.OutcomeUnknown):
        script.transport.send(WRITE)
    assert [20, 40] == script.pauses


GARBAGE = [b"<html>", b"[]", b"{}", b'{"run_id": "r", "data"', b'{"run_id": "r", "error": 5}', b"", b"\xff"]


@pytest.mark.parametrize("body", GARBAGE)
def test_an_unreadable_body_raises_invalid_response(body: bytes) -> None:
    with pytest.raises(InvalidResponse):
        parse_response(200, {}, body, dry_run=False)


def test_an_error_page_of_a_proxy_is_retried() -> None:
    failures = [InvalidResponse("", status=status) for status in (200, 404, 502)]
    pauses = [retry_delay(1, failure) for failure in failures]

    assert [None, None] == pauses[:2]
    assert pauses[2] is not None


def test_an_unknown_code_raises_the_exception_of_its_family() -> None:
    body = b'{"run_id": "r", "error": {"code": "new_one", "message": "New."}}'

    with pytest.raises(GatewayError) as error:
        parse_response(409, {}, body, dry_run=False)
    assert ("CallerError", "new_one") == (type(error.value).__name__, error.value.service_code)


def test_a_service_without_dry_runs_raises_invalid_response() -> None:
    with pytest.raises(InvalidResponse, match="may have written"):
        parse_response(200, {}, b'{"run_id": "r", "data": {}}', dry_run=True)


def test_events_already_read_are_skipped() -> None:
    first, second, third = (event(number, at) for number, at in ((1, "10:00"), (2, "10:01"), (3, "10:01")))
    seen = FeedPosition()
    read = [list(seen.mark_new(events)) for events in ([first, second], [second, third], [second, third])]

    assert [[first, second], [third], []] == read
    assert "10:01" == seen.next_request(WRITE).values["since"]


def test_a_feed_is_followed_over_its_pages() -> None:
    pages = [DONE | {"data": [event(number, "10:00")], "next_cursor": "next"} for number in (1, 2)]
    script = Script(*(httpx.Response(200, json=page) for page in pages))
    following = iter(Events[Any](script.transport, RequestSpec("GET", "/v1/connectors/chat/events", {}), 5))
    events = [next(following), next(following)]

    assert [event(1, "10:00"), event(2, "10:00")] == events
    assert ["", "next"] == [request.url.params.get("cursor", "") for request in script.requests]


def test_a_feed_of_several_pages_is_polled_repeatedly(served: Gateway, client: Client) -> None:
    connection_id = served.connections["chat"]
    served.run(served.app._feed.add({connection_id: [observed(number) for number in range(60)]}))
    following = iter(client.chat.follow_events(connection_id=connection_id, poll_seconds=0))
    first = [next(following) for _ in range(60)]
    served.run(served.app._feed.add({connection_id: [observed(number) for number in range(60, 170)]}))
    then = [next(following) for _ in range(110)]

    assert [str(number) for number in range(170)] == [event["text"] for event in first + then]


@pytest.mark.parametrize("card_id", ["..", "."])
def test_an_identifier_of_dots_is_rejected_by_name(served: Gateway, client: Client, card_id: str) -> None:
    with pytest.raises(errors.InvalidParameters, match="card_id"):
        client.boards.move_card(card_id=card_id, connection_id=served.connections["boards"], list_id="l")


def test_an_empty_idempotency_key_is_rejected_and_not_replaced(served: Gateway, client: Client) -> None:
    with pytest.raises(errors.InvalidParameters, match="idempotency_key"):
        client.chat.post_message(
            connection_id=served.connections["chat"], channel="general", text="Hello", idempotency_key=""
        )


def test_a_datetime_is_sent_as_iso_8601() -> None:
    since = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)

    assert {"since": "2026-01-02T03:04:00+00:00"} == RequestSpec(
        "GET", "/v1/connectors/chat/events", {"since": since}
    ).query


def test_a_response_with_invalid_compression_raises_invalid_response() -> None:
    script = Script(httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"not gzip")))
    with pytest.raises(InvalidResponse, match="compressed"):
        script.transport.send(WRITE)


@pytest.mark.parametrize("retry_after", ["soon", -1, float("nan"), float("inf"), []])
def test_an_invalid_retry_after_raises_invalid_response(retry_after: Any) -> None:
    body = DONE | {"error": UNKNOWN, "retry_after": retry_after}
    with pytest.raises(InvalidResponse):
        parse_response(503, {}, json.dumps(body).encode(), dry_run=False)


def observed(number: int) -> Observation:
    data = {"channel_id": "C1", "author": "U1", "text": str(number), "matched_keyword": None}
    return Observation((str(number),), "message.posted", data, "C1")


def event(number: int, at: str) -> dict[str, Any]:
    return {"event_id": f"evt_{number}", "observed_at": at}
