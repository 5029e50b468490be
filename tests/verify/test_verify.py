"""``verify`` against emulators: honest ones, and ones that contradict a single fact."""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest
from facts_reference import citations

from connector_gateway.cli.gateway_client import send
from connector_gateway.cli.gateway_url_and_key import GatewayTarget
from connector_gateway.connectors import CONNECTORS
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


PLACES: Mapping[str, Callable[[Gateway], str]] = {"notes": empty_page, "boards": empty_board}
"""Create the place for each connector."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(
            sandbox,
            tmp_path_factory.mktemp("verify"),
            connectors=UNTHROTTLED,
            GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20",
            GATEWAY_GRACE_SECONDS="5",
        ) as started,
    ):
        for name in EMULATORS:
            started.clear(name)
        yield started.with_key(passthrough=True, calls_per_minute=1_000_000)


def vendor(gateway: Gateway, connector: str, method: str, path: str, body: Any = None) -> Any:
    values = {"method": method, "path": path} | ({} if body is None else {"body": body})
    return gateway.request("POST", f"/v1/connections/{gateway.connections[connector]}/request", json=values).data[
        "body"
    ]


def account(gateway: Gateway, connector: str, place: str | None = None) -> Account:
    target = GatewayTarget(gateway.base_url, gateway.key, "", {}, "")

    async def body(method: str, path: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return (await send(target, method, path, values)).body

    return Account(CONNECTORS[connector], gateway.connections[connector], body, place)


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

    assert [] == [one.name for one in CONNECTORS[connector].operations if f'.call("{one.name}"' not in source]
