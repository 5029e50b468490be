"""The events sender: signs, sends, waits briefly, tries again, and writes down how it went."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import aiohttp

from workspace_sandbox.chat.state import Team
from workspace_sandbox.kit.clock import now_below
from workspace_sandbox.kit.journal import Journal
from workspace_sandbox.kit.sending import HOLD_SECONDS, JOURNAL_LENGTH, Background
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.kit.throttling import SlidingWindow

SIGNING_SECRET = "8d1e5c0b7a9f4e6d2c3b1a0f9e8d7c6b"  # noqa: S105 - signs nothing but the stand-in's events
VERIFICATION_TOKEN = "Nw0rthW1ndSandb0xEvents1"  # noqa: S105 - the vendor's older, unsafe proof of origin

MOST_REDIRECTS = 2


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt: the answer's status, and why it failed, if it did."""

    event_id: str
    type: str
    attempt: int
    status: int | None
    reason: str | None
    may_retry: bool = True


class Envelope:
    """What is sent, to where, as it was when it happened."""

    def __init__(self, url: str, body: dict[str, Any]) -> None:
        self.url = url
        # Kept as bytes: the signature covers them exactly, and every retry has to send the same.
        self.raw = json.dumps(body, separators=(",", ":")).encode()
        self.holds_event = "event" in body
        self.type: str = body.get("event", body)["type"]
        self.event_id: str = body.get("event_id", "")
        self.challenge: str | None = body.get("challenge")


class Deliverer:
    """Sends events to the knob ``events_url``, in the background."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.background = Background()
        self.forget()

    def forget(self) -> None:
        """Drop what is under way, and begin the counts and the journal again."""
        self._count = 0
        self._hour: SlidingWindow | None = None
        self._warned_minute = 0
        self.journal: Journal[Delivery] = Journal(JOURNAL_LENGTH)
        self.background.drop()

    def tell(self, team: Team, event: dict[str, Any]) -> None:
        """Deliver an *event* of *team*, or the remark that there were too many this hour."""
        if not self._stage.knobs["events_url"]:
            return
        now = self._stage.clock.now()
        if self._take(now):
            # Each copy has an identifier of its own: users saw one message under several, without any retry header.
            for _ in range(2 if self._stage.knobs["deliver_twice"] else 1):
                self._send(self._envelope(team, event, now))
        elif (minute := int(now // 60)) != self._warned_minute:
            self._warned_minute = minute
            limited = {"type": "app_rate_limited", "token": VERIFICATION_TOKEN, "minute_rate_limited": minute * 60}
            self._send(limited | {"team_id": team.id, "api_app_id": team.app_id})

    def verify(self) -> str:
        """Ask the address to prove itself; the challenge that it has to repeat."""
        challenge = hashlib.sha256(f"{self._stage.random.random()}".encode()).hexdigest()
        self._send({"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": challenge})
        return challenge

    def _take(self, now: float) -> bool:
        most = self._stage.knobs["events_per_hour"]
        if self._hour is None or self._hour.limit != most:
            self._hour = SlidingWindow(most, 3600)
        return self._hour.take(now) == 0

    def _envelope(self, team: Team, event: dict[str, Any], now: float) -> dict[str, Any]:
        """The event's envelope; ids count on from the instant, so that none returns after a reset."""
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
        url = self._stage.knobs["events_url"]
        if not url:
            return
        held = HOLD_SECONDS if self._stage.knobs["deliver_disordered"] and self._count % 2 else 0.0
        self.background.begin(self._deliver, Envelope(url, body), held)

    async def _deliver(self, envelope: Envelope, held: float) -> None:
        if held:
            await self._stage.clock.sleep(held)
        tried = await self._attempt(envelope, 0, None)
        # The page on the Events API tells of retries for events only, not for the handshake.
        pauses = self._stage.knobs["retry_seconds"] if envelope.holds_event else []
        for number, pause in enumerate(pauses, 1):
            if tried.reason is None or not tried.may_retry:
                return
            await self._stage.clock.sleep(pause)
            tried = await self._attempt(envelope, number, tried.reason)

    async def _attempt(self, envelope: Envelope, number: int, reason: str | None) -> Delivery:
        """Send once; *reason* is why the attempt before failed."""
        # A reset in the meantime begins another journal, which this is not for.
        journal = self.journal
        headers = self._signed(envelope.raw)
        if reason is not None:
            headers |= {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason}
        tried = await self._post(envelope, number, headers)
        journal.append(tried)
        return tried

    async def _post(self, envelope: Envelope, number: int, headers: dict[str, str]) -> Delivery:
        within = aiohttp.ClientTimeout(total=self._stage.knobs["ack_seconds"])
        status: int | None = None
        reason: str | None
        may_retry = True
        try:
            # aiohttp refuses the last of the redirects it is allowed.
            async with self.background.session.post(
                envelope.url, data=envelope.raw, headers=headers, timeout=within, max_redirects=MOST_REDIRECTS + 1
            ) as answer:
                status = answer.status
                reason = _fault(envelope, answer, await answer.text(errors="replace"))
                # The documented way to refuse an event for good.
                may_retry = answer.headers.get("X-Slack-No-Retry") != "1"
        except TimeoutError:
            reason = "http_timeout"
        except aiohttp.TooManyRedirects:
            reason = "too_many_redirects"
        except aiohttp.ClientSSLError:
            reason = "ssl_error"
        except aiohttp.ClientConnectionError:
            reason = "connection_failed"
        except (aiohttp.ClientError, ValueError):
            reason = "unknown_error"
        return Delivery(envelope.event_id, envelope.type, number, status, reason, may_retry)

    def _signed(self, raw: bytes) -> dict[str, str]:
        # Signed again for each attempt: receivers reject signatures that are more than five minutes old. Receivers do
        # not go by a clock that was steered.
        timestamp = str(int(now_below(self._stage.clock)))
        signature = hmac.new(SIGNING_SECRET.encode(), f"v0:{timestamp}:".encode() + raw, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": f"v0={signature}",
        }


def _fault(envelope: Envelope, answer: aiohttp.ClientResponse, text: str) -> str | None:
    """Why *answer* does not count; none if it does."""
    if not 200 <= answer.status < 300:
        return "http_error"
    kept = envelope.challenge is None or envelope.challenge in _repeated(text)
    return None if kept else "challenge_mismatch"


def _repeated(text: str) -> list[Any]:
    """What an answer to a challenge may be meant to repeat: plain, as a form, or as JSON."""
    found: list[Any] = [text.strip(), *parse_qs(text).get("challenge", [])]
    try:
        body = json.loads(text)
    except ValueError:
        return found
    return [*found, body.get("challenge")] if isinstance(body, dict) else found
