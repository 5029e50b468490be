"""Secret keys, the vault and cursors: only this installation encrypts and signs."""

from collections.abc import Callable
from functools import partial
from secrets import token_hex, token_urlsafe

import pytest

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.connections import Vault
from connector_gateway.core.secrets.secret_keys import SecretKeys, weakness
from connector_gateway.kit.errors import InvalidCursor, SecretUnreadable
from harness.requirement import requirement

OLD, NEW, FOREIGN = "an old secret of ours", "a new secret of ours", "a secret of others"
SECRETS = {"token": "ntn_sesame_open", "name": "Zoë 会 twelve-letters"}
OWNER = "conn_1"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def vault(*secrets: str) -> Vault:
    return Vault(SecretKeys(secrets))


def create_signer(*secrets: str) -> CursorSigner:
    return CursorSigner(SecretKeys(secrets))


# Secret keys


@pytest.mark.parametrize("secrets", [[], [""], ["short"], ["x" * 15], ["x" * 16, "short"]])
def test_short_secrets_are_rejected(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="16 or more"):
        SecretKeys(secrets)


@requirement("secrets-4")
@pytest.mark.parametrize(
    ("secret", "bits"),
    [
        ("", 0),
        ("a", 4),
        ("a" * 16, 8),
        ("a" * 10_000, 10),
        ("passwordpassword", 3),
        ("Password12345678", 14),
        ("abcdefghijklmnopqrstuvwxyz0123456789", 14),
        ("op_0123456789abcdef0123456789abcdef", 26),
        ("1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", 77),
        ("correct horse battery staple", 68),
        ("a secret that only tests know", 77),
        ("Jx0v1u2aXnq4cY5s", 95),
    ],
)
def test_a_guessable_secret_is_rejected_with_its_entropy(secret: str, bits: int) -> None:
    assert f"its entropy is about {bits} bits; at least 128 are required" == weakness(secret)


@requirement("secrets-4")
@pytest.mark.parametrize(
    "secret",
    [
        "8f742231b10e8888abcd99yyyzzz85a5",  # the form of a signing secret in Slack's documentation
        "3c7a1e9f0b52d84466c1f7a9350be28d",
        "PimNAYuEjC_lKLJxG94YtQ",
        "op_h19T1uQd7Ms0IQKIbWfI-wmK8zX3cVbN5rTyE2uLoPA",
        "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl",
        "Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU" * 300,
    ],
)
def test_a_random_secret_is_strong(secret: str) -> None:
    assert "" == weakness(secret)


@requirement("secrets-4")
@pytest.mark.parametrize("make", [partial(token_hex, 16), partial(token_urlsafe, 16), partial(token_urlsafe, 32)])
def test_secrets_of_128_random_bits_are_strong_despite_words_in_them(make: Callable[[], str]) -> None:
    assert {""} == {weakness(make()) for _ in range(20)}


@requirement("secrets-3")
def test_a_decrypt_only_key_decrypts_its_data() -> None:
    keys = SecretKeys([NEW], decrypt_only=[OLD])

    assert SECRETS == Vault(keys).decrypt(vault(OLD).encrypt(SECRETS, OWNER), OWNER)


@requirement("secrets-3")
def test_a_decrypt_only_key_does_not_encrypt() -> None:
    keys = SecretKeys([NEW], decrypt_only=[OLD])

    assert SECRETS == vault(NEW).decrypt(Vault(keys).encrypt(SECRETS, OWNER), OWNER)


@requirement("secrets-3")
def test_a_cursor_signed_with_a_decrypt_only_key_is_rejected() -> None:
    keys = SecretKeys([NEW], decrypt_only=[OLD])

    with pytest.raises(InvalidCursor):
        CursorSigner(keys).read(create_signer(OLD).issue({"after": 1}))


def test_every_purpose_has_its_own_keys() -> None:
    secrets = SecretKeys([OLD])

    assert secrets.derive("vault") != secrets.derive("cursors")
    assert secrets.derive("vault") == SecretKeys([OLD]).derive("vault")


def test_secrets_have_no_revealing_repr() -> None:
    assert OLD not in repr(SecretKeys([OLD]))


# The vault


def test_encrypted_data_is_decrypted_for_its_owner() -> None:
    assert SECRETS == vault(OLD).decrypt(vault(OLD).encrypt(SECRETS, OWNER), OWNER)


def test_ciphertexts_reveal_nothing_and_never_repeat() -> None:
    once, again = vault(OLD).encrypt(SECRETS, OWNER), vault(OLD).encrypt(SECRETS, OWNER)

    assert b"sesame" not in once
    assert once != again


def test_data_of_the_old_key_is_decrypted_after_a_rotation() -> None:
    assert SECRETS == vault(NEW, OLD).decrypt(vault(OLD).encrypt(SECRETS, OWNER), OWNER)


