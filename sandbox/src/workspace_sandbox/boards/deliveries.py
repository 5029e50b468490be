"""Webhook deliveries, with their matching, signatures and retries."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import BOARD, CARD, LIST, MEMBER, ORGANIZATION, select_fields
from workspace_sandbox.boards.data.objects import Action, Board, Card, CardList, Member, Organization
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.oauth.server import Token
from workspace_sandbox.kit.webhook_sender import HookAttempt, HookSender, OutgoingHook

Model = Board | CardList | Card | Member | Organization
GONE = 410
MAX_FAILURES = 1000
"""Number of consecutive failures after which a webhook is deactivated."""


@dataclass(slots=True, kw_only=True)
class Webhook:
    """A webhook for the events of a board, list, card, member or organization. It belongs to a token."""

    id: str
    token: Token
    model: Model
    url: str
    description: str = ""
    active: bool = True
    failures: int = 0
    failing_since: float | None = None

    def raw(self) -> dict[str, Any]:
        """Return the vendor's webhook object."""
        return {
            "id": self.id,
            "description": self.description,
            "idModel": self.model.id,
            "callbackURL": self.url,
            "active": self.active,
            "consecutiveFailures": self.failures,
            "firstConsecutiveFailDate": None if self.failing_since is None else format_timestamp(self.failing_since),
        }

    def matches(self, action: Action) -> bool:
        """Return True if *action* affects the webhook's model and is visible to its member."""
        keys = ("list", "listBefore", "listAfter", "card")
        affected_ids = {action.board.id, action.author.member.id, *(action.data.get(one, {}).get("id") for one in keys)}
        affected_ids |= {action.board.organization.id} if action.board.organization else set()
        return self.active and self.model.id in affected_ids and self.token.grant.account.id in action.board.members


class WebhookSender:
    """Sends actions to webhooks."""

    def __init__(self, context: EmulatorContext, hooks: HookSender) -> None:
        self._context = context
        self._hooks = hooks

    def deliver(self, webhooks: dict[str, Webhook], action: Action) -> None:
        """Send *action* to all matching webhooks."""
        for webhook in list(webhooks.values()):
            if webhook.matches(action):
                self._hooks.send(self._create_hook(webhooks, webhook, action))

    async def probe(self, url: str) -> int | None:
        """Send a HEAD request to *url* and return the status of its response, or None."""
        return await self._hooks.probe("HEAD", url, self._context.knobs["webhook_ack_seconds"])

    def _create_hook(self, webhooks: dict[str, Webhook], webhook: Webhook, action: Action) -> OutgoingHook:
        payload = {
            "action": object_json.action(action, Arguments({})),
            "model": _describe_model(webhook.model),
            "webhook": webhook.raw(),
        }
        raw = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        secret = APP.secret.encode()
        digest = hmac.new(secret, raw + webhook.url.encode(), hashlib.sha1).digest()
        headers = {"X-Trello-Webhook": base64.b64encode(digest).decode()}

        def on_attempt(delivery: HookAttempt) -> bool:
            if delivery.status == GONE:
                webhooks.pop(webhook.id, None)
            self._count(webhook, delivery)
            return webhook.id in webhooks

        return OutgoingHook(
            event_id=action.id,
            type=action.type,
            url=webhook.url,
            write=lambda *_: (raw, headers),
            retry_delays=self._context.knobs["webhook_retry_seconds"],
            ack_seconds=self._context.knobs["webhook_ack_seconds"],
            on_attempt=on_attempt,
        )

    def _count(self, webhook: Webhook, delivery: HookAttempt) -> None:
        if delivery.reason is None:
            webhook.failures, webhook.failing_since = 0, None
            return
        webhook.failures += 1
        webhook.failing_since = webhook.failing_since or self._context.clock.now()
        webhook.active = webhook.failures < MAX_FAILURES


def _describe_model(model: Model) -> dict[str, Any]:
    match model:
        case Board():
            return select_fields(BOARD, model)
        case CardList():
            return select_fields(LIST, model)
        case Card():
            return select_fields(CARD, model)
        case Member():
            return select_fields(MEMBER, model)
        case Organization():
            return select_fields(ORGANIZATION, model)
