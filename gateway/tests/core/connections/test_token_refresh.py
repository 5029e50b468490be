"""Refreshes of tokens, on both databases, with manual clocks."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.connections import (
    Connection,
    ConnectionStore,
    IdleTokenRefresher,
    TokenEndpointClient,
    TokenRefresher,
    Vault,
)
from connector_gateway.core.connections.token_client import GrantRejected
from connector_gateway.core.connections.token_refresh import LEASE_SECONDS
from connector_gateway.core.events.watch_lifecycle import WatchLifecycle
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.single_flight_cache import CACHE_SECONDS
from connector_gateway.kit.errors import ConnectionRevoked, StorageUnavailable, UpstreamError, UpstreamUnavailable
from connector_gateway.kit.oauth import Endpoint, IssuedTokens, OAuthConfig
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.core_fixture import FakeUpstream, connectors
from harness.requirement import requirement

HOUR = 3600.0
DAY = 24 * HOUR
OAUTH = OAuthConfig(
    "Shelf", Endpoint("base", "/authorize"), Endpoint("base", "/token"), margin_seconds=60, idle_seconds=60 * DAY
)
FIRST = {"token": "access-token-1", "refresh_token": "refresh-token-1"}


@dataclass
class Issuer:
    """The vendor. A refresh token is valid once, and for its *grace*. The next pair has the next number."""

    clock: ManualClock
    troubles: list[BaseException] = field(default_factory=list)
    lost: list[BaseException] = field(default_factory=list)
    """Failures of responses on their way back."""

    grace: float = 0.0
    requests: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    visited: asyncio.Event = field(default_factory=asyncio.Event)
    known: OAuthConfig | None = OAUTH
    good: int = 1
    changed_at: float = 0.0

    def __post_init__(self) -> None:
        self.gate.set()

    def oauth(self, connector: str) -> OAuthConfig | None:
        return self.known

    async def refresh(self, connector: str, refresh_token: str) -> IssuedTokens:
        self.requests.append(refresh_token)
        self.visited.set()
        await self.gate.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        graced = refresh_token == f"refresh-token-{self.good - 1}" and self.clock.at - self.changed_at < self.grace
        if refresh_token != f"refresh-token-{self.good}" and not graced:
            raise GrantRejected("invalid_grant")
        self.good, self.changed_at = self.good + 1, self.clock.at
        if self.lost:
            raise self.lost.pop(0)
        return IssuedTokens(f"access-token-{self.good}", f"refresh-token-{self.good}", HOUR)


@dataclass
class TwoProcesses:
    """Two processes on one database, and a connection with tokens that expire in an hour."""

    here: ConnectionStore
    elsewhere: ConnectionStore
    issuer: Issuer
    clock: ManualClock
    connection_id: str
    idle_processes: int = 1

    @property
    def idle(self) -> IdleTokenRefresher:
        return idle(self.here, self.clock, self.idle_processes)

    async def connection(self, of: ConnectionStore | None = None) -> Connection:
        opened = await (of or self.here).find(self.connection_id)
        assert opened is not None
        return opened

    async def status(self) -> tuple[str, str | None]:
        public = await self.here.show(self.connection_id)
        return public["status"], public["reason"]


def idle(connections: ConnectionStore, clock: ManualClock, processes: int = 1) -> IdleTokenRefresher:
    """Return the job that refreshes idle tokens of *connections*."""
    return IdleTokenRefresher(
        connections.database, connections.vault, connections.token_refresher, clock, processes=lambda: processes
    )


def process(database: Database, issuer: Issuer, clock: ManualClock) -> ConnectionStore:
    vault = Vault(SecretKeys(["a secret that only tests know"]))
    known = {name: replace(one, oauth=OAUTH) for name, one in connectors(FakeUpstream()).items()}
    changes = WatchLifecycle(known, clock)
    refresher = TokenRefresher(database, vault, cast(TokenEndpointClient, issuer), changes, clock)
    return ConnectionStore(database, vault, known, clock, changes, token_refresher=refresher)


@pytest.fixture
async def processes(database_url: str, clock: ManualClock) -> AsyncIterator[TwoProcesses]:
    async with Database(database_url, clock=clock.now) as here, Database(database_url, clock=clock.now) as elsewhere:
        issuer = Issuer(clock)
        workspace_id = (await Workspaces(here, clock).create("tests"))["workspace_id"]
        connections = process(here, issuer, clock)
        connection = await connections.create(workspace_id, "shelf", FIRST)
        yield_to = TwoProcesses(
            connections, process(elsewhere, issuer, clock), issuer, clock, connection["connection_id"]
        )
        await authorise(yield_to, FIRST)
        yield yield_to


async def authorise(processes: TwoProcesses, secrets: Mapping[str, str]) -> None:
    """Store *secrets* that expire in an hour."""
    await processes.here.authorise(
        await processes.connection(), secrets, None, processes.clock.at + HOUR, lambda _: None
    )


@requirement("connections-18")
async def test_a_token_is_used_until_shortly_before_it_expires(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR - OAUTH.margin_seconds - 1
    before = await connection.credentials()
    processes.clock.at += 2
    after = await connection.credentials()

    assert ("access-token-1", "access-token-2") == (before["token"], after["token"])
    assert ["refresh-token-1"] == processes.issuer.requests


@requirement("connections-20")
async def test_a_new_pair_is_stored_before_it_is_used(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    await connection.credentials()
    stored = await processes.connection(processes.elsewhere)

    assert {"token": "access-token-2", "refresh_token": "refresh-token-2"} == stored.stored


@requirement("connections-19")
async def test_two_hundred_tasks_refresh_a_token_once(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    credentials = await asyncio.gather(*(connection.credentials() for _ in range(200)))

    assert {"access-token-2"} == {secrets["token"] for secrets in credentials}
    assert ["refresh-token-1"] == processes.issuer.requests


@requirement("connections-19")
async def test_two_processes_refresh_a_token_once(processes: TwoProcesses) -> None:
    here, elsewhere = await processes.connection(), await processes.connection(processes.elsewhere)
    processes.clock.at += HOUR
    credentials = await asyncio.gather(here.credentials(), elsewhere.credentials())

    assert ["access-token-2", "access-token-2"] == [secrets["token"] for secrets in credentials]
    assert ["refresh-token-1"] == processes.issuer.requests


@requirement("connections-21")
async def test_a_refresh_that_fails_for_a_minute_does_not_revoke_the_connection(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    processes.issuer.troubles = [UpstreamUnavailable("Away.") for _ in range(100)]
    minute = processes.clock.at + 60
    while processes.clock.at < minute:
        with pytest.raises(UpstreamUnavailable):
            await connection.credentials()
        processes.clock.at += 0.5
    between, request_count = await processes.status(), len(processes.issuer.requests)
    processes.issuer.troubles.clear()
    processes.clock.at += 1
    secrets = await connection.credentials()

    assert ("active", None) == between == await processes.status()
    assert "access-token-2" == secrets["token"]
    assert request_count <= 60


@requirement("connections-21")
async def test_a_valid_token_is_used_while_its_refresh_fails(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR - 30
    processes.issuer.troubles = [UpstreamError("Failed.")]

    assert "access-token-1" == (await connection.credentials())["token"]


@requirement("connections-22")
async def test_a_rejected_refresh_revokes_and_is_not_retried_immediately(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    processes.issuer.good = 5
    for _ in range(3):
        with pytest.raises(ConnectionRevoked):
            await connection.credentials()

    assert ("revoked", "withdrawn") == await processes.status()
    assert ["refresh-token-1"] == processes.issuer.requests


@requirement("connections-19")
async def test_the_refresh_of_a_dead_process_is_taken_over(processes: TwoProcesses) -> None:
    here, elsewhere = await processes.connection(), await processes.connection(processes.elsewhere)
    processes.clock.at += HOUR
    processes.issuer.gate.clear()
    dying = asyncio.create_task(here.credentials())
    await processes.issuer.visited.wait()
    processes.clock.at += LEASE_SECONDS + 1
    processes.issuer.gate.set()
    processes.issuer.troubles = [asyncio.CancelledError()]
    secrets = await elsewhere.credentials()
    await asyncio.gather(dying, return_exceptions=True)

    assert secrets["token"].startswith("access")
    assert "active" == (await processes.status())[0]


@requirement("connections-21")
@pytest.mark.parametrize(
    ("grace", "expected"), [(60.0, ("active", None)), (0.0, ("revoked", "refresh_interrupted"))], ids=["grace", "none"]
)
async def test_a_lost_token_pair_is_reissued_if_the_previous_one_is_valid_for_a_minute(
    processes: TwoProcesses, grace: float, expected: tuple[str, str | None]
) -> None:
    here, elsewhere = await processes.connection(), await processes.connection(processes.elsewhere)
    processes.clock.at += HOUR
    processes.issuer.grace, processes.issuer.lost = grace, [asyncio.CancelledError()]
    await asyncio.gather(here.credentials(), return_exceptions=True)
    await asyncio.gather(elsewhere.credentials(), return_exceptions=True)

    assert expected == await processes.status()


@requirement("connections-20")
async def test_an_unsaved_token_pair_is_retained_for_later(
    processes: TwoProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    error = StorageUnavailable("Away.")
    real = processes.here.database.write
    is_unavailable = [True]

    def write(work: Any, *about: Any) -> Any:
        if is_unavailable and "_store" in repr(work):
            return failing(error)
        return real(work, *about)

    monkeypatch.setattr(processes.here.database, "write", write)
    with pytest.raises(StorageUnavailable):
        await connection.credentials()
    with pytest.raises(StorageUnavailable):
        await connection.credentials()
    is_unavailable.clear()
    secrets = await connection.credentials()

    assert ("access-token-2", ["refresh-token-1"]) == (secrets["token"], processes.issuer.requests)


async def failing(error: BaseException) -> None:
    raise error


@requirement("connections-22")
async def test_credentials_replaced_during_a_refresh_are_retained(processes: TwoProcesses) -> None:
    connection = await processes.connection()
    processes.clock.at += HOUR
    processes.issuer.gate.clear()
    renewing = asyncio.create_task(connection.credentials())
    await processes.issuer.visited.wait()
    await authorise(processes, {"token": "chosen-access-token", "refresh_token": "refresh-token-9"})
    processes.issuer.gate.set()
    await renewing
    processes.clock.at += CACHE_SECONDS + 1

    assert "chosen-access-token" == (await processes.connection()).stored["token"]
