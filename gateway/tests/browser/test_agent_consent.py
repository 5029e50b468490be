"""The official clients are authorised against ``dev``, by a person with a real browser."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.async_api import Browser, expect

from harness.agent_oauth import REDIRECT_URI, Memory, list_tools, official_client
from harness.chromium import Window, window
from harness.dev_process import Dev, run_dev
from harness.npm_packages import node_in, packages_in
from harness.ports import free_port
from harness.requirement import requirement

PROTOCOL = Path(__file__).parent.parent / "agents" / "protocol"


@pytest.fixture(scope="module")
def dev(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("agents")
    with run_dev(folder, free_port(), "--quiet", GATEWAY_AGENT_OAUTH="on") as running:
        yield running


@pytest.fixture(scope="module")
def endpoint(dev: Dev) -> str:
    return f"{dev.described['base_url']}/mcp"


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the TypeScript client."""
    return packages_in(tmp_path_factory.mktemp("typescript"), PROTOCOL, "oauth.mjs")


@pytest.fixture
async def opened(browser: Browser, dev: Dev) -> AsyncIterator[Window]:
    async with window(browser, dev.described["base_url"], visited=[REDIRECT_URI]) as opened_window:
        await opened_window.page.route(f"{REDIRECT_URI}**", lambda route: route.fulfill(body="Back"))
        await opened_window.sign_in(dev.described["operator_token"])
        yield opened_window


@pytest.fixture
async def code(opened: Window, dev: Dev) -> str:
    """A code that the console has created."""
    await opened.open(f"/console/keys/authorise-agent?workspace_id={dev.described['workspace_id']}")
    await opened.page.get_by_role("button", name="Create agent code").click()
    return await opened.page.locator("#agent_code").inner_text()


async def allow_reads(opened: Window, url: str, code: str) -> dict[str, str]:
    """Allow reads on the page that a client opens, and return the parameters with which the browser returns."""
    page = opened.page
    await page.goto(url)
    flaws = await opened.flaws()
    await page.get_by_label("Code").fill(code)
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_label("Only read").check()
    await page.get_by_text("Operations: ").click()
    flaws += await opened.flaws()
    await page.get_by_role("button", name="Allow").click()
    await page.wait_for_url(f"{REDIRECT_URI}**")
    assert [] == flaws
    return dict(parse_qsl(urlsplit(page.url).query))


@requirement("oauth-3")
async def test_the_official_python_client_is_authorised(opened: Window, endpoint: str, code: str) -> None:
    names = await list_tools(endpoint, official_client(endpoint, Memory(), lambda url: allow_reads(opened, url, code)))
    await opened.open("/console/keys")

    assert "notes_list_databases" in names
    assert "notes_create_page" not in names
    await expect(opened.page.get_by_role("main")).to_contain_text("Official client")


@requirement("oauth-3", "oauth-4")
@pytest.mark.javascript
async def test_the_official_typescript_client_is_authorised_and_refreshes_its_tokens(
    opened: Window, endpoint: str, code: str, typescript: Path
) -> None:
    program = await asyncio.create_subprocess_exec(
        node_in(typescript),
        "oauth.mjs",
        endpoint,
        REDIRECT_URI,
        cwd=typescript,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    url = (await program.stdout.readline()).decode().strip()
    answer = await allow_reads(opened, url, code)
    output, _ = await program.communicate(f"{answer['code']}\n".encode())

    result = json.loads(output)
    assert "notes_list_databases" in result["names"]
    assert "notes_create_page" not in result["names"]
    assert result["renewed"]
