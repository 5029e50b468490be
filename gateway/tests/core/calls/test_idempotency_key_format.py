"""Idempotency keys as text: the normal form, and their encoding in headers."""

import hashlib

import pytest

from connector_gateway.core.calls.idempotency_key_format import (
    INVALID_CHARACTERS,
    LENGTH,
    NOT_DISPLAY,
    NOT_UTF8,
    NormalizedKey,
)
from harness.requirement import requirement

FOUR_BYTES = "\N{GRINNING FACE}"
LONG = "k" * 1000


@requirement("keys-1")
@pytest.mark.parametrize(
    "key", ["order 4711", "clé", "ключ", FOUR_BYTES * 1000, '%"quoted"', "100%", '"quoted"', "a, b"]
)
def test_header_and_body_can_contain_the_same_key(key: str) -> None:
    in_body, in_header = NormalizedKey.parse(key), NormalizedKey.parse_header(NormalizedKey.parse(key).header.encode())

    assert (key, None) == (in_body.text, in_body.violation)
    assert (key, None) == (in_header.text, in_header.violation)


@requirement("keys-2")
@pytest.mark.parametrize("value", ['%"cl%c3%a9"', '%"cl%C3%A9"'])
def test_an_ascii_header_can_contain_any_key(value: str) -> None:
    assert "clé" == NormalizedKey.parse_header(value.encode()).text


@requirement("keys-3")
def test_composed_and_decomposed_characters_are_one_key() -> None:
    assert NormalizedKey.parse("cl\u00e9").stored == NormalizedKey.parse("cle\u0301").stored


@requirement("keys-4")
@pytest.mark.parametrize("key", [" k", "k ", "\tk\t"])
def test_surrounding_blanks_are_not_part_of_a_key(key: str) -> None:
    assert "k" == NormalizedKey.parse(key).text


@requirement("keys-5")
@pytest.mark.parametrize("character", ["k", FOUR_BYTES, "e\u0301"])
def test_the_key_length_counts_characters_and_not_bytes(character: str) -> None:
    fits, exceeds = NormalizedKey.parse(character * 1000), NormalizedKey.parse(character * 1001)

    assert [None, LENGTH] == [fits.violation, exceeds.violation]


@requirement("keys-5")
@pytest.mark.parametrize("key", ["", " ", "\t"])
def test_an_empty_key_is_rejected(key: str) -> None:
    assert LENGTH == NormalizedKey.parse(key).violation


@requirement("keys-6")
@pytest.mark.parametrize("character", ["\0", "\n", "\r", "\x1b", "\x7f", "\x85", "\ud800"])
def test_control_characters_and_lone_surrogates_are_rejected(character: str) -> None:
    assert INVALID_CHARACTERS == NormalizedKey.parse(f"a{character}b").violation


@requirement("keys-6")
def test_a_tab_within_a_key_is_rejected() -> None:
    assert INVALID_CHARACTERS == NormalizedKey.parse_header(b"a\tb").violation


@requirement("keys-6")
@pytest.mark.parametrize(
    ("value", "violation"),
    [
        (b"cl\xe9", NOT_UTF8),
        (b"\xed\xa0\x80", NOT_UTF8),
        (b'%"cl%e9"', NOT_DISPLAY),
        (b'%"open', NOT_DISPLAY),
        (b'%"50%"', NOT_DISPLAY),
        (b'%"a%00b"', INVALID_CHARACTERS),
        (b'%""', LENGTH),
    ],
)
def test_a_header_with_invalid_encoding_is_rejected(value: bytes, violation: str) -> None:
    assert violation == NormalizedKey.parse_header(value).violation


@requirement("keys-7")
def test_a_key_that_spells_a_digest_is_not_stored_under_it() -> None:
    spelled = "sha256:" + hashlib.sha256(LONG.encode()).hexdigest()

    assert spelled == NormalizedKey.parse(LONG).stored
    assert spelled != NormalizedKey.parse(spelled).stored
