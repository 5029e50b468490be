"""Agents and their tokens, in two processes, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Row, func, select

from connector_gateway.core.access.agent_oauth import (
    ACCESS_SECONDS,
    REDEMPTION_SECONDS,
    REFRESH_SECONDS,
    Agents,
    Rights,
)
from connector_gateway.core.access.keys import CODE_SECONDS, ApiKeys
from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.single_flight_cache import CACHE_SECONDS
from connector_gateway.kit.errors import InvalidApiKey
from connector_gateway.kit.identifiers import KeyId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement

RIGHTS = Rights("read", None, None)
CLIENT = "https://client.example/agent.json"


@dataclass
class Processes:
    """Agents in two processes on one database."""

    here: Agents
    elsewhere: Agents
    workspace_id: WorkspaceId
    clock: ManualClock

    async def create(self) -> dict[str, Any]:
        return await self.here.keys.create(self.workspace_id, "read_write", for_agent=True)

    async def authorise(self, agents: Agents, code: str) -> str | None:
        return await agents.authorise(code, CLIENT, "A client", RIGHTS, {"state": None})

    async def grant(self) -> Row[Any]:
        """Return the authorization code of a new grant."""
        code = await self.authorise(self.here, (await self.create())["agent_code"])
        assert code is not None
        row = await self.here.load("code", code, CLIENT)
        assert row is not None
        return row


@pytest.fixture
async def processes(common_database_url: str, clock: ManualClock) -> AsyncIterator[Processes]:
    async with Database(common_database_url) as here, Database(common_database_url) as elsewhere:
        workspace = await Workspaces(here, clock).create("tests")
        first, second = (Agents(database, ApiKeys(database, clock), clock, clock) for database in (here, elsewhere))
        yield Processes(first, second, workspace["workspace_id"], clock)


async def is_accepted(agents: Agents, token: str) -> bool:
    try:
        await agents.authenticate(f"Bearer {token}")
    except InvalidApiKey:
        return False
    return True


@requirement("oauth-4")
async def test_a_code_is_used_by_one_of_two_processes(processes: Processes) -> None:
    code = (await processes.create())["agent_code"]

    codes = await asyncio.gather(*(processes.authorise(one, code) for one in (processes.here, processes.elsewhere)))

    assert 1 == sum(code is not None for code in codes)


@requirement("oauth-4")
async def test_two_processes_that_exchange_one_token_end_the_grant(processes: Processes) -> None:
    row = await processes.grant()

    issued = await asyncio.gather(processes.here.exchange(row), processes.elsewhere.exchange(row))

    (tokens,) = filter(None, issued)
    record = await processes.here.keys.show(row.key_id)
    assert record["revoked_at"] is not None
    assert not await is_accepted(processes.here, tokens.access)


@requirement("oauth-4")
async def test_an_access_token_expires(processes: Processes) -> None:
    tokens = await processes.here.exchange(await processes.grant())
    assert tokens is not None

    before = await is_accepted(processes.elsewhere, tokens.access)
    processes.clock.at += ACCESS_SECONDS

    assert before
    assert not await is_accepted(processes.elsewhere, tokens.access)


@requirement("oauth-4")
async def test_a_grant_expires_unless_it_is_used(processes: Processes) -> None:
    row = await processes.grant()
    tokens = await processes.here.exchange(row)
    assert tokens is not None
    processes.clock.at += REFRESH_SECONDS - 1
    refresh = await processes.elsewhere.load("refresh", tokens.refresh, CLIENT)
    assert refresh is not None
    renewed = await processes.elsewhere.exchange(refresh)
    assert renewed is not None

    processes.clock.at += REFRESH_SECONDS

    assert await processes.here.load("refresh", renewed.refresh, CLIENT) is None
    assert processes.clock.now() >= (await processes.here.keys.show(row.key_id))["expires_at"].timestamp()


async def test_codes_expire(processes: Processes) -> None:
    code = (await processes.create())["agent_code"]
    authorised = await processes.authorise(processes.here, (await processes.create())["agent_code"])
    assert authorised is not None

    processes.clock.at += REDEMPTION_SECONDS
    redeemed = await processes.here.load("code", authorised, CLIENT)
    processes.clock.at += CODE_SECONDS

    assert redeemed is None
    assert await processes.here.find(code) is None


@requirement("oauth-5")
async def test_a_revocation_ends_tokens_in_all_processes(processes: Processes) -> None:
    row = await processes.grant()
    tokens = await processes.here.exchange(row)
    assert tokens is not None
    assert await is_accepted(processes.elsewhere, tokens.access)

    await processes.here.revoke(row.key_id)
    processes.clock.at += CACHE_SECONDS

    assert not await is_accepted(processes.here, tokens.access)
    assert not await is_accepted(processes.elsewhere, tokens.access)
    assert await processes.here.load("refresh", tokens.refresh, CLIENT) is None


async def test_a_grant_that_was_revoked_before_the_exchange_issues_nothing(processes: Processes) -> None:
    row = await processes.grant()
    await processes.here.keys.revoke(KeyId(row.key_id))

    assert await processes.elsewhere.exchange(row) is None


@requirement("oauth-4")
async def test_no_token_is_stored_in_plain_text(processes: Processes) -> None:
    created = await processes.create()
    code = await processes.authorise(processes.here, created["agent_code"])
    assert code is not None
    row = await processes.here.load("code", code, CLIENT)
    assert row is not None
    tokens = await processes.here.exchange(row)
    assert tokens is not None

    queries = [select(tables.keys), select(tables.agent_tokens)]
    rows = await processes.here.database.read(lambda reading: [str(reading.execute(one).all()) for one in queries])

    secrets = [created["agent_code"], code, tokens.access, tokens.refresh]
    assert [] == [secret for secret in secrets if secret in "".join(rows)]


async def test_expired_tokens_and_unused_codes_are_deleted(processes: Processes) -> None:
    unused = (await processes.create())["key_id"]
    row = await processes.grant()
    await processes.here.exchange(row)
    processes.clock.at += REFRESH_SECONDS

    while await processes.elsewhere.purge():
        pass

    own = tables.agent_tokens.c.key_id == row.key_id
    count = select(func.count()).select_from(tables.agent_tokens).where(own)
    keys = select(tables.keys.c.key_id).where(tables.keys.c.key_id.in_([unused, row.key_id]))
    assert 0 == await processes.here.database.read(lambda reading: reading.execute(count).scalar_one())
    assert [row.key_id] == await processes.here.database.read(lambda reading: list(reading.execute(keys).scalars()))


@pytest.mark.parametrize("token", ["cgwa_", "cgwa_" + "A" * 49])
async def test_a_malformed_token_is_not_looked_up(processes: Processes, token: str) -> None:
    with pytest.raises(InvalidApiKey, match="incomplete or mistyped"):
        await processes.here.authenticate(f"Bearer {token}")
