"""The first call from an empty folder, with ``serve`` and the console alone."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Browser, Locator, expect

from harness.chromium import window
from harness.gateway_server import settings_for
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.subprocesses import start
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox

MOST_CLICKS = 12


@dataclass
class CountingUser:
    """A user whose clicks are counted."""

    clicks: int = 0

    async def click(self, target: Locator) -> None:
        await target.click()
        self.clicks += 1


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


@pytest.fixture
def link(sandbox: Sandbox, tmp_path: Path) -> Iterator[str]:
    """Return the link that ``serve`` prints in an empty folder."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}
    settings = {"GATEWAY_WATCH": "off", **settings_for(sandbox, ["notes"])}
    options: Any = {"cwd": tmp_path, "env": bare | settings, "stderr": subprocess.PIPE, "text": True}
    with start("serve", "--port", str(free_port()), **options) as process:
        assert process.stderr is not None
        printed = next(line for line in process.stderr if line.startswith("console"))
        yield printed.split()[1]
        process.terminate()
        process.stderr.read()


@requirement("administration-22")
async def test_a_first_call_takes_a_dozen_clicks(
    executable: str, browser: Browser, sandbox: Sandbox, link: str
) -> None:
    person, base_url = CountingUser(), link.partition("/console")[0]
    async with window(browser, base_url) as opened:
        page = opened.page
        steps, button, heading = (
            page.locator(".steps"),
            page.get_by_role("button"),
            page.get_by_role("heading", level=1),
        )
        await page.goto(link)
        await person.click(steps.get_by_role("link", name="Create a workspace"))
        await page.get_by_label("Name").fill("Acme")
        await person.click(button.get_by_text("Create workspace"))
        await person.click(steps.get_by_role("link", name="Connect an account"))
        await person.click(page.get_by_role("link", name="Notion"))
        await page.get_by_label("Token").fill(sandbox.emulators["notes"].credentials()["token"])
        await person.click(button.get_by_text("Connect", exact=True))
        await person.click(steps.get_by_role("link", name="Create a key"))
        await person.click(button.get_by_text("Create key"))
        await expect(page.locator("#key")).to_have_text(re.compile("cgw_"))
        await person.click(steps.get_by_role("link", name="Make a first call"))
        await expect(heading).to_have_text("Try it")
        await person.click(button.get_by_text("Run", exact=True))
        await expect(page.locator("#answer")).to_contain_text('"status": "ok"')
        left = await steps.count()
        await opened.open("/console/runs")
        run = await page.locator("tbody tr").first.inner_text()

    assert 0 == left
    assert "List databases" in run
    assert "console" in run
    assert person.clicks <= MOST_CLICKS


@requirement("administration-22")
@pytest.mark.parametrize("path", ["keys/create", "webhooks/create", "connections/new?connector=notes"])
def test_forms_link_to_workspace_creation_if_there_is_none(link: str, path: str) -> None:
    with httpx.Client(follow_redirects=True) as http:
        http.get(link)
        html = BeautifulSoup(http.get(f"{link.partition('/console')[0]}/console/{path}").text, "html.parser")

    assert {"select"} == {field.name for field in html.select("main [name=workspace_id]")}
    assert html.select("main .field a[href$='/console/workspaces/create']")
