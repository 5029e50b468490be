"""Data encrypted with a missing secret is reported at startup, with the remedy."""

import pytest
from sqlalchemy import insert

from connector_gateway.app import App
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.connections import Vault
from connector_gateway.core.secrets.missing_key_check import MissingSecretKeys, check_decryptable
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.errors import HookNotFound
from connector_gateway.settings import Settings
from connector_gateway.storage.sql import tables
from harness.requirement import requirement

FIRST, SECOND = "a secret that only tests know", "another secret that only tests know"
REST = {"GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef", "GATEWAY_WATCH": "off"}


def create_installation(database_url: str, secrets: str) -> App:
    """Return an installation on the database with *secrets*."""
    settings = {"GATEWAY_DATABASE_URL": database_url, "GATEWAY_SECRET_KEYS": secrets} | REST
    return App(Settings.read(settings, CONNECTORS), single_instance=False)


async def create_connection(app: App) -> str:
    """Create a connection."""
    workspace = await app.workspaces.create("tests", "paid")
    connection = await app.connections.create(workspace["workspace_id"], "notes", {"token": "ntn_secret_one"})
    return str(connection["connection_id"])


async def store_hook_secret(app: App, connector: str, secret: str) -> None:
    """Store the hook secret of *connector*, encrypted with *secret*."""
    sealed = Vault(SecretKeys([secret])).encrypt({"verification_token": "ntn_secret_two"}, connector)
    row = {"connector": connector, "sealed": sealed, "received_at": 0.0}
    await app.database.put(insert(tables.hooks), row)


@requirement("common-149")
async def test_a_start_without_the_secret_of_a_connection_is_rejected(database_url: str) -> None:
    first = create_installation(database_url, FIRST)
    async with first.database:
        connection_ids = [await create_connection(first), await create_connection(first)]
    second = create_installation(database_url, SECOND)

    with pytest.raises(MissingSecretKeys) as raised:
        async with second.http().lifespan():
            pass

    assert str(raised.value).startswith(
        f"The secret key that encrypted 2 connections, {min(connection_ids)} among them is missing; "
        "add it to GATEWAY_DECRYPT_ONLY_KEYS."
    )


@requirement("common-149")
async def test_a_start_without_the_secret_of_a_hook_is_rejected(database_url: str) -> None:
    app = create_installation(database_url, SECOND)
    async with app.database:
        await store_hook_secret(app, "notes", FIRST)
        await store_hook_secret(app, "chat", SECOND)

        with pytest.raises(MissingSecretKeys, match="encrypted the hook secret of notes is missing; add"):
            await check_decryptable(app.database, Vault(SecretKeys([SECOND])))


async def store_event(app: App, connection_id: str, sealed_by: str, observed_at: float) -> None:
    """Store an event as an installation with another secret key would."""
    row = {"connection_id": connection_id, "sequence": observed_at, "event_id": f"evt_{observed_at}", "type": "x"}
    sealed = Vault(SecretKeys([sealed_by])).encrypt({}, f"{connection_id}\n{observed_at}")
    await app.database.put(insert(tables.events), row | {"observed_at": observed_at, "data": {}, "sealed": sealed})


@requirement("common-149", "secrets-9")
@pytest.mark.parametrize("sealed_by", [(FIRST, SECOND), (SECOND, FIRST)], ids=["oldest", "newest"])
async def test_a_start_without_the_secret_of_events_fails_until_their_connection_is_removed(
    database_url: str, sealed_by: tuple[str, str]
) -> None:
    app = create_installation(database_url, SECOND)
    async with app.database:
        connection_id = await create_connection(app)
        for number, secret in enumerate(sealed_by):
            await store_event(app, connection_id, secret, number)
        with pytest.raises(MissingSecretKeys, match=f"encrypted events of {connection_id} is missing"):
            await check_decryptable(app.database, Vault(SecretKeys([SECOND])))
        await check_decryptable(app.database, Vault(SecretKeys([SECOND], decrypt_only=[FIRST])))
        removed = await app.connections.remove(connection_id)
        await check_decryptable(app.database, Vault(SecretKeys([SECOND])))

    assert "removed" == removed["status"]


@requirement("common-149")
async def test_both_secrets_allow_a_start_and_decrypt_older_data(database_url: str) -> None:
    first = create_installation(database_url, FIRST)
    async with first.database:
        connection_id = await create_connection(first)
    both = create_installation(database_url, f"{SECOND},{FIRST}")

    async with both.http().lifespan():
        connection = await both.connections.find(connection_id)
        assert connection is not None
        credentials = await connection.credentials()

    assert {"token": "ntn_secret_one"} == credentials


@requirement("common-149")
async def test_data_encrypted_with_a_lost_secret_can_be_removed(database_url: str) -> None:
    first = create_installation(database_url, FIRST)
    async with first.database:
        connection_id = await create_connection(first)
        await store_hook_secret(first, "notes", FIRST)
    second = create_installation(database_url, SECOND)

    async with second.database:
        removed = await second.connections.remove(connection_id)
        forgotten = await second.hooks.forget("notes")
        await check_decryptable(second.database, Vault(SecretKeys([SECOND])))
        with pytest.raises(HookNotFound):
            await second.hooks.show("notes")

    assert "removed" == removed["status"]
    assert {"connector", "received_at"} == forgotten.keys()
