"""Several sandboxes on one machine."""

import ipaddress
from collections.abc import Iterator

import httpx
import pytest

from harness.wait import wait_until
from workspace_sandbox.in_process_sandbox import RunningSandbox, run_sandbox


@pytest.fixture(scope="module")
def one() -> Iterator[RunningSandbox]:
    with run_sandbox("chat", "tables") as started:
        yield started


def last_text(sandbox: RunningSandbox) -> str:
    channel = sandbox.chat._emulator.workspace.channels[sandbox.chat.examples["channel_id"]]  # type: ignore[attr-defined]
    return str(next(channel.newest_first()).text)


def test_two_sandboxes_are_isolated(one: RunningSandbox) -> None:
    with run_sandbox("chat") as other:
        before = last_text(other)
        one.chat.act("message", channel_id=one.chat.examples["channel_id"], text="Only here")
        one.chat.fault("throttle", path="/api")
        one.clock.freeze()

        assert ("Only here", before) == (last_text(one), last_text(other))
        assert [] == other.chat._emulator.context.faults
        assert other._sandbox.clock.stopped_at is None
        assert {one.url, *one.chat.urls.values()}.isdisjoint({other.url, *other.chat.urls.values()})


def test_every_listener_is_on_loopback(one: RunningSandbox) -> None:
    hosts = {host for runner in one._sandbox._runners for host, _ in runner.addresses}

    assert 4 == len(one._sandbox._runners)
    assert all(ipaddress.ip_address(host).is_loopback for host in hosts)


def test_delayed_requests_are_cancelled_with_the_sandbox() -> None:
    with run_sandbox("chat") as ending:
        context = ending.chat._emulator.context
        ending.chat.fault("delay", path="/api/auth.test", seconds=60)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{ending.chat.url}/api/auth.test", timeout=0.2)
        wait_until(lambda: context._delays)
        (delayed,) = context._delays

    assert delayed.cancelled()
