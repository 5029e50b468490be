"""Accounts that users connect in a browser."""

from dataclasses import replace

import httpx2
import pytest

from .conftest import Acme


def connect(acme: Acme) -> Acme:
    """Connect an account in a browser, as the user who is preselected, and return the new connection."""
    url, token = acme.described["base_url"], acme.described["operator_token"]
    new = {"workspace_id": acme.described["workspace_id"], "connector": "acme"}
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        created = browser.post(f"{url}/v1/connections", json=new, headers={"Authorization": f"Bearer {token}"})
        invitation = created.raise_for_status().json()["data"]
        # The connect page redirects with a header, which browsers follow.
        consent = browser.post(invitation["connect_url"]).headers["refresh"].removeprefix("0; url=")
        browser.get(f"{consent}&auto_approve=1").raise_for_status()
    return replace(acme, connection_id=invitation["connection_id"])


def describe(acme: Acme) -> dict[str, object]:
    """Return the connection."""
    url, token = acme.described["base_url"], acme.described["operator_token"]
    response = httpx2.get(f"{url}/v1/connections/{acme.connection_id}", headers={"Authorization": f"Bearer {token}"})
    connection: dict[str, object] = response.raise_for_status().json()["data"]
    return connection


@pytest.mark.clause("acme-7")
def test_an_account_is_connected_in_a_browser(acme: Acme) -> None:
    connected = connect(acme)

    assert connected.create("By consent").status_code == 200
    assert (describe(connected)["status"], describe(connected)["account_name"]) == ("active", "Juniper Studio")


@pytest.mark.clause("acme-7")
def test_an_expired_token_is_refreshed(acme: Acme) -> None:
    acme.control("acme/knobs", token_seconds=1)
    connected = connect(acme)

    assert connected.create("After an hour").status_code == 200
    assert describe(connected)["last_refreshed_at"] is not None


@pytest.mark.clause("acme-7")
def test_a_withdrawn_authorisation_is_reported(acme: Acme) -> None:
    connected = connect(acme)
    acme.control("acme/revoke")

    assert connected.create("Never").json()["error"]["code"] == "connection_revoked"
