"""Test calls in the console: read operations only, recorded under the name of the operator."""

from pathlib import Path

from connector_gateway.connectors.chat import CHAT
from harness.gateway_server import Gateway, run_gateway
from harness.html_browser import Browser
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.chat import ChatEmulator


def try_path(gateway: Gateway, **more: str) -> str:
    return f"/console/connections/{gateway.connections['notes']}/try?operation={more.get('operation', '')}"


@requirement("administration-19")
def test_a_call_shows_its_result_and_is_recorded(operator: Browser, gateway: Gateway) -> None:
    page = operator.submit(operator.open(try_path(gateway)), "Run", limit="1")
    run = gateway.operator("GET", "/v1/runs?limit=1").data[0]
    entry = gateway.operator("GET", "/v1/audit?limit=1").data[0]

    assert '"status": "ok"' in page.one("#answer").text
    assert page.link("Details of the call").endswith(run["run_id"])
    assert ("console", "list_databases", ["limit"], "ok") == (
        run["surface"],
        run["operation"],
        run["parameters"],
        run["status"],
    )
    assert ("operator", "try_connection", {"operation": "list_databases"}) == (
        entry["actor"],
        entry["act"],
        entry["details"],
    )


@requirement("administration-19")
def test_only_read_operations_are_offered(operator: Browser, gateway: Gateway) -> None:
    page = operator.open(try_path(gateway, operation="create_page"))
    offered = [one.text for one in page.html.select(".tabs a")]

    assert {"List databases", "Search pages", "Read events"} == set(offered)
    assert "List databases" == page.one(".tabs a[aria-current]").text


@requirement("administration-19")
def test_errors_are_displayed_next_to_their_fields(operator: Browser, gateway: Gateway) -> None:
    page = operator.submit(operator.open(try_path(gateway)), "Run", limit="many")
    run = operator.open(page.link("Details of the call"))

    assert (422, "limit") == (page.status, page.one("[aria-invalid=true]")["name"])
    assert "Invalid fields: Limit." in page.alert
    assert "error" in run.one("h1 .mark").text


def test_the_newest_active_connection_is_used(operator: Browser) -> None:
    assert operator.open("/console/try").path.endswith("/try")


def test_types_of_channels_are_not_types_of_events(tmp_path: Path) -> None:
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"chat": CHAT}) as gateway,
    ):
        browser = Browser(gateway)
        browser.sign_in()
        page = browser.open(f"/console/connections/{gateway.connections['chat']}/try?operation=list_channels")

    assert "public,private" == page.one("[name=types]")["value"]
