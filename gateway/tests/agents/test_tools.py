"""Agents list and call every operation, over both transports and earlier protocol versions."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ReadResourceResult
from pydantic_core import from_json

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import HeadersTooLarge, MissingApiKey, RequestIncomplete, UnsupportedMediaType
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.mcp import resources
from connector_gateway.mcp.result_paging import MAX_CHARACTERS
from harness.example_calls import arguments, playground
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway
from harness.mcp_clients import PATH, Mode, agent, first_text, outcome, outcomes, posted, run_stdio_proxy
from harness.requirement import requirement
from harness.wait import wait_until

TOOLS = {
    f"{connector.name}_{operation.name}": operation
    for connector in CONNECTORS.values()
    for operation in connector.operations
}
NAMES = list(TOOLS)
WRITES = {name for name, operation in TOOLS.items() if operation.scope == "write"}
BEFORE_THE_PROTOCOL = {HeadersTooLarge, MissingApiKey, RequestIncomplete, UnsupportedMediaType}
"""Errors before a tool is called. Clients report them to their administrators."""

READING = re.compile(r"(query|search|/read|/list|\.list|\.info|\.replies|\.history|\.test|/users\.\w+)$")
"""Vendor paths that change nothing although their method is POST."""

ELSEWHERE = re.compile(r"\b(GET|POST|PATCH|PUT|DELETE) |route|[Hh]eader|command|connector-gateway|console|/docs|\bbody")
MODES: list[Mode] = ["auto", "legacy"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with playground(tmp_path_factory.mktemp("tools")) as gateway:
        yield gateway


@pytest.fixture
def calls(gateway: Gateway) -> Iterator[Mapping[str, Mapping[str, Any]]]:
    """Arguments for every tool."""
    tables = gateway.examples("tables")
    with serve_files({"/brief.txt": scripted_response(b"What they need", "text/plain")}) as site:
        record, field = tables["record_id"], tables["attachment_field"]
        attached = {"record_id": record, "field": field, "url": f"{site}/brief.txt"}
        yield {**arguments(gateway), "tables_attach_file": attached}


def content(read: ReadResourceResult) -> Any:
    """Return the content of a resource."""
    (item,) = read.model_dump()["contents"]
    return from_json(item["text"])


async def effect(client: Client, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a call has changed, apart from its time, and from whether that was there before."""
    data = (await client.call_tool(name, dict(arguments))).structured_content["data"]
    return {field: value for field, value in data.items() if field not in ("updated_at", "already_present")}


# Listed


@requirement("mcp-5")
@pytest.mark.parametrize("mode", MODES)
async def test_every_operation_is_a_tool(gateway: Gateway, mode: Mode) -> None:
    async with agent(gateway, mode) as client:
        tools = (await client.list_tools()).tools

    assert NAMES == [tool.name for tool in tools]
    assert all(tool.title and "Returns " in (tool.description or "") for tool in tools)
    assert all("connection_id" in tool.input_schema["properties"] for tool in tools)


@requirement("mcp-5")
async def test_hints_describe_the_changes_of_a_tool(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools if tool.annotations}

    assert WRITES == {name for name, hint in hints.items() if not hint.read_only_hint}
    assert {
        "notes_update_page",
        "boards_move_card",
        "mail_change_message_labels",
        "chat_edit_message",
        "crm_create_or_update_contact",
        "crm_update_deal",
        "tables_update_record",
    } == {name for name, hint in hints.items() if hint.destructive_hint}
    assert NAMES == [name for name, hint in hints.items() if hint.open_world_hint]


@requirement("mcp-5")
async def test_tools_that_only_read_send_no_request_that_changes(
    gateway: Gateway, calls: Mapping[str, Mapping[str, Any]]
) -> None:
    for connector in CONNECTORS:
        gateway.clear(connector)
    async with agent(gateway) as client:
        await outcomes(client, {name: arguments for name, arguments in calls.items() if name not in WRITES})
    sent = [request for connector in CONNECTORS for request in gateway.journal(connector)]

    assert [] == [(method, path) for method, path, _ in sent if method != "GET" and not READING.search(path)]
    assert len(sent) > len(CONNECTORS)


