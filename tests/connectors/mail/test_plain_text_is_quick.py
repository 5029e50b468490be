"""Plain text is made of HTML in a time that grows with its length, whatever it is made of."""

import time

import pytest

from connector_gateway.connectors.mail.mime import plain_text

MOST_SECONDS = 2.0
"""Of the processor's time; what grows with the square took minutes."""


@pytest.mark.parametrize(
    "html",
    [
        "<script>" + "</script" * 40_000,
        "<script></script>" * 20_000,
        "<style" * 40_000,
        "<!--" * 60_000,
        "<" * 300_000,
        "&#" * 120_000,
    ],
    ids=["never closed", "scripts", "styles", "comments", "signs", "characters"],
)
def test_html_that_is_made_to_be_slow_is_not(html: str) -> None:
    begun = time.thread_time()
    plain_text(html)
    took = time.thread_time() - begun

    assert took < MOST_SECONDS
