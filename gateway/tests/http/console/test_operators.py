"""Operators in the console: signing in by name, roles, the audit trail, and the search box."""

from collections.abc import Iterator

import pytest

from connector_gateway.http.console.request import ConsoleRoute
from connector_gateway.http.console.routes import ROUTES
from harness.gateway_server import Gateway
from harness.html_browser import Browser
from harness.requirement import requirement

FOR_ADMINS = [route for route in ROUTES if route.for_admins]


@pytest.fixture(scope="module")
def token(module_gateway: Gateway) -> str:
    """The token of a viewer."""
    created = module_gateway.operator("POST", "/v1/operators", json={"name": "viola", "role": "viewer"}).data
    return str(created["token"])


@pytest.fixture
def viewer(gateway: Gateway, token: str) -> Iterator[Browser]:
    """A browser with a signed-in viewer."""
    browser = Browser(gateway)
    with browser.http:
        browser.sign_in(token)
        yield browser


@pytest.fixture(scope="module")
def identifiers(module_gateway: Gateway) -> dict[str, str]:
    """The identifiers of one object of each kind."""
    workspace = {"workspace_id": module_gateway.workspace_id}
    key = module_gateway.operator("POST", "/v1/keys", json={**workspace, "scope": "read", "name": "Reports"}).data
    webhook = module_gateway.operator(
        "POST", "/v1/webhooks", json={**workspace, "url": "https://example.com/events"}
    ).data
    return {
        **workspace,
        "key": key["key"],
        "key_id": key["key_id"],
        "connection_id": module_gateway.connections["shelf"],
        "webhook_id": webhook["webhook_id"],
        "run_id": module_gateway.get("/shelf/things").body["run_id"],
        "operator_id": module_gateway.operator("GET", "/v1/operators").data[0]["operator_id"],
    }


@requirement("administration-7")
def test_signing_in_and_out_is_recorded_by_name(viewer: Browser, gateway: Gateway) -> None:
    viewer.submit(viewer.open("/console"), "Sign out")
    entries = gateway.operator("GET", "/v1/audit", params={"actor": "viola", "limit": 2}).data

    expected = [("sign_out", "console", "127.0.0.1"), ("sign_in", "console", "127.0.0.1")]
    assert expected == [(entry["act"], entry["surface"], entry["address"]) for entry in entries]


@requirement("administration-10")
def test_a_failed_sign_in_is_recorded(visitor: Browser, gateway: Gateway) -> None:
    visitor.sign_in("a guess at a token")
    filters = {"actor": "anonymous", "act": "sign_in", "outcome": "invalid_api_key"}
    entries = gateway.operator("GET", "/v1/audit", params=filters).data

    assert ("console", "127.0.0.1") in [(entry["surface"], entry["address"]) for entry in entries]
    assert "a guess" not in str(entries)


def test_every_page_displays_the_signed_in_operator(viewer: Browser) -> None:
    assert "viola, viewer" in viewer.open("/console").text


@requirement("administration-4")
@pytest.mark.parametrize("route", FOR_ADMINS, ids=lambda route: f"{route.method} {route.path}")
def test_a_viewer_cannot_change_anything(viewer: Browser, identifiers: dict[str, str], route: ConsoleRoute) -> None:
    kind = route.path.split("/")[2]
    page = viewer.http.request(route.method, route.path.format(identifier=identifiers.get(f"{kind[:-1]}_id")))

    assert 403 == page.status_code
    assert "admin_role_required" in page.text


@requirement("administration-4")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "/workspaces",
        "/workspaces/{workspace_id}",
        "/keys",
        "/keys/{key_id}",
        "/connections",
        "/connections/{connection_id}",
        "/webhooks",
        "/webhooks/{webhook_id}",
        "/runs",
        "/runs/{run_id}",
        "/budgets",
        "/audit",
        "/operators",
    ],
)
def test_pages_offer_no_changes_to_a_viewer(viewer: Browser, identifiers: dict[str, str], path: str) -> None:
    page = viewer.open("/console" + path.format(**identifiers))
    forms = {form["action"] for form in page.html.select("form[method=post]")}
    led_to = [str(link["href"]) for link in page.html.select("main a[href]")]

    assert 200 == page.status
    assert {"/console/search", "/console/sign-out"} == forms
    assert [] == [
        address
        for address in led_to
        if address.endswith(("/create", "/new", "/change", "/revoke", "/reconnect", "/remove", "/events", "/try"))
    ]


@requirement("administration-1")
def test_an_operator_is_created_and_revoked_in_the_console(operator: Browser, gateway: Gateway) -> None:
    created = operator.submit(operator.open("/console/operators/create"), "Create operator", name="oscar", role="admin")
    secret = created.one("#token").text
    other = Browser(gateway)
    inside = other.sign_in(secret)
    confirmation = operator.open(operator.open(operator.open("/console/operators").link("oscar")).link("Revoke"))
    revoked = operator.submit(confirmation, "Revoke operator")

    assert ("Overview", "The operator is revoked.") == (inside.heading, revoked.one(".notice.good").text)
    assert "Sign in to the console" == other.open("/console").heading


