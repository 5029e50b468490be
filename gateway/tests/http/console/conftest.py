"""A signed-in browser and a visitor, without scripts."""

from collections.abc import Iterator

import pytest

from harness.gateway_server import Gateway
from harness.html_browser import Browser


@pytest.fixture
def visitor(gateway: Gateway) -> Iterator[Browser]:
    browser = Browser(gateway)
    with browser.http:
        yield browser


@pytest.fixture
def operator(gateway: Gateway) -> Iterator[Browser]:
    browser = Browser(gateway)
    with browser.http:
        browser.sign_in()
        yield browser
