"""The console in a real browser: narrow and wide, light and dark, by keyboard, with and without scripts."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from harness.chromium import HEIGHT, WIDE, Window, window
from harness.gateway_server import OPERATOR, Gateway
from harness.requirement import requirement

PAGES = {
    "overview": "",
    "workspaces": "/workspaces",
    "workspace": "/workspaces/{workspace}",
    "creating a workspace": "/workspaces/create",
    "changing a workspace": "/workspaces/{workspace}/change",
    "keys": "/keys",
    "key": "/keys/{key}",
    "creating a key": "/keys/create",
    "revoking": "/keys/{key}/revoke",
    "connections": "/connections",
    "connection": "/connections/{connection}",
    "connecting": "/connections/new",
    "connecting one": "/connections/new?connector=boards",
    "changing a connection": "/connections/{connection}/change",
    "credentials": "/connections/{connection}/credentials",
    "reconnecting": "/connections/{connection}/reconnect",
    "trying": "/connections/{connection}/try",
    "events": "/connections/{connection}/events",
    "disconnecting": "/connections/{connection}/remove",
    "webhooks": "/webhooks",
    "webhook": "/webhooks/{webhook}",
    "creating a webhook": "/webhooks/create",
    "replaying": "/webhooks/{webhook}/replay",
    "removing": "/webhooks/{webhook}/remove",
    "runs": "/runs",
    "filtered runs": "/runs?status=nonsense",
    "run": "/runs/{run}",
    "failed run": "/runs/{failed}",
    "budgets": "/budgets",
    "audit": "/audit",
    "operators": "/operators",
    "creating an operator": "/operators/create",
    "unknown filter": "/runs?foo=bar",
    "missing": "/runs/nowhere",
    "unknown page": "/nowhere",
}


@pytest.fixture(scope="module")
def path_parameters(gateway: Gateway) -> dict[str, str]:
    """Values of the path parameters."""
    keys = gateway.operator("GET", "/v1/keys").data
    runs = gateway.operator("GET", "/v1/runs?operation=list_databases&status=ok").data
    failed = gateway.operator("GET", "/v1/runs?status=error").data
    return {
        "workspace": gateway.workspace_id,
        "connection": gateway.connections["notes"],
        "key": keys[0]["key_id"],
        "webhook": gateway.operator("GET", "/v1/webhooks").data[0]["webhook_id"],
        "run": runs[0]["run_id"],
        "failed": failed[0]["run_id"],
    }


@pytest.fixture(scope="module")
async def signed_in(browser: Browser, gateway: Gateway) -> AsyncIterator[Window]:
    """A window with a signed-in operator."""
    async with window(browser, gateway.base_url) as opened:
        await opened.sign_in()
        yield opened


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_legible_at_every_width_and_colour_scheme(
    signed_in: Window, path_parameters: dict[str, str], name: str
) -> None:
    await signed_in.open("/console" + PAGES[name].format(**path_parameters))

    assert [] == await signed_in.flaws()
    assert [] == signed_in.troubles


async def test_the_details_of_the_audit_trail_are_wide_enough_to_read(signed_in: Window) -> None:
    await signed_in.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    await signed_in.open("/console/audit")
    width = await signed_in.page.locator("td[data-label=Details]").first.evaluate("one => one.offsetWidth")

    assert width >= 200


@pytest.mark.parametrize(
    "path",
    [
        "/console",
        "/docs/errors",
        "/docs/errors/rate_limited",
        "/docs/guide",
        "/docs/guide/errors-and-retries",
        "/docs/guide/settings",
        "/connect/unknown",
        "/nowhere",
    ],
)
async def test_a_public_page_is_legible_at_every_width_and_colour_scheme(
    browser: Browser, gateway: Gateway, path: str
) -> None:
    async with window(browser, gateway.base_url) as opened:
        await opened.open(path)

        assert [] == await opened.flaws()


async def test_the_colour_scheme_follows_the_preference_of_the_reader(browser: Browser, gateway: Gateway) -> None:
    async with window(browser, gateway.base_url) as light, window(browser, gateway.base_url, dark=True) as dark:
        colours = [await background_colour(one) for one in (light, dark)]

    assert ["rgb(255, 255, 255)", "rgb(17, 21, 27)"] == colours


async def background_colour(opened: Window) -> str:
    """Return the background colour of a page."""
    await opened.open("/console")
    colour: str = await opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


async def test_signing_in_needs_no_more_than_a_keyboard(browser: Browser, gateway: Gateway) -> None:
    async with window(browser, gateway.base_url) as opened:
        keyboard = opened.page.keyboard
        await opened.open("/console/runs")
        await expect(opened.page.locator("input:focus")).to_be_editable()
        await keyboard.type("wrong")
        await keyboard.press("Enter")
        await expect(opened.page.get_by_role("alert")).to_contain_text("not an operator token")
        await expect(opened.page.locator("input:focus")).to_be_editable()
        await keyboard.type(OPERATOR)
        await keyboard.press("Enter")
        await expect(opened.page.get_by_role("heading", level=1)).to_have_text("Runs")
        await keyboard.press("Tab")
        skip = await opened.page.evaluate("document.activeElement.textContent")
        await keyboard.press("Enter")
        inside = await opened.page.evaluate("document.activeElement.id")
        await keyboard.press("Tab")
        next_one = await opened.page.evaluate("document.activeElement.id")

    assert ("Skip to the content", "main", "") == (skip, inside, next_one)


async def test_the_keyboard_focus_is_visible(operator: Window) -> None:
    await operator.page.keyboard.press("Tab")
    await operator.page.keyboard.press("Tab")
    outline = await operator.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")

    assert "solid" == outline


@requirement("administration-6")
async def test_an_automatic_refresh_is_marked_in_its_request(operator: Window) -> None:
    await operator.page.clock.install()
    await operator.open("/console")
    async with operator.page.expect_request("**/console") as expected_request:
        await operator.page.clock.run_for(5_500)
    request = await expected_request.value

    assert "1" == request.headers["x-console-refresh"]


async def test_a_list_refreshes_and_keeps_the_keyboard_focus(operator: Window, gateway: Gateway) -> None:
    page = operator.page
    await page.clock.install()
    await operator.open("/console/runs")
    await page.locator("td a").first.focus()
    before = await page.locator("tbody tr").count()
    gateway.get("/notes/databases", limit="many")
    await page.clock.run_for(5_500)

    await expect(page.locator("tbody tr")).to_have_count(before + 1)
    assert "A" == await page.evaluate("document.activeElement.tagName")
    await expect(page.locator("#live-state")).to_have_text("Updates automatically")


async def test_a_hidden_page_sends_no_requests(operator: Window) -> None:
    page, requests = operator.page, list[str]()
    await page.clock.install()
    await operator.open("/console/runs")
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.on("request", lambda request: requests.append(request.url))
    await page.clock.run_for(30_000)
    unseen = len(requests)
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: false, configurable: true })")
    async with page.expect_request("**/console/runs"):
        await page.clock.run_for(5_500)

    assert (0, 1) == (unseen, len(requests))


async def test_a_page_with_an_expired_session_redirects_to_sign_in(operator: Window) -> None:
    page = operator.page
    await page.clock.install()
    await operator.open("/console/runs")
    await page.context.clear_cookies()
    await page.clock.run_for(5_500)

    await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to the console")


async def test_everything_works_without_scripts(browser: Browser, gateway: Gateway) -> None:
    async with window(browser, gateway.base_url, scripts=False) as opened:
        page = opened.page
        await opened.sign_in()
        await expect(page.locator("#live-state")).to_have_text("Reload the page for current data.")
        await page.get_by_role("link", name="Workspaces", exact=True).click()
        await page.get_by_role("link", name="Create workspace").click()
        await page.get_by_label("Name").fill("Without scripts")
        await page.get_by_role("button", name="Create workspace").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Without scripts")
        await page.get_by_role("link", name="Create a key").click()
        await page.get_by_label("Name").fill("A key")
        await page.get_by_role("button", name="Create key").click()
        key = await page.locator("#key").text_content()
        await page.get_by_role("link", name="Done").click()
        await page.get_by_role("link", name="Revoke").click()
        await page.get_by_role("button", name="Revoke key").click()
        await expect(page.get_by_role("status").first).to_have_text("The key is revoked.")

    assert (key or "").startswith("cgw_")
    assert 401 == gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key}"}).status


async def test_the_requests_of_a_run_are_drawn_on_a_time_axis(
    operator: Window, path_parameters: dict[str, str]
) -> None:
    await operator.open(f"/console/runs/{path_parameters['run']}")
    bars = operator.page.get_by_role("img", name="queued at")
    boxes = [await bar.bounding_box() for bar in await bars.all()]

    assert len(boxes) >= 2
    assert {True} == {box is not None and box["width"] > 200 and box["height"] > 5 for box in boxes}