@requirement("administration-2")
def test_a_taken_name_is_reported(operator: Browser, token: str) -> None:
    page = operator.submit(operator.open("/console/operators/create"), "Create operator", name="viola")

    assert (422, True) == (page.status, "Is or was the name of another operator" in page.one("#f-name-error").text)
    assert token not in page.response.text


@requirement("administration-14")
def test_the_audit_trail_is_filtered_by_object(operator: Browser, identifiers: dict[str, str]) -> None:
    page = operator.open("/console/audit", object_id=identifiers["key_id"])
    (row,) = page.rows()

    assert ["operator", "create key", "127.0.0.1 http"] == [row[1], row[2], row[6]]


def test_the_audit_trail_displays_a_connection_by_name(operator: Browser, gateway: Gateway) -> None:
    connection_id = gateway.connections["notes"]
    gateway.operator("PATCH", f"/v1/connections/{connection_id}", json={"name": "Wiki"})
    page = operator.open("/console/audit", object_id=connection_id)
    (link, *_) = page.html.select(f'td a[href="/console/connections/{connection_id}"]')

    assert "Wiki" == link.text.strip()


def test_an_invalid_time_is_reported(operator: Browser) -> None:
    page = operator.open("/console/audit", since="yesterday")

    assert (422, "since") == (page.status, page.one("[aria-invalid=true]")["name"])


@requirement("administration-16")
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("run_id", "/console/runs/"),
        ("connection_id", "/console/connections/"),
        ("key_id", "/console/keys/"),
        ("webhook_id", "/console/webhooks/"),
        ("workspace_id", "/console/workspaces/"),
    ],
)
@pytest.mark.parametrize("page", ["/console", "/console/audit", "/console/runs/nowhere"])
def test_searching_an_identifier_redirects_to_its_page(
    viewer: Browser, identifiers: dict[str, str], page: str, name: str, where: str
) -> None:
    result = viewer.submit(viewer.open(page), "Find", q=f" {identifiers[name]} ")

    assert (200, where + identifiers[name]) == (result.status, result.path)


@requirement("administration-16")
def test_searching_a_key_redirects_to_its_page_without_the_key_in_the_url(
    viewer: Browser, identifiers: dict[str, str]
) -> None:
    result = viewer.submit(viewer.open("/console"), "Find", q=identifiers["key"])
    unknown = viewer.submit(viewer.open("/console"), "Find", q="cgw_" + "A" * 49)

    assert f"/console/keys/{identifiers['key_id']}" == result.path
    assert (404, "/console/search") == (unknown.status, unknown.path)


@requirement("administration-16")
def test_searching_a_name_searches_workspaces(viewer: Browser) -> None:
    result = viewer.submit(viewer.open("/console"), "Find", q="Ac\u00e9 & Co")

    assert "/console/workspaces?search=Ac%C3%A9+%26+Co" == result.path


@requirement("administration-16")
@pytest.mark.parametrize("text", ["run_", "run_../keys", "conn_//evil.example", "run_x?y", "key_\u202e", "ws_01"])
def test_searching_other_text_redirects_to_no_other_site(viewer: Browser, text: str) -> None:
    result = viewer.submit(viewer.open("/console"), "Find", q=text)

    assert result.path.startswith("/console/workspaces")


@requirement("administration-17")
@pytest.mark.parametrize(
    "path", ["/keys", "/keys/create", "/connections", "/webhooks", "/webhooks/create", "/runs", "/audit"]
)
def test_a_workspace_is_chosen_by_name(operator: Browser, gateway: Gateway, path: str) -> None:
    workspace = gateway.operator("POST", "/v1/workspaces", json={"name": "Zeta <Ltd>"}).data
    page = operator.open(f"/console{path}")
    offered = {str(one["value"]): one.text for one in page.one("select[name=workspace_id]").select("option")}

    assert "Zeta <Ltd>" == offered[workspace["workspace_id"]]


@requirement("administration-17")
def test_an_identifier_is_entered_when_there_are_many_workspaces(
    operator: Browser, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.operator("POST", "/v1/workspaces", json={"name": "Another"})
    monkeypatch.setattr("connector_gateway.http.console.form_choices.MAX_CHOICES", 1)
    page = operator.open("/console/runs", workspace_id="ws_x")

    assert ("input", "ws_x") == (page.one("#workspace-id").name, page.one("#workspace-id")["value"])


@requirement("administration-18")
def test_a_run_lists_names_and_types_of_parameters_and_result(operator: Browser, gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases", limit=7).body["run_id"]
    page = operator.open(f"/console/runs/{run_id}")
    parameters, result = page.html.select(".shape")

    assert [["limit", "integer"]] == [[cell.text for cell in row.select("td")] for row in parameters.select("tbody tr")]
    assert "[].database_id" in [cell.text for cell in result.select("td code")]


@requirement("administration-18")
def test_a_run_that_failed_has_no_result(operator: Browser, gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases", limit="many").body["run_id"]
    page = operator.open(f"/console/runs/{run_id}")

    assert "Parameters" not in page.text
