"""Effects on callers while storage accepts no writes, and the state afterwards, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from connector_gateway.app import App
from connector_gateway.connectors.notes import NOTES
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.storage_faults import read_only
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def gateway(database_url: str, tmp_path: Path) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}, database_url=database_url) as gateway,
    ):
        gateway.clear("notes")
        yield gateway


@requirement("common-137", "common-138")
def test_a_read_fails_with_its_run_which_appears_in_the_history_later(gateway: Gateway) -> None:
    with read_only(gateway.app.database):
        reply = gateway.get("/notes/databases", limit=1)
    gateway.run(gateway.app.database.flush())
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").data

    assert (503, "storage_unavailable") == (reply.status, reply.code)
    assert str(reply.body["retry_after"]) == reply.headers["retry-after"]
    assert ("error", 503, "storage_unavailable") == (run["status"], run["http_status"], run["code"])


@requirement("common-137")
@pytest.mark.parametrize("key", ["key-1", None])
def test_a_write_is_not_sent_and_can_be_repeated(gateway: Gateway, key: str | None) -> None:
    body = {"database_id": gateway.examples("notes")["database_id"], "properties": {}, "idempotency_key": key}
    with read_only(gateway.app.database):
        reply = gateway.post("/notes/pages", **body)
    sent_before = gateway.journal("notes")
    repeated = gateway.post("/notes/pages", **body)

    assert (503, "storage_unavailable") == (reply.status, reply.code)
    assert {"GET"} >= {method for method, _, _ in sent_before}
    assert 200 == repeated.status
    assert 1 == gateway.journal("notes").count(("POST", "/v1/pages", 200))


@requirement("common-130")
def test_readyz_fails_while_the_database_accepts_no_writes(gateway: Gateway) -> None:
    with read_only(gateway.app.database):
        readiness = gateway.request("GET", "/readyz")
    back = gateway.request("GET", "/readyz")

    assert (503, "failed: StorageUnavailable") == (readiness.status, readiness.body["checks"]["database"])
    assert 200 == back.status


@requirement("common-141")
def test_a_second_gateway_on_the_database_is_rejected(gateway: Gateway) -> None:
    second = App(gateway.app.settings, connectors={"notes": NOTES})

    async def open_gateway() -> None:
        async with second.http().lifespan():
            pass

    with pytest.raises(DatabaseInUse):
        gateway.run(open_gateway())
    assert 200 == gateway.get("/notes/databases", limit=1).status


def test_several_gateways_open_one_database_if_allowed(gateway: Gateway) -> None:
    second = App(gateway.app.settings, connectors={"notes": NOTES}, single_instance=False)

    async def processes() -> int:
        async with second.http().lifespan():
            rows = await second.database.read(lambda db: db.execute(select(tables.processes)).all())
            return len(rows)

    assert 2 == gateway.run(processes())
