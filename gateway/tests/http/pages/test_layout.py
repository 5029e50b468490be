"""The layout of all pages: its files, their caching, and escaping of hostile text."""

import pytest
from markupsafe import Markup

from connector_gateway.http.pages import Pages
from connector_gateway.http.pages.template_filters import bidi_isolate, render_code_spans, visible
from harness.gateway_server import Gateway

ASSETS = ["/assets/style.css", "/assets/icon.svg"]


@pytest.mark.parametrize("path", ASSETS)
def test_page_assets_are_served_by_the_gateway_and_cached(gateway: Gateway, path: str) -> None:
    response = gateway.http.get(gateway.base_url + path)

    assert 200 == response.status_code
    assert ("nosniff", True) == (
        response.headers["x-content-type-options"],
        "immutable" in response.headers["cache-control"],
    )


@pytest.mark.parametrize("path", ASSETS)
def test_asset_urls_of_a_page_contain_a_version(gateway: Gateway, path: str) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors")

    assert f'href="{path}?version=' in page.text


def test_the_style_sheet_loads_no_resources(gateway: Gateway) -> None:
    style = gateway.http.get(f"{gateway.base_url}/assets/style.css").text

    assert (False, False, False) == ("url(" in style, "@import" in style, "http" in style)


def test_pages_are_not_cached_and_send_no_referrer(gateway: Gateway) -> None:
    headers = gateway.http.get(f"{gateway.base_url}/docs/errors").headers

    assert ("no-store", "same-origin", "nosniff") == (
        headers["cache-control"],
        headers["referrer-policy"],
        headers["x-content-type-options"],
    )


def test_a_page_behind_a_proxy_loads_assets_below_the_proxy_url() -> None:
    page = Pages("https://example.com/gateway/").show("errors.html", title="x", errors=[], operations=[])

    assert 'href="/gateway/assets/style.css?version=' in bytes(page.body).decode()


def test_the_content_security_policy_restricts_pages_to_their_origin() -> None:
    page = Pages("http://127.0.0.1").show("errors.html", title="x", errors=[], operations=[])

    own = "style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'"
    policy = f"default-src 'none'; {own}; base-uri 'none'; frame-ancestors 'none'"
    assert policy == page.headers["content-security-policy"]


def test_text_is_escaped_and_unprintable_characters_get_a_symbol() -> None:
    page = Pages("http://127.0.0.1").show("errors.html", title="<b>\x00\u202e\ud800", errors=[], operations=[])

    assert "<h1>&lt;b&gt;\u2400\ufffd\ufffd</h1>" in bytes(page.body).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m", "\u241b[31m"),
        ("\x7f\x85", "\u2421\ufffd"),
        ("\u2066\u2069\u202d", "\ufffd" * 3),
        ("\u05e9\u05dc\u05d5\u05dd \U0001f642", "\u05e9\u05dc\u05d5\u05dd \U0001f642"),
    ],
)
def test_invisible_characters_become_visible(text: str, expected: str) -> None:
    assert expected == visible(text)


def test_non_text_values_are_unchanged() -> None:
    assert 5 == visible(5)
    assert isinstance(visible(Markup("<b>")), Markup)


def test_a_name_is_escaped_and_isolated() -> None:
    assert "<bdi>&lt;i&gt;\ufffd</bdi>" == bidi_isolate("<i>\u202e")


def test_backquoted_words_are_rendered_as_code() -> None:
    assert "<code>a</code> &lt; <code>b</code>" == render_code_spans("`a` < ``b``")
