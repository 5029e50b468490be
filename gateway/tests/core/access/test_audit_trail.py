"""The audit trail, on both databases: chained, appended by several processes, and verified."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import Executable, delete, func, select, update

from connector_gateway.core.access.audit_trail import MAX_RECORDED_KINDS, MINUTE_SECONDS, NO_MAC, Audit
from connector_gateway.core.access.keys import ApiKeys
from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.secrets.rotation import SecretRotation
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.errors import SecretUnreadable, WorkspaceNotFound
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.storage_faults import read_only

OLD, NEW = "the first secret of these tests", "the second secret of these tests"
ANNA = Actor("anna", "192.0.2.7", "console")
NOWHERE = WorkspaceId("ws_01KAJ5T6M0Q7Z3X9V2B8N4C1DF")


def vault(*secrets: str) -> Vault:
    return Vault(SecretKeys(secrets or [OLD]))


@pytest.fixture
async def database(common_database_url: str) -> AsyncIterator[Database]:
    async with Database(common_database_url) as opened:
        for table in (tables.audit, tables.audit_chain):
            await execute(opened, delete(table))
        yield opened


@pytest.fixture
def audit(database: Database, clock: ManualClock) -> Audit:
    return Audit(database, vault(), clock)


async def execute(database: Database, statement: Executable) -> None:
    """Change the database directly, as an attacker with write access could."""
    await database.write(lambda db: db.execute(statement).rowcount)


async def create_workspaces(audit: Audit, database: Database, clock: ManualClock, count: int = 3) -> list[str]:
    """Create workspaces as the operator Anna."""
    with act_as(audit, ANNA):
        workspaces = [await Workspaces(database, clock).create(f"number {number}") for number in range(count)]
    return [workspace["workspace_id"] for workspace in workspaces]


async def list_entries(audit: Audit, **filters: Any) -> list[dict[str, Any]]:
    """Return the entries, oldest first."""
    rows, _ = await audit.page(limit=1000, **filters)
    return list(reversed(rows))


@requirement("administration-7")
async def test_actions_are_recorded_with_actor_and_object(audit: Audit, database: Database, clock: ManualClock) -> None:
    (workspace_id,) = await create_workspaces(audit, database, clock, 1)
    (entry,) = await list_entries(audit)
    columns = ("sequence", "actor", "address", "surface", "act", "object_id", "workspace_id", "outcome", "count")

    expected = (1, "anna", "192.0.2.7", "console", "create_workspace", workspace_id, workspace_id, "ok", 1)
    assert expected == tuple(entry[name] for name in columns)


async def test_actions_without_administrator_are_unrecorded(
    audit: Audit, database: Database, clock: ManualClock
) -> None:
    await Workspaces(database, clock).create("made by a test")

    assert [] == await list_entries(audit)


@requirement("administration-8")
async def test_a_failed_action_leaves_no_success_entry(audit: Audit, database: Database, clock: ManualClock) -> None:
    with act_as(audit, ANNA), pytest.raises(WorkspaceNotFound):
        await ApiKeys(database, clock).create(NOWHERE, "read")
    with act_as(audit, ANNA), pytest.raises(WorkspaceNotFound):
        await Workspaces(database, clock).change(NOWHERE, name="nothing")

    assert [] == await list_entries(audit)


@requirement("administration-8")
async def test_an_unrecordable_action_is_not_performed(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock, 1)
    count = select(func.count()).select_from(tables.workspaces)
    before = await database.read(lambda db: db.execute(count).scalar())
    with act_as(Audit(database, vault(NEW), clock), ANNA), pytest.raises(SecretUnreadable):
        await Workspaces(database, clock).create("unrecorded")

    assert before == await database.read(lambda db: db.execute(count).scalar())


@requirement("administration-11")
async def test_an_unmodified_trail_is_valid(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock)
    verdict = await audit.verify()
    last = (await list_entries(audit))[-1]

    assert (3, None, f"3:{last['mac']}") == (verdict.entries, verdict.broken, verdict.head)


async def test_an_empty_trail_is_valid(audit: Audit) -> None:
    verdict = await audit.verify()

    assert (0, None, None) == (verdict.entries, verdict.broken, verdict.head)


@requirement("administration-11")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "somebody"),
        ("address", None),
        ("act", "list_keys"),
        ("at", 1.0),
        ("outcome", "refused"),
        ("object_id", "ws_"),
        ("workspace_id", None),
        ("count", 2),
        ("details", {"changed": []}),
        ("surface", "cli"),
        ("mac", NO_MAC),
    ],
)
async def test_an_edited_entry_is_reported(
    audit: Audit, database: Database, clock: ManualClock, column: str, value: Any
) -> None:
    await create_workspaces(audit, database, clock)
    await execute(database, update(tables.audit).where(tables.audit.c.sequence == 2).values({column: value}))
    verdict = await audit.verify()

    assert (2, "Entry 2 was altered, or written under another key.") == (verdict.broken, verdict.reason)


@requirement("administration-11")
@pytest.mark.parametrize("sequence", [1, 2, 3])
async def test_a_deleted_entry_is_reported(audit: Audit, database: Database, clock: ManualClock, sequence: int) -> None:
    await create_workspaces(audit, database, clock)
    await execute(database, delete(tables.audit).where(tables.audit.c.sequence == sequence))
    verdict = await audit.verify()

    assert (sequence, f"Entry {sequence} is missing.") == (verdict.broken, verdict.reason)


@requirement("administration-11")
async def test_a_renumbered_trail_is_invalid(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock)
    await execute(database, delete(tables.audit).where(tables.audit.c.sequence == 2))
    await execute(database, update(tables.audit).where(tables.audit.c.sequence == 3).values(sequence=2))

    assert 2 == (await audit.verify()).broken


@requirement("administration-11")
async def test_removing_the_newest_entry_and_resetting_the_end_is_detected(
    audit: Audit, database: Database, clock: ManualClock
) -> None:
    await create_workspaces(audit, database, clock)
    second = (await list_entries(audit))[1]
    await execute(database, delete(tables.audit).where(tables.audit.c.sequence == 3))
    end = {"sequence": 2, "mac": bytes.fromhex(second["mac"])}
    await execute(database, update(tables.audit_chain).values(end))

    assert "The end of the chain was altered." == (await audit.verify()).reason


@requirement("administration-11")
async def test_a_chain_without_its_end_is_invalid_but_actions_continue(
    audit: Audit, database: Database, clock: ManualClock
) -> None:
    await create_workspaces(audit, database, clock)
    await execute(database, delete(tables.audit_chain))
    missing = await audit.verify()
    await create_workspaces(audit, database, clock, 1)
    mixed = await audit.verify()
    newer = await audit.verify(after=3)

    assert (3, "The end of the chain is missing.") == (missing.broken, missing.reason)
    assert (1, None, 1) == (mixed.broken, newer.broken, newer.entries)


async def test_part_of_a_trail_is_verified_and_exported(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock)
    verdict = await audit.verify(after=2)
    verdict_beyond = await audit.verify(after=9)
    exported = [entry["sequence"] async for entry in audit.export(after=1)]

    assert (1, None, "Entry 9 is missing.") == (verdict.entries, verdict.broken, verdict_beyond.reason)
    assert [2, 3] == exported


@requirement("administration-12")
async def test_concurrent_processes_append_to_one_chain(
    common_database_url: str, audit: Audit, database: Database, clock: ManualClock
) -> None:
    async with Database(common_database_url) as elsewhere:
        other = Audit(elsewhere, vault(), clock)
        together = [create_workspaces(audit, database, clock, 1) for _ in range(20)]
        together += [create_workspaces(other, elsewhere, clock, 1) for _ in range(20)]
        await asyncio.gather(*together)
    verdict = await audit.verify()

    assert (40, None) == (verdict.entries, verdict.broken)


async def test_a_secret_rotation_preserves_the_chain(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock, 1)
    both = vault(NEW, OLD)
    with act_as(Audit(database, both, clock), Actor("cli", surface="cli")):
        report = await SecretRotation(database, both).rotate()
    rotated = Audit(database, vault(NEW), clock)
    verdict = await rotated.verify()

    assert [1] == [kind["resealed"] for kind in report if kind["kind"] == "audit"]
    assert (2, None) == (verdict.entries, verdict.broken)
    assert "rotate_vault" == (await list_entries(rotated))[-1]["act"]


async def test_a_new_chain_follows_one_with_a_lost_secret(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock)
    later = Audit(database, vault(NEW), clock)
    with act_as(later, Actor("cli", surface="cli")):
        restarted = await later.restart()
    verdict = await later.verify(after=3)

    assert ({"first": 4}, 1, None) == (restarted, verdict.entries, verdict.broken)


@requirement("administration-14")
async def test_entries_are_filtered_newest_first(audit: Audit, database: Database, clock: ManualClock) -> None:
    one, *_ = await create_workspaces(audit, database, clock)
    clock.at += 10
    with act_as(audit, Actor("bert")):
        await Workspaces(database, clock).change(WorkspaceId(one), name="changed")
    now = clock.now()

    assert [1, 2, 3] == [entry["sequence"] for entry in await list_entries(audit, actor="anna")]
    assert [1, 4] == [entry["sequence"] for entry in await list_entries(audit, object_id=one)]
    assert [1, 4] == [entry["sequence"] for entry in await list_entries(audit, workspace_id=one)]
    assert [4] == [entry["sequence"] for entry in await list_entries(audit, act="change_workspace")]
    assert [4] == [entry["sequence"] for entry in await list_entries(audit, since=now)]
    assert [1, 2, 3] == [entry["sequence"] for entry in await list_entries(audit, until=now)]
    assert [] == await list_entries(audit, outcome="key_not_found")


@requirement("administration-15")
async def test_changed_fields_are_recorded_without_values(audit: Audit, database: Database, clock: ManualClock) -> None:
    (workspace_id,) = await create_workspaces(audit, database, clock, 1)
    with act_as(audit, ANNA):
        await Workspaces(database, clock).change(WorkspaceId(workspace_id), name="confidential", plan="paid")

    assert {"changed": ["name", "plan"]} == (await list_entries(audit))[-1]["details"]


@requirement("administration-10")
async def test_rejections_of_one_kind_share_an_entry_and_a_count(audit: Audit, clock: ManualClock) -> None:
    stranger = Actor("anonymous", "198.51.100.1", "console")
    for _ in range(1000):
        await audit.record_rejection(stranger, "sign_in", "invalid_api_key")
    first = await list_entries(audit)
    clock.at += MINUTE_SECONDS
    await audit.commit()
    counted = (await list_entries(audit))[-1]

    assert [("198.51.100.1", 1)] == [(entry["address"], entry["count"]) for entry in first]
    assert ("198.51.100.1", "invalid_api_key", 999) == (counted["address"], counted["outcome"], counted["count"])


@requirement("administration-10")
async def test_rejections_from_many_addresses_create_few_entries(audit: Audit, clock: ManualClock) -> None:
    for number in range(1000):
        await audit.record_rejection(Actor("anonymous", f"2001:db8::{number:x}"), "sign_in", "invalid_api_key")
    clock.at += MINUTE_SECONDS
    await audit.commit()
    rows = await list_entries(audit)

    assert MAX_RECORDED_KINDS + 1 == len(rows)
    assert (None, "several", 1000 - MAX_RECORDED_KINDS) == tuple(
        rows[-1][name] for name in ("address", "outcome", "count")
    )
    assert (await audit.verify()).broken is None


@requirement("administration-15")
@pytest.mark.parametrize(
    "stored", ["cgw_0123456789012345678901234567890123456789012abcdef", "\x00", "a b", "ntn_secret"]
)
async def test_only_identifiers_are_recorded_for_a_rejected_action(audit: Audit, stored: str) -> None:
    await audit.record_rejection(ANNA, "revoke_key", "key_not_found", stored)

    assert [""] == [entry["object_id"] for entry in await list_entries(audit)]


@requirement("administration-13")
async def test_retention_does_not_delete_audit_entries(audit: Audit, database: Database, clock: ManualClock) -> None:
    await create_workspaces(audit, database, clock)
    clock.at += 10 * 366 * 24 * 3600
    await create_workspaces(audit, database, clock, 1)

    assert [1, 2, 3, 4] == [entry["sequence"] for entry in await list_entries(audit)]


async def test_rejections_are_counted_during_an_outage(audit: Audit, database: Database, clock: ManualClock) -> None:
    with read_only(database):
        await audit.record_rejection(ANNA, "sign_in", "invalid_api_key")
        clock.at += MINUTE_SECONDS
        await audit.commit()
    clock.at += MINUTE_SECONDS
    await audit.commit()

    assert [1] == [entry["count"] for entry in await list_entries(audit)]
