"""The webhook subscription of a connection, and the content of its events."""

import hashlib
import hmac
from typing import Any

from workspace_sandbox.notes.data import dates, webhook_event_contents
from workspace_sandbox.notes.data.state import Change, User, Workspace

API_VERSION = "2026-03-11"
TOKEN_LENGTH = 43
VERIFICATION_TOKEN = "secret_Vb7LqX2nTzR9wKc4MfYp8HsJd1Gu6EaNo3CiWxPyQ5t"  # noqa: S105  # signs only the emulator's events


class Subscription:
    """A webhook subscription. Its token verifies the URL, and then signs the events.

    With a *token* that was verified earlier, it is active from the start.

    """

    def __init__(self, workspace: Workspace, bot: User, token: str | None = None) -> None:
        self._workspace = workspace
        self.bot = bot
        self.id = workspace.new_id()
        self.token = token or workspace.new_secret("secret_", TOKEN_LENGTH)
        self.state = "active" if token else "pending_verification"

    def verify(self, token: Any) -> None:
        """Activate the subscription with the token that was sent to its URL."""
        if token != self.token:
            raise ValueError("that is not the verification token which was sent to the address")
        self.state = "active"

    def matches(self, change: Change) -> bool:
        """Return True if *change* is sent: the subscription is active, and the object is shared with its connection."""
        return self.state == "active" and self._workspace.can_access(self.bot, change.entity)

    def signature(self, raw: bytes) -> str:
        """Return the signature of a body."""
        return "sha256=" + hmac.new(self.token.encode(), raw, hashlib.sha256).hexdigest()

    def body(self, change: Change, event_id: str, attempt: int) -> dict[str, Any]:
        """Return the body of the event about *change*."""
        return {
            "id": event_id,
            "timestamp": dates.format_event_time(change.at),
            "workspace_id": self._workspace.id,
            "workspace_name": self._workspace.name,
            "subscription_id": self.id,
            "integration_id": self.bot.integration_id,
            "authors": [self._user(uid) for uid in change.author_ids],
            **self._accessible_by(),
            "attempt_number": attempt,
            "api_version": API_VERSION,
            "type": change.type,
            "entity": {"id": change.entity.id, "type": change.type.partition(".")[0]},
            "data": webhook_event_contents.data(self._workspace, change),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the subscription's public fields."""
        return {"subscription_id": self.id, "state": self.state}

    def _accessible_by(self) -> dict[str, Any]:
        """Return the authorisations that can access the object. Only a public connection may have several."""
        owner_id = self.bot.owner_id
        return {"accessible_by": [self._user(owner_id), self._user(self.bot.id)]} if owner_id else {}

    def _user(self, uid: str) -> dict[str, str]:
        return {"id": uid, "type": self._workspace.users[uid].kind}
