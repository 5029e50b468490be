"""``verify`` against emulators: honest ones, and ones that contradict a single fact."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from facts_reference import citations

from connector_gateway.cli.gateway_url_and_key import GatewayTarget
from connector_gateway.cli.verify import call_gateway
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.verify.account_under_test import Account
from connector_gateway.verify.facts import load_facts
from connector_gateway.verify.runner import CONTRADICTED, FactResult, load_checks, run_checks
from harness.all_connectors import UNTHROTTLED
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

CHECKED = {name: checks for name in CONNECTORS if (checks := load_checks(name))}


def empty_page(gateway: Gateway) -> str:
    examples = gateway.examples("notes")
    parent = {"type": "page_id", "page_id": examples["page_id"]}
    body = {"parent": parent, "properties": {"title": {"title": [{"text": {"content": "Checks"}}]}}}
    return str(vendor(gateway, "notes", "POST", "/v1/pages", body)["id"])


def empty_board(gateway: Gateway) -> str:
    body = {"name": "Checks", "defaultLists": False}
    return str(vendor(gateway, "boards", "POST", "/1/boards", body)["id"])


def own_company(gateway: Gateway) -> str:
    body = {"properties": {"name": "Checks", "domain": "checks.example"}, "associations": []}
    return str(vendor(gateway, "crm", "POST", "/crm/objects/2026-09/companies", body)["id"])


def empty_base(gateway: Gateway) -> str:
    fields = [
        {"name": "Name", "type": "singleLineText"},
        {"name": "Notes", "type": "multilineText"},
        {"name": "Status", "type": "singleSelect", "options": {"choices": [{"name": "Done"}]}},
        {"name": "Attachments", "type": "multipleAttachments"},
        {"name": "Number", "type": "number", "options": {"precision": 1}},
        {"name": "Date", "type": "date", "options": {"dateFormat": {"name": "iso"}}},
    ]
    tables = [{"name": "Table 1", "fields": fields}, {"name": "Table 2", "fields": fields[:1]}]
    body = {"workspaceId": gateway.examples("tables")["workspace_id"], "name": "Checks", "tables": tables}
    return str(vendor(gateway, "tables", "POST", "/v0/meta/bases", body)["id"])


def empty_channel(gateway: Gateway) -> str:
    body = {"name": f"checks-{uuid4().hex}"}
    return str(vendor(gateway, "chat", "POST", "/api/conversations.create", body)["channel"]["id"])


def empty_label(gateway: Gateway) -> str:
    return str(vendor(gateway, "mail", "POST", "/gmail/v1/users/me/labels", {"name": f"Checks {uuid4().hex}"})["id"])


PLACES: Mapping[str, Callable[[Gateway], str]] = {
    "notes": empty_page,
    "boards": empty_board,
    "chat": empty_channel,
    "mail": empty_label,
    "crm": own_company,
    "tables": empty_base,
}
"""Create the place for each connector."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(
            sandbox,
            tmp_path_factory.mktemp("verify"),
            connectors=UNTHROTTLED,
            files=PublicFileFetcher(2, 1_000_000, is_reachable=lambda address: address == "127.0.0.1"),
            GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20",
            GATEWAY_GRACE_SECONDS="5",
        ) as started,
    ):
        for name in EMULATORS:
            started.clear(name)
        started.knob("crm", search_lag_seconds=0)
        started.knob("tables", fetch_seconds=0)
        yield started.with_key(passthrough=True, calls_per_minute=1_000_000)


def vendor(gateway: Gateway, connector: str, method: str, path: str, body: Any = None) -> Any:
    values = {"method": method, "path": path} | ({} if body is None else {"body": body})
    return gateway.request("POST", f"/v1/connections/{gateway.connections[connector]}/request", json=values).data[
        "body"
    ]


def account(gateway: Gateway, connector: str, place: str | None = None) -> Account:
    target = GatewayTarget(gateway.base_url, gateway.key, "", {}, "")

    request = partial(call_gateway, target)
    return Account(CONNECTORS[connector], gateway.connections[connector], request, place, patience_seconds=1)


def verify(gateway: Gateway, connector: str, place: str | None) -> Sequence[FactResult]:
    async def run() -> Sequence[FactResult]:
        subject = account(gateway, connector, place)
        if place:
            await CHECKED[connector].open_place(subject)
        results = await run_checks(subject, CHECKED[connector], load_facts(connector), lambda _: None)
        assert [] == await subject.clean_up()
        return results

    return asyncio.run(run())


def contradicted(results: Sequence[FactResult]) -> list[tuple[str, str, str]]:
    return [(one.fact, one.expected, one.observed) for one in results if one.result == CONTRADICTED]


@requirement("requests-13", "requests-14")
@pytest.mark.parametrize("connector", CHECKED)
def test_an_honest_vendor_contradicts_nothing(gateway: Gateway, connector: str) -> None:
    results = verify(gateway, connector, PLACES[connector](gateway))

    assert [] == contradicted(results)
    assert sorted(load_facts(connector)) == sorted(one.fact for one in results)
    assert {check.fact for check in CHECKED[connector].all} == {one.fact for one in results if not one.reason}


@requirement("requests-13")
@pytest.mark.parametrize(
    ("connector", "fact"), [(name, check.fact) for name, checks in CHECKED.items() for check in checks.all]
)
def test_a_lie_is_found(gateway: Gateway, connector: str, fact: str) -> None:
    place = PLACES[connector](gateway)
    gateway.knob(connector, lie=fact)
    try:
        results = verify(gateway, connector, place)
    finally:
        gateway.knob(connector, lie="")

    assert [fact] == [name for name, _, _ in contradicted(results)]


def test_every_fact_is_cited_and_every_citation_exists() -> None:
    facts = {f"{connector}.{name}" for connector in CONNECTORS for name in load_facts(connector)}

    assert facts == set(citations())


@pytest.mark.parametrize("connector", CHECKED)
def test_a_fact_has_a_check_or_a_reason(connector: str) -> None:
    facts = load_facts(connector)
    unchecked = {name for name, fact in facts.items() if fact.not_checkable}
    checked = [check.fact for check in CHECKED[connector].all]

    assert sorted(facts) == sorted([*checked, *unchecked])


@pytest.mark.parametrize("connector", CHECKED)
def test_every_operation_is_used_by_a_check(connector: str) -> None:
    source = inspect.getsource(import_module(f"connector_gateway.verify.{connector}"))

    assert [] == [
        one.name
        for one in CONNECTORS[connector].operations
        if not re.search(rf'\.call(_losing_response)?\("{one.name}"', source)
    ]
