"""Event deliveries: their content and their signatures."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import aiohttp

from workspace_sandbox.chat.data.state import Team
from workspace_sandbox.kit import webhook_sender
from workspace_sandbox.kit.clock import underlying_time
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import SlidingWindow
from workspace_sandbox.kit.webhook_sender import REORDER_DELAY_SECONDS, HookSender, OutgoingHook, Verdict

SIGNING_SECRET = "8d1e5c0b7a9f4e6d2c3b1a0f9e8d7c6b"  # noqa: S105 - signs only the emulator's events
VERIFICATION_TOKEN = "Nw0rthW1ndSandb0xEvents1"  # noqa: S105 - the vendor's older, unsafe proof of origin

MAX_REDIRECTS = 2


class WebhookSender:
    """Sends events to the URL in the knob ``events_url`` in the background."""

    def __init__(self, context: EmulatorContext, sender: HookSender) -> None:
        self._context = context
        self._hooks = sender
        self._count = 0
        self._hour: SlidingWindow | None = None
        self._warned_minute = 0

    def deliver(self, team: Team, event: dict[str, Any]) -> None:
        """Deliver an *event* of *team*, or a rate-limit event if there were too many in this hour."""
        if not self._context.knobs["events_url"]:
            return
        now = self._context.clock.now()
        if self._take(now):
            # Each copy has its own ID. Users observed the same message under several IDs, without a retry header.
            for _ in range(2 if self._context.knobs["deliver_twice"] else 1):
                self._send(self._envelope(team, event, now))
        elif (minute := int(now // 60)) != self._warned_minute:
            self._warned_minute = minute
            limited = {"type": "app_rate_limited", "token": VERIFICATION_TOKEN, "minute_rate_limited": minute * 60}
            self._send(limited | {"team_id": team.id, "api_app_id": team.app_id})

    def verify(self) -> str:
        """Send a challenge to the URL and return the value that it must respond with."""
        challenge = hashlib.sha256(f"{self._context.random.random()}".encode()).hexdigest()
        self._send({"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": challenge})
        return challenge

    def _take(self, now: float) -> bool:
        max_events = self._context.knobs["events_per_hour"]
        if self._hour is None or self._hour.limit != max_events:
            self._hour = SlidingWindow(max_events, 3600)
        return self._hour.spend(now) == 0

    def _envelope(self, team: Team, event: dict[str, Any], now: float) -> dict[str, Any]:
        """Return the envelope of the event.

        IDs are derived from the time, so that they are not reused after a reset.
        """
        self._count += 1
        micros = int(now * 1_000_000)
        installation = {"enterprise_id": None, "team_id": team.id, "user_id": team.bot_user_id}
        context = json.dumps({"et": event["type"], "tid": team.id, "aid": team.app_id, "n": self._count})
        return {
            "token": VERIFICATION_TOKEN,
            "team_id": team.id,
            "context_team_id": team.id,
            "context_enterprise_id": None,
            "api_app_id": team.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{micros:014X}{self._count:04X}",
            "event_time": int(now),
            "authorizations": [installation | {"is_bot": True, "is_enterprise_install": False}],
            "is_ext_shared_channel": False,
            "event_context": f"4-{base64.b64encode(context.encode()).decode()}",
        }

    def _send(self, body: dict[str, Any]) -> None:
        knobs = self._context.knobs
        if not knobs["events_url"]:
            return
        # Encoded once, because the signature covers the exact bytes and retries must send the same ones.
        raw = json.dumps(body, separators=(",", ":")).encode()
        challenge: str | None = body.get("challenge")

        def write(number: int, reason: str | None) -> tuple[bytes, Mapping[str, str]]:
            again = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason} if reason else {}
            return raw, self._signed(raw) | again

        async def judge(response: aiohttp.ClientResponse) -> Verdict:
            (reason, _), text = await webhook_sender.judge(response), await response.text(errors="replace")
            if reason is None and challenge and challenge not in _repeated(text):
                reason = "challenge_mismatch"
            # The documented way for receivers to prevent retries of an event.
            return reason, response.headers.get("X-Slack-No-Retry") != "1"

        self._hooks.send(
            OutgoingHook(
                event_id=body.get("event_id", ""),
                type=body.get("event", body)["type"],
                url=knobs["events_url"],
                write=write,
                judge=judge,
                # The Events API documents retries only for events, not for the challenge.
                retry_delays=knobs["retry_seconds"] if "event" in body else (),
                ack_seconds=knobs["ack_seconds"],
                first_attempt=0,
                delay_seconds=REORDER_DELAY_SECONDS if knobs["deliver_disordered"] and self._count % 2 else 0.0,
                redirects=MAX_REDIRECTS,
            )
        )

    def _signed(self, raw: bytes) -> dict[str, str]:
        # Signed for each attempt, because receivers reject signatures older than five minutes. Receivers do not use the
        # sandbox's clock.
        timestamp = str(int(underlying_time(self._context.clock)))
        signature = hmac.new(SIGNING_SECRET.encode(), f"v0:{timestamp}:".encode() + raw, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": f"v0={signature}",
        }


def _repeated(text: str) -> list[Any]:
    """Return the possible values in a challenge response: plain text, a form field or a JSON field."""
    candidates: list[Any] = [text.strip(), *parse_qs(text).get("challenge", [])]
    try:
        body = json.loads(text)
    except ValueError:
        return candidates
    return [*candidates, body.get("challenge")] if isinstance(body, dict) else candidates
