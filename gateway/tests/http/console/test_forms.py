"""Forms are processed only if this console created them for this browser."""

import pytest

from connector_gateway.http.console.request import ConsoleRoute
from connector_gateway.http.console.routes import ROUTES
from harness.gateway_server import Gateway
from harness.html_browser import Browser, HtmlPage

FORMS = [route for route in ROUTES if route.method == "POST"]


def token_of(page: HtmlPage) -> str:
    """Return the values of the first form of *page*."""
    return str(page.html.select("input[name=form_token]")[0]["value"])


@pytest.mark.parametrize("route", FORMS, ids=lambda route: route.path)
@pytest.mark.parametrize("token", [None, "", "0" * 64, "\u00e9"])
def test_a_form_without_its_token_does_nothing(operator: Browser, route: ConsoleRoute, token: str | None) -> None:
    path = route.path.replace("{", "").replace("}", "")
    response = operator.http.post(path, data={} if token is None else {"form_token": token})

    assert (403, True) == (response.status_code, "Form expired" in response.text)


def test_the_token_of_another_session_does_nothing(operator: Browser, visitor: Browser, gateway: Gateway) -> None:
    before = len(gateway.operator("GET", "/v1/workspaces?limit=200").data)
    visitor.sign_in()
    stolen = token_of(visitor.open("/console"))
    response = operator.http.post("/console/workspaces/create", data={"form_token": stolen, "name": "Forged"})

    assert 403 == response.status_code
    assert before == len(gateway.operator("GET", "/v1/workspaces?limit=200").data)


def test_the_sign_in_form_belongs_to_the_browser_that_opened_it(gateway: Gateway) -> None:
    one, other = Browser(gateway), Browser(gateway)
    with one.http, other.http:
        other.open("/console/sign-in")
        stolen = token_of(one.open("/console/sign-in"))
        response = other.http.post("/console/sign-in", data={"form_token": stolen, "operator_token": "x"})

    assert 403 == response.status_code


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_cross_site_form_does_nothing_even_with_the_token(operator: Browser, site: str) -> None:
    token = token_of(operator.open("/console/workspaces"))
    response = operator.http.post(
        "/console/workspaces/create", data={"form_token": token, "name": "x"}, headers={"Sec-Fetch-Site": site}
    )

    assert 403 == response.status_code


def test_a_same_site_form_is_processed(operator: Browser) -> None:
    token = token_of(operator.open("/console/workspaces"))
    response = operator.http.post(
        "/console/workspaces/create", data={"form_token": token, "name": "x"}, headers={"Sec-Fetch-Site": "same-origin"}
    )

    assert (200, True) == (response.status_code, response.url.path.startswith("/console/workspaces/ws_"))


def test_get_requests_change_nothing(operator: Browser, gateway: Gateway) -> None:
    connection_id = gateway.connections["notes"]
    operator.open(f"/console/connections/{connection_id}/remove")

    assert 200 == gateway.operator("GET", f"/v1/connections/{connection_id}").status


def test_a_too_large_form_is_rejected(operator: Browser) -> None:
    response = operator.http.post("/console/workspaces/create", data={"name": "x" * 100_000})

    assert 413 == response.status_code
    assert "Request failed" in response.text


@pytest.mark.parametrize("body", [b"\xff\xfe%ff=%zz&&;==", b"form_token=%ED%A0%80&name=\x00", b"a" * 1000])
def test_an_unreadable_form_does_nothing(operator: Browser, body: bytes) -> None:
    response = operator.http.post(
        "/console/workspaces/create", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )

    assert 403 == response.status_code
