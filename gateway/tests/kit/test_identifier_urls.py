"""Pasted URLs are read as the identifiers in them."""

from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from connector_gateway.kit.identifier_urls import MAX_URL_LENGTH, id_or_url, name_or_url
from connector_gateway.kit.models import Identifier, Name

FORMS = (r"cards\.example/c/([a-z0-9]+)(?:[/?#].*)?", r"cards\.example/m/([0-9]+)-([0-9]+)")
CARD = TypeAdapter(Annotated[Identifier, id_or_url("a card", *FORMS)])
NAME = TypeAdapter(Annotated[Name, name_or_url(*FORMS)])


@pytest.mark.parametrize(
    ("value", "identifier"),
    [
        ("abc123", "abc123"),
        ("https://cards.example/c/abc123", "abc123"),
        ("http://cards.example/c/abc123/4-a-title?menu=open#top", "abc123"),
        ("HTTPS://cards.example/c/abc123 ", "abc123"),
        ("https://cards.example/m/12-34", "12.34"),
    ],
)
def test_a_url_is_read_as_its_identifier(value: str, identifier: str) -> None:
    assert (identifier, identifier) == (CARD.validate_python(value), NAME.validate_python(value))


@pytest.mark.parametrize(
    "value",
    [
        "https://cards.example.evil.test/c/abc123",
        "https://evil.test/cards.example/c/abc123",
        "https://cards.example@evil.test/c/abc123",
        "https://cards.example/b/abc123",
        "https://",
        f"https://cards.example/c/{'a' * MAX_URL_LENGTH}",
    ],
)
def test_a_url_of_another_form_is_not_an_identifier(value: str) -> None:
    with pytest.raises(ValidationError) as error:
        CARD.validate_python(value)

    assert "a URL without the identifier of a card" in str(error.value)


def test_a_url_of_another_form_can_be_a_name() -> None:
    assert "https://other.example/x" == NAME.validate_python("https://other.example/x")


@pytest.mark.parametrize("value", ["cards.example/c/abc123", "ftp://cards.example/c/abc123"])
def test_text_without_an_http_scheme_is_not_a_url(value: str) -> None:
    assert value == NAME.validate_python(value)


@pytest.mark.parametrize("value", [7, None, ["https://cards.example/c/abc123"]])
def test_a_value_that_is_not_text_is_rejected(value: object) -> None:
    with pytest.raises(ValidationError):
        CARD.validate_python(value)
