"""Confirmation tokens."""

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.calls.write_confirmation_tokens import CONFIRMATION_SECONDS, Confirmations
from connector_gateway.core.secrets.secret_keys import SecretKeys
from harness.clocks import ManualClock
from harness.requirement import requirement

SECRETS = SecretKeys(["Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU"])


@requirement("confirmations-2")
def test_a_token_expires_after_five_minutes(clock: ManualClock) -> None:
    confirmations = Confirmations(CursorSigner(SECRETS, "confirmations"), clock)
    token = confirmations.required(None, {}, "conn_1", "key").details[0]["confirmation_token"]

    clock.at += CONFIRMATION_SECONDS - 1
    before = confirmations.is_valid(token, "key")
    clock.at += 1

    assert before
    assert not confirmations.is_valid(token, "key")


def test_a_cursor_is_no_confirmation(clock: ManualClock) -> None:
    confirmations = Confirmations(CursorSigner(SECRETS, "confirmations"), clock)
    cursor = CursorSigner(SECRETS).issue({"until": clock.now() + 60}, "key")

    assert not confirmations.is_valid(cursor, "key")
