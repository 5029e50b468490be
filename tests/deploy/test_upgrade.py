"""Two releases on one database during an upgrade.

The previous release is a checkout at ``TESTS_BEFORE``, from before the last change of the migrations.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, func, make_url, select, text

from connector_gateway.storage import migration_runner
from connector_gateway.storage.sql import tables
from deploy.deployment import Deployment
from deploy.processes import Gateway
from harness.gateway_server import FAST, OPERATOR, settings_for
from harness.postgres import temporary_database
from harness.sandbox_server import run_emulators
from harness.steady_callers import under_load
from harness.valkey import Server
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

VERSIONS = "connector_gateway/storage/migrations/versions"
BEFORE = os.environ.get("TESTS_BEFORE", "")
NEWEST_BEFORE = max((path.stem[:4] for path in Path(BEFORE).glob(f"src/{VERSIONS}/0*.py")), default="")
OLD, NEW = 0, 1

pytestmark = pytest.mark.skipif(not BEFORE, reason="TESTS_BEFORE names no checkout of the release before")


@pytest.fixture
def address(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database."""
    with temporary_database(postgres_server) as url:
        yield url


@pytest.fixture
def deployment(address: str, valkey_of_tests: Server, tmp_path: Path) -> Iterator[Deployment]:
    """One gateway of each release. The previous one has created the schema, and the other is not started."""
    with run_emulators(notes=NotesEmulator) as sandbox, ExitStack() as stack:
        sandbox.emulators["notes"].context.knobs["limits"] = False
        environment = {
            "GATEWAY_DATABASE_URL": address.replace("+psycopg", ""),
            "GATEWAY_SHARED_URL": valkey_of_tests.url,
            "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
            "GATEWAY_OPERATOR_TOKEN": OPERATOR,
            # Releases may queue differently, so calls do not wait for reservations here.
            "GATEWAY_NOTES_BUDGET": "1000/1",
            **settings_for(sandbox, ["notes"]),
            **FAST,
        }
        old = Gateway("old", tmp_path, tmp_path, environment, sources=Path(BEFORE) / "src")
        new = Gateway("new", tmp_path, tmp_path, environment)
        for gateway in (old, new):
            stack.callback(gateway.kill)
        old.start()
        deployed = Deployment([old, new], sandbox, tmp_path, OPERATOR)
        deployed.prepare(OLD, OLD)
        yield deployed


def test_old_and_new_release_run_together_without_lost_or_repeated_writes(deployment: Deployment, address: str) -> None:
    old, new = deployment.gateways
    load = deployment.key, deployment.connection_id, deployment.database_id
    first = deployment.write(OLD, "by old")
    with under_load(old.address, *load) as by_old:
        wait_until(lambda: len(by_old) >= 10)
        new.start()
        with under_load(new.address, *load) as by_new:
            seen = len(by_old)
            wait_until(lambda: min(len(by_old) - seen, len(by_new)) >= 10)
    second = deployment.write(NEW, "by new")
    repeats = [deployment.write(NEW, "by old"), deployment.write(OLD, "by new")]
    requests = deployment.sandbox.emulators["notes"].context.request_log
    engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        writes = tables.runs.c.operation == "create_page", tables.runs.c.status == "ok"
        stored_runs = connection.execute(select(func.count()).select_from(tables.runs).where(*writes)).scalar()
    engine.dispose()

    assert {200} == {*by_old, *by_new}
    assert migration_runner.newest_version() == version
    assert [first["data"], second["data"]] == [repeat["data"] for repeat in repeats]
    assert len(by_old) + len(by_new) + 2 == sum(one.path == "/v1/pages" for one in requests)
    assert len(by_old) + len(by_new) + 4 == stored_runs


def test_a_write_in_doubt_from_before_the_upgrade_is_settled_after_it(deployment: Deployment) -> None:
    old, new = deployment.gateways
    control = f"{deployment.sandbox.address}/_control/notes/faults"
    lost = {"path": "/v1/pages", "fault": "drop_after"}
    not_found = {"path": "/v1/data_sources/", "fault": "status", "status": 503, "times": 1000}
    for fault in (lost, not_found):
        httpx.post(control, json={"method": "POST", **fault}).raise_for_status()
    before = deployment.write(OLD, "in doubt")
    old.terminate()
    old.ended()
    httpx.delete(control).raise_for_status()
    new.start()
    after = [deployment.write(NEW, "in doubt") for _ in range(2)]
    created = [one for one in deployment.sandbox.emulators["notes"].context.request_log if one.path == "/v1/pages"]

    assert "outcome_unknown" == before["error"]["code"]
    assert after[0]["data"]["page_id"] == after[1]["data"]["page_id"]
    assert 1 == len(created)


@pytest.mark.skipif(NEWEST_BEFORE == migration_runner.newest_version(), reason="the release before has the same schema")
def test_the_old_release_rejects_the_new_schema_with_the_reason(deployment: Deployment) -> None:
    old, new = deployment.gateways
    new.start()
    old.terminate()
    ended = old.ended()
    status, output = old.start_in_vain()

    assert (0, 3) == (ended, status)
    assert (
        f"The database was brought to schema {migration_runner.newest_version()} by a newer version of this service"
        in output
    )
