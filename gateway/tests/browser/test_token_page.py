"""Accounts of a vendor that returns tokens to the browser, with and without scripts."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect

from connector_gateway.connectors.boards import BOARDS
from harness.chromium import Window, window
from harness.connect_pages import open_link, page_texts
from harness.gateway_server import Gateway, run_gateway
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator


@pytest.fixture(scope="module")
def gateway(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with an API key of the vendor, and without an OAuth app."""
    folder = tmp_path_factory.mktemp("keyed")
    with run_emulators(boards=BoardsEmulator) as sandbox:
        key = sandbox.emulators["boards"].credentials()["key"]
        only: Any = {"GATEWAY_BOARDS_CLIENT_ID": "", "GATEWAY_BOARDS_CLIENT_SECRET": "", "GATEWAY_BOARDS_API_KEY": key}
        with run_gateway(sandbox, folder, connectors={"boards": BOARDS}, port=free_port(), **only) as gateway:
            yield gateway


def vendor_urls(gateway: Gateway) -> list[str]:
    """The URLs of the vendor."""
    return list(gateway.sandbox.emulators["boards"].context.addresses.values())


async def grant_access(opened: Window, url: str) -> None:
    """Follow a connect link, and grant access."""
    page = opened.page
    await opened.open(urlsplit(url).path)
    await page.get_by_role("button", name="Continue to Trello").click()
    await page.get_by_role("button", name="Allow").click()


@requirement("connections-28")
async def test_the_script_of_the_page_submits_the_token(browser: Browser, gateway: Gateway) -> None:
    connection = open_link(gateway, connector="boards")
    async with window(browser, gateway.base_url, visited=vendor_urls(gateway)) as opened:
        await grant_access(opened, connection["connect_url"])
        await expect(opened.page.get_by_role("heading", level=1)).to_have_text("Connected")
        address = opened.page.url

    assert "active" == page_texts(gateway, connection["connection_id"])["status"]
    assert f"{gateway.base_url}/connect/boards/callback" == address


@requirement("connections-28")
async def test_a_user_without_scripts_pastes_the_token(browser: Browser, gateway: Gateway) -> None:
    connection = open_link(gateway, connector="boards")
    async with window(browser, gateway.base_url, scripts=False, visited=vendor_urls(gateway)) as opened:
        await grant_access(opened, connection["connect_url"])
        await expect(opened.page.get_by_role("heading", level=1)).to_have_text("Back from Trello")
        await opened.page.get_by_label("Token").fill(urlsplit(opened.page.url).fragment.removeprefix("token="))
        await opened.page.get_by_role("button", name="Connect").click()
        await expect(opened.page.get_by_role("heading", level=1)).to_have_text("Connected")

    assert "active" == page_texts(gateway, connection["connection_id"])["status"]
