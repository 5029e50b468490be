"""Connecting accounts in the console: links, test results and granted scopes."""

import re

import pytest

from harness.gateway_server import Gateway
from harness.html_browser import Browser, HtmlPage


def create_connect_link(operator: Browser, gateway: Gateway, **fields: str) -> HtmlPage:
    """Return the page after the form for a connect link was submitted."""
    page = operator.open("/console/connections/new", connector="notes", workspace_id=gateway.workspace_id)
    return operator.submit(page, "Create a connect link", **({"name": "Nora's"} | fields))


def test_a_connect_link_is_displayed_with_its_expiry(operator: Browser, gateway: Gateway) -> None:
    page = create_connect_link(operator, gateway)
    (connection, *_) = gateway.operator("GET", "/v1/connections?connector=notes").data

    assert ("Connect link", "no-store") == (page.heading, page.response.headers["cache-control"])
    assert re.fullmatch(r"http://127\.0\.0\.1:8080/connect/[\w-]{20,}", page.one("#connect_url").text)
    assert page.one("#connect_url").text == page.link("Open it here")
    assert ("pending", "Nora's") == (connection["status"], connection["name"])
    assert page.link("Done").endswith(connection["connection_id"])


def test_a_pending_connection_offers_a_connect_link(operator: Browser, gateway: Gateway) -> None:
    page = operator.open(create_connect_link(operator, gateway).link("Done"))
    form = operator.open(page.link("Connect"))
    again = operator.submit(form, "Connect again")

    assert [] == [button for button in page.html.select("main button") if button.text == "Test"]
    assert (200, "Connect link") == (again.status, again.heading)


def test_a_vendor_without_an_oauth_app_offers_only_credentials(operator: Browser, gateway: Gateway) -> None:
    page = operator.open("/console/connections/new", connector="shelf")
    created = operator.http.post(
        "/console/connections/connect",
        data={"form_token": page.one("main input[name=form_token]")["value"], "connector": "shelf", "name": "A shelf"}
        | {"workspace_id": gateway.workspace_id},
    )

    assert ["Connect"] == [one.text for one in page.html.select("main button")]
    assert "GATEWAY_SHELF_CLIENT_ID" in page.text
    assert (409, True) == (created.status_code, 'value="A shelf"' in created.text)


def test_vendors_are_listed_by_their_names(operator: Browser, gateway: Gateway) -> None:
    page = operator.open("/console/connections/create", workspace_id=gateway.workspace_id)

    assert "/console/connections/new" == page.path.partition("?")[0]
    assert ["Notion", "shelf"] == [one.text for one in page.html.select(".tiles strong")]


@pytest.mark.parametrize(("field", "value"), [("connector", "nothing"), ("workspace_id", "ws_x"), ("name", "x" * 201)])
def test_an_invalid_link_is_not_created(operator: Browser, gateway: Gateway, field: str, value: str) -> None:
    page = create_connect_link(operator, gateway, **{field: value})

    assert page.status in {404, 422}
    assert [] == page.html.select("#connect_url")


def test_testing_a_connection_displays_the_response_of_the_vendor(operator: Browser, gateway: Gateway) -> None:
    connection_id = gateway.connections["notes"]
    page = operator.submit(operator.open(f"/console/connections/{connection_id}"), "Test")
    facts = operator.open(f"/console/connections/{connection_id}")
    account = gateway.operator("GET", f"/v1/connections/{connection_id}").data["account_name"]

    assert f"Notion accepts the credentials of the account {account} ." in page.one("[role=status].notice").get_text(
        " ", strip=True
    )
    assert account in facts.one("#facts").get_text(" ", strip=True)


def test_a_revoked_connection_offers_to_connect_again(operator: Browser, gateway: Gateway) -> None:
    connection_id = gateway.connections["notes"]
    gateway.revoke("notes")
    page = operator.submit(operator.open(f"/console/connections/{connection_id}"), "Test")
    gateway.authorise("notes")
    after = operator.submit(operator.open(f"/console/connections/{connection_id}"), "Test")
    form = operator.open(page.link("Connect again"))
    link = operator.submit(form, "Connect again", allow_other_account="true")

    assert "Notion rejects the credentials." in page.text
    assert "revoked" in page.one("h1 .mark").text
    assert "active" in after.one("h1 .mark").text
    assert "Connect link" == link.heading


def test_an_unavailable_vendor_is_reported(operator: Browser, gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=500, times=5)
    page = operator.submit(operator.open(f"/console/connections/{gateway.connections['notes']}"), "Test")

    assert 502 == page.status
    assert "The vendor failed" in page.alert


def test_return_urls_are_saved_changed_and_cleared(operator: Browser, gateway: Gateway) -> None:
    path = f"/console/workspaces/{gateway.workspace_id}/change"
    two = "https://app.example.com/done\r\n  https://app.example.com/other "
    saved = operator.submit(operator.open(path), "Save", return_urls=two)
    stored = operator.open(path).one("#f-return-urls").text.split()
    emptied = operator.submit(operator.open(path), "Save", return_urls="")
    workspaces = gateway.operator("GET", "/v1/workspaces?limit=200").data
    (left,) = [one["return_urls"] for one in workspaces if one["workspace_id"] == gateway.workspace_id]

    assert ["https://app.example.com/done", "https://app.example.com/other"] == stored
    assert [200, 200] == [saved.status, emptied.status]
    assert [] == left


@pytest.mark.parametrize("address", ["javascript:alert(1)", "http://example.com/x", "not an address", "https://a/?q=1"])
def test_a_forbidden_return_url_is_rejected(operator: Browser, gateway: Gateway, address: str) -> None:
    page = operator.submit(
        operator.open(f"/console/workspaces/{gateway.workspace_id}/change"), "Save", return_urls=address
    )

    assert 422 == page.status
    assert address in page.one("#f-return-urls").text
