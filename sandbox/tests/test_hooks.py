"""Event deliveries of all applications: success, retries and the delivery log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from socket import create_server
from typing import Any

import pytest
from aiohttp import web

from harness.clocks import ManualClock
from harness.webhook_receiver import Answer, Inbox
from workspace_sandbox import EMULATORS, Sandbox
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.webhook_sender import HookSender, OutgoingHook

FAILED: Answer = (500, {}, b"")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0.0)


@pytest.fixture
async def hooks(clock: ManualClock) -> AsyncIterator[HookSender]:
    sender, application = HookSender(EmulatorContext(clock)), web.Application()
    await sender.start(application)
    yield sender
    await sender.stop(application)


def hook(url: str, **more: Any) -> OutgoingHook:
    usual = OutgoingHook(
        event_id="e1",
        type="made",
        url=url,
        write=lambda number, reason: (f"{number} {reason}".encode(), {}),
        ack_seconds=5,
    )
    return replace(usual, **more)


async def sent(hooks: HookSender, sending: OutgoingHook) -> Sequence[tuple[int, int | None, str | None]]:
    """The attempts that there were: their numbers, statuses and reasons."""
    hooks.send(sending)
    await asyncio.sleep(0)
    # Not all tasks of the loop: a browser that shares it has some that never end.
    await asyncio.gather(*hooks._tasks)
    return [(one.attempt, one.status, one.reason) for one in hooks.log]


async def test_a_failed_delivery_is_retried_after_each_delay(
    hooks: HookSender, clock: ManualClock, inbox: Inbox
) -> None:
    inbox.answers += [FAILED] * 2
    attempts = await sent(hooks, hook(inbox.address, retry_delays=[60, 300, 900]))

    assert [(1, 500, "http_error"), (2, 500, "http_error"), (3, 200, None)] == attempts
    assert [b"1 None", b"2 http_error", b"3 http_error"] == [inbox.take()[1] for _ in range(3)]
    assert 360 == clock.at


async def test_a_delivery_is_dropped_after_the_last_retry(hooks: HookSender, inbox: Inbox) -> None:
    inbox.answers += [FAILED] * 3

    assert 2 == len(await sent(hooks, hook(inbox.address, retry_delays=[1])))


@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_every_2xx_status_counts_as_delivered(hooks: HookSender, inbox: Inbox, status: int) -> None:
    inbox.answers.append((status, {}, b""))

    assert [(1, status, None)] == await sent(hooks, hook(inbox.address, retry_delays=[1]))


@pytest.mark.parametrize("answer", [FAILED, (404, {}, b""), (307, {"Location": "/elsewhere"}, b"")])
async def test_every_other_status_counts_as_failed(hooks: HookSender, inbox: Inbox, answer: Answer) -> None:
    inbox.answers.append(answer)

    assert [(1, answer[0], "http_error")] == await sent(hooks, hook(inbox.address))


@pytest.mark.parametrize(("url", "reason"), [("http://127.0.0.1:1/", "connection_failed"), ("no", "unknown_error")])
async def test_an_unreachable_url_counts_as_failed(hooks: HookSender, url: str, reason: str) -> None:
    assert [(1, None, reason)] == await sent(hooks, hook(url))


async def test_a_silent_receiver_times_out(hooks: HookSender) -> None:
    with create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

        assert [(1, None, "http_timeout")] == await sent(hooks, hook(url, ack_seconds=0.05))


async def test_a_delivered_event_can_be_duplicated(hooks: HookSender, inbox: Inbox) -> None:
    assert [(1, 200, None), (2, 200, None)] == await sent(hooks, hook(inbox.address, repeats_success=True))


async def test_an_attempt_callback_can_stop_the_retries(hooks: HookSender, inbox: Inbox) -> None:
    inbox.answers.append(FAILED)

    assert 1 == len(await sent(hooks, hook(inbox.address, retry_delays=[1], on_attempt=lambda _: False)))


@pytest.mark.parametrize("name", [name for name, one in EMULATORS.items() if "deliveries" in one.user_actions])
def test_the_deliveries_are_listed(name: str) -> None:
    emulator = Sandbox({name: EMULATORS[name]}).emulators[name]

    assert {"deliveries": []} == emulator.perform({"action": "deliveries"})
