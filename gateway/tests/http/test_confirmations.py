"""Keys whose writes a person confirms, over HTTP and as tools."""

from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.connectors.chat import CHAT
from connector_gateway.kit.operation import AnyConnector
from harness.agent_oauth import agent_code
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.mcp_clients import agent
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.chat import ChatEmulator


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    connectors: dict[str, AnyConnector] = {"boards": BOARDS, "chat": CHAT}
    with (
        run_emulators(boards=BoardsEmulator, chat=ChatEmulator) as sandbox,
        run_gateway(
            sandbox, tmp_path_factory.mktemp("confirmations"), connectors=connectors, GATEWAY_AGENT_OAUTH="on"
        ) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    """A caller whose posts and changes of cards have to be confirmed."""
    module_gateway.clear("chat")
    module_gateway.clear("boards")
    return module_gateway.with_key(confirm=["chat_post_message", "boards_move_*"])


def post(gateway: Gateway, text: str = "Hello", token: str = "", **headers: str) -> Reply:
    """Post a message."""
    confirmed = {"Confirmation-Token": token} if token else {}
    channel = gateway.examples("chat")["channel_id"]
    return gateway.post("/chat/messages", channel=channel, text=text, headers=confirmed | headers)


def token_of(reply: Reply) -> str:
    """Return the token of a call that has to be confirmed."""
    assert (409, "confirmation_required") == (reply.status, reply.code)
    token: str = reply.details[0]["confirmation_token"]
    return token


def posts(gateway: Gateway) -> int:
    """Return the number of messages that the vendor received."""
    return sum(path.endswith("chat.postMessage") for _, path, _ in gateway.journal("chat"))


@requirement("confirmations-1")
def test_a_call_is_answered_with_its_dry_run(gateway: Gateway) -> None:
    reply = post(gateway)
    run = gateway.operator("GET", f"/v1/runs/{reply.body['run_id']}").data

    token = token_of(reply)
    assert ["chat.postMessage"] == [one["path"].rpartition("/")[2] for one in reply.body["dry_run"]["requests"]]
    assert 0 == posts(gateway)
    assert "confirmation_required" == run["code"]
    assert token not in str(run)


@requirement("confirmations-2")
def test_a_confirmed_call_is_carried_out(gateway: Gateway) -> None:
    reply = post(gateway, token=token_of(post(gateway)))

    assert 200 == reply.status
    assert 1 == posts(gateway)


@requirement("confirmations-3")
def test_a_token_is_used_for_one_write(gateway: Gateway) -> None:
    token = token_of(post(gateway))

    first, second = post(gateway, token=token), post(gateway, token=token)

    assert first.data["message_ts"] == second.data["message_ts"]
    assert "true" == second.headers["idempotent-replayed"]
    assert 1 == posts(gateway)


@requirement("confirmations-2")
@pytest.mark.parametrize(
    "changes", [{"text": "Goodbye"}, {"Idempotency-Key": "another"}, {"Prefer": "mentions=neutralise"}]
)
def test_a_token_is_valid_for_exactly_one_call(gateway: Gateway, changes: dict[str, str]) -> None:
    token = token_of(post(gateway, "<!channel>"))

    reply = post(gateway, **{"text": "<!channel>", "token": token} | changes)

    assert token != token_of(reply)
    assert reply.body["error"]["message"].startswith("The confirmation has expired, or is for another call.")
    assert 0 == posts(gateway)


@requirement("confirmations-2")
def test_a_token_is_valid_for_its_key_and_operation(gateway: Gateway) -> None:
    token, other = token_of(post(gateway)), gateway.with_key(confirm=["*"])
    card_id = gateway.examples("boards")["card_id"]

    replies = [
        post(other, token=token),
        other.post(f"/boards/cards/{card_id}/comments", text="Hello", headers={"Confirmation-Token": token}),
        post(gateway, token=token + "A"),
        post(gateway, token="x" * 5000),
    ]

    assert ["confirmation_required"] * 4 == [reply.code for reply in replies]
    assert 0 == posts(gateway)


def test_invalid_calls_reads_and_dry_runs_need_no_confirmation(gateway: Gateway) -> None:
    wide = gateway.with_key(confirm=["*"])

    invalid = wide.post("/chat/messages", channel=gateway.examples("chat")["channel_id"])
    read = wide.get("/chat/channels")
    dry_run = post(wide, Prefer="dry-run")

    assert "invalid_parameters" == invalid.code
    assert [200, 200] == [read.status, dry_run.status]


def test_an_error_of_the_dry_run_comes_first(gateway: Gateway) -> None:
    reply = gateway.post("/chat/messages", channel="#missing", text="Hello")

    assert "channel_not_found" == reply.code


def test_unknown_operations_are_rejected(gateway: Gateway) -> None:
    body = {"workspace_id": gateway.workspace_id, "scope": "read_write", "confirm": ["chat_post_mesage"]}

    reply = gateway.operator("POST", "/v1/keys", json=body)

    assert ("invalid_parameters", "confirm") == (reply.code, reply.details[0]["parameter"])


def test_an_agent_of_a_key_confirms_at_least_what_the_key_confirms(gateway: Gateway) -> None:
    manager = gateway.with_key(manages_connections=True, confirm=["chat_*"])
    body = {"workspace_id": gateway.workspace_id, "confirm": ["boards_*"]}

    record = manager.request("POST", "/v1/agent_codes", json=body).data

    assert ["boards_*", "chat_*"] == record["confirm"]
    assert agent_code(gateway)["confirm"] is None


@requirement("confirmations-2")
async def test_a_tool_call_is_confirmed(gateway: Gateway) -> None:
    arguments: dict[str, Any] = {"channel": gateway.examples("chat")["channel_id"], "text": "Hello"}
    async with agent(gateway) as client:
        tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        required = (await client.call_tool("chat_post_message", arguments)).structured_content
        token = required["error"]["details"][0]["confirmation_token"]
        confirmed = await client.call_tool("chat_post_message", {**arguments, "confirmation_token": token})

    assert ["boards_move_card", "chat_post_message"] == [
        name for name, fields in sorted(tools.items()) if "confirmation_token" in fields
    ]
    assert "chat.postMessage" in str(required["dry_run"]["requests"])
    assert not confirmed.is_error
    assert 1 == posts(gateway)


@requirement("confirmations-1")
def test_a_request_of_the_callers_own_is_confirmed_too(gateway: Gateway) -> None:
    own = gateway.with_key(passthrough=True, confirm=["*"])
    path = f"/v1/connections/{gateway.connections['chat']}/request"
    body = {"method": "POST", "path": "/chat.postMessage", "body": {"channel": "C1", "text": "Hello"}}

    reply = own.request("POST", path, json=body)

    assert "confirmation_required" == reply.code
    assert 0 == posts(gateway)
