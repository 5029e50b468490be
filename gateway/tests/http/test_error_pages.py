"""A page for every error code, to which errors link; the root redirects browsers to the reference."""

import re
from urllib.parse import quote

import pytest

from connector_gateway.kit.errors import GatewayError, all_errors
from connector_gateway.kit.errors.remedy_placeholders import general_remedy
from harness.gateway_server import Gateway
from harness.requirement import requirement

ERRORS = [pytest.param(error, id=error.code) for error in all_errors()]
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize("error", ERRORS)
@requirement("common-184")
def test_an_error_page_explains_the_code_and_its_remedy(gateway: Gateway, error: type[GatewayError]) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors/{error.code}")
    texts = re.sub(r"<[^>]+>", "", page.text).replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")

    assert 200 == page.status_code
    assert f"Status {error.status}." in texts
    assert general_remedy(error, [one.connector for one in gateway.app.settings.connectors.values()]) in texts


@requirement("common-184")
def test_an_error_links_to_its_page(gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases", limit="many")
    page = gateway.http.get(gateway.base_url + reply.body["error"]["docs"])

    assert "/docs/errors/invalid_parameters" == reply.body["error"]["docs"]
    assert (200, True) == (page.status_code, "<h1>invalid_parameters</h1>" in page.text)


@requirement("common-184")
def test_an_error_page_lists_the_operations_with_this_error(gateway: Gateway) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors/page_in_trash").text

    assert "PATCH /v1/connectors/notes/pages/{page_id}" in page
    assert "GET /v1/connectors/notes/databases" not in page


def test_the_index_lists_all_codes(gateway: Gateway) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors").text
    codes = [error.code for error in all_errors()]

    assert codes == re.findall(r'<section id="([a-z_]+)">', page)


def test_the_content_security_policy_blocks_foreign_content(gateway: Gateway) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors/rate_limited")
    policy = page.headers["content-security-policy"].split("; ")

    assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy)
    assert {"'self'", "'none'"} == {source for rule in policy for source in rule.split()[1:]}
    assert "http" not in re.sub(r"&#39;|https? address", "", page.text).replace("<!doctype html>", "").lower()


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202efdp.exe", "\x1b[31mred", "x" * 500])
@pytest.mark.parametrize("below", ["/docs/errors/", "/docs/", "/"])
def test_error_pages_do_not_contain_the_path(gateway: Gateway, below: str, text: str) -> None:
    response = gateway.http.get(f"{gateway.base_url}{below}{quote(text, safe='')}", headers=BROWSER)

    assert (404, "text/html; charset=utf-8") == (response.status_code, response.headers["content-type"])
    assert text not in response.text


def test_the_page_of_a_mistyped_code_suggests_the_closest_one(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/docs/errors/rate_limit")

    assert (404, "route_not_found") == (reply.status, reply.code)
    assert [{"did_you_mean": "GET /docs/errors/rate_limited"}] == reply.facts


def test_the_root_redirects_browsers_to_the_reference(gateway: Gateway) -> None:
    front = gateway.http.get(f"{gateway.base_url}/", headers=BROWSER)

    assert (302, "/docs") == (front.status_code, front.headers["location"])


@requirement("common-229")
def test_the_root_links_to_the_documentation(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/")

    assert (200, "/docs") == (reply.status, reply.body["reference"])
    assert {200} == {
        gateway.http.get(gateway.base_url + reply.body[name]).status_code
        for name in ("openapi", "guides", "errors", "health")
    }


@requirement("common-230")
@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/openapi.json", "/v1/runs", "/nowhere", "/v1/connectors/notes/databases"]
)
def test_json_ends_with_a_newline(gateway: Gateway, path: str) -> None:
    assert b"}\n" == gateway.http.get(gateway.base_url + path).content[-2:]


def test_the_root_accepts_no_writes(gateway: Gateway) -> None:
    front = gateway.http.post(f"{gateway.base_url}/", headers=BROWSER)

    assert 405 == front.status_code
