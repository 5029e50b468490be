"""The whole way of a user who connects an account, in a real browser, through every stand-in's consent."""

import re
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from connector_gateway.connectors import CONNECTORS
from harness.chromium import Window, window
from harness.gateway_server import Gateway
from harness.operation_calls import ReadCall, calls_of, read

every = pytest.mark.parametrize("name", CONNECTORS)


def titled(name: str) -> str:
    """What users call the application."""
    oauth = CONNECTORS[name].oauth
    assert oauth is not None
    return oauth.application


@pytest.fixture(scope="module")
def consent(six: Gateway) -> list[str]:
    """The addresses of the third parties."""
    return [address for emulator in six.sandbox.emulators.values() for address in emulator.context.addresses.values()]


@pytest.fixture(scope="module")
async def opened(browser: Browser, six: Gateway, consent: list[str]) -> AsyncIterator[Window]:
    """A window for all tests, in which the operator signed in."""
    async with window(browser, six.base_url, visited=consent) as opened_window:
        await opened_window.sign_in()
        yield opened_window


@pytest.fixture
def signed_in(opened: Window) -> Iterator[Window]:
    """A window in which nothing goes wrong during the test."""
    opened.troubles.clear()
    yield opened
    assert [] == opened.troubles


async def invite(opened: Window, six: Gateway, name: str) -> None:
    """Create a connect link in the console, and open it."""
    page = opened.page
    await opened.open(f"/console/connections/new?connector={name}")
    await page.get_by_label("Name").first.fill(f"Account of {name}")
    await page.get_by_role("button", name="Create a connect link").click()
    await page.get_by_role("link", name="Open it here").click()


async def go_on(page: Page, name: str) -> None:
    """Press the button that leads to the third party, and wait for its page."""
    await page.get_by_role("button", name=f"Continue to {titled(name)}").click()
    await page.get_by_role("button", name="Allow").wait_for()


def newest(six: Gateway, name: str) -> dict[str, object]:
    """The connection that was made last."""
    connection: dict[str, object] = six.operator("GET", f"/v1/connections?connector={name}").data[0]
    return connection


@every
async def test_a_user_who_denies_access_may_try_again_and_connects(signed_in: Window, six: Gateway, name: str) -> None:
    page = signed_in.page
    await invite(signed_in, six, name)
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Connect {titled(name)}")
    consent_flaws = await signed_in.flaws()
    await go_on(page, name)
    there = [look async for look in signed_in.looks() if await signed_in.sideways() > 0]
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("You did not allow the access")
    refusal_flaws, pending = await signed_in.flaws(), newest(six, name)
    await page.get_by_role("link", name="Try again").click()
    await go_on(page, name)
    await page.get_by_role("button", name="Allow").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    ended, connected = await signed_in.flaws(), newest(six, name)
    await signed_in.open(f"/console/connections/{connected['connection_id']}")
    await page.get_by_role("button", name="Test").click()

    await expect(page.get_by_role("status").first).to_contain_text(
        f"{titled(name)} accepts the credentials of the account"
    )
    assert [] == [*consent_flaws, *there, *refusal_flaws, *ended]
    assert ("pending", "active") == (pending["status"], connected["status"])
    assert pending["connection_id"] == connected["connection_id"]


@pytest.mark.parametrize("name", ["boards", "mail"])
async def test_a_missing_field_is_reported(signed_in: Window, six: Gateway, name: str) -> None:
    page = signed_in.page
    await invite(signed_in, six, name)
    await go_on(page, name)
    await page.get_by_role("checkbox").first.uncheck()
    await page.get_by_role("button", name="Allow").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Not everything was allowed")
    await expect(page.get_by_role("alert")).to_contain_text("Missing:")
    assert [] == await signed_in.flaws()
    assert "pending" == newest(six, name)["status"]


SHARED = {"notes": "Leads", "tables": "Vertrieb & Sales"}
"""What is picked on the consent page, where a user shares things one by one, by what stands beside the box."""


@pytest.mark.parametrize("name", SHARED)
async def test_who_shares_less_is_connected_to_that_alone(signed_in: Window, six: Gateway, name: str) -> None:
    page, call = signed_in.page, calls_of(name).list_reads(six.examples(name))[1]
    await invite(signed_in, six, name)
    await go_on(page, name)
    await page.get_by_role("checkbox", name=SHARED[name]).uncheck()
    await page.get_by_role("button", name="Allow").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    less = ReadCall(call.method, call.path, {"connection_id": newest(six, name)["connection_id"], **call.values})
    everything, part = read(six, name, call), read(six, name, less)

    assert "active" == newest(six, name)["status"]
    assert (200, {"notes": "database_not_shared", "tables": "base_not_found"}[name]) == (everything.status, part.code)


@pytest.mark.parametrize("name", ["chat", "crm"])
async def test_where_nothing_can_be_left_out_everything_is_allowed_at_once(
    signed_in: Window, six: Gateway, name: str
) -> None:
    page = signed_in.page
    await invite(signed_in, six, name)
    await go_on(page, name)

    await expect(page.get_by_role("checkbox")).to_have_count(0)


@every
async def test_another_account_is_connected_only_where_the_operator_allows_it(
    signed_in: Window, six: Gateway, name: str
) -> None:
    page = signed_in.page
    await invite(signed_in, six, name)
    await allow(page, name)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    first = newest(six, name)
    await reconnect(page, str(first["connection_id"]), signed_in)
    await allow(page, name, account=1)
    await expect(page.get_by_role("heading", level=1)).to_have_text("This is another account")
    second = newest(six, name)
    await reconnect(page, str(first["connection_id"]), signed_in, other=True)
    await allow(page, name, account=1)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")
    third = newest(six, name)

    assert 1 == len({str(one["connection_id"]) for one in (first, second, third)})
    assert ["active"] * 3 == [one["status"] for one in (first, second, third)]
    assert (True, False) == (first["account_id"] == second["account_id"], first["account_id"] == third["account_id"])


async def allow(page: Page, name: str, account: int = 0) -> None:
    """Go to the third party, choose an account, and allow the access."""
    await go_on(page, name)
    await page.get_by_role("radio").nth(account).check()
    await page.get_by_role("button", name="Allow").click()


async def reconnect(page: Page, connection_id: str, opened: Window, *, other: bool = False) -> None:
    """Make a link in the console by which a connection is connected again, and open it."""
    await opened.open(f"/console/connections/{connection_id}")
    await page.get_by_role("link", name="Connect again").click()
    await page.get_by_role("checkbox", name="Allow other account").set_checked(other)
    await page.get_by_role("button", name="Connect again").click()
    await page.get_by_role("link", name="Open it here").click()


async def test_connecting_needs_no_scripts(browser: Browser, six: Gateway, consent: list[str]) -> None:
    async with window(browser, six.base_url, scripts=False, visited=consent) as opened:
        page = opened.page
        await opened.sign_in()
        await invite(opened, six, "notes")
        await go_on(page, "notes")
        await page.get_by_role("button", name="Allow").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Connected")

    assert "active" == newest(six, "notes")["status"]


async def test_the_link_of_a_pending_connection_can_be_created_anew(signed_in: Window, six: Gateway) -> None:
    page = signed_in.page
    await invite(signed_in, six, "crm")
    connection_id = newest(six, "crm")["connection_id"]
    await signed_in.open(f"/console/connections/{connection_id}")
    await page.get_by_role("link", name="Connect", exact=True).click()
    await page.get_by_role("button", name="Connect again").click()

    await expect(page.locator("#connect_url")).to_have_text(re.compile("/connect/"))
