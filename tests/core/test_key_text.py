"""Idempotency keys as text: the normal form, and what a header can carry."""

import hashlib

import pytest

from connector_gateway.core.writes.key_text import LENGTH, NOT_DISPLAY, NOT_UTF8, UNFIT, KeyText
from harness.requirement import requirement

FOUR_BYTES = "\N{GRINNING FACE}"
LONG = "k" * 1000


@requirement("keys-1")
@pytest.mark.parametrize(
    "key", ["order 4711", "clé", "ключ", FOUR_BYTES * 1000, '%"quoted"', "100%", '"quoted"', "a, b"]
)
def test_header_and_body_carry_the_same_key(key: str) -> None:
    in_body, in_header = KeyText.of(key), KeyText.of_header(KeyText.of(key).header.encode())

    assert (key, None) == (in_body.text, in_body.fault)
    assert (key, None) == (in_header.text, in_header.fault)


@requirement("keys-2")
@pytest.mark.parametrize("value", ['%"cl%c3%a9"', '%"cl%C3%A9"'])
def test_a_header_of_ascii_carries_any_key(value: str) -> None:
    assert "clé" == KeyText.of_header(value.encode()).text


@requirement("keys-3")
def test_composed_and_decomposed_characters_are_one_key() -> None:
    assert KeyText.of("cl\u00e9").stored == KeyText.of("cle\u0301").stored


@requirement("keys-4")
@pytest.mark.parametrize("key", [" k", "k ", "\tk\t"])
def test_blanks_around_a_key_do_not_count(key: str) -> None:
    assert "k" == KeyText.of(key).text


@requirement("keys-5")
@pytest.mark.parametrize("character", ["k", FOUR_BYTES, "e\u0301"])
def test_characters_are_counted_and_not_bytes(character: str) -> None:
    fits, exceeds = KeyText.of(character * 1000), KeyText.of(character * 1001)

    assert [None, LENGTH] == [fits.fault, exceeds.fault]


@requirement("keys-5")
@pytest.mark.parametrize("key", ["", " ", "\t"])
def test_a_key_has_a_character(key: str) -> None:
    assert LENGTH == KeyText.of(key).fault


@requirement("keys-6")
@pytest.mark.parametrize("character", ["\0", "\n", "\r", "\x1b", "\x7f", "\x85", "\ud800"])
def test_control_characters_and_halves_of_pairs_are_refused(character: str) -> None:
    assert UNFIT == KeyText.of(f"a{character}b").fault


@requirement("keys-6")
def test_a_tab_between_characters_is_refused() -> None:
    assert UNFIT == KeyText.of_header(b"a\tb").fault


@requirement("keys-6")
@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"cl\xe9", NOT_UTF8),
        (b"\xed\xa0\x80", NOT_UTF8),
        (b'%"cl%e9"', NOT_DISPLAY),
        (b'%"open', NOT_DISPLAY),
        (b'%"50%"', NOT_DISPLAY),
        (b'%"a%00b"', UNFIT),
        (b'%""', LENGTH),
    ],
)
def test_a_header_that_is_no_text_is_refused(value: bytes, fault: str) -> None:
    assert fault == KeyText.of_header(value).fault


@requirement("keys-7")
def test_no_key_is_stored_under_the_digest_of_another() -> None:
    spelled = "sha256:" + hashlib.sha256(LONG.encode()).hexdigest()

    assert spelled == KeyText.of(LONG).stored
    assert spelled != KeyText.of(spelled).stored
