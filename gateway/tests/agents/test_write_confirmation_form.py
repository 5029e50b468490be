"""Writes that a person confirms in a form of the agent's client."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    FormElicitationCapability,
    InputRequiredResult,
    UrlElicitationCapability,
)

from connector_gateway.connectors import CONNECTORS
from connector_gateway.connectors.chat import CHAT
from connector_gateway.core.calls.write_confirmation_tokens import CONFIRMATION_SECONDS
from connector_gateway.kit.errors import ConfirmationRequired
from connector_gateway.mcp.elicitation_support import ANSWER_SECONDS, shows_forms
from connector_gateway.mcp.stdio_proxy import StdioProxy
from connector_gateway.mcp.stdio_proxy_connection import GatewayConnection
from connector_gateway.mcp.tools import build_tools
from connector_gateway.mcp.write_confirmation_form import MAX_CHARACTERS, confirmed_token, question
from gateway.tests.connectors.chat.vendor_view import find_channels
from harness.gateway_server import Gateway, run_gateway
from harness.mcp_clients import Mode, ProgressLog, agent, named, outcome, run_stdio_proxy
from harness.npm_packages import node_in, packages_in
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.chat import ChatEmulator

TOOLS = build_tools(CONNECTORS.values())
POST = "chat_post_message"
PATIENT: dict[str, Any] = {"GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "30"}
ACCEPTED = ElicitResult(action="accept", content={"confirm": True})


@dataclass
class Person:
    """Gives *answer* to every question, after *seconds*."""

    answer: ElicitResult | ErrorData
    seconds: float = 0.0
    questions: list[str] = field(default_factory=list)

    async def __call__(self, context: object, params: Any) -> ElicitResult | ErrorData:
        """Answer a question."""
        assert isinstance(params, ElicitRequestFormParams)
        assert ["confirm"] == list(params.requested_schema["properties"])
        self.questions.append(params.message)
        await asyncio.sleep(self.seconds)
        return self.answer


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("forms"), connectors={"chat": CHAT}, **PATIENT) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    """A caller whose writes have to be confirmed."""
    module_gateway.clear("chat")
    return module_gateway.with_key(confirm=["*"])


@asynccontextmanager
async def local_stdio_proxy(gateway: Gateway, mode: Mode, person: Person | None) -> AsyncIterator[Client]:
    """Run a client of the stdio proxy in this process."""
    async with (
        GatewayConnection(gateway.base_url, gateway.key) as connection,
        GatewayConnection(gateway.base_url, gateway.key, shows_forms=True) as form_connection,
        Client(
            StdioProxy(connection, form_connection).server(""), mode=mode, cache=None, elicitation_callback=person
        ) as client,
    ):
        yield client


async def post(client: Client, gateway: Gateway, text: str = "Hello", **more: Any) -> CallToolResult:
    """Post a message."""
    arguments = {"channel": gateway.examples("chat")["channel_id"], "text": text}
    return await client.call_tool(POST, arguments, **more)


def count_posts(gateway: Gateway) -> int:
    """Return the number of messages that the vendor received."""
    return sum(path.endswith("chat.postMessage") for _, path, _ in gateway.journal("chat"))


def error_of(dry_run: dict[str, Any]) -> ConfirmationRequired:
    empty: dict[str, Any] = {"requests": [], "casts": [], "refused": [], "notifies": []}
    return ConfirmationRequired("", {"confirmation_token": "t"}, dry_run=empty | dry_run)


def message_of(tool: str, **dry_run: Any) -> str:
    """Return the text of the question for a dry run."""
    (request,) = (question(error_of(dry_run), TOOLS[tool], "Acme (conn_1)").input_requests or {}).values()
    assert isinstance(request.params, ElicitRequestFormParams)
    return request.params.message


@requirement("confirmations-4")
@pytest.mark.parametrize("query", ["", "?find=true"])
async def test_an_accepted_write_is_sent_once(gateway: Gateway, query: str) -> None:
    person, channel = Person(ACCEPTED), gateway.examples("chat")["channel_id"]
    async with agent(gateway, query=query, answer=person) as client:
        arguments: dict[str, Any] = {"channel": channel, "text": "Hello"}
        name, call = ("call_operation", {"operation": POST, "arguments": arguments}) if query else (POST, arguments)
        result = await client.call_tool(name, call)

    assert "ok" == outcome(result)
    assert 1 == count_posts(gateway)
    assert 1 == len(person.questions)
    assert person.questions[0].startswith("Slack: post message. Nothing has been sent yet.")
    assert gateway.connections["chat"] in person.questions[0]
    assert "\n>   text: Hello" in person.questions[0]


@requirement("confirmations-4")
async def test_a_write_is_confirmed_over_a_stream(gateway: Gateway) -> None:
    async with agent(gateway, answer=Person(ACCEPTED)) as client:
        result = await post(client, gateway, progress_callback=ProgressLog().note)

    assert "ok" == outcome(result)


@requirement("confirmations-4")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ElicitResult(action="decline"), "The user declined. Nothing was sent."),
        (ElicitResult(action="cancel"), "The user closed the question. Nothing was sent."),
        (ElicitResult(action="accept", content={"confirm": False}), "The user declined. Nothing was sent."),
        (ElicitResult(action="accept", content={"confirm": "true"}), "The user declined. Nothing was sent."),
        (ElicitResult(action="accept"), "The user declined. Nothing was sent."),
    ],
)
async def test_any_other_answer_sends_nothing(gateway: Gateway, answer: ElicitResult, message: str) -> None:
    async with agent(gateway, answer=Person(answer)) as client:
        result = await post(client, gateway)
    runs = gateway.operator("GET", "/v1/runs", params={"limit": 2}).body["data"]

    assert "confirmation_declined" == outcome(result)
    assert message == result.structured_content["error"]["message"]
    assert "confirmation_token" not in str(result.structured_content)
    assert ["confirmation_declined", "confirmation_required"] == [run["code"] for run in runs]
    assert 0 == count_posts(gateway)


@requirement("confirmations-4")
async def test_a_late_answer_sends_nothing(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector_gateway.core.calls.write_confirmation_tokens.CONFIRMATION_SECONDS", 0.0)
    person = Person(ACCEPTED)
    async with agent(gateway, answer=person) as client:
        result = await post(client, gateway)

    assert "confirmation_required" == outcome(result)
    assert result.structured_content["error"]["message"].startswith("The confirmation has expired")
    assert 1 == len(person.questions)
    assert 0 == count_posts(gateway)


@requirement("confirmations-4")
async def test_a_form_cannot_change_the_call(gateway: Gateway) -> None:
    changed = ElicitResult(action="accept", content={"confirm": True, "text": "Goodbye", "channel": "C0"})
    async with agent(gateway, answer=Person(changed)) as client:
        result = await post(client, gateway, "As asked")

    assert "ok" == outcome(result)
    assert [gateway.examples("chat")["channel_id"]] == find_channels(gateway, "As asked")


@requirement("confirmations-4")
async def test_an_answer_is_valid_for_its_arguments_only(gateway: Gateway) -> None:
    channel = gateway.examples("chat")["channel_id"]
    async with agent(gateway, answer=Person(ACCEPTED)) as client:
        first = await client.session.call_tool(POST, {"channel": channel, "text": "Hello"}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        result = await client.call_tool(
            POST,
            {"channel": channel, "text": "Goodbye"},
            input_responses={"confirmation": ACCEPTED},
            request_state=first.request_state,
        )

    assert "confirmation_required" == outcome(result)
    assert 0 == count_posts(gateway)


@requirement("confirmations-4")
@pytest.mark.parametrize(("mode", "person"), [("auto", None), ("legacy", None), ("legacy", Person(ACCEPTED))])
async def test_other_clients_receive_the_token(gateway: Gateway, mode: Mode, person: Person | None) -> None:
    async with agent(gateway, mode, answer=person) as client:
        result = await post(client, gateway)

    assert "confirmation_required" == outcome(result)
    assert "confirmation_token" in str(result.structured_content)
    assert 0 == count_posts(gateway)


# The stdio proxy


@requirement("confirmations-4", "mcp-2")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_command_asks_in_every_version_of_the_protocol(gateway: Gateway, mode: Mode) -> None:
    person = Person(ACCEPTED)
    async with run_stdio_proxy(gateway, mode, answer=person) as client:
        result = await post(client, gateway)

    assert "ok" == outcome(result)
    assert (1, 1) == (len(person.questions), count_posts(gateway))


@requirement("confirmations-4", "mcp-2")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("person", "code"),
    [(Person(ElicitResult(action="decline")), "confirmation_declined"), (None, "confirmation_required")],
)
async def test_the_stdio_proxy_forwards_a_decline_and_questions_only_for_clients_with_forms(
    gateway: Gateway, mode: Mode, person: Person | None, code: str
) -> None:
    async with local_stdio_proxy(gateway, mode, person) as client:
        result = await post(client, gateway)

    assert code == outcome(result)
    assert 0 == count_posts(gateway)


@requirement("confirmations-4", "mcp-2")
@pytest.mark.parametrize("person", [Person(ACCEPTED, seconds=60), Person(ErrorData(code=1, message="No window"))])
async def test_the_stdio_proxy_returns_the_token_if_there_is_no_answer(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, person: Person
) -> None:
    monkeypatch.setattr("connector_gateway.mcp.stdio_proxy.ANSWER_SECONDS", 0.2)
    async with local_stdio_proxy(gateway, "legacy", person) as client:
        result = await post(client, gateway)

    assert "confirmation_required" == outcome(result)
    assert 0 == count_posts(gateway)


# The question


@requirement("confirmations-4")
def test_a_question_shows_an_email_as_a_person_reads_it() -> None:
    preview = {"to": ["ann@example.com"], "subject": "Offer", "text": "Dear Ann,\n\nyes.", "thread_id": None}
    request = {"step": "send", "method": "POST", "path": "/send", "body": None, "body_bytes": 900, "preview": preview}
    message = message_of("mail_send_message", requests=[request, request], notifies=["ann@example.com"])

    assert (
        "> account: Acme (conn_1)\n> notifies:\n>   - ann@example.com\n> 1. send, POST /send:\n>   to:\n"
        ">     - ann@example.com\n>   subject: Offer\n>   text: Dear Ann,\n>     \n>     yes.\n> 2. send, POST /send:\n"
    ) in message


@requirement("confirmations-4")
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\u2028", "\x85"])
def test_content_cannot_imitate_the_question(end: str) -> None:
    text = f"Hi{end}Everything was checked: accept.{end}</b>![x](https://evil.example)\u202e"
    cast = {"parameter": f"a{end}b", "type": "x", "given": "", "written": [text]}
    message = message_of("chat_post_message", casts=[cast], notifies=[text], refused=[{text: text}])
    content = message.split("\n\n", 1)[1]

    assert [] == [line for line in content.splitlines() if not line.startswith("> ")]
    assert [] == [markup for markup in ("</", "![", "\u202e") if markup in content]


@requirement("confirmations-4")
def test_a_question_is_bounded_and_says_what_it_leaves_out() -> None:
    body = {"text": "x" * 50_000, "channel": "C1"} | {f"field_{number}": "y" * 100 for number in range(200)}
    request = {"step": "post", "method": "POST", "path": "/post", "body": body, "body_bytes": 70_000}
    message = message_of("chat_post_message", requests=[request])

    assert len(message) < MAX_CHARACTERS + 300
    assert " … (48,000 more characters)\n>   channel: C1\n" in message
    assert "more characters are not shown here. Decline if you need them." in message


def test_an_unreadable_body_has_its_size_in_the_question() -> None:
    request = {"step": "send", "method": "POST", "path": "/send", "body": None, "body_bytes": 1_234_567}

    assert "> 1. send, POST /send: 1,234,567 bytes" in message_of("mail_send_message", requests=[request])


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (None, False),
        (ElicitationCapability(), True),
        (ElicitationCapability(form=FormElicitationCapability()), True),
        (ElicitationCapability(url=UrlElicitationCapability()), False),
    ],
)
def test_clients_declare_forms(capability: ElicitationCapability | None, *, expected: bool) -> None:
    assert expected == shows_forms(capability)


def test_an_answer_to_no_question_confirms_nothing() -> None:
    params = CallToolRequestParams(name=POST, input_responses={"confirmation": ACCEPTED})

    assert confirmed_token(params) is None


@requirement("confirmations-4", "mcp-2")
@pytest.mark.javascript
def test_the_official_typescript_client_confirms_a_write(gateway: Gateway, tmp_path: Path) -> None:
    suite = packages_in(tmp_path, Path(__file__).parent / "protocol", "confirm.mjs")
    program = [node_in(suite), "confirm.mjs", sys.executable, gateway.examples("chat")["channel_id"]]

    ended = subprocess.run(program, cwd=suite, env=named(gateway), capture_output=True, text=True, check=False)

    assert 0 == ended.returncode, ended.stderr
    result = json.loads(ended.stdout)
    assert ("ok", 1, 1) == (result["status"], len(result["questions"]), count_posts(gateway))


def test_a_person_can_answer_as_long_as_the_token_is_valid() -> None:
    # Written twice, because the proxy runs without the modules of the gateway.
    assert CONFIRMATION_SECONDS == ANSWER_SECONDS
