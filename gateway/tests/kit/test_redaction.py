"""Redaction of secrets in vendors' responses."""

import html
import json
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from connector_gateway.kit.errors import UpstreamRefused
from connector_gateway.kit.upstream.client import Request
from connector_gateway.kit.upstream.redaction import Redaction
from harness.requirement import requirement

SECRET = "xoxb-12345/abcdefgh+IJKL mnop&é="  # made up
REDACTION = Redaction(lambda: [SECRET, "short"])

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in capitals": str.upper,
    "in a URL": lambda secret: quote(secret, safe=""),
    "in a form": quote_plus,
    "in a URL twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "in JSON": json.dumps,
    "in JSON with slashes escaped": lambda secret: json.dumps(secret).replace("/", "\\/"),
    "in JSON in JSON": lambda secret: json.dumps(json.dumps(secret)),
    "in HTML": html.escape,
    "in a Python repr": repr,
    "in a repr of bytes": lambda secret: repr(secret.encode()),
    "in hexadecimal": lambda secret: secret.encode().hex(),
    "in Base64": lambda secret: b64encode(secret.encode()).decode(),
    "as the password of Basic": lambda secret: b64encode(f"user:{secret}".encode()).decode(),
    "as the user of Basic": lambda secret: b64encode(f"{secret}:x".encode()).decode(),
    "in URL-safe Base64": lambda secret: urlsafe_b64encode(f"me:{secret}".encode()).decode(),
    "in Base64 in a URL": lambda secret: quote(b64encode(f"me:{secret}".encode()).decode(), safe=""),
    "truncated": lambda secret: secret[:20] + "…",
}


ENCODED_PARTS = [encode(SECRET)[:24][-10:] for encode in ENCODINGS.values()]
"""A part of each encoded secret, from its middle."""


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_hidden_in_every_encoding(encoding: str) -> None:
    redacted = REDACTION.text("Rejected: " + ENCODINGS[encoding](SECRET))

    assert "…" in redacted
    assert [] == [part for part in ENCODED_PARTS if part in redacted]


def test_other_texts_are_unchanged() -> None:
    text = "A short sentence about xoxb-1 and abcdefgh."

    assert text == REDACTION.text(text)


def test_nothing_is_redacted_without_secrets() -> None:
    assert "Bearer abcdefgh" == Redaction().text("Bearer abcdefgh")


def test_a_secret_is_hidden_in_names_and_values_at_any_depth() -> None:
    value = {"listed": [{SECRET: 1}, (SECRET, None, 2.5)], "other": True}

    assert {"listed": [{"…": 1}, ["…", None, 2.5]], "other": True} == REDACTION.value(value)


@requirement("common-160")
def test_no_part_of_an_error_contains_a_secret() -> None:
    error = UpstreamRefused(f"No: {SECRET}", {"vendor_message": SECRET}, private=f"{{'token': '{SECRET}'}}")

    REDACTION.error(error)

    assert ("No: …", [{"vendor_message": "…"}], "{'token': '…'}") == (error.message, error.details, error.private)
    assert "UpstreamRefused('No: …')" == repr(error)
    assert SECRET not in "".join(traceback.format_exception(error))


def test_a_traceback_contains_no_secrets() -> None:
    error = ValueError(f"bad header {SECRET!r}")
    error.__cause__ = KeyError(SECRET)

    assert ["KeyError: '…'", "ValueError: bad header '…'"] == [
        line for line in REDACTION.traceback(error).splitlines() if "Error" in line
    ]


def test_the_repr_of_a_redaction_contains_no_secrets() -> None:
    assert SECRET not in repr(REDACTION)


def test_the_repr_of_a_request_contains_no_credentials() -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    request = Request(
        method="GET",
        path="/v1/pages",
        url=f"https://api.example/v1/pages?token={SECRET}",
        headers=headers,
        body=None,
        charges=(),
        writes=False,
        expects=(),
        is_conflict=lambda _: False,
        credentials=headers,
    )

    assert "<GET /v1/pages>" == repr(request)