@requirement("mcp-5")
async def test_only_tools_with_the_hint_change_nothing_more_if_repeated(
    gateway: Gateway, calls: Mapping[str, Mapping[str, Any]]
) -> None:
    async with agent(gateway) as client:
        listed = (await client.list_tools()).tools
        hinted = {tool.name for tool in listed if tool.annotations and tool.annotations.idempotent_hint}
        results = {
            name: [await effect(client, name, {**calls[name], "idempotency_key": None}) for _ in range(2)]
            for name in WRITES
        }

    assert hinted & WRITES == {name for name, (first, second) in results.items() if first == second}


@requirement("mcp-6")
async def test_a_read_key_lists_only_read_tools(gateway: Gateway) -> None:
    async with agent(gateway.with_key("read")) as client:
        tools = (await client.list_tools()).tools

    assert [name for name in NAMES if name not in WRITES] == [tool.name for tool in tools]


@requirement("mcp-6")
async def test_only_tools_of_connected_connectors_are_listed(gateway: Gateway) -> None:
    async with agent(gateway.with_key("read", connection_ids=[gateway.connections["crm"]])) as client:
        tools = (await client.list_tools()).tools

    assert ["crm_look_up_contacts", "crm_list_properties"] == [tool.name for tool in tools]


@requirement("requests-2", "requests-9")
async def test_a_key_with_passthrough_sends_requests_of_its_own(gateway: Gateway) -> None:
    key = gateway.with_key("read", connection_ids=[gateway.connections["notes"]], passthrough=True)
    async with agent(key) as client:
        (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "notes_request"]
        me = await client.call_tool("notes_request", {"method": "GET", "path": "/v1/users/me"})

    assert "idempotency_key" not in tool.input_schema["properties"]
    assert 200 == json.loads(first_text(me))["data"]["status"]


@requirement("mcp-6")
async def test_a_restricted_key_lists_and_calls_only_its_operations(gateway: Gateway) -> None:
    async with agent(gateway.with_key(operations=["notes_*", "chat_list_channels"])) as client:
        tools = (await client.list_tools()).tools
        rejected = await client.call_tool("chat_post_message", {"channel": "general", "text": "Hello"})

    assert [*NAMES[:5], "chat_list_channels"] == [tool.name for tool in tools]
    assert "operation_not_allowed" == outcome(rejected)


# Called


@requirement("mcp-1", "mcp-7")
@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_called_over_http(
    gateway: Gateway, calls: Mapping[str, Mapping[str, Any]], mode: Mode
) -> None:
    async with agent(gateway, mode) as client:
        results = await outcomes(client, calls)

    assert dict.fromkeys(NAMES, "ok") == {name: results[name] for name in NAMES}


@requirement("mcp-2")
async def test_every_tool_is_called_over_standard_input_and_output(
    gateway: Gateway, calls: Mapping[str, Mapping[str, Any]]
) -> None:
    async with run_stdio_proxy(gateway) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        results = await outcomes(client, calls)
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        read = await client.read_resource("gateway://connections")

    assert NAMES == listed
    assert dict.fromkeys(NAMES, "ok") == {name: results[name] for name in NAMES}
    assert 3 == len(resources)
    assert ["connections", "events", "runs", "run"] == [template.name for template in templates]
    assert gateway.connections["notes"] in read.model_dump_json()


