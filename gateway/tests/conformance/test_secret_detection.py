"""The detection of secrets in the output of a gateway works."""

import secrets
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
from connector_gateway.storage.sql import tables
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
    """A token that the gateway stores."""
    return gateway.sandbox.emulators["notes"].credentials()["token"]


@requirement("connections-24")
def test_a_token_in_a_response_is_detected(gateway: Gateway) -> None:
    path = f"/v1/connections/{gateway.connections['notes']}"
    before = LEAKS.collect()
    gateway.operator("PATCH", path, json={"name": f"my {token(gateway)}"})

    assert ([], [f"a secret of a connection, in an answer to PATCH {path}"]) == (before, LEAKS.collect())


@requirement("connections-24")
def test_a_token_in_the_log_is_detected(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().warning("request failed", url=f"/1/authorize?token={token(gateway)}&x=1")
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


def open_consent(person: BrowserUser) -> tuple[str, str]:
    """Return the URL of the consent page, and the state of the callback."""
    consent = person.depart(open_link(person.gateway)["connect_url"])
    return consent, dict(parse_qsl(urlsplit(consent).query))["state"]


def verifier(person: BrowserUser) -> str:
    """Return the PKCE verifier of a consent."""
    state, app = open_consent(person)[1], person.gateway.app
    query = select(tables.consents.c.sealed)
    (sealed,) = person.gateway.run(app.database.read(lambda db: db.execute(query).scalars().all()))
    return str(app._vault.decrypt(sealed, OWNER + state)["verifier"])


def code(person: BrowserUser) -> str:
    """Return a redeemed code."""
    consent, _ = open_consent(person)
    with Browser() as browser:
        grant = browser.allow(consent)
    person.come_back(consent, grant)
    return grant["code"]


def issued_token(person: BrowserUser) -> str:
    """Return a token that was issued for a code."""
    connection_id = open_link(person.gateway)["connection_id"]
    url = person.gateway.operator("POST", f"/v1/connections/{connection_id}/reconnect", json={}).data["connect_url"]
    person.allow(url)
    connection = person.gateway.run(person.gateway.app.connections.find(connection_id))
    assert connection is not None
    return connection.stored["refresh_token"]


def session(person: BrowserUser) -> str:
    """Return the session cookie of the console."""
    reader = Reader(person.gateway)
    reader.sign_in()
    return str(reader.http.cookies["gateway_console"])


def cookie(person: BrowserUser) -> str:
    """Return the cookie of a browser that was redirected to the vendor."""
    open_consent(person)
    return next(iter(person.http.cookies.values()))


def webhook_secret(person: BrowserUser) -> str:
    """Return the secret that signs deliveries to a webhook."""
    body = {"workspace_id": person.gateway.workspace_id, "url": "https://hooks.example/events"}
    secret: str = person.gateway.operator("POST", "/v1/webhooks", json=body).data["secret"]
    return secret


def hook_secret(person: BrowserUser) -> str:
    """Return the secret with which a vendor signs its deliveries."""
    secret = f"secret_{token_urlsafe(32)}"
    address = person.gateway.operator("POST", "/v1/hooks/notes/window").data["url"]
    person.gateway.request("POST", urlsplit(address).path, json={"verification_token": secret})
    return secret


def learned(kind: str) -> str:
    secret = secrets.token_urlsafe(32)
    LEAKS.learn([secret], kind)
    return secret


KINDS: dict[str, Callable[[BrowserUser], str]] = {
    "a secret of a connection": issued_token,
    "a secret of a client": lambda person: person.gateway.sandbox.emulators["notes"].client()["client_secret"],
    "an API key": lambda person: person.gateway.key,
    "the operator token": lambda _: OPERATOR,
    "a verifier": verifier,
    "a code": code,
    "a state": lambda person: open_consent(person)[1],
    "a cookie of a consent": cookie,
    "a connect link": lambda person: open_link(person.gateway)["connect_url"].rpartition("/")[2],
    "a session": session,
    "a webhook's secret": webhook_secret,
    "a hook's secret": hook_secret,
    # Learned where they are created in the tests of OAuth.
    "an agent's code": lambda _: learned("an agent's code"),
    "an agent's token": lambda _: learned("an agent's token"),
}


@pytest.fixture
def person(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as person:
        yield person


@requirement("connections-24")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_secret_is_detected_in_log_and_foreign_response(
    gateway: Gateway, person: BrowserUser, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret, path = KINDS[kind](person), f"/v1/connections/{gateway.connections['notes']}"
    before = LEAKS.collect()
    structlog.get_logger().warning("request failed", url=f"/connect/notes/callback?code={secret}&x=1")
    LEAKS.record("the log", capsys.readouterr().out)
    gateway.operator("PATCH", path, json={"name": f"my {secret}"})
    after = LEAKS.collect()
    gateway.operator("PATCH", path, json={"name": ""})
    LEAKS.forget(secret)

    responses = [f"{kind}, in an answer to PATCH {path}"] if kind != "a connect link" else []
    assert ([], [*responses, f"{kind}, in the log"]) == (before, after)


def test_intended_secrets_are_returned_only_where_intended() -> None:
    assert set() == INTENDED_RECIPIENTS.keys() - KINDS.keys()


@requirement("connections-24")
@pytest.mark.parametrize("kind", ["an API key", "a secret of a connection"])
def test_a_secret_in_a_database_server_is_detected(new_postgres: str, tmp_path: Path, kind: str) -> None:
    only: dict[str, Any] = {"connectors": {"notes": NOTES}, "database_url": new_postgres}
    with run_emulators(notes=NotesEmulator) as sandbox:
        with run_gateway(sandbox, tmp_path, **only) as gateway, user(gateway) as person:
            secret = KINDS[kind](person)
            gateway.run(gateway.app.connections.change(gateway.connections["notes"], name=secret))
        leaks = LEAKS.collect()
        LEAKS.forget(secret)

    assert [f"{kind}, in the database"] == leaks


def test_a_secret_too_short_to_detect_is_rejected() -> None:
    with pytest.raises(AssertionError, match="needs 12 characters"):
        LEAKS.learn(["sesame"], "a code")
