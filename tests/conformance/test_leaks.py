"""The look for secrets in all that tests make the gateway say does find them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from connector_gateway.connectors.notes import NOTES
from harness.leaks import LEAKS
from harness.playing import playing
from harness.requirement import requirement
from harness.serving import Gateway, serving
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with playing(notes=NotesEmulator) as sandbox, serving(sandbox, tmp_path, connectors={"notes": NOTES}) as gateway:
        yield gateway
        LEAKS.forget(*sandbox.emulators["notes"].credentials().values())


def token(gateway: Gateway) -> str:
    """A token that the gateway keeps."""
    return gateway.sandbox.emulators["notes"].credentials()["token"]


@requirement("connect:discreet")
def test_a_token_in_an_answer_is_found(gateway: Gateway) -> None:
    path = f"/v1/connections/{gateway.connections['notes']}"
    before = LEAKS.found()
    gateway.operator("PATCH", path, json={"name": f"my {token(gateway)}"})

    assert ([], [f"a secret of a connection, in an answer to PATCH {path}"]) == (before, LEAKS.found())


@requirement("connect:discreet")
def test_a_token_in_the_log_is_found(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().warning("refused", url=f"/1/authorize?token={token(gateway)}&x=1")
    LEAKS.heard("the log", capsys.readouterr().out)

    assert ["a secret of a connection, in the log"] == LEAKS.found()


@requirement("connect:discreet")
def test_a_token_in_the_database_is_found(gateway: Gateway, tmp_path: Path) -> None:
    before = LEAKS.stored(tmp_path / "gateway.db-wal")
    gateway.operator("PATCH", f"/v1/connections/{gateway.connections['notes']}", json={"name": token(gateway)})
    after = LEAKS.stored(tmp_path / "gateway.db-wal")
    LEAKS.found()

    assert ([], ["a secret of a connection, in a file"]) == (before, after)


@requirement("connect:discreet")
def test_what_a_gateway_tells_every_day_has_no_secret(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases")

    assert (200, []) == (reply.status, LEAKS.found())
