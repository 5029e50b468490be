"""Browsers in front of the gateway of these tests: one that is signed in, and one that is not."""

from collections.abc import Iterator

import pytest

from harness.browsing import Browser
from harness.serving import Gateway


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
