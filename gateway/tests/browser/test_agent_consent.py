"""The authorization of an agent's client in a real browser."""

from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.async_api import Browser, expect

from connector_gateway.connectors.notes import NOTES
from harness.agent_oauth import REDIRECT_URI, Memory, list_tools, official_client
from harness.chromium import Window, window
from harness.gateway_server import Gateway, free_port, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture(scope="module")
def oauth_gateway(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("agents")
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(
            sandbox, folder, connectors={"notes": NOTES}, port=free_port(), GATEWAY_AGENT_OAUTH="on"
        ) as gateway,
    ):
        yield gateway


@pytest.fixture
async def opened(browser: Browser, oauth_gateway: Gateway) -> AsyncIterator[Window]:
    async with window(browser, oauth_gateway.base_url, visited=[REDIRECT_URI]) as opened_window:
        await opened_window.page.route(f"{REDIRECT_URI}**", lambda route: route.fulfill(body="Back"))
        await opened_window.sign_in()
        yield opened_window
    assert [] == opened_window.troubles


async def test_the_official_client_is_authorised_with_a_code_of_the_console(
    opened: Window, oauth_gateway: Gateway
) -> None:
    page, flaws = opened.page, []
    await opened.open(f"/console/keys/authorise-agent?workspace_id={oauth_gateway.workspace_id}")
    await page.get_by_role("button", name="Create agent code").click()
    code = await page.locator("#agent_code").inner_text()

    async def open_browser(url: str) -> dict[str, str]:
        await page.goto(url)
        flaws.extend(await opened.flaws())
        await page.get_by_label("Code").fill(code)
        await page.get_by_role("button", name="Continue").click()
        await page.get_by_label("Only read").check()
        await page.get_by_text("Operations: ").click()
        flaws.extend(await opened.flaws())
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{REDIRECT_URI}**")
        return dict(parse_qsl(urlsplit(page.url).query))

    url = f"{oauth_gateway.base_url}/mcp"
    names = await list_tools(url, official_client(url, Memory(), open_browser))
    await opened.open("/console/keys")

    assert "notes_list_databases" in names
    assert "notes_create_page" not in names
    assert [] == flaws
    await expect(page.get_by_role("main")).to_contain_text("Official client")
