"""Re-encryption of all data with the newest secret, on both databases."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from connector_gateway.core.connections import Vault
from connector_gateway.core.secrets.rotation import ENCRYPTED_TABLES, STEP, RotationResult, SecretRotation
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.requirement import requirement

OLD, NEW, FOREIGN = "an old secret of ours", "a new secret of ours", "a secret of others"
COUNT = 2 * STEP + 3
CLAIM = ("ws_1", "conn_0001", "create_page", "k1")


def vault(*secrets: str) -> Vault:
    return Vault(SecretKeys(secrets))


def connection(number: int, sealed: bytes, **more: Any) -> dict[str, Any]:
    """Return the row of a connection."""
    row = {"workspace_id": "ws_1", "connector": "notes", "name": "", "status": "active", "settings": {}}
    times = {"created_at": 1.0, "updated_at": 1.0}
    return row | times | {"connection_id": f"conn_{number:04}", "sealed": sealed, "deleted": False} | more


def claim(sealed: bytes | None, key: str) -> dict[str, Any]:
    """Return the row of an in-doubt claim."""
    name = dict(zip(("workspace_id", "connection_id", "operation", "idempotency_key"), (*CLAIM[:3], key), strict=True))
    state = {"run_id": "run_1", "attempt": 1, "state": "doubtful", "settle_seconds": 1.0, "expires_at": 9e9}
    return name | state | {"sealed": sealed}


@dataclass
class EncryptedRows:
    """A database with data that an older secret has encrypted."""

    database: Database

    async def sealed(self) -> list[tuple[str, bytes]]:
        """Return the ciphertexts with their owners."""

        def read_rows(db: Any) -> list[tuple[str, bytes]]:
            results = [
                db.execute(select(*table.primary_key, table.c.sealed)).all() for table in ENCRYPTED_TABLES.values()
            ]
            return [("\n".join(map(str, row[:-1])), bytes(row[-1])) for rows in results for row in rows if row[-1]]

        return await self.database.read(read_rows)

    async def change(self, connection_id: str, sealed: bytes) -> None:
        """Replace the secrets of a connection."""
        here = tables.connections.c.connection_id == connection_id
        change = update(tables.connections).where(here).values(sealed=sealed)
        await self.database.write(lambda db: db.execute(change).rowcount)


@pytest.fixture
async def encrypted_rows(database_url: str) -> AsyncIterator[EncryptedRows]:
    seal = vault(OLD).encrypt
    connections = [connection(n, seal({"token": f"secret-token-{n}"}, f"conn_{n:04}")) for n in range(COUNT)]
    gone = connection(9999, b"", deleted=True)
    hook = {
        "connector": "notes",
        "sealed": seal({"verification_token": "hook-secret-token"}, "notes"),
        "received_at": 1.0,
    }
    webhook = {
        "webhook_id": "wh_1",
        "workspace_id": "ws_1",
        "url": "https://example.com",
        "name": "",
        "status": "active",
        "sealed": seal({"secrets": [{"secret": "whsec_webhook-secret-of-tests", "ends_at": None}]}, "wh_1"),
        "created_at": 1.0,
        "updated_at": 1.0,
    }
    claims = [claim(seal({"entries": []}, "\n".join(CLAIM)), "k1"), claim(None, "k2")]

    event = {"connection_id": "conn_0001", "event_id": "evt_1", "type": "page_created", "observed_at": 1.0, "data": {}}
    events = [
        event | {"sequence": 1, "sealed": None, "data": {"title": "of an earlier version"}},
        event
        | {
            "sequence": 2,
            "event_id": "evt_2",
            "sealed": vault(OLD).encrypt_bytes(b'{"title": "private"}', "conn_0001\n2"),
        },
    ]

    def prepare(db: Any) -> None:
        workspace = {"workspace_id": "ws_1", "name": "tests", "plan": "free", "created_at": 1.0}
        db.execute(insert(tables.workspaces), workspace)
        db.execute(insert(tables.connections), [*connections, gone])
        db.execute(insert(tables.hooks), hook)
        db.execute(insert(tables.webhooks), webhook)
        for row in claims:
            db.execute(insert(tables.claims), row)
        for row in events:
            db.execute(insert(tables.events), row)

    async with Database(database_url) as database:
        await database.write(prepare)
        yield EncryptedRows(database)


@requirement("common-165")
async def test_the_newest_secret_alone_decrypts_everything_after_a_rotation(encrypted_rows: EncryptedRows) -> None:
    report = await SecretRotation(encrypted_rows.database, vault(NEW, OLD)).rotate()
    opened = {owner: vault(NEW).decrypt(sealed, owner) for owner, sealed in await encrypted_rows.sealed()}

    assert {"connections": COUNT, "hooks": 1, "webhooks": 1, "claims": 1, "events": 1, "audit": 0} == {
        one["kind"]: one["resealed"] for one in report
    }
    assert COUNT + 4 == len(opened)
    assert {"token": "secret-token-7"} == opened["conn_0007"]
    assert {"verification_token": "hook-secret-token"} == opened["notes"]
    assert {"title": "private"} == opened["conn_0001\n2"]


async def test_a_second_rotation_has_nothing_to_do(encrypted_rows: EncryptedRows) -> None:
    await SecretRotation(encrypted_rows.database, vault(NEW, OLD)).rotate()
    before = await encrypted_rows.sealed()
    report = await SecretRotation(encrypted_rows.database, vault(NEW, OLD)).rotate()

    assert [0] * len(ENCRYPTED_TABLES) == [one["resealed"] for one in report]
    assert before == await encrypted_rows.sealed()


async def test_rows_without_a_secret_are_reported_and_unchanged(encrypted_rows: EncryptedRows) -> None:
    foreign = vault(FOREIGN).encrypt({"token": "foreign-token"}, "conn_0001")
    here = tables.connections.c.connection_id == "conn_0001"
    await encrypted_rows.database.write(
        lambda db: db.execute(update(tables.connections).where(here), {"sealed": foreign})
    )
    report = await SecretRotation(encrypted_rows.database, vault(NEW, OLD)).rotate()

    assert {"kind": "connections", "resealed": COUNT - 1, "unreadable": ["conn_0001"]} == report[0]
    assert foreign in [sealed for _, sealed in await encrypted_rows.sealed()]


@requirement("common-165")
async def test_rows_changed_during_a_rotation_are_unchanged_by_it(encrypted_rows: EncryptedRows) -> None:
    rotation = SecretRotation(encrypted_rows.database, vault(NEW, OLD))
    rows = await rotation._read_older(tables.connections, None)
    renewed = vault(NEW).encrypt({"token": "renewed-token"}, "conn_0001")
    here = tables.connections.c.connection_id == "conn_0001"
    await encrypted_rows.database.write(
        lambda db: db.execute(update(tables.connections).where(here), {"sealed": renewed})
    )
    await rotation._encrypt_again(tables.connections, rows, rotated := RotationResult())

    assert STEP - 1 == rotated.resealed
    assert ("conn_0001", renewed) in await encrypted_rows.sealed()
