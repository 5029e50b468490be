"""Webhooks as most vendors send them: signed for each attempt, tried again after pauses, and written down."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import aiohttp

from workspace_sandbox.kit.journal import Journal
from workspace_sandbox.kit.sending import JOURNAL_LENGTH, Background
from workspace_sandbox.kit.stage import Stage


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt: the answer's status, and why it failed, if it did."""

    event_id: str
    type: str
    attempt: int
    status: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What is sent, and to whom; ``written`` gives body and headers of an attempt, counted from 1."""

    event_id: str
    type: str
    url: str
    written: Callable[[int], tuple[bytes, Mapping[str, str]]]
    pauses: Iterable[float]
    ack_seconds: float
    tried: Callable[[Delivery], bool] = lambda _: True
    """Told of each attempt; whether another one may follow."""


class Hooks:
    """Sends letters in the background of an application."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.background = Background()
        self.forget()

    def forget(self) -> None:
        """Drop what is under way, and begin the journal again."""
        self.journal: Journal[Delivery] = Journal(JOURNAL_LENGTH)
        self.background.drop()

    def send(self, letter: Letter) -> None:
        """Send *letter*, from whichever thread."""
        self.background.begin(self._deliver, letter)

    async def answers(self, method: str, url: str, seconds: float) -> int | None:
        """The status that *url* answers with; none where nobody does."""
        within = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.background.session.request(method, url, timeout=within, allow_redirects=False) as answer:
                return answer.status
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None

    async def _deliver(self, letter: Letter) -> None:
        # A reset in the meantime begins another journal, which this is not for.
        journal, number = self.journal, 1
        for pause in (0.0, *letter.pauses):
            await self._stage.clock.sleep(pause)
            status, reason = await self._post(letter, number)
            tried = Delivery(letter.event_id, letter.type, number, status, reason)
            journal.append(tried)
            number += 1
            if not letter.tried(tried) or reason is None:
                return

    async def _post(self, letter: Letter, number: int) -> tuple[int | None, str | None]:
        raw, headers = letter.written(number)
        within = aiohttp.ClientTimeout(total=letter.ack_seconds)
        sent = {"Content-Type": "application/json", **headers}
        try:
            async with self.background.session.post(
                letter.url, data=raw, headers=sent, timeout=within, allow_redirects=False
            ) as answer:
                return answer.status, None if 200 <= answer.status < 300 else "http_error"
        except TimeoutError:
            return None, "http_timeout"
        except (aiohttp.ClientError, ValueError):
            return None, "connection_failed"
