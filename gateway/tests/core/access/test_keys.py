"""API keys, on both databases."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.access.keys import ApiKeys, Caller, generate_key, is_well_formed, parse_bearer
from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.calls.passthrough import operation_names
from connector_gateway.core.single_flight_cache import CACHE_SECONDS
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import (
    InvalidApiKey,
    InvalidParameters,
    KeyNotFound,
    MissingApiKey,
    OperationNotAllowed,
    StorageUnavailable,
    WorkspaceNotFound,
    WriteScopeRequired,
)
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.storage_faults import read_only

NAMES = operation_names(CONNECTORS.values())
READS, WRITES = CONNECTORS["notes"].operations[:2]


@dataclass
class Stores:
    """Keys in two processes on one database."""

    here: ApiKeys
    elsewhere: ApiKeys
    workspace_id: WorkspaceId
    clock: ManualClock

    async def issue(self, **more: Any) -> dict[str, Any]:
        return await self.here.create(self.workspace_id, **({"scope": "read_write"} | more))


@pytest.fixture
async def stores(common_database_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    async with Database(common_database_url) as here, Database(common_database_url) as elsewhere:
        workspace = await Workspaces(here, clock).create("tests")
        yield Stores(
            ApiKeys(here, clock, operations=NAMES), ApiKeys(elsewhere, clock), workspace["workspace_id"], clock
        )


async def is_accepted(keys: ApiKeys, key: str) -> bool:
    try:
        await keys.authenticate(f"Bearer {key}")
    except InvalidApiKey:
        return False
    return True


# Format


@requirement("common-63")
def test_a_key_can_be_recognised_by_scanners() -> None:
    key = generate_key()

    assert key.startswith("cgw_")
    assert 4 + 43 + 6 == len(key)
    assert is_well_formed(key)


def test_no_two_keys_are_the_same() -> None:
    assert 100 == len({generate_key() for _ in range(100)})


@requirement("common-63")
@pytest.mark.parametrize("position", [4, 20, 46, 47, 52])
def test_a_typing_error_is_detected(position: int) -> None:
    key = generate_key()
    other = "x" if key[position] != "x" else "y"

    assert not is_well_formed(key[:position] + other + key[position + 1 :])


@pytest.mark.parametrize("key", ["", "cgw_", "sk_live_123", "cgw_" + "ä" * 49, "cgw_" + "a" * 49])
def test_a_malformed_key_is_rejected_without_a_look_up(key: str) -> None:
    assert not is_well_formed(key)


def test_a_shortened_or_extended_key_is_invalid() -> None:
    key = generate_key()

    assert not is_well_formed(key[:-1])
    assert not is_well_formed(key + "0")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer  ", "Basic abc", "Token abc"])
def test_a_header_without_a_key_raises_missing_api_key(header: str | None) -> None:
    with pytest.raises(MissingApiKey):
        parse_bearer(header)


@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER   abc  "])
def test_a_key_is_parsed_from_the_header(header: str) -> None:
    assert "abc" == parse_bearer(header)


# Rights


@requirement("common-59", "common-60")
async def test_a_key_identifies_its_caller(stores: Stores) -> None:
    issued = await stores.issue(scope="read", calls_per_minute=7, connection_ids=["conn_1"])
    caller = await stores.here.authenticate(f"Bearer {issued['key']}")

    assert (issued["key_id"], stores.workspace_id, "read", 7) == (
        caller.key_id,
        caller.workspace_id,
        caller.scope,
        caller.calls_per_minute,
    )
    assert frozenset({ConnectionId("conn_1")}) == caller.connection_ids


async def test_a_key_is_not_stored(stores: Stores) -> None:
    issued = await stores.issue()
    listed, _ = await stores.here.page(stores.workspace_id, None, 50)

    assert [issued["key_id"]] == [key["key_id"] for key in listed]
    assert issued["key"] not in str(listed)


@requirement("common-64")
async def test_only_the_digest_of_a_key_is_stored(stores: Stores) -> None:
    issued = await stores.issue()
    query = select(tables.keys).where(tables.keys.c.key_id == issued["key_id"])
    row = await stores.here.database.read(lambda db: db.execute(query).mappings().one())

    assert hashlib.sha256(issued["key"].encode()).digest() == row["digest"]
    assert issued["key"][:-4] not in str(dict(row))


async def test_keys_are_listed_newest_first(stores: Stores) -> None:
    stores.clock.at += 1
    issued = [(await stores.issue(name=str(number)))["key_id"] for number in range(3)]

    listed, _ = await stores.here.page(stores.workspace_id, None, 50)

    assert sorted(issued, reverse=True) == [key["key_id"] for key in listed]


@requirement("common-57")
async def test_an_unknown_key_is_rejected(stores: Stores) -> None:
    assert not await is_accepted(stores.here, generate_key())


async def test_a_key_without_a_workspace_is_not_created(stores: Stores) -> None:
    with pytest.raises(WorkspaceNotFound):
        await stores.here.create(WorkspaceId("ws_nothing"), "read")


def test_a_read_key_cannot_write() -> None:
    caller = Caller(KeyId("key_1"), WorkspaceId("ws_1"), "read", 120, None, None)

    caller.check_allowed("notes", READS)
    with pytest.raises(WriteScopeRequired):
        caller.check_allowed("notes", WRITES)


@requirement("common-191")
async def test_a_key_limited_to_operations_cannot_call_others(stores: Stores) -> None:
    key = await stores.issue(operations=["notes_list_databases", "boards_*"])
    caller = await stores.elsewhere.authenticate(f"Bearer {key['key']}")

    caller.check_allowed("notes", READS)
    caller.check_allowed("boards", WRITES)
    with pytest.raises(OperationNotAllowed, match="notes_create_page"):
        caller.check_allowed("notes", WRITES)


@requirement("common-191")
async def test_a_key_limited_to_unknown_operations_is_not_created(stores: Stores) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await stores.issue(operations=["notes_creat_page", "boards_*", "mail_*_all"])

    assert [
        {"parameter": "operations", "value": "notes_creat_page", "did_you_mean": "notes_create_page"},
        {"parameter": "operations", "value": "mail_*_all"},
    ] == raised.value.details


@requirement("common-67")
def test_a_key_limited_to_connections_cannot_use_others() -> None:
    limited = Caller(KeyId("k"), WorkspaceId("w"), "read", 120, frozenset({ConnectionId("conn_1")}), None)
    free = Caller(KeyId("k"), WorkspaceId("w"), "read", 120, None, None)

    assert [True, False] == [limited.may_use(ConnectionId(uid)) for uid in ("conn_1", "conn_2")]
    assert free.may_use(ConnectionId("conn_2"))


def test_a_key_limited_to_no_connections_cannot_use_any() -> None:
    assert not Caller(KeyId("k"), WorkspaceId("w"), "read", 120, frozenset(), None).may_use(ConnectionId("c"))


# Expiry and revocation


@requirement("common-192")
async def test_a_key_that_would_already_be_expired_is_rejected(stores: Stores) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await stores.issue(expires_at=stores.clock.now())

    assert ["expires_at"] == [violation["parameter"] for violation in raised.value.details]


@requirement("common-57", "common-65")
async def test_a_key_works_until_it_expires(stores: Stores) -> None:
    key = (await stores.issue(expires_at=stores.clock.at + 10))["key"]
    before = await is_accepted(stores.here, key)
    stores.clock.at += 9
    still = await is_accepted(stores.here, key)
    stores.clock.at += 1
    after = await is_accepted(stores.here, key)

    assert (True, True, False) == (before, still, after)


@requirement("common-57", "common-66")
async def test_a_revoked_key_is_rejected_here_immediately(stores: Stores) -> None:
    issued = await stores.issue()
    before = await is_accepted(stores.here, issued["key"])
    await stores.here.revoke(issued["key_id"])

    assert (True, False) == (before, await is_accepted(stores.here, issued["key"]))


async def test_a_revoked_key_is_rejected_elsewhere_within_three_seconds(stores: Stores) -> None:
    issued = await stores.issue()
    before = await is_accepted(stores.elsewhere, issued["key"])
    await stores.here.revoke(issued["key_id"])
    stores.clock.at += CACHE_SECONDS + 0.1

    assert 3.0 == CACHE_SECONDS
    assert (True, False) == (before, await is_accepted(stores.elsewhere, issued["key"]))


@requirement("common-66")
async def test_a_slow_look_up_does_not_extend_the_lifetime(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = await stores.issue()
    looked_up, answered, read = asyncio.Event(), asyncio.Event(), stores.elsewhere.database.read

    async def delayed_read(work: Any) -> Any:
        row = await read(work)
        looked_up.set()
        await answered.wait()
        return row

    monkeypatch.setattr(stores.elsewhere.database, "read", delayed_read)
    before = asyncio.create_task(is_accepted(stores.elsewhere, issued["key"]))
    await looked_up.wait()
    await stores.here.revoke(issued["key_id"])
    stores.clock.at += CACHE_SECONDS + 0.1
    after = asyncio.create_task(is_accepted(stores.elsewhere, issued["key"]))
    await asyncio.sleep(0)
    answered.set()

    assert CACHE_SECONDS + 0.1 < 5
    assert [True, False] == [await before, await after]


async def test_a_key_revoked_during_its_look_up_is_not_cached(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = await stores.issue()
    looked_up, revoked, read = asyncio.Event(), asyncio.Event(), stores.here.database.read

    async def delayed_read(work: Any) -> Any:
        row = await read(work)
        looked_up.set()
        await revoked.wait()
        return row

    monkeypatch.setattr(stores.here.database, "read", delayed_read)
    looking = asyncio.create_task(is_accepted(stores.here, issued["key"]))
    await looked_up.wait()
    await stores.here.revoke(issued["key_id"])
    revoked.set()
    await looking

    assert not await is_accepted(stores.here, issued["key"])


async def test_revoking_twice_succeeds_and_retains_the_first_time(stores: Stores) -> None:
    issued = await stores.issue()
    first = await stores.here.revoke(issued["key_id"])
    stores.clock.at += 1

    assert first == await stores.here.revoke(issued["key_id"])


async def test_a_key_that_does_not_exist_cannot_be_revoked(stores: Stores) -> None:
    with pytest.raises(KeyNotFound):
        await stores.here.revoke(KeyId("key_nothing"))


async def test_a_key_created_elsewhere_is_accepted_here_immediately(stores: Stores) -> None:
    issued = await stores.elsewhere.create(stores.workspace_id, "read")

    assert await is_accepted(stores.here, issued["key"])


# Clocks that are set


@requirement("common-156")
async def test_a_key_revoked_elsewhere_is_rejected_in_time_despite_a_clock_set_back(stores: Stores) -> None:
    wall, steady = ManualClock(), ManualClock()
    keys = ApiKeys(stores.here.database, wall, steady)
    issued = await stores.issue()
    before = await is_accepted(keys, issued["key"])
    await stores.elsewhere.revoke(issued["key_id"])
    wall.at -= 3600
    steady.at += CACHE_SECONDS

    assert (True, False) == (before, await is_accepted(keys, issued["key"]))


# Last use


async def test_an_unused_key_has_no_last_use(stores: Stores) -> None:
    created = await stores.issue()

    assert created["last_used_at"] is None


async def test_the_last_use_is_reported_immediately_in_its_process(stores: Stores) -> None:
    created = await stores.issue()
    await stores.here.authenticate(f"Bearer {created['key']}")
    [newest, *_], _ = await stores.here.page(stores.workspace_id, None, 50)

    assert utc_datetime(stores.clock.now()) == newest["last_used_at"]


async def test_the_last_use_is_reported_elsewhere_once_it_is_stored(stores: Stores) -> None:
    created = await stores.issue()
    await stores.here.authenticate(f"Bearer {created['key']}")
    [before, *_], _ = await stores.elsewhere.page(stores.workspace_id, None, 50)
    noted = await stores.here.last_used.store_last_used()
    [after, *_], _ = await stores.elsewhere.page(stores.workspace_id, None, 50)

    assert before["last_used_at"] is None
    assert (1, utc_datetime(stores.clock.now())) == (noted, after["last_used_at"])


async def test_an_earlier_use_does_not_replace_a_later_one(stores: Stores) -> None:
    created = await stores.issue()
    await stores.here.authenticate(f"Bearer {created['key']}")
    stores.clock.at += 5
    await stores.elsewhere.authenticate(f"Bearer {created['key']}")
    await stores.elsewhere.last_used.store_last_used()
    await stores.here.last_used.store_last_used()
    [newest, *_], _ = await stores.here.page(stores.workspace_id, None, 50)

    assert utc_datetime(stores.clock.now()) == newest["last_used_at"]


async def test_a_stored_use_is_not_stored_again(stores: Stores) -> None:
    created = await stores.issue()
    await stores.here.authenticate(f"Bearer {created['key']}")
    counts = [await stores.here.last_used.store_last_used(), await stores.here.last_used.store_last_used()]

    assert [1, 0] == counts


async def test_a_use_that_could_not_be_stored_is_stored_later(stores: Stores) -> None:
    created = await stores.issue()
    await stores.here.authenticate(f"Bearer {created['key']}")
    with read_only(stores.here.database), pytest.raises(StorageUnavailable):
        await stores.here.last_used.store_last_used()

    assert 1 == await stores.here.last_used.store_last_used()


async def test_an_expired_key_is_rejected_with_its_expiry_time(stores: Stores) -> None:
    stores.clock.at = 999_999_999.0
    key = (await stores.issue(expires_at=1_000_000_000.0))["key"]
    stores.clock.at += 1

    with pytest.raises(InvalidApiKey, match=r"^The API key expired at 2001-09-09T01:46:40\.000Z\.$"):
        await stores.here.authenticate(f"Bearer {key}")


async def test_a_rejected_key_has_no_last_use(stores: Stores) -> None:
    created = await stores.issue(expires_at=stores.clock.now() + 1)
    stores.clock.at += 1

    assert not await is_accepted(stores.here, created["key"])
    assert 0 == await stores.here.last_used.store_last_used()
