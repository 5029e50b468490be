"""Credentials that operators paste are verified, stored, and never displayed again."""

import pytest

from harness.gateway_server import Gateway
from harness.html_browser import Browser, HtmlPage

WRONG = "ntn_a_wrong_token_of_tests"


def credentials_page(operator: Browser, gateway: Gateway, **fields: str) -> HtmlPage:
    """Return the page with the credentials form of a new connection."""
    fields_of_page = {"connector": "notes", "name": "Nora's", "workspace_id": gateway.workspace_id} | fields
    return operator.open("/console/connections/create", **fields_of_page)


def valid_credentials(gateway: Gateway) -> dict[str, str]:
    """Return form fields with credentials that the vendor accepts."""
    return {"credentials.token": gateway.sandbox.emulators["notes"].credentials()["token"]}


def newest_connection(gateway: Gateway) -> dict[str, str]:
    """Return the newest connection."""
    connection: dict[str, str] = gateway.operator("GET", "/v1/connections?connector=notes").data[0]
    return connection


def test_a_connection_is_created_from_pasted_credentials(operator: Browser, gateway: Gateway) -> None:
    page = credentials_page(operator, gateway)
    created = operator.submit(page, "Connect", **valid_credentials(gateway))
    connection = newest_connection(gateway)

    assert ("Connect: Notion", "password") == (page.heading, page.one("#f-credentials-token")["type"])
    assert (200, "Nora's active") == (created.status, created.heading)
    assert ("active", f"/console/connections/{connection['connection_id']}?done=create_connection") == (
        connection["status"],
        created.path,
    )
    assert valid_credentials(gateway)["credentials.token"] not in page.response.text + created.response.text


@pytest.mark.parametrize(
    ("token", "message"), [(WRONG, "does not accept"), ("", "Field required"), ("two\x01lines", "control")]
)
def test_invalid_credentials_are_reported_and_never_displayed(
    operator: Browser, gateway: Gateway, token: str, message: str
) -> None:
    before = newest_connection(gateway)["connection_id"]
    page = operator.submit(credentials_page(operator, gateway), "Connect", **{"credentials.token": token})

    assert (422, True) == (page.status, message in page.text)
    assert ("", "Nora's") == (page.one("#f-credentials-token").get("value", ""), page.one("#f-name")["value"])
    assert (before, False) == (newest_connection(gateway)["connection_id"], WRONG in page.response.text)


def test_an_unknown_vendor_has_no_credentials_form(operator: Browser, gateway: Gateway) -> None:
    page = credentials_page(operator, gateway, connector="nothing")

    assert [] == page.html.select("#f-credentials-token")


def test_credentials_of_a_connection_are_replaced(operator: Browser, gateway: Gateway) -> None:
    operator.submit(credentials_page(operator, gateway), "Connect", **valid_credentials(gateway))
    connection_id = newest_connection(gateway)["connection_id"]
    form = operator.open(operator.open(f"/console/connections/{connection_id}").link("Replace the credentials"))
    wrong = operator.submit(form, "Replace the credentials", **{"credentials.token": WRONG})
    done = operator.submit(form, "Replace the credentials", **valid_credentials(gateway))

    assert (422, True) == (wrong.status, "does not accept these credentials" in wrong.alert)
    assert (200, True) == (done.status, "/console/connections/" in done.path)
    assert 200 == gateway.get("/notes/databases", connection_id=connection_id).status


def test_credentials_of_another_account_are_accepted_if_confirmed(operator: Browser, gateway: Gateway) -> None:
    operator.submit(credentials_page(operator, gateway), "Connect", **valid_credentials(gateway))
    connection_id = newest_connection(gateway)["connection_id"]
    gateway.run(gateway.app.connections._update(connection_id, {"account_id": "somebody else"}, lambda _: None))
    form = operator.open(f"/console/connections/{connection_id}/credentials")
    rejected = operator.submit(form, "Replace the credentials", **valid_credentials(gateway))
    taken = operator.submit(form, "Replace the credentials", **valid_credentials(gateway), allow_other_account="true")

    assert (409, 200) == (rejected.status, taken.status)
