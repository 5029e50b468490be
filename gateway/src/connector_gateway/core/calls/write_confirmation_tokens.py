"""Confirmations: tokens that let a key carry out exactly one write, whose dry run a person has seen."""

from dataclasses import dataclass
from typing import Any

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.secrets.secret_keys import pseudonym
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import ConfirmationRequired, InvalidCursor
from connector_gateway.kit.models import format_timestamp

CONFIRMATION_SECONDS = 5 * 60.0
"""Seconds for which a token is valid."""

MAX_TOKEN = 500


@dataclass(frozen=True, eq=False, repr=False)
class Confirmations:
    """Issues and checks tokens, which are bound to a key, a connection, an operation and its parameters."""

    signer: CursorSigner
    clock: Clock

    def is_valid(self, token: str | None, *bound_to: Any) -> bool:
        """Return True if *token* was issued for *bound_to* and has not expired."""
        if token is None or len(token) > MAX_TOKEN:
            return False
        try:
            return float(self.signer.read(token, *bound_to)["until"]) > self.clock.now()
        except InvalidCursor:
            return False

    def required(self, token: str | None, dry_run: Any, connection_id: str, *bound_to: Any) -> ConfirmationRequired:
        """Return the error with the dry run and a token for *bound_to*, instead of an invalid *token*."""
        until = self.clock.now() + CONFIRMATION_SECONDS
        message = "A person has to confirm this call."
        if token is not None:
            message = f"The confirmation has expired, or is for another call. {message}"
        return ConfirmationRequired(
            message,
            {
                "connection_id": connection_id,
                "confirmation_token": self.signer.issue({"until": until}, *bound_to),
                "expires_at": format_timestamp(utc_datetime(until)),
            },
            dry_run=dry_run,
        )


def confirmed_key(token: str) -> NormalizedKey:
    """Return the idempotency key of a confirmed call without one, so that a token is used for one write only."""
    return NormalizedKey.parse(f"confirmation {pseudonym(token)}")
