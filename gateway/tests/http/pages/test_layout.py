"""The look that all pages share: where it comes from, how long it is kept, and what hostile text does to it."""

import pytest
from markupsafe import Markup

from connector_gateway.http.pages import Pages
from connector_gateway.http.pages.text import bidi_isolate, render_code_spans, visible
from harness.gateway_server import Gateway

ASSETS = ["/assets/style.css", "/assets/icon.svg"]


@pytest.mark.parametrize("path", ASSETS)
def test_page_assets_are_served_by_the_gateway_and_cached(gateway: Gateway, path: str) -> None:
    answer = gateway.http.get(gateway.base_url + path)

    assert 200 == answer.status_code
    assert ("nosniff", True) == (
        answer.headers["x-content-type-options"],
        "immutable" in answer.headers["cache-control"],
    )


@pytest.mark.parametrize("path", ASSETS)
def test_a_page_names_what_it_loads_with_a_version(gateway: Gateway, path: str) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs/errors")

    assert f'href="{path}?version=' in page.text


def test_the_style_loads_nothing(gateway: Gateway) -> None:
    style = gateway.http.get(f"{gateway.base_url}/assets/style.css").text

    assert (False, False, False) == ("url(" in style, "@import" in style, "http" in style)


def test_pages_are_not_cached_and_send_no_referrer(gateway: Gateway) -> None:
    headers = gateway.http.get(f"{gateway.base_url}/docs/errors").headers

    assert ("no-store", "same-origin", "nosniff") == (
        headers["cache-control"],
        headers["referrer-policy"],
        headers["x-content-type-options"],
    )


def test_a_page_behind_a_proxy_loads_its_files_below_the_address_there() -> None:
    page = Pages("https://example.com/gateway/").show("errors.html", title="x", errors=[], operations=[])

    assert 'href="/gateway/assets/style.css?version=' in bytes(page.body).decode()


def test_a_page_loads_sends_and_is_framed_here_only() -> None:
    page = Pages("http://127.0.0.1").show("errors.html", title="x", errors=[], operations=[])

    own = "style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'"
    policy = f"default-src 'none'; {own}; base-uri 'none'; frame-ancestors 'none'"
    assert policy == page.headers["content-security-policy"]


def test_text_is_escaped_and_unprintable_characters_get_a_picture() -> None:
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


def test_values_that_are_no_text_are_unchanged() -> None:
    assert 5 == visible(5)
    assert isinstance(visible(Markup("<b>")), Markup)


def test_a_name_is_escaped_and_isolated() -> None:
    assert "<bdi>&lt;i&gt;\ufffd</bdi>" == bidi_isolate("<i>\u202e")


def test_words_between_backquotes_are_code() -> None:
    assert "<code>a</code> &lt; <code>b</code>" == render_code_spans("`a` < ``b``")
