"""Agents list and call every operation, over both transports and earlier protocol versions."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ReadResourceResult
from pydantic_core import from_json

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import HeadersTooLarge, MissingApiKey, RequestIncomplete, UnsupportedMediaType
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.mcp import resources
from harness.example_calls import arguments, playground
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway
from harness.mcp_clients import Mode, agent, first_text, outcome, outcomes, run_bridge
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


# Listed


@requirement("mcp-5")
@pytest.mark.parametrize("mode", MODES)
async def test_every_operation_is_a_tool(gateway: Gateway, mode: Mode) -> None:
    async with agent(gateway, mode) as client:
        tools = (await client.list_tools()).tools

    assert NAMES == [tool.name for tool in tools]
    assert all(tool.title and tool.description and tool.output_schema for tool in tools)
    assert all("connection_id" in tool.input_schema["properties"] for tool in tools)


@requirement("mcp-5")
async def test_hints_describe_the_changes_of_a_tool(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools if tool.annotations}

    assert WRITES == {name for name, hint in hints.items() if not hint.read_only_hint}
    assert {
        "notes_update_page",
        "mail_change_message_labels",
        "chat_edit_message",
        "crm_create_or_update_contact",
        "crm_update_deal",
        "tables_update_record",
    } == {name for name, hint in hints.items() if hint.destructive_hint}
    assert NAMES == [name for name, hint in hints.items() if hint.open_world_hint]
    assert not hints["boards_comment_on_card"].idempotent_hint


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
    async with run_bridge(gateway) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        results = await outcomes(client, calls)
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        read = await client.read_resource("gateway://connections")

    assert NAMES == listed
    assert dict.fromkeys(NAMES, "ok") == {name: results[name] for name in NAMES}
    assert 3 == len(resources)
    assert ["connections", "events", "run"] == [template.name for template in templates]
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
