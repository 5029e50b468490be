"""No secret of a connection is logged, traced, returned or stored in plain text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import AllConnectors, NoNetwork, only
from harness.connect_pages import BrowserUser, open_link, reconnecting, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway, run_gateway
from harness.operation_calls import VendorView, read, write, writes_of
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.secret_leaks import LEAKS
from harness.webhook_receiver import Inbox, run_receiver
from simulation.writes import World
from workspace_sandbox import EMULATORS

BY_TOKEN_PAGE = {"GATEWAY_BOARDS_CLIENT_ID": "", "GATEWAY_BOARDS_CLIENT_SECRET": ""}

WITHOUT_REFRESH = {"boards", "chat"}
"""Tokens of Trello's token page, and of Slack without token rotation, do not expire."""


@pytest.fixture
def collector() -> Iterator[Inbox]:
    with run_receiver() as inbox:
        yield inbox


def settings(connector: str, sandbox: Any, collector: Inbox) -> dict[str, str]:
    """Enable all logs and traces. Boards are connected by the API key, whose token is in a path."""
    said = {"GATEWAY_TRACES_URL": f"{collector.address}/v1/traces", "GATEWAY_ACCESS_LOG": "on"}
    said |= {"GATEWAY_LOG_LEVEL": "debug", "GATEWAY_GRACE_SECONDS": "0.03"}
    if connector == "boards":
        said |= {"GATEWAY_BOARDS_API_KEY": sandbox.emulators["boards"].credentials()["key"]} | BY_TOKEN_PAGE
    return said


def grant_access(person: BrowserUser, url: str) -> None:
    """Follow a connect link and grant access, on the vendor's token page if it has one."""
    consent = person.depart(url)
    with Browser() as browser:
        grant = browser.allow(consent)
    if "token" in grant:
        person.http.post(f"{person.gateway.base_url}/connect/boards/callback", data=grant)
    else:
        person.come_back(consent, grant)


def create_connection(gateway: Gateway, connector: str) -> str:
    """Create a connection from pasted credentials."""
    credentials = gateway.sandbox.emulators[connector].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": connector, "credentials": credentials}
    return str(gateway.operator("POST", "/v1/connections", json=body).data["connection_id"])


def call_everything(started: AllConnectors, gateway: Gateway, connector: str) -> None:
    """Call every operation, then let the vendor fail and echo the credentials."""
    for number, name in enumerate(writes_of(connector)):
        started.prepare(name, f"marked {number}")
        write(gateway, started.world, name, f"marked {number}", f"marked {number}")
    for reading in started.read_calls(connector):
        read(gateway, connector, reading)
    stored = started.gateway.run(started.gateway.app.connections.find(gateway.connections[connector]))
    assert stored is not None
    error_body = {"message": " ".join(stored.stored.values()), "error": " ".join(stored.stored.values())}
    started.gateway.fault(connector, fault="status", status=500, body=error_body, times=1000)
    for reading in started.read_calls(connector):
        read(gateway, connector, reading)
    gateway.operator("POST", f"/v1/connections/{gateway.connections[connector]}/test")
    started.gateway.clear(connector)


def use_and_remove(started: AllConnectors, person: BrowserUser, connector: str, connection_id: str) -> tuple[bool, str]:
    """Use and remove a connection. Returns whether its tokens were refreshed, and its final status."""
    gateway = replace(started.gateway, connections={connector: connection_id})
    gateway.operator("POST", f"/v1/connections/{connection_id}/test")
    connection = gateway.run(gateway.app.connections.find(connection_id))
    assert connection is not None
    renewed = gateway.run(connection.refresh(connection.stored))
    grant_access(person, reconnecting(gateway, connection_id, allow_other_account=True))
    call_everything(started, gateway, connector)
    gateway.request("GET", f"/v1/runs?connection_id={connection_id}")
    return renewed, gateway.operator("DELETE", f"/v1/connections/{connection_id}").data["status"]


def spans(collector: Inbox) -> list[str]:
    """Return the spans that were sent to the trace collector."""
    sent = [collector.arrived.get_nowait()[1] for _ in range(collector.arrived.qsize())]
    return [body.decode("latin-1") for body in sent]


@requirement("secrets-1", "secrets-5")
@pytest.mark.parametrize("connector", CONNECTORS)
def test_no_secret_of_a_connection_leaves_the_process(
    connector: str, collector: Inbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_emulators(**{connector: EMULATORS[connector]}) as sandbox:
        secrets = {**sandbox.emulators[connector].credentials(), **sandbox.emulators[connector].client()}
        more: Any = settings(connector, sandbox, collector)
        with (
            run_gateway(
                sandbox, tmp_path, connectors=only(connector), files=NoNetwork(2, 12_000_000), **more
            ) as gateway,
            user(gateway) as person,
        ):
            gateway.clear(connector)
            started = AllConnectors(gateway, World(VendorView(sandbox)))
            of_operator = create_connection(gateway, connector)
            connection = open_link(gateway, connector=connector)
            grant_access(person, connection["connect_url"])
            of_user = use_and_remove(started, person, connector, connection["connection_id"])
            use_and_remove(started, person, connector, of_operator)
            metrics = gateway.request("GET", "/metrics").body
    traced, logged = spans(collector), capsys.readouterr().out
    for text in traced:
        LEAKS.record("a span", text)
    LEAKS.record("the log", logged)
    LEAKS.record("the metrics", metrics.decode())
    database = b"".join(file.read_bytes() for file in tmp_path.glob("gateway.db*")).decode("latin-1")

    assert (connector not in WITHOUT_REFRESH, "removed") == of_user
    assert [] == LEAKS.collect()
    assert [] == [name for name, secret in secrets.items() if name != "client_id" and secret in database + logged]
    assert (True, True) == ("answered" in logged, any("url.path" in text for text in traced))
    assert (connector == "boards") == any("/1/tokens/{token}" in text for text in traced)
