"""Webhook deliveries, which are signed for each attempt, retried and recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.request_log import RequestLog

MAX_LOG_ENTRIES = 10_000
"""Maximum number of recorded delivery attempts."""

REORDER_DELAY_SECONDS = 0.25
"""Seconds by which every second event is delayed if events are to arrive out of order."""

CONNECTION_ERRORS: Mapping[type[Exception], str] = {
    TimeoutError: "http_timeout",
    aiohttp.TooManyRedirects: "too_many_redirects",
    aiohttp.ClientSSLError: "ssl_error",
    aiohttp.ClientConnectionError: "connection_failed",
    Exception: "unknown_error",
}
"""Failure reasons of attempts without a response, most specific first."""


@dataclass(frozen=True, slots=True)
class HookAttempt:
    """A delivery attempt, with the status of its response and the failure reason."""

    event_id: str
    type: str
    attempt: int
    status: int | None
    reason: str | None


Verdict = tuple[str | None, bool]
"""The failure reason of an attempt, and whether the vendor would retry it."""


async def judge(response: aiohttp.ClientResponse) -> Verdict:
    """Accept every successful status."""
    return None if 200 <= response.status < 300 else "http_error", True


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingHook:
    """An outgoing hook.

    ``write`` returns the body and headers for the number of an attempt and the last failure reason.
    """

    event_id: str
    type: str
    url: str
    write: Callable[[int, str | None], tuple[bytes, Mapping[str, str]]]
    retry_delays: Iterable[float] = ()
    ack_seconds: float
    first_attempt: int = 1
    """Number of the first attempt."""
    delay_seconds: float = 0.0
    """Seconds before the first attempt."""
    repeats_success: bool = False
    """Whether a successful first attempt is repeated."""
    redirects: int = 0
    judge: Callable[[aiohttp.ClientResponse], Awaitable[Verdict]] = judge
    on_attempt: Callable[[HookAttempt], bool] = lambda _: True
    """Called with each attempt. Returns whether another attempt may follow."""


class HookSender:
    """Sends hooks and runs other work in the background of a web application."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.reset()

    async def start(self, _: web.Application) -> None:
        """Bind to the running event loop."""
        self._loop = asyncio.get_running_loop()

    async def stop(self, _: web.Application) -> None:
        """Cancel all pending work and close the HTTP session."""
        tasks = list(self._tasks)
        self._cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        self._loop = self._session = None

    @property
    def is_idle(self) -> bool:
        """Whether no work is pending."""
        return not self._tasks

    def reset(self) -> None:
        """Cancel all pending work, and clear the log."""
        self.log: RequestLog[HookAttempt] = RequestLog(MAX_LOG_ENTRIES)
        self.cancel_all()

    def cancel_all(self) -> None:
        """Cancel all pending work. Can be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel)

    def start_task(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Start *work*. Can be called from any thread, because user actions also arrive from a test's thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._spawn, work, *args)

    def send(self, hook: OutgoingHook) -> None:
        """Send *hook*. Can be called from any thread."""
        self.start_task(self._deliver, hook)

    async def probe(self, method: str, url: str, seconds: float) -> int | None:
        """Return the status of the response to an empty request, or None if there is none."""
        timeout = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._client.request(method, url, timeout=timeout, allow_redirects=False) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None

    def _spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        task = asyncio.get_running_loop().create_task(work(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    @property
    def _client(self) -> aiohttp.ClientSession:
        # Created on the event loop that uses it.
        self._session = self._session or aiohttp.ClientSession(headers={"Content-Type": "application/json"})
        return self._session

    async def _deliver(self, hook: OutgoingHook) -> None:
        # A reset in the meantime replaces the log, and this delivery belongs to the old one.
        log, reason = self.log, None
        for number, delay in enumerate((hook.delay_seconds, *hook.retry_delays), hook.first_attempt):
            if delay:
                await self._context.clock.sleep(delay)
            status, reason, may_retry = await self._post(hook, *hook.write(number, reason))
            attempt = HookAttempt(hook.event_id, hook.type, number, status, reason)
            log.append(attempt)
            if hook.repeats_success and reason is None and number == hook.first_attempt:
                status, second_reason, _ = await self._post(hook, *hook.write(number + 1, None))
                log.append(HookAttempt(hook.event_id, hook.type, number + 1, status, second_reason))
            if not hook.on_attempt(attempt) or not may_retry or reason is None:
                return

    async def _post(
        self, hook: OutgoingHook, content: bytes, headers: Mapping[str, str]
    ) -> tuple[int | None, str | None, bool]:
        request = self._client.post(
            hook.url,
            data=content,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=hook.ack_seconds),
            allow_redirects=hook.redirects > 0,
            # aiohttp raises an error on the last permitted redirect.
            max_redirects=hook.redirects + 1,
        )
        try:
            async with request as response:
                return response.status, *await hook.judge(response)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            return None, next(reason for kind, reason in CONNECTION_ERRORS.items() if isinstance(error, kind)), True


def ignore_event(*_: Any, **__: Any) -> None:
    """Ignore an event, as long as there is no listener."""
