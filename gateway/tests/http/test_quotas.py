"""Quota errors on each surface."""

from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.connect_pages import heading, open_link, user
from harness.consent_pages import Browser as Consenting
from harness.gateway_server import Gateway, run_gateway
from harness.html_browser import Browser
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

QUOTAS: dict[str, Any] = {"GATEWAY_QUOTA_KEYS": "1", "GATEWAY_QUOTA_CONSENTS_PER_LINK": "2"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose workspace has reached its limit of one key."""
    folder, connectors_by_name = tmp_path_factory.mktemp("quotas"), {"notes": NOTES}
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors=connectors_by_name, **QUOTAS) as gateway,
    ):
        yield gateway


@requirement("limits-7")
def test_the_console_shows_the_remedy(gateway: Gateway) -> None:
    browser = Browser(gateway)
    with browser.http:
        browser.sign_in()
        page = browser.submit(browser.open("/console/keys/create"), "Create key", name="one more")

    assert 409 == page.status
    assert "The workspace has reached its quota of keys: 1 of 1." in page.alert
    assert "Revoke a key that is no longer needed, or ask the operator to raise GATEWAY_QUOTA_KEYS." in page.alert


@requirement("limits-9")
def test_too_many_pending_consents_of_a_link_end_in_an_error_page(gateway: Gateway) -> None:
    link = open_link(gateway)["connect_url"]
    with user(gateway) as browser_user:
        consents = [browser_user.depart(link) for _ in range(2)]
        page = browser_user.press(link)
        with Consenting() as browser:
            completed = browser_user.come_back(consents[0], browser.allow(consents[0]))

    assert (429, "Too many attempts are in progress") == (page.status_code, heading(page))
    assert "Complete the one that is open in another tab, or wait 15 minutes" in page.text
    assert (200, "Connected") == (completed.status_code, heading(completed))