@requirement("mcp-7")
async def test_the_run_of_a_call_records_the_surface(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        result = await client.call_tool("notes_list_databases", {"limit": 1})
    run = gateway.request("GET", f"/v1/runs/{result.structured_content['run_id']}").data

    assert ("mcp", "list_databases", "ok") == (run["surface"], run["operation"], run["status"])
    assert gateway.connections["notes"] == run["connection_id"]


@requirement("mcp-10")
async def test_a_result_is_the_envelope_as_data_and_as_text(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        result = await client.call_tool("tables_list_tables", {"base_id": gateway.examples("tables")["base_id"]})
    elsewhere = gateway.get("/tables/tables", base_id=gateway.examples("tables")["base_id"])

    assert result.structured_content == json.loads(first_text(result))
    assert elsewhere.data == result.structured_content["data"]


@requirement("mcp-7")
async def test_calls_are_counted_in_the_metrics_of_their_operation_once(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        await client.call_tool("crm_list_properties", {"object_type": "deals"})
    metrics = gateway.request("GET", "/metrics").body.decode()

    assert 1 == metrics.count('gateway_calls_total{connector="crm",operation="list_properties",status="200"}')


@requirement("mcp-9")
async def test_a_repeated_key_returns_the_first_result(gateway: Gateway) -> None:
    card = gateway.examples("boards")["list_ids"][0]
    arguments = {"list_id": card, "name": "Once", "idempotency_key": "agents-once"}
    async with agent(gateway) as client:
        first = (await client.call_tool("boards_create_card", arguments)).structured_content
        again = (await client.call_tool("boards_create_card", arguments)).structured_content
    elsewhere = gateway.post("/boards/cards", headers={"Idempotency-Key": "agents-once"}, list_id=card, name="Once")

    assert first["data"] == again["data"] == elsewhere.data
    assert "replayed" not in first
    assert again["replayed"]


@requirement("mcp-13")
async def test_an_attachment_is_linked(gateway: Gateway) -> None:
    mail = CONNECTORS["mail"].examples(gateway.examples("mail"))
    arguments = {"message_id": mail["message_id"], "attachment_id": mail["attachment_id"]}
    async with agent(gateway) as client:
        result = await client.call_tool("mail_fetch_attachment", arguments)

    link = result.content[-1]
    assert "resource_link" == link.type
    assert result.structured_content["data"]["download_url"] == link.uri


# Invalid arguments

NESTED = b"[" * 10_000 + b"]" * 10_000


@requirement("mcp-20")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(b'{"properties":{"Name":%b},"database_id":"x"}' % NESTED, 400), (NESTED, 400), (b'"{\\"limit\\": 1}"', 200)],
)
def test_arguments_that_are_not_an_object_are_rejected(gateway: Gateway, arguments: bytes, status: int) -> None:
    gateway.clear("notes")
    request = posted("tools/call", name="notes_create_page", arguments={})
    content = json.dumps(request["json"]).encode().replace(b'"arguments": {}', b'"arguments": %b' % arguments)
    reply = gateway.request(
        "POST", PATH, headers=request["headers"] | {"Content-Type": "application/json"}, content=content
    )

    assert status == reply.status
    assert reply.body["error"]["code"] in (-32700, -32602)
    assert "/v1/pages" not in {path for _, path, _ in gateway.journal("notes")}


@requirement("mcp-11")
@pytest.mark.parametrize("query", ["", "?find=true"])
async def test_an_object_as_json_text_is_rejected_by_its_name(gateway: Gateway, query: str) -> None:
    gateway.clear("notes")
    arguments: dict[str, Any] = {
        "database_id": gateway.examples("notes")["database_id"],
        "properties": '{"Name": "As text"}',
    }
    async with agent(gateway, query=query) as client:
        tool = "notes_create_page"
        call = (tool, arguments) if not query else ("call_operation", {"operation": tool, "arguments": arguments})
        result = await client.call_tool(*call)
    (detail,) = result.structured_content["error"]["details"]

    assert ("invalid_parameters", "properties") == (outcome(result), detail["parameter"])
    assert '{"Name": "As text"}' == detail["value"]
    assert "/v1/pages" not in {path for _, path, _ in gateway.journal("notes")}


@requirement("mcp-25")
async def test_arguments_of_an_operation_as_json_text_are_rejected(gateway: Gateway) -> None:
    call = {"operation": "notes_list_databases", "arguments": '{"limit": 1}'}
    async with agent(gateway, query="?find=true") as client:
        result = await client.call_tool("call_operation", call)

    assert "invalid_parameters" == outcome(result)
    assert first_text(result).startswith("The arguments should be a JSON object, and not text that contains one.")


# Resources


@requirement("mcp-16")
async def test_events_are_read_page_by_page(gateway: Gateway) -> None:
    events = f"gateway://connections/{gateway.connections['chat']}/events"
    channel_id = gateway.examples("chat")["channel_id"]
    gateway.act("chat", action="message", channel_id=channel_id, text="There are two pages")
    wait_until(lambda: gateway.get("/chat/events", limit=1).body["next_cursor"] is not None)
    everything = gateway.get("/chat/events", limit=1)
    async with agent(gateway) as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        first = await client.read_resource(events)
        further = await client.read_resource(f"{events}?cursor={everything.body['next_cursor']}")

    assert events in listed
    assert everything.data[0]["event_id"] in first.model_dump_json()
    assert everything.data[0]["event_id"] not in further.model_dump_json()


@requirement("mcp-16")
async def test_connections_are_read_and_listed_page_by_page(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MOST_LISTED", 5)
    async with agent(gateway) as client:
        first = content(await client.read_resource("gateway://connections"))
        rest = content(await client.read_resource(f"gateway://connections?cursor={first['next_cursor']}"))
        listed = await client.list_resources()
        further = await client.list_resources(cursor=listed.next_cursor)
        with pytest.raises(MCPError, match="invalid_cursor"):
            await client.list_resources(cursor="\x00")

    assert set(gateway.connections.values()) == {row["connection_id"] for row in first["data"] + rest["data"]}
    assert (5, 1, None) == (len(first["data"]), len(rest["data"]), rest["next_cursor"])
    uris = [resource.uri for resource in (*listed.resources, *further.resources)]
    assert 1 == uris.count("gateway://connections")


@requirement("mcp-16")
async def test_a_run_is_read(gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases", limit=1).body["run_id"]
    async with agent(gateway) as client:
        read = await client.read_resource(f"gateway://runs/{run_id}")

    assert run_id in read.model_dump_json()


@requirement("mcp-16")
async def test_runs_are_listed_within_the_rights_of_the_key(gateway: Gateway) -> None:
    run_ids = [gateway.get(path, limit=1).body["run_id"] for path in ("/notes/databases", "/chat/channels")]
    own = gateway.with_key(connection_ids=[gateway.connections["notes"]])
    async with agent(gateway) as client, agent(own) as narrow, agent(gateway, query="?connectors=chat") as selected:
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        listed = [
            {run["run_id"] for run in content(await one.read_resource("gateway://runs"))["data"]} & set(run_ids)
            for one in (client, narrow, selected)
        ]
        with pytest.raises(MCPError, match="run_not_found"):
            await narrow.read_resource(f"gateway://runs/{run_ids[1]}")

    assert [set(run_ids), {run_ids[0]}, {run_ids[1]}] == listed
    assert {"gateway://runs{?cursor}", "gateway://runs/{run_id}{?cursor}"} <= set(templates)


@requirement("mcp-16", "mcp-26")
async def test_runs_continue_after_the_last_one_that_fits(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(8):
        gateway.get("/notes/databases", limit=1)
    monkeypatch.setattr(resources, "MAX_CHARACTERS", 2_500)
    pages: list[Any] = [{"next_cursor": ""}]
    async with agent(gateway) as client:
        while len(pages) < 4:
            cursor = pages[-1]["next_cursor"]
            read = await client.read_resource(f"gateway://runs{f'?cursor={cursor}' if cursor else ''}")
            assert len(read.contents[0].model_dump_json()) < 4_000
            pages.append(content(read))
    run_ids = [run["run_id"] for page in pages[1:] for run in page["data"]]

    assert run_ids == sorted(set(run_ids), reverse=True)
    assert 6 <= len(run_ids)
    assert "details can quote names" in pages[1]["third_party_content"]
    assert "upstream" not in pages[1]["data"][0]


@requirement("mcp-16")
def test_a_run_with_many_requests_is_read_in_parts() -> None:
    requests = [{"method": "GET", "path": f"/v1/blocks/{number}", "note": "</a>\u200b"} for number in range(900)]
    parts, cursor = [], "0"
    while cursor:
        text = resources.run_text({"run_id": "run_1", "upstream": requests, "details": None}, int(cursor))
        assert len(text) <= MAX_CHARACTERS
        assert [] == [markup for markup in ("</", "\u200b") if markup in text]
        parts.append(from_json(text))
        cursor = parts[-1].get("next_cursor")

    assert [one["path"] for one in requests] == [one["path"] for part in parts for one in part["upstream"]]
    assert 2 < len(parts)


# Dry runs


@requirement("mcp-17")
async def test_a_dry_run_of_a_write_describes_its_effect(gateway: Gateway) -> None:
    arguments = {"list_id": gateway.examples("boards")["list_ids"][0], "name": "Dry", "dry_run": True}
    gateway.clear("boards")
    async with agent(gateway) as client:
        result = await client.call_tool("boards_create_card", arguments)
    data = result.structured_content
    run = gateway.operator("GET", f"/v1/runs/{data['run_id']}").data

    assert ["create the card"] == [request["step"] for request in data["dry_run"]["requests"]]
    assert (False, True, True) == (
        "data" in data,
        from_json(first_text(result)) == data,
        run["dry_run"],
    )
    assert {"GET"} == {method for method, _, _ in gateway.journal("boards")}


@requirement("mcp-17", "common-233")
async def test_a_dry_run_shows_what_a_person_can_check(gateway: Gateway) -> None:
    email = {"to": ["ada@example.com"], "subject": "Hello", "body_html": "<p>Hi</p>", "dry_run": True}
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Hi <!here>", "dry_run": True}
    async with agent(gateway) as client:
        sent = (await client.call_tool("mail_send_message", email)).structured_content["dry_run"]
        posted = (await client.call_tool("chat_post_message", message)).structured_content["dry_run"]
    preview = sent["requests"][0]["preview"]

    assert (["ada@example.com"], "Hello", "Hi", []) == (
        preview["to"],
        preview["subject"],
        preview["text"],
        preview["attachments"],
    )
    assert ["ada@example.com"] == sent["notifies"]
    # Mentions of agents are neutralised, so that only the members of the channel are notified.
    assert "Hi &lt;!here&gt;" == posted["requests"][0]["body"]["text"]
    assert [f"members of {message['channel']}"] == posted["notifies"]


@requirement("mcp-17")
@pytest.mark.parametrize(
    ("tool", "value"), [("boards_create_card", "yes"), ("boards_create_card", 1), ("notes_list_databases", True)]
)
async def test_an_invalid_dry_run_argument_is_rejected_and_writes_nothing(
    gateway: Gateway, tool: str, value: Any
) -> None:
    gateway.clear("boards")
    async with agent(gateway) as client:
        result = await client.call_tool(tool, {"dry_run": value})

    assert ("invalid_parameters", "dry_run") == (
        outcome(result),
        result.structured_content["error"]["details"][0]["parameter"],
    )
    assert [] == gateway.journal("boards")


@requirement("mcp-18")
def test_remedies_for_agents_name_no_routes_or_commands() -> None:
    errors = {error for operation in TOOLS.values() for error in operation.all_errors}
    remedies = {error.code: resolve_remedy(error, "mcp") for error in errors - BEFORE_THE_PROTOCOL}

    assert [] == [code for code, remedy in remedies.items() if ELSEWHERE.search(remedy)]


@requirement("mcp-18")
async def test_a_remedy_for_agents_names_a_resource(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        result = await client.call_tool("notes_list_databases", {"connection_id": "conn_nothing"})

    assert "gateway://connections" in result.structured_content["error"]["remedy"]
    assert "gateway://connections" in first_text(result)
