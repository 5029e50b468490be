"""Connecting an account in a real browser, through the consent page of every emulator."""

import re
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from connector_gateway.connectors import CONNECTORS
from harness.chromium import Window, window
from harness.gateway_server import Gateway
from harness.operation_calls import ReadCall, calls_of, read

every = pytest.mark.parametrize("name", CONNECTORS)


def vendor_name(name: str) -> str:
    """The names of vendors."""
    oauth = CONNECTORS[name].oauth
    assert oauth is not None
    return oauth.vendor


@pytest.fixture(scope="module")
def consent(full_gateway: Gateway) -> list[str]:
    """The URLs of the vendors."""
    return [
        address
        for emulator in full_gateway.sandbox.emulators.values()
        for address in emulator.context.addresses.values()
    ]


@pytest.fixture(scope="module")
async def opened(browser: Browser, full_gateway: Gateway, consent: list[str]) -> AsyncIterator[Window]:
    """A window for all tests, with a signed-in operator."""
    async with window(browser, full_gateway.base_url, visited=consent) as opened_window:
        await opened_window.sign_in()
        yield opened_window


@pytest.fixture
def signed_in(opened: Window) -> Iterator[Window]:
    """A window without errors during the test."""
    opened.troubles.clear()
    yield opened
    assert [] == opened.troubles


async def open_connect_link(opened: Window, full_gateway: Gateway, name: str) -> None:
    """Create a connect link in the console, and open it."""
    page = opened.page
    await opened.open(f"/console/connections/new?connector={name}")
    await page.get_by_label("Name").first.fill(f"Account of {name}")
    await page.get_by_role("button", name="Create a connect link").click()
    await page.get_by_role("link", name="Open it here").click()


async def continue_to_vendor(page: Page, name: str) -> None:
    """Press the button that redirects to the vendor, and wait for its page."""
    await page.get_by_role("button", name=f"Continue to {vendor_name(name)}").click()
    await page.get_by_role("button", name="Allow").wait_for()


def newest_connection(full_gateway: Gateway, name: str) -> dict[str, object]:
    """Return the newest connection."""
    connection: dict[str, object] = full_gateway.operator("GET", f"/v1/connections?connector={name}").data[0]
    return connection


@every
async def test_a_user_who_denies_access_can_retry_and_connect(
    signed_in: Window, full_gateway: Gateway, name: str
) -> None:
    page = signed_in.page
    await open_connect_link(signed_in, full_gateway, name)
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Connect {vendor_name(name)}")
    consent_flaws = await signed_in.flaws()
    await continue_to_vendor(page, name)
    there = [look async for look in signed_in.looks() if await signed_in.sideways() > 0]
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Access was denied")
    denial_flaws, pending = await signed_in.flaws(), newest_connection(full_gateway, name)
    await page.get_by_role("link", name="Try again").click()
    await continue_to_vendor(page, name)
    await page.get_by_role("button", name="Allow").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    ended, connected = await signed_in.flaws(), newest_connection(full_gateway, name)
    await signed_in.open(f"/console/connections/{connected['connection_id']}")
    await page.get_by_role("button", name="Test").click()

    await expect(page.get_by_role("status").first).to_contain_text(
        f"{vendor_name(name)} accepts the credentials of the account"
    )
    assert [] == [*consent_flaws, *there, *denial_flaws, *ended]
    assert ("pending", "active") == (pending["status"], connected["status"])
    assert pending["connection_id"] == connected["connection_id"]


@pytest.mark.parametrize("name", ["boards", "mail"])
async def test_a_missing_field_is_reported(signed_in: Window, full_gateway: Gateway, name: str) -> None:
    page = signed_in.page
    await open_connect_link(signed_in, full_gateway, name)
    await continue_to_vendor(page, name)
    await page.get_by_role("checkbox").first.uncheck()
    await page.get_by_role("button", name="Allow").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Some permissions were not granted")
    await expect(page.get_by_role("alert")).to_contain_text("Missing:")
    assert [] == await signed_in.flaws()
    assert "pending" == newest_connection(full_gateway, name)["status"]


SHARED = {"notes": "Leads", "tables": "Vertrieb & Sales"}
"""The selected checkbox on consent pages on which users share objects one by one, by its label."""


@pytest.mark.parametrize("name", SHARED)
async def test_only_the_shared_part_of_an_account_is_connected(
    signed_in: Window, full_gateway: Gateway, name: str
) -> None:
    page, call = signed_in.page, calls_of(name).list_reads(full_gateway.examples(name))[1]
    await open_connect_link(signed_in, full_gateway, name)
    await continue_to_vendor(page, name)
    await page.get_by_role("checkbox", name=SHARED[name]).uncheck()
    await page.get_by_role("button", name="Allow").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    less = ReadCall(
        call.method, call.path, {"connection_id": newest_connection(full_gateway, name)["connection_id"], **call.values}
    )
    everything, part = read(full_gateway, name, call), read(full_gateway, name, less)

    assert "active" == newest_connection(full_gateway, name)["status"]
    assert (200, {"notes": "database_not_shared", "tables": "base_not_found"}[name]) == (everything.status, part.code)


@pytest.mark.parametrize("name", ["chat", "crm"])
async def test_a_vendor_without_choices_grants_all_scopes_in_one_step(
    signed_in: Window, full_gateway: Gateway, name: str
) -> None:
    page = signed_in.page
    await open_connect_link(signed_in, full_gateway, name)
    await continue_to_vendor(page, name)

    await expect(page.get_by_role("checkbox")).to_have_count(0)


async def test_connecting_needs_no_scripts(browser: Browser, full_gateway: Gateway, consent: list[str]) -> None:
    async with window(browser, full_gateway.base_url, scripts=False, visited=consent) as opened:
        page = opened.page
        await opened.sign_in()
        await open_connect_link(opened, full_gateway, "notes")
        await continue_to_vendor(page, "notes")
        await page.get_by_role("button", name="Allow").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")

    assert "active" == newest_connection(full_gateway, "notes")["status"]


async def test_a_pending_connection_can_get_a_new_link(signed_in: Window, full_gateway: Gateway) -> None:
    page = signed_in.page
    await open_connect_link(signed_in, full_gateway, "crm")
    connection_id = newest_connection(full_gateway, "crm")["connection_id"]
    await signed_in.open(f"/console/connections/{connection_id}")
    await page.get_by_role("link", name="Connect", exact=True).click()
    await page.get_by_role("button", name="Connect again").click()

    await expect(page.locator("#connect_url")).to_have_text(re.compile("/connect/"))
