"""Signatures of deliveries: with the newest secret, and for a while with the previous one."""

import hmac
from base64 import b64encode

import pytest

from connector_gateway.core.outbound_webhooks.signing import new_secret, rotate_secrets, sign
from connector_gateway_client.webhooks import SignatureMismatch, verify
from harness.clocks import NOON

BODY = b'{"type": "page.created"}'
ONE = [{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "ends_at": None}]


def test_the_signature_follows_the_standard() -> None:
    """The example of the standard's own libraries: standard-webhooks, libraries/python/tests/test_webhooks.py."""
    body = b'{"test": 2432232314}'
    headers = sign(ONE, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330.9, body)

    assert "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" == headers["webhook-signature"]
    assert "1614265330" == headers["webhook-timestamp"]


def test_both_secrets_sign_during_their_overlap() -> None:
    both = rotate_secrets(ONE, NOON, overlap_seconds=60)
    headers, later = sign(both, "evt_1", NOON + 59, BODY), sign(both, "evt_1", NOON + 60, BODY)

    verify(headers, BODY, ONE[0]["secret"] or "", now=NOON)
    verify(headers, BODY, both[0]["secret"], now=NOON)
    assert [2, 1] == [len(one["webhook-signature"].split(" ")) for one in (headers, later)]


def test_a_leaked_secret_can_be_revoked_immediately() -> None:
    assert 1 == len(rotate_secrets(ONE, NOON, overlap_seconds=0))


def test_a_second_rotation_does_not_prolong_the_first_secret() -> None:
    thrice = rotate_secrets(rotate_secrets(ONE, NOON, overlap_seconds=60), NOON + 1, overlap_seconds=3600)

    assert [None, NOON + 3601, NOON + 60] == [one["ends_at"] for one in thrice]


HEADERS = sign(ONE, "evt_1", NOON, BODY)
SECRET = str(ONE[0]["secret"])


def test_a_genuine_message_is_accepted_regardless_of_header_case() -> None:
    headers = {name.title(): value for name, value in HEADERS.items()}

    assert "page.created" == verify(headers, BODY, [new_secret(), SECRET], now=NOON + 299)["type"]


@pytest.mark.parametrize(
    ("changed", "body", "at", "why"),
    [
        ({}, BODY + b" ", NOON, "No signature"),
        ({"webhook-id": "evt_2"}, BODY, NOON, "No signature"),
        ({"webhook-timestamp": str(int(NOON) + 1)}, BODY, NOON, "No signature"),
        ({"webhook-signature": "v1,"}, BODY, NOON, "No signature"),
        ({"webhook-signature": "v1,\u00e9"}, BODY, NOON, "No signature"),
        ({"webhook-signature": "v1,\udcff"}, BODY, NOON, "No signature"),
        ({"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v2,")}, BODY, NOON, "No signature"),
        ({"webhook-timestamp": "\u0663"}, BODY, NOON, "not a time"),
        ({"webhook-timestamp": "9" * 5000}, BODY, NOON, "not a time"),
        ({}, BODY, NOON + 301, "not sent just now"),
        ({}, BODY, NOON - 301, "not sent just now"),
    ],
)
def test_any_other_message_is_rejected(changed: dict[str, str], body: bytes, at: float, why: str) -> None:
    with pytest.raises(SignatureMismatch, match=why):
        verify(HEADERS | changed, body, SECRET, now=at)


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_missing_is_named(name: str) -> None:
    rest = {other: value for other, value in HEADERS.items() if other != name}

    with pytest.raises(SignatureMismatch, match=name):
        verify(rest, BODY, SECRET, now=NOON)


def test_a_signed_but_unreadable_message_is_rejected() -> None:
    with pytest.raises(SignatureMismatch, match="not readable"):
        verify(sign(ONE, "evt_1", NOON, b"{"), b"{", SECRET, now=NOON)


@pytest.mark.parametrize("secret", ["whsec_?", "whsec_\u00e9", "whsec_", ""])
def test_an_incomplete_secret_is_reported(secret: str) -> None:
    with pytest.raises(ValueError, match="not whole"):
        verify(HEADERS, BODY, secret, now=NOON)


def test_a_message_signed_with_an_empty_secret_is_rejected() -> None:
    signature = b64encode(hmac.digest(b"", f"evt_1.{int(NOON)}.".encode() + BODY, "sha256")).decode()
    forged = {"webhook-id": "evt_1", "webhook-timestamp": str(int(NOON)), "webhook-signature": f"v1,{signature}"}

    with pytest.raises(ValueError, match="not whole"):
        verify(forged, BODY, "", now=NOON)
