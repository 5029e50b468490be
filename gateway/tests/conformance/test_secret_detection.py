"""The detection of secrets in the output of a gateway works."""

from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import structlog
from sqlalchemy import select

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.connections.oauth_flow import OWNER
from connector_gateway.storage import tables
from harness.connect_pages import BrowserUser, open_link, user
from harness.consent_pages import Browser
from harness.gateway_server import OPERATOR, Gateway, run_gateway
from harness.html_browser import Browser as Reader
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.secret_leaks import INTENDED_RECIPIENTS, LEAKS
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}) as gateway,
    ):
        yield gateway
        LEAKS.forget(*sandbox.emulators["notes"].credentials().values(), OPERATOR)
        LEAKS.collect()


def token(gateway: Gateway) -> str:
    """A token that the gateway keeps."""
    return gateway.sandbox.emulators["notes"].credentials()["token"]


@requirement("connections-24")
def test_a_token_in_a_response_is_detected(gateway: Gateway) -> None:
    path = f"/v1/connections/{gateway.connections['notes']}"
    before = LEAKS.collect()
    gateway.operator("PATCH", path, json={"name": f"my {token(gateway)}"})

    assert ([], [f"a secret of a connection, in an answer to PATCH {path}"]) == (before, LEAKS.collect())


@requirement("connections-24")
def test_a_token_in_the_log_is_detected(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().warning("refused", url=f"/1/authorize?token={token(gateway)}&x=1")
    LEAKS.record("the log", capsys.readouterr().out)

    assert ["a secret of a connection, in the log"] == LEAKS.collect()


@requirement("connections-24")
def test_a_token_in_the_database_is_detected(gateway: Gateway, tmp_path: Path) -> None:
    before = LEAKS.stored(tmp_path / "gateway.db-wal")
    gateway.operator("PATCH", f"/v1/connections/{gateway.connections['notes']}", json={"name": token(gateway)})
    after = LEAKS.stored(tmp_path / "gateway.db-wal")
    LEAKS.collect()

    assert ([], ["a secret of a connection, in a file"]) == (before, after)


@requirement("connections-24")
def test_ordinary_output_of_a_gateway_contains_no_secret(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases")

    assert (200, []) == (reply.status, LEAKS.collect())


# Every kind of secret


def departed(someone: BrowserUser) -> tuple[str, str]:
    """Where somebody is asked for consent, and the state that they come back with."""
    consent = someone.depart(open_link(someone.gateway)["connect_url"])
    return consent, dict(parse_qsl(urlsplit(consent).query))["state"]


def verifier(someone: BrowserUser) -> str:
    """What proves that who redeems a code asked for it."""
    state, app = departed(someone)[1], someone.gateway.app
    query = select(tables.consents.c.sealed)
    (sealed,) = someone.gateway.run(app.database.read(lambda reading: reading.execute(query).scalars().all()))
    return str(app._vault.decrypt(sealed, OWNER + state)["verifier"])


def code(someone: BrowserUser) -> str:
    """A code that was redeemed."""
    consent, _ = departed(someone)
    with Browser() as there:
        answer = there.allow(consent)
    someone.come_back(consent, answer)
    return answer["code"]


def granted(someone: BrowserUser) -> str:
    """A token that was issued for a code."""
    connection_id = open_link(someone.gateway)["connection_id"]
    url = someone.gateway.operator("POST", f"/v1/connections/{connection_id}/reconnect", json={}).data["connect_url"]
    someone.allow(url)
    found = someone.gateway.run(someone.gateway.app.connections.find(connection_id))
    assert found is not None
    return found.stored["refresh_token"]


def session(someone: BrowserUser) -> str:
    """What a browser holds in which somebody signed in to the console."""
    reader = Reader(someone.gateway)
    reader.sign_in()
    return str(reader.http.cookies["gateway_console"])


def cookie(someone: BrowserUser) -> str:
    """What a browser holds that was sent to the application."""
    departed(someone)
    return next(iter(someone.http.cookies.values()))


def webhook_secret(someone: BrowserUser) -> str:
    """The secret that deliveries to an address are signed with."""
    body = {"workspace_id": someone.gateway.workspace_id, "url": "https://hooks.example/events"}
    secret: str = someone.gateway.operator("POST", "/v1/webhooks", json=body).data["secret"]
    return secret


def hook_secret(someone: BrowserUser) -> str:
    """The secret that an application has handed over, and signs what it delivers with."""
    secret = f"secret_{token_urlsafe(32)}"
    address = someone.gateway.operator("POST", "/v1/hooks/notes/window").data["url"]
    someone.gateway.request("POST", urlsplit(address).path, json={"verification_token": secret})
    return secret


KINDS: dict[str, Callable[[BrowserUser], str]] = {
    "a secret of a connection": granted,
    "a secret of a client": lambda someone: someone.gateway.sandbox.emulators["notes"].client()["client_secret"],
    "an API key": lambda someone: someone.gateway.key,
    "the operator token": lambda _: OPERATOR,
    "a verifier": verifier,
    "a code": code,
    "a state": lambda someone: departed(someone)[1],
    "a cookie of a consent": cookie,
    "a connect link": lambda someone: open_link(someone.gateway)["connect_url"].rpartition("/")[2],
    "a session": session,
    "a webhook's secret": webhook_secret,
    "a hook's secret": hook_secret,
}


@pytest.fixture
def someone(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as someone:
        yield someone


@requirement("connections-24")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_secret_is_detected_in_log_and_foreign_response(
    gateway: Gateway, someone: BrowserUser, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret, path = KINDS[kind](someone), f"/v1/connections/{gateway.connections['notes']}"
    before = LEAKS.collect()
    structlog.get_logger().warning("refused", url=f"/connect/notes/callback?code={secret}&x=1")
    LEAKS.record("the log", capsys.readouterr().out)
    gateway.operator("PATCH", path, json={"name": f"my {secret}"})
    after = LEAKS.collect()
    gateway.operator("PATCH", path, json={"name": ""})
    LEAKS.forget(secret)

    told = [f"{kind}, in an answer to PATCH {path}"] if kind != "a connect link" else []
    assert ([], [*told, f"{kind}, in the log"]) == (before, after)


def test_intended_secrets_are_returned_only_where_intended() -> None:
    assert set() == INTENDED_RECIPIENTS.keys() - KINDS.keys()


@requirement("connections-24")
@pytest.mark.parametrize("kind", ["an API key", "a secret of a connection"])
def test_a_secret_in_a_database_server_is_detected(new_postgres: str, tmp_path: Path, kind: str) -> None:
    only: dict[str, Any] = {"connectors": {"notes": NOTES}, "database_url": new_postgres}
    with run_emulators(notes=NotesEmulator) as sandbox:
        with run_gateway(sandbox, tmp_path, **only) as gateway, user(gateway) as someone:
            secret = KINDS[kind](someone)
            gateway.run(gateway.app.connections.change(gateway.connections["notes"], name=secret))
        found = LEAKS.collect()
        LEAKS.forget(secret)

    assert [f"{kind}, in the database"] == found


def test_a_secret_too_short_to_detect_is_rejected() -> None:
    with pytest.raises(AssertionError, match="needs 12 characters"):
        LEAKS.learn(["sesame"], "a code")
