"""The guides that the gateway serves: every page, and every link between them."""

import re

from connector_gateway.http.pages.guides import INDEX, MOVED, guide_path, guides, render
from harness.gateway_server import Gateway
from harness.requirement import requirement

HREF = re.compile(r'href="([^"]+)"')


@requirement("common-229")
def test_the_index_lists_every_guide(gateway: Gateway) -> None:
    page = gateway.http.get(gateway.base_url + INDEX).text
    linked = set(HREF.findall(page))

    assert {guide_path(path) for path in guides() if path.startswith("guide/")} <= linked


@requirement("common-229")
def test_every_link_resolves_to_a_page_and_a_heading(gateway: Gateway) -> None:
    pages = {guide_path(path): gateway.http.get(gateway.base_url + guide_path(path)) for path in guides()}
    links = {
        (href.partition("#")[0] or address, href.partition("#")[2])
        for address, page in pages.items()
        for href in HREF.findall(page.text.partition("<main")[2])
        if "http" not in href
    }
    others = {address for address, _ in links - {(address, "") for address in pages}} - pages.keys()

    assert {200} == {page.status_code for page in pages.values()}
    assert {200} == {gateway.http.get(gateway.base_url + address).status_code for address in others}
    assert [] == [link for link in links if link[1] and f'id="{link[1]}"' not in pages[link[0]].text]


def test_former_paths_redirect_to_the_moved_pages(gateway: Gateway) -> None:
    responses = [gateway.http.get(gateway.base_url + path, follow_redirects=True) for path in MOVED]

    assert [(200, page) for page in MOVED.values()] == [
        (response.status_code, response.url.path) for response in responses
    ]


def test_html_in_a_guide_is_escaped() -> None:
    assert "&lt;script&gt;" in render("# A\n\n<script>alert(1)</script>", "guide/a.md")


def test_a_link_to_an_unserved_page_is_rendered_as_text() -> None:
    assert "<p>See it and that.</p>" in render("# A\n\nSee [it](../decisions/1.md) and that.", "guide/a.md")


def test_table_cells_are_labelled_with_their_columns() -> None:
    rendered = render("# A\n\n| Name | `x` |\n|---|---|\n| a | b |\n| c | d |", "guide/a.md")

    assert 2 == rendered.count('<td data-label="Name">') == rendered.count('<td data-label="x">')
