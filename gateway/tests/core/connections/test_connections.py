"""Connections, on both databases."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.connections import ConnectionStore, TokenEndpointClient, TokenRefresher, Vault
from connector_gateway.core.events.watch_lifecycle import WatchLifecycle
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.single_flight_cache import CACHE_SECONDS
from connector_gateway.kit.errors import (
    ConnectionMismatch,
    ConnectionNotFound,
    InvalidParameters,
    SecretUnreadable,
    WorkspaceNotFound,
)
from connector_gateway.kit.identifiers import KeyId, WorkspaceId
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.core_fixture import FakeUpstream, connectors
from harness.requirement import requirement


@dataclass
class Stores:
    """Connections in two processes on one database."""

    here: ConnectionStore
    elsewhere: ConnectionStore
    workspaces: Workspaces
    caller: Caller
    clock: ManualClock

    async def make(self, **more: Any) -> str:
        connection = await self.here.create(
            self.caller.workspace_id, **({"connector": "shelf", "credentials": {"token": "open-sesame-open"}} | more)
        )
        return str(connection["connection_id"])


def vault(*secrets: str) -> Vault:
    return Vault(SecretKeys(secrets or ["a secret that only tests know"]))


def create_store(
    database: Database, used_vault: Vault, clock: ManualClock, steady: ManualClock | None = None
) -> ConnectionStore:
    """The connections of a process, which are never refreshed."""
    known = connectors(FakeUpstream())
    watching = WatchLifecycle(known, clock)
    tokens = TokenEndpointClient({}, Transport(1.0), LocalCounters(clock, Timeouts()), clock)
    refresher = TokenRefresher(database, used_vault, tokens, watching, clock)
    return ConnectionStore(database, used_vault, known, clock, watching, token_refresher=refresher, steady=steady)


@pytest.fixture
async def stores(common_database_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    async with Database(common_database_url) as here, Database(common_database_url) as elsewhere:
        workspaces = Workspaces(here, clock)
        workspace_id = (await workspaces.create("tests"))["workspace_id"]
        caller = Caller(KeyId("key_1"), workspace_id, "read_write", 120, None, None)
        yield Stores(
            create_store(here, vault(), clock),
            create_store(elsewhere, vault(), clock),
            workspaces,
            caller,
            clock,
        )


@requirement("common-8")
async def test_an_open_connection_provides_its_secrets(stores: Stores) -> None:
    connection = await stores.here.open(stores.caller, "shelf", await stores.make())

    assert {"token": "open-sesame-open"} == await connection.credentials()
    assert "sesame" not in repr(connection)


async def test_connections_of_one_account_share_its_budget_without_exposing_secrets(stores: Stores) -> None:
    one = await stores.here.open(stores.caller, "shelf", await stores.make())
    same = await stores.here.open(stores.caller, "shelf", await stores.make())
    other = await stores.here.open(stores.caller, "shelf", await stores.make(credentials={"token": "another-token"}))

    assert one.account == same.account != other.account
    assert "sesame" not in one.account


@requirement("common-49", "common-67")
async def test_unknown_foreign_and_forbidden_connections_are_indistinguishable(stores: Stores) -> None:
    own = await stores.make()
    stranger = Caller(KeyId("k"), WorkspaceId("ws_other"), "read", 120, None, None)
    limited = Caller(KeyId("k"), stores.caller.workspace_id, "read", 120, frozenset(), None)
    errors = [
        await catch_error(stores, stores.caller, "conn_nothing"),
        await catch_error(stores, stranger, own),
        await catch_error(stores, limited, own),
    ]

    assert [ConnectionNotFound] * 3 == list(map(type, errors))


async def catch_error(stores: Stores, caller: Caller, connection_id: str) -> BaseException:
    with pytest.raises(ConnectionNotFound) as raised:
        await stores.here.open(caller, "shelf", connection_id)
    return raised.value


@requirement("common-50")
async def test_a_connection_of_another_connector_is_a_mismatch(stores: Stores) -> None:
    with pytest.raises(ConnectionMismatch):
        await stores.here.open(stores.caller, "notes", await stores.make())


async def test_a_change_applies_here_immediately_and_elsewhere_within_three_seconds(stores: Stores) -> None:
    uid = await stores.make()
    await stores.here.open(stores.caller, "shelf", uid)
    await stores.elsewhere.open(stores.caller, "shelf", uid)
    await stores.here.change(uid, credentials={"token": "a-newer-token"})
    here = await stores.here.open(stores.caller, "shelf", uid)
    stores.clock.at += CACHE_SECONDS + 0.1
    elsewhere = await stores.elsewhere.open(stores.caller, "shelf", uid)

    assert {"token": "a-newer-token"} == await here.credentials() == await elsewhere.credentials()


async def test_a_removal_applies_here_immediately_and_elsewhere_within_three_seconds(stores: Stores) -> None:
    uid = await stores.make()
    await stores.elsewhere.open(stores.caller, "shelf", uid)
    await stores.here.remove(uid)
    stores.clock.at += CACHE_SECONDS + 0.1

    assert None is await stores.here.find(uid)
    assert None is await stores.elsewhere.find(uid)
    assert [] == (await stores.here.page(stores.caller.workspace_id)).rows


async def test_the_connection_status_that_a_call_observes_is_recorded(stores: Stores) -> None:
    uid = await stores.make()
    connection = await stores.here.open(stores.caller, "shelf", uid)
    await stores.here.record_status(connection, "revoked")
    revoked = await stores.here.show(uid)
    again = await stores.here.open(stores.caller, "shelf", uid)
    await stores.here.record_status(again, "active")

    assert "revoked" == revoked["status"]
    assert "active" == (await stores.here.show(uid))["status"]


async def test_connections_are_listed_by_workspace_and_connector(stores: Stores) -> None:
    uid = await stores.make()
    own = await stores.here.page(stores.caller.workspace_id)

    assert [uid] == [item["connection_id"] for item in own.rows]
    assert [] == (await stores.here.page(stores.caller.workspace_id, connector="notes")).rows
    assert [] == (await stores.here.page(WorkspaceId("ws_other"))).rows


async def test_a_connection_without_a_workspace_is_not_created(stores: Stores) -> None:
    with pytest.raises(WorkspaceNotFound):
        await stores.here.create(WorkspaceId("ws_nothing"), "shelf", {"token": "token-of-nobody"})


async def test_an_unknown_connector_is_rejected_with_the_allowed_names(stores: Stores) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await stores.make(connector="fax")

    assert [{"parameter": "connector", "value": "fax", "allowed": ["shelf"]}] == raised.value.details


async def test_missing_secrets_are_named(stores: Stores) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await stores.make(credentials={"password": "x"})

    assert ["credentials.token", "credentials.password"] == [one["parameter"] for one in raised.value.details]


@requirement("common-149")
async def test_a_connection_encrypted_with_a_missing_secret_is_reported_with_the_setting(
    stores: Stores, common_database_url: str
) -> None:
    uid = await stores.make()
    async with Database(common_database_url) as other:
        rotated = create_store(other, vault("another secret of ours"), stores.clock)
        with pytest.raises(SecretUnreadable, match="GATEWAY_SECRET_KEYS") as raised:
            await rotated.open(stores.caller, "shelf", uid)

    assert (503, "secret_unreadable") == (raised.value.status, raised.value.code)


async def test_a_workspace_that_does_not_exist_cannot_be_changed(stores: Stores) -> None:
    with pytest.raises(WorkspaceNotFound):
        await stores.workspaces.change(WorkspaceId("ws_nothing"), name="x")


@requirement("common-156")
async def test_a_removal_elsewhere_applies_in_time_despite_a_clock_set_back(stores: Stores) -> None:
    wall, steady = ManualClock(), ManualClock()
    here = create_store(stores.here.database, vault(), wall, steady)
    connection_id = await stores.make()
    await here.open(stores.caller, "shelf", connection_id)
    await stores.elsewhere.remove(connection_id)
    wall.at -= 3600
    steady.at += CACHE_SECONDS

    with pytest.raises(ConnectionNotFound):
        await here.open(stores.caller, "shelf", connection_id)
