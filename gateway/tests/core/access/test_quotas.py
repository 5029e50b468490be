"""Quotas of workspaces with two concurrently creating processes, on both databases."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from connector_gateway.app import App
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.connections.oauth_flow import CONSENT_SECONDS, ConnectFailed, ConsentFlow
from connector_gateway.kit.errors import QuotaExceeded, WorkspaceNotFound
from connector_gateway.kit.identifiers import KeyId, WorkspaceId
from connector_gateway.settings import Settings
from harness.clocks import ManualClock
from harness.requirement import requirement

QUOTA = 4
SETTINGS = {
    "GATEWAY_SECRET_KEYS": "a secret that only tests know",
    "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef",
    "GATEWAY_NOTES_CLIENT_ID": "client",
    "GATEWAY_NOTES_CLIENT_SECRET": "secret-of-the-client",
    "GATEWAY_QUOTA_CONNECTIONS": str(QUOTA),
    "GATEWAY_QUOTA_KEYS": str(QUOTA),
    "GATEWAY_QUOTA_WEBHOOKS": str(QUOTA),
    "GATEWAY_QUOTA_CONSENTS": "3",
    "GATEWAY_QUOTA_CONSENTS_PER_LINK": "2",
}


@dataclass
class Kind:
    """A kind of objects with a quota."""

    create: Callable[[App, WorkspaceId], Awaitable[dict[str, Any]]]
    remove: Callable[[App, dict[str, Any]], Awaitable[Any]]


KINDS = {
    "connections": Kind(
        lambda app, workspace_id: app.connections.create(workspace_id, "notes", None),
        lambda app, created: app.connections.remove(created["connection_id"]),
    ),
    "keys": Kind(
        lambda app, workspace_id: app.keys.create(workspace_id, "read"),
        lambda app, created: app.keys.revoke(KeyId(created["key_id"])),
    ),
    "webhooks": Kind(
        lambda app, workspace_id: app.webhooks.create(workspace_id, "https://example.com/events"),
        lambda app, created: app.webhooks.remove(created["webhook_id"]),
    ),
}


@pytest.fixture
async def apps(common_database_url: str, clock: ManualClock) -> AsyncIterator[list[App]]:
    """Two processes on one database."""
    settings = Settings.read(SETTINGS | {"GATEWAY_DATABASE_URL": common_database_url}, CONNECTORS)
    async with AsyncExitStack() as stack:
        apps = [App(settings, clock=clock, single_instance=False) for _ in range(2)]
        for app in apps:
            await stack.enter_async_context(app.open())
        yield apps


async def new_workspace(app: App) -> WorkspaceId:
    return WorkspaceId((await app.workspaces.create("tests"))["workspace_id"])


@requirement("limits-8")
@pytest.mark.parametrize("name", KINDS)
async def test_concurrent_processes_respect_a_quota(apps: list[App], name: str) -> None:
    workspace_id = await new_workspace(apps[0])
    creating = [KINDS[name].create(app, workspace_id) for app in apps * (QUOTA + 1)]
    ended = await asyncio.gather(*creating, return_exceptions=True)

    assert {dict: QUOTA, QuotaExceeded: len(creating) - QUOTA} == Counter(map(type, ended))


@requirement("limits-7")
@pytest.mark.parametrize("name", KINDS)
async def test_the_error_names_the_quota_and_its_remedy_works(apps: list[App], name: str) -> None:
    app, workspace_id = apps[0], await new_workspace(apps[0])
    created = [await KINDS[name].create(app, workspace_id) for _ in range(QUOTA)]
    with pytest.raises(QuotaExceeded) as raised:
        await KINDS[name].create(app, workspace_id)
    await KINDS[name].remove(app, created[0])
    again = await KINDS[name].create(app, workspace_id)

    setting = f"GATEWAY_QUOTA_{name.upper()}"
    assert [{"quota": name, "count": QUOTA, "limit": QUOTA, "setting": setting}] == raised.value.details
    assert raised.value.remedy.endswith(f", or ask the operator to raise {setting}.")
    assert workspace_id == again["workspace_id"]


@requirement("limits-7")
@pytest.mark.parametrize("name", KINDS)
async def test_quotas_are_per_workspace(apps: list[App], name: str) -> None:
    full, other = await new_workspace(apps[0]), await new_workspace(apps[0])
    for _ in range(QUOTA):
        await KINDS[name].create(apps[0], full)

    assert other == (await KINDS[name].create(apps[0], other))["workspace_id"]


async def test_a_key_that_has_expired_does_not_count(apps: list[App], clock: ManualClock) -> None:
    app, workspace_id = apps[0], await new_workspace(apps[0])
    for _ in range(QUOTA):
        await app.keys.create(workspace_id, "read", expires_at=clock.now() + 60)
    clock.at += 60

    assert workspace_id == (await app.keys.create(workspace_id, "read"))["workspace_id"]


@pytest.mark.parametrize("name", KINDS)
async def test_nothing_is_created_in_an_unknown_workspace(apps: list[App], name: str) -> None:
    with pytest.raises(WorkspaceNotFound):
        await KINDS[name].create(apps[0], WorkspaceId("ws_nobody"))


# Pending consents


async def create_link(app: App, workspace_id: WorkspaceId) -> str:
    """Return the token of a new connect link."""
    connection = await app.connection_setup.create(workspace_id, "notes", None)
    return str(connection["connect_url"].rpartition("/")[2])


async def start_consents(consents: list[ConsentFlow], tokens: list[str]) -> Counter[str]:
    """Return the outcomes of browsers that start concurrently, one for each of *tokens*."""
    departing = [one.begin(token) for token in tokens for one in consents]
    ended = await asyncio.gather(*departing, return_exceptions=True)
    return Counter(one.problem if isinstance(one, ConnectFailed) else type(one).__name__ for one in ended)


@requirement("limits-9")
async def test_the_pending_consents_of_a_link_are_limited(apps: list[App]) -> None:
    token = await create_link(apps[0], await new_workspace(apps[0]))

    assert {"AuthorizationRedirect": 2, "too_many": 4} == await start_consents(
        [app._new_consent_flow() for app in apps], [token] * 3
    )


@requirement("limits-9")
async def test_the_pending_consents_of_a_workspace_are_limited(apps: list[App]) -> None:
    workspace_id = await new_workspace(apps[0])
    tokens = [await create_link(apps[0], workspace_id) for _ in range(3)]

    assert {"AuthorizationRedirect": 3, "too_many": 3} == await start_consents(
        [app._new_consent_flow() for app in apps], tokens
    )


@requirement("limits-9")
async def test_pending_consents_expire(apps: list[App], clock: ManualClock) -> None:
    consents, token = apps[0]._new_consent_flow(), await create_link(apps[0], await new_workspace(apps[0]))
    await start_consents([consents], [token] * 2)
    clock.at += CONSENT_SECONDS

    assert {"AuthorizationRedirect": 1} == await start_consents([consents], [token])