def test_the_new_key_encrypts_after_a_rotation() -> None:
    assert SECRETS == vault(NEW).decrypt(vault(NEW, OLD).encrypt(SECRETS, OWNER), OWNER)


def test_data_of_a_removed_key_cannot_be_decrypted() -> None:
    with pytest.raises(SecretUnreadable):
        vault(NEW).decrypt(vault(OLD).encrypt(SECRETS, OWNER), OWNER)


def test_data_of_another_connection_cannot_be_decrypted() -> None:
    with pytest.raises(SecretUnreadable):
        vault(OLD).decrypt(vault(OLD).encrypt(SECRETS, OWNER), "conn_2")


@pytest.mark.parametrize("position", [0, 4, 10, 16, 20, -1])
def test_altered_data_cannot_be_decrypted(position: int) -> None:
    sealed = bytearray(vault(OLD).encrypt(SECRETS, OWNER))
    sealed[position] ^= 1

    with pytest.raises(SecretUnreadable):
        vault(OLD).decrypt(bytes(sealed), OWNER)


@pytest.mark.parametrize("length", [0, 3, 4, 16, 20])
def test_truncated_data_cannot_be_decrypted(length: int) -> None:
    with pytest.raises(SecretUnreadable):
        vault(OLD).decrypt(vault(OLD).encrypt(SECRETS, OWNER)[:length], OWNER)


def test_a_decryption_error_reveals_no_secret() -> None:
    with pytest.raises(SecretUnreadable) as raised:
        vault(NEW).decrypt(vault(OLD).encrypt(SECRETS, OWNER), OWNER)

    assert "sesame" not in f"{raised.value.message} {raised.value.private} {raised.value.details}"


# Cursors


def test_a_cursor_returns_its_position() -> None:
    issued = create_signer(OLD).issue({"after": ["a", 1], "more": {"x": None}}, "conn_1", {"query": None})

    assert {"after": ["a", 1], "more": {"x": None}} == create_signer(OLD).read(issued, "conn_1", {"query": None})


def test_a_cursor_needs_no_url_encoding() -> None:
    issued = create_signer(OLD).issue({"after": "ÿ?>&=" * 20}, "conn_1")

    assert issued.replace("-", "").replace("_", "").isalnum()


@requirement("common-40")
@pytest.mark.parametrize(
    "bound", [("conn_2", {"query": None}), ("conn_1", {"query": "a"}), ("conn_1",), ("conn_1", {"query": None}, "x")]
)
def test_a_cursor_is_valid_only_for_its_scope(bound: tuple[object, ...]) -> None:
    issued = create_signer(OLD).issue({"after": 1}, "conn_1", {"query": None})

    with pytest.raises(InvalidCursor):
        create_signer(OLD).read(issued, *bound)


def test_a_cursor_of_another_installation_is_rejected() -> None:
    with pytest.raises(InvalidCursor):
        create_signer(OLD).read(create_signer(FOREIGN).issue({"after": 1}), OWNER)


def test_a_cursor_remains_valid_after_a_rotation() -> None:
    assert {"after": 1} == create_signer(NEW, OLD).read(create_signer(OLD).issue({"after": 1}))


@pytest.mark.parametrize("position", [0, 8, 21, 22, 25, -1])
def test_an_altered_cursor_is_rejected(position: int) -> None:
    issued = create_signer(OLD).issue({"after": 12345})
    other = "B" if issued[position] != "B" else "C"
    altered = issued[:position] + other + (issued[position + 1 :] if position != -1 else "")

    with pytest.raises(InvalidCursor):
        create_signer(OLD).read(altered)


def other_spellings(issued: str) -> list[str]:
    """Return other texts that Base64 decodes to the same bytes as *issued*."""
    last = ALPHABET.index(issued[-1])
    unused = [issued[:-1] + other for other in ALPHABET[last + 1 : last + 2]]
    return [f"{issued}=", f"{issued}==", f"{issued[:4]}*{issued[4:]}", f"{issued[:4]}\n{issued[4:]}", *unused]


@requirement("common-39", "secrets-7")
@pytest.mark.parametrize("way", range(5))
def test_a_cursor_has_one_spelling(way: int) -> None:
    issued = create_signer(OLD).issue({"after": 12345})
    other = other_spellings(issued)[way]

    with pytest.raises(InvalidCursor):
        create_signer(OLD).read(other)


@requirement("common-39")
@pytest.mark.parametrize("forged", ["", "x", "A", "====", "AAAA", "ä", "\ud800", "a" * 8192, "../..", "eyJhIjoxfQ"])
def test_a_forged_cursor_is_rejected(forged: str) -> None:
    with pytest.raises(InvalidCursor) as raised:
        create_signer(OLD).read(forged)

    assert [{"parameter": "cursor"}] == raised.value.details
