"""Takes the screenshots of the guide: ``make screenshots``."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from harness.chromium import NARROW, WIDE, Window, chromium, chromium_path, window
from harness.example_calls import arguments, called
from harness.gateway_server import Gateway, run_gateway
from harness.ports import free_port
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

FOLDER = Path(__file__).parents[3] / "docs" / "screenshots"

BUDGETS: Mapping[str, Any] = {
    f"GATEWAY_{name.upper()}_BUDGET": f"{budget.limit:g}/{budget.per_seconds:g}"
    for name, connector in CONNECTORS.items()
    for budget in [next(iter(connector.budgets.values()))]
}

NAMES = {
    "notes": "Product wiki",
    "boards": "Launch board",
    "mail": "sam@example.com",
    "chat": "Acme team",
    "crm": "Sales portal",
    "tables": "Inventory",
}

WIDE_PAGES = ("overview", "run", "budgets", "connection")
NARROW_PAGES = ("sign-in", "overview", "run", "connect")


@contextmanager
def populated_gateway(folder: Path) -> Iterator[Gateway]:
    """A gateway in front of every emulator, with the vendors' budgets and recent calls."""
    files = PublicFileFetcher(2, 1_000_000, is_reachable=lambda address: address == "127.0.0.1")
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(sandbox, folder, files=files, port=free_port(), **BUDGETS) as gateway,
    ):
        for name in EMULATORS:
            gateway.clear(name)
            gateway.run(gateway.app.connections.change(gateway.connections[name], name=NAMES[name]))
        gateway.run(gateway.app.workspaces.change(gateway.workspace_id, name="Acme GmbH"))
        for name, parameters in arguments(gateway).items():
            called(gateway, name, parameters)
        gateway.get("/notes/databases", limit="many")
        gateway.together(*[lambda: gateway.get("/notes/databases")] * 12)
        yield gateway


def page_paths(gateway: Gateway) -> Mapping[str, str]:
    """Return the paths of pages by the names of their screenshots."""
    slowest = gateway.operator("GET", "/v1/runs?operation=list_databases&status=ok").data[0]["run_id"]
    return {
        "overview": "/console",
        "run": f"/console/runs/{slowest}",
        "budgets": "/console/budgets",
        "connection": f"/console/connections/{gateway.connections['notes']}",
        "sign-in": "/console/sign-in",
        "connect": urlsplit(create_connect_link(gateway)).path,
    }


def create_connect_link(gateway: Gateway) -> str:
    """Return a connect link."""
    body = {"workspace_id": gateway.workspace_id, "connector": "tables"}
    return str(gateway.operator("POST", "/v1/connections", json=body).data["connect_url"])


async def take_screenshots(browser: Browser, gateway: Gateway) -> None:
    """Take all screenshots: wide ones light, narrow ones dark."""
    addresses = page_paths(gateway)
    async with window(browser, gateway.base_url, width=NARROW, dark=True) as narrow:
        await take_screenshot(narrow, addresses["sign-in"], f"sign-in-{NARROW}")
        await narrow.sign_in()
        for name in NARROW_PAGES[1:]:
            await take_screenshot(narrow, addresses[name], f"{name}-{NARROW}")
    async with window(browser, gateway.base_url) as wide:
        await wide.sign_in()
        for name in WIDE_PAGES:
            await take_screenshot(wide, addresses[name], f"{name}-{WIDE}")


async def take_screenshot(opened: Window, path: str, name: str) -> None:
    """Take a screenshot of the visible part of one page."""
    await opened.open(path)
    await opened.page.evaluate("document.activeElement.blur()")
    await opened.page.screenshot(path=FOLDER / f"{name}.png")


async def main(gateway: Gateway) -> None:
    """Take all screenshots with one browser."""
    async with chromium(chromium_path()) as browser:
        await take_screenshots(browser, gateway)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch, populated_gateway(Path(scratch)) as running:
        asyncio.run(main(running))
    sys.exit(0)
