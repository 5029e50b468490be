"""Untrusted names are escaped, isolated and wrapped on every page."""

from urllib.parse import quote

import pytest

from connector_gateway.kit.events import Observation
from connector_gateway.kit.identifiers import ConnectionId
from harness.gateway_server import Gateway
from harness.html_browser import Browser, HtmlPage

MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
TURNING = "\u202egnp.exe\u2069\u2066"
NAMES = [
    pytest.param(MARKUP, MARKUP, id="markup"),
    pytest.param(TURNING, "\ufffdgnp.exe\ufffd\ufffd", id="turning"),
    pytest.param(
        "\u05e9\u05dc\u05d5\u05dd \U0001f469\u200d\U0001f680",
        "\u05e9\u05dc\u05d5\u05dd \U0001f469\u200d\U0001f680",
        id="hebrew",
    ),
    pytest.param("x" * 200, "x" * 200, id="long"),
    pytest.param("{{ 7 * 7 }}${7*7}", "{{ 7 * 7 }}${7*7}", id="template"),
    pytest.param("' onfocus='alert(1)", "' onfocus='alert(1)", id="attribute"),
]
hostile = pytest.mark.parametrize(("name", "expected"), NAMES)


def isolated_names(page: HtmlPage) -> list[str]:
    """Return the isolated names on a page."""
    return [one.text for one in page.html.select("bdi")]


def is_harmless(page: HtmlPage) -> bool:
    """Return True if no name was rendered as markup."""
    scripts = [str(one.get("src", "")) for one in page.html.select("script")]
    handlers = [name for one in page.html.find_all(True) for name in one.attrs if name.startswith("on")]
    return (
        [True, True] == [one.startswith("/assets/") for one in scripts]
        and not handlers
        and not page.html.select("img[src=x]")
    )


@hostile
def test_the_name_of_a_workspace_is_escaped(operator: Browser, name: str, expected: str) -> None:
    page = operator.submit(operator.open("/console/workspaces/create"), "Create workspace", name=name)
    listed = operator.open("/console/workspaces", search=name)

    assert expected in isolated_names(page)
    assert expected in isolated_names(listed)
    assert (True, True) == (is_harmless(page), is_harmless(listed))
    assert expected == operator.open(page.link("Change")).one("#f-name")["value"]


@hostile
def test_the_name_of_a_key_is_escaped(operator: Browser, gateway: Gateway, name: str, expected: str) -> None:
    created = gateway.operator(
        "POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read", "name": name}
    ).data
    pages = [operator.open("/console/keys"), operator.open(f"/console/keys/{created['key_id']}/revoke")]

    assert [True, True] == [expected in isolated_names(page) for page in pages]
    assert [True, True] == [is_harmless(page) for page in pages]


@hostile
def test_the_name_of_a_connection_is_escaped(operator: Browser, gateway: Gateway, name: str, expected: str) -> None:
    connection_id = gateway.connections["notes"]
    gateway.operator("PATCH", f"/v1/connections/{connection_id}", json={"name": name})
    gateway.get("/notes/databases")
    paths = [
        "",
        "/connections",
        "/runs",
        "/budgets",
        *(f"/connections/{connection_id}{more}" for more in ("", "/events", "/remove")),
    ]
    pages = [operator.open(f"/console{path}") for path in paths]

    assert [True] * len(pages) == [expected in isolated_names(page) for page in pages]
    assert [True] * len(pages) == [is_harmless(page) for page in pages]


@hostile
def test_the_observed_account_name_is_escaped(operator: Browser, gateway: Gateway, name: str, expected: str) -> None:
    connection_id = ConnectionId(gateway.connections["notes"])
    seen = Observation((name,), "page.property_updated", {"property": name, "to": [name]}, name)
    gateway.run(gateway.app._feed.add({connection_id: [seen]}))
    page = operator.open(f"/console/connections/{connection_id}/events")

    assert isolated_names(page).count(expected) >= 2
    assert is_harmless(page)


@hostile
def test_the_name_of_a_webhook_is_escaped(operator: Browser, gateway: Gateway, name: str, expected: str) -> None:
    body = {"workspace_id": gateway.workspace_id, "url": "https://example.com/events", "name": name}
    created = gateway.operator("POST", "/v1/webhooks", json=body).data
    pages = [operator.open(f"/console/webhooks{path}") for path in ("", f"/{created['webhook_id']}")]

    assert [True] * 2 == [expected in isolated_names(page) for page in pages]
    assert [True] * 2 == [is_harmless(page) for page in pages]


@pytest.mark.parametrize("name", [MARKUP, TURNING, "\x00\x1b", "%ED%A0%80"])
@pytest.mark.parametrize("path", ["/workspaces/{}", "/runs/{}", "/connections/{}", "/keys/{}/revoke", "/webhooks/{}"])
def test_a_path_parameter_is_escaped(operator: Browser, path: str, name: str) -> None:
    page = operator.open("/console" + path.format(quote(name, safe="%")))

    assert page.status in {404, 422}
    assert "Connector gateway" in page.response.text or "route_not_found" in page.response.text


@pytest.mark.parametrize(
    "field",
    ["search", "status", "connection_id", "workspace_id", "operation", "since", "cursor", "done", "next", "link"],
)
@pytest.mark.parametrize("path", ["/workspaces", "/keys", "/connections", "/runs", "/sign-in"])
def test_a_query_parameter_is_escaped(operator: Browser, path: str, field: str) -> None:
    page = operator.open(f"/console{path}", **{field: MARKUP + TURNING})

    assert page.status < 500
    assert is_harmless(page)
