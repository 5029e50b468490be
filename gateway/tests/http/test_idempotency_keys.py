"""One idempotency key on every surface: header, body, agent tools, command line and client."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic_core import from_json

from connector_gateway.cli import main
from connector_gateway_client import Gateway as Client
from connector_gateway_client.http_encoding import RequestSpec
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.mcp_clients import agent
from harness.raw_http import open_raw_connection
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

FOUR_BYTES = "\N{GRINNING FACE}"
UNFIT = ["a\0b", "a\nb", "a\x85b"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    emulators = {name: EMULATORS[name] for name in ("boards", "chat")}
    with (
        run_emulators(**emulators) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("keys")) as gateway,
    ):
        yield gateway


@pytest.fixture
def target(gateway: Gateway) -> dict[str, Any]:
    gateway.clear("chat")
    return {"connection_id": gateway.connections["chat"], "channel": "general", "text": "Once"}


def count_posts(gateway: Gateway) -> int:
    """Return the number of posted messages."""
    return gateway.journal("chat").count(("POST", "/api/chat.postMessage", 200))


def post_with_header(gateway: Gateway, body: dict[str, Any], value: bytes) -> Reply:
    """Post with a header of these bytes."""
    headers: Any = {"Idempotency-Key": value.decode("latin-1")}
    return gateway.request("POST", "/v1/connectors/chat/messages", headers, json=body)


def post_with_command(gateway: Gateway, key: str) -> Result:
    environment = {"GATEWAY_URL": gateway.base_url, "GATEWAY_API_KEY": gateway.key}
    options = ["--connection", gateway.connections["chat"], "--channel", "general", "--text", "Once"]
    return CliRunner().invoke(
        main, ["call", "chat", "post-message", *options, "--idempotency-key", key, "--json"], env=environment
    )


@requirement("keys-1")
@pytest.mark.parametrize("key", ["clé", FOUR_BYTES * 1000, '%"literal"'], ids=["accent", "long", "percent"])
async def test_a_key_is_the_same_on_all_surfaces(gateway: Gateway, target: dict[str, Any], key: str) -> None:
    async with agent(gateway) as agents:
        result = await agents.call_tool("chat_post_message", {**target, "idempotency_key": key})
    by_tool = (result.structured_content or {})["data"]
    in_body = gateway.post("/chat/messages", **target, idempotency_key=key).data
    display = "".join(f"%{byte:02x}" for byte in key.encode())
    in_ascii = post_with_header(gateway, target, f'%"{display}"'.encode()).data if len(display) < 60_000 else by_tool
    with Client(gateway.base_url, gateway.key) as client:
        by_client = client.chat.post_message(**target, idempotency_key=key).data
    command = await asyncio.to_thread(post_with_command, gateway, key)

    assert 0 == command.exit_code, command.output
    assert [by_tool] * 4 == [in_body, in_ascii, dict(by_client), from_json(command.stdout)["data"]]
    assert 1 == count_posts(gateway)


@requirement("common-85", "keys-1")
def test_header_and_body_can_contain_the_same_key(gateway: Gateway, target: dict[str, Any]) -> None:
    both = post_with_header(gateway, {**target, "idempotency_key": "ключ "}, "ключ".encode())

    assert 200 == both.status


@requirement("keys-6")
@pytest.mark.parametrize("key", [*UNFIT, "a\ud800b", FOUR_BYTES * 1001, ""], ids=ascii)
def test_an_invalid_key_is_rejected_in_the_same_way_everywhere(
    gateway: Gateway, target: dict[str, Any], key: str
) -> None:
    escaped = "".join(f"\\u{ord(one):04x}" for one in key) if len(key) < 10 else key
    body = f'{{"connection_id": "{target["connection_id"]}", "channel": "general", "text": "Once", '
    content = (body + f'"idempotency_key": "{escaped}"}}').encode()
    headers = {"Content-Type": "application/json"}
    in_body = gateway.request("POST", "/v1/connectors/chat/messages", headers, content=content)

    assert (422, "invalid_parameters", "idempotency_key") == (
        in_body.status,
        in_body.code,
        in_body.details[0]["parameter"],
    )
    assert post_with_command(gateway, key).exit_code in {1, 2}
    assert 0 == count_posts(gateway)


@requirement("keys-6")
@pytest.mark.parametrize("key", UNFIT)
async def test_a_tool_rejects_an_invalid_key(gateway: Gateway, key: str) -> None:
    card = {"list_id": gateway.examples("boards")["list_ids"][0], "name": "Once", "idempotency_key": key}
    async with agent(gateway) as agents:
        result = (await agents.call_tool("boards_create_card", card)).structured_content or {}

    assert ("invalid_parameters", "idempotency_key") == (
        result["error"]["code"],
        result["error"]["details"][0]["parameter"],
    )


@requirement("keys-6")
@pytest.mark.parametrize("value", [b"cl\xe9", b'%"cl%e9"', b'%"open'])
def test_a_header_that_is_not_utf8_is_rejected(gateway: Gateway, target: dict[str, Any], value: bytes) -> None:
    response = post_with_header(gateway, target, value)

    assert (422, "idempotency_key") == (response.status, response.details[0]["parameter"])
    assert "RFC 9651" in response.details[0]["message"]


@requirement("keys-6")
def test_a_repeated_header_is_rejected(gateway: Gateway) -> None:
    with open_raw_connection(gateway.base_url) as speaker:
        speaker.send_request(
            "POST",
            "/v1/connectors/chat/messages",
            f"Authorization: Bearer {gateway.key}",
            "Idempotency-Key: a",
            "Idempotency-Key: a",
            "Content-Type: application/json",
            "Content-Length: 2",
            body=b"{}",
        )
        status, body = speaker.answer()

    assert (400, "malformed_request", "idempotency-key") == (
        status,
        body["error"]["code"],
        body["error"]["details"][0]["header"],
    )


@requirement("keys-10")
def test_a_repeat_with_other_parameters_returns_a_warning(gateway: Gateway, target: dict[str, Any]) -> None:
    first = gateway.post("/chat/messages", **target, idempotency_key="other text")
    again = gateway.post("/chat/messages", **{**target, "text": "Twice"}, idempotency_key="other text")

    assert first.data == again.data
    assert f"This is the result of {first.body['run_id']}, the first call" in again.headers["warning"]


@pytest.mark.parametrize("key", ["a\0b", "a\ud800b"], ids=ascii)
def test_the_client_rejects_keys_that_are_invalid_in_headers(key: str) -> None:
    with pytest.raises(ValueError, match=r"^An idempotency key travels in a header, which cannot carry .*at 1\)"):
        _ = RequestSpec("POST", "/", {}, writes=True, key=key).headers
