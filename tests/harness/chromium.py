"""A headless Chromium that records foreign requests and policy violations of pages."""

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, async_playwright

from harness.gateway_server import OPERATOR

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one is the same engine without a browser around it, and takes two thirds of the CPU time."""

WIDE, MIDDLE, NARROW = 1400, 1280, 390
HEIGHT = 900

ColorScheme = Literal["dark", "light"]

LOOKS: Sequence[tuple[int, ColorScheme]] = [
    *((width, "dark") for width in (NARROW, MIDDLE, WIDE)),
    *((width, "light") for width in (NARROW, MIDDLE, WIDE)),
]
"""Widths and colour schemes in which pages are checked. The last one is the default of a new window."""

WRAPPED = """() => {
  const brand = document.querySelector(".brand");
  const parts = [...document.querySelectorAll(".top button, .top nav a, .side a")];
  const side = document.querySelector(".side");
  const row = side && getComputedStyle(side).display === "flex" ? [...side.children].map((one) => one.offsetTop) : [0];
  const bar = document.querySelector(".top").offsetHeight;
  return new Set(row).size > 1 || brand.offsetHeight > 30 || parts.some((one) => one.offsetHeight > 45)
    || bar > (innerWidth < 736 && document.querySelector(".top :is(.search, nav)") ? 110 : 60);
}"""
"""Reports whether header or navigation wrap."""


def chromium_path() -> str:
    """The path of Chromium. Skips, or fails on CI, if there is none."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        assert os.environ.get("CI") != "true", "Chromium is missing"
        pytest.skip("there is no Chromium here; Debian's is enough: apt-get install chromium-headless-shell")
    return executable


@asynccontextmanager
async def chromium(path: str) -> AsyncIterator[Browser]:
    """Chromium, started from *path*."""
    async with async_playwright() as playwright:
        # Root has no sandbox in a container, and the pages are our own.
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Window:
    """One page of a browser in front of a gateway, and the violations found on it."""

    page: Page
    base_url: str
    visited: Sequence[str] = ()
    """Prefixes of further permitted URLs: those of vendors."""

    troubles: list[str] = field(default_factory=list)
    """Foreign requests, policy violations and script errors."""

    def __post_init__(self) -> None:
        self.page.on("request", self._check_request)
        self.page.on("response", self._check_response)
        self.page.on("console", self._check_console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"script: {error}"))

    async def open(self, path: str) -> int:
        """Open a page of the gateway, and return the response."""
        response = await self.page.goto(self.base_url + path)
        assert response is not None
        return response.status

    async def sign_in(self, token: str = OPERATOR) -> None:
        """Sign in to the console."""
        await self.open("/console")
        await self.page.get_by_label("Operator token").fill(token)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.get_by_role("heading", name="Overview").wait_for()

    async def sideways(self) -> int:
        """Return the number of pixels by which the page is wider than the window."""
        wider: int = await self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wider

    async def looks(self) -> AsyncIterator[str]:
        """Apply each width and colour scheme, and yield its name."""
        for width, scheme in LOOKS:
            await self.page.set_viewport_size({"width": width, "height": HEIGHT})
            await self.page.emulate_media(color_scheme=scheme)
            yield f"{width} {scheme}"

    async def flaws(self) -> list[str]:
        """Return layout defects in any look: overflow, a wrapped header, or complaints of axe-core."""
        flaws: list[str] = []
        async for look in self.looks():
            flaws += [f"{look}: wider than the window"] if await self.sideways() > 0 else []
            flaws += [f"{look}: the header is wrapped"] if await self.is_wrapped() else []
            flaws += [f"{look}: {one}" for one in await self.violations()]
        return flaws

    async def is_wrapped(self) -> bool:
        """Return True if the header wraps."""
        wrapped: bool = await self.page.evaluate(WRAPPED)
        return wrapped

    async def violations(self) -> list[str]:
        """Return accessibility defects found by axe-core, such as poor contrast."""
        results = await Axe().run(self.page)
        return [f"{one['id']}: {node['target']}" for one in results.response["violations"] for node in one["nodes"]]

    def _check_request(self, request: Request) -> None:
        if not request.url.startswith((self.base_url, *self.visited, "data:")):
            self.troubles.append(f"elsewhere: {request.url}")

    def _check_response(self, response: Response) -> None:
        if response.status >= 500:
            self.troubles.append(f"{response.status}: {response.url}")

    def _check_console(self, message: ConsoleMessage) -> None:
        # An intended error status is logged as an error too.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.troubles.append(f"console: {message.text}")


@asynccontextmanager
async def window(
    browser: Browser,
    base_url: str,
    *,
    width: int = WIDE,
    dark: bool = False,
    scripts: bool = True,
    visited: Sequence[str] = (),
    context: BrowserContext | None = None,
) -> AsyncIterator[Window]:
    """Open a window with its own cookies, or in *context*. Fails at the end if there was a violation."""
    own = context or await browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    opened = Window(await own.new_page(), base_url, visited)
    try:
        yield opened
    finally:
        await (opened.page if context else own).close()
    assert [] == opened.troubles
