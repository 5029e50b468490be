"""Webhooks of boards: who hears of an action, and how it is signed and tried again."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.fields import BOARD, CARD, LIST, MEMBER, ORGANIZATION, pick
from workspace_sandbox.boards.state import Action, Board, Card, CardList, Member, Organization, stamp
from workspace_sandbox.kit.hooks import Delivery, HookSender, OutgoingHook
from workspace_sandbox.kit.oauth import Token
from workspace_sandbox.kit.stage import EmulatorContext

Model = Board | CardList | Card | Member | Organization
GONE = 410
MOST_FAILURES = 1000
"""In a row, after which a webhook is switched off."""


@dataclass(slots=True, kw_only=True)
class Webhook:
    """An address that hears of one board, list, card, member or organization; it belongs to a token."""

    id: str
    token: Token
    model: Model
    url: str
    description: str = ""
    active: bool = True
    failures: int = 0
    failing_since: float | None = None

    def raw(self) -> dict[str, Any]:
        """The webhook object of the vendor."""
        return {
            "id": self.id,
            "description": self.description,
            "idModel": self.model.id,
            "callbackURL": self.url,
            "active": self.active,
            "consecutiveFailures": self.failures,
            "firstConsecutiveFailDate": None if self.failing_since is None else stamp(self.failing_since),
        }

    def hears(self, action: Action) -> bool:
        """Whether *action* is about its model, and its member may know of it."""
        places = ("list", "listBefore", "listAfter", "card")
        about = {action.board.id, action.author.member.id, *(action.data.get(one, {}).get("id") for one in places)}
        about |= {action.board.organization.id} if action.board.organization else set()
        return self.active and self.model.id in about and self.token.grant.account.id in action.board.members


class Deliverer:
    """Tells webhooks of actions."""

    def __init__(self, stage: EmulatorContext, hooks: HookSender) -> None:
        self._stage = stage
        self._hooks = hooks

    def tell(self, webhooks: dict[str, Webhook], action: Action) -> None:
        """Send *action* to whoever hears of it."""
        for webhook in list(webhooks.values()):
            if webhook.hears(action):
                self._hooks.send(self._letter(webhooks, webhook, action))

    async def accepts(self, url: str) -> int | None:
        """What the address answers to the question whether it is there."""
        return await self._hooks.probe("HEAD", url, self._stage.knobs["webhook_ack_seconds"])

    def _letter(self, webhooks: dict[str, Webhook], webhook: Webhook, action: Action) -> OutgoingHook:
        told = {"action": views.action(action, Arguments({})), "model": _shown(webhook.model), "webhook": webhook.raw()}
        raw = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        secret = APP.secret.encode()
        digest = hmac.new(secret, raw + webhook.url.encode(), hashlib.sha1).digest()
        signed = {"X-Trello-Webhook": base64.b64encode(digest).decode()}

        def tried(delivery: Delivery) -> bool:
            if delivery.status == GONE:
                webhooks.pop(webhook.id, None)
            self._count(webhook, delivery)
            return webhook.id in webhooks

        return OutgoingHook(
            event_id=action.id,
            type=action.type,
            url=webhook.url,
            write=lambda *_: (raw, signed),
            pauses=self._stage.knobs["webhook_retry_seconds"],
            ack_seconds=self._stage.knobs["webhook_ack_seconds"],
            tried=tried,
        )

    def _count(self, webhook: Webhook, delivery: Delivery) -> None:
        if delivery.reason is None:
            webhook.failures, webhook.failing_since = 0, None
            return
        webhook.failures += 1
        webhook.failing_since = webhook.failing_since or self._stage.clock.now()
        webhook.active = webhook.failures < MOST_FAILURES


def _shown(model: Model) -> dict[str, Any]:
    match model:
        case Board():
            return pick(BOARD, model)
        case CardList():
            return pick(LIST, model)
        case Card():
            return pick(CARD, model)
        case Member():
            return pick(MEMBER, model)
        case Organization():
            return pick(ORGANIZATION, model)
