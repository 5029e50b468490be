"""Agents choose the right tool, from a list that leaves room in their context."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks import agent_tools
from benchmarks.agent_tools import TOOLS
from connector_gateway.mcp.tool_ranking import rank
from harness.requirement import requirement


@requirement("mcp-21")
def test_the_list_of_all_tools_is_small() -> None:
    assert agent_tools.count_tokens() <= agent_tools.MAX_TOKENS == 9_000


@requirement("mcp-5")
def test_requests_of_users_lead_to_the_right_tool() -> None:
    assert list(TOOLS) == list(agent_tools.REQUESTS)
    assert 60 == sum(map(len, agent_tools.REQUESTS.values()))
    assert agent_tools.percent_first() >= agent_tools.MIN_FIRST_PERCENT == 90, agent_tools.misranked()


@requirement("mcp-5")
@pytest.mark.parametrize("name", TOOLS)
def test_an_input_schema_has_every_parameter_with_its_restrictions(name: str) -> None:
    schema: Any = TOOLS[name].declaration.input_schema
    Draft202012Validator.check_schema(schema)
    operation = TOOLS[name].operation
    required = {field for field, declared in operation.parameters.items() if declared.is_required()}

    assert {"connection_id", *operation.parameters} <= set(schema["properties"])
    assert required == set(schema.get("required", []))
    assert schema["additionalProperties"] is False


@requirement("mcp-5")
@pytest.mark.parametrize(
    ("name", "arguments", "valid"),
    [
        ("notes_create_page", {"database_id": "f" * 32, "properties": {"Name": "A"}, "children": ["B"]}, True),
        (
            "notes_create_page",
            {"database_id": "f" * 32, "properties": {}, "children": [{"type": "x", "text": ""}]},
            False,
        ),
        ("mail_search_messages", {"q": "", "limit": 101}, False),
        ("chat_read_events", {"since": 5}, False),
        ("crm_list_properties", {"object_type": "tickets"}, False),
        ("crm_list_properties", {"object_type": "deals", "sort": "up"}, False),
    ],
)
def test_an_input_schema_distinguishes_valid_arguments(name: str, arguments: dict[str, Any], *, valid: bool) -> None:
    assert valid == Draft202012Validator(TOOLS[name].declaration.input_schema).is_valid(arguments)


def test_rare_words_and_words_of_the_name_rank_higher() -> None:
    texts = {"a_b": "Send an email to a person.", "c_d": "Send a letter, an email or a parcel to a person."}

    assert ["c_d", "a_b"] == list(rank("email the parcels", texts))
    assert ["a_b", "c_d"] == list(rank("emails", texts))
    assert ["a_b", "c_d"] == list(rank("", texts))
