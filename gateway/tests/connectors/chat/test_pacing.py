"""Requests of the chat connector within the vendor's budgets."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from connector_gateway.connectors.chat import CHAT
from gateway.tests.connectors.chat.vendor_view import PRIVATE, RANDOM
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.chat import ChatEmulator


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """One gateway per test, because a blocked budget stays blocked."""
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"chat": CHAT}) as gateway,
    ):
        yield gateway


@requirement("common-76")
def test_posts_to_one_channel_are_sent_one_second_apart(gateway: Gateway) -> None:
    def post(channel: str) -> float:
        return float(gateway.post("/chat/messages", channel=channel, text="paced").data["message_ts"])

    *paced, elsewhere = gateway.together(*[partial(post, RANDOM)] * 3, partial(post, PRIVATE))

    first, second, third = sorted(paced)
    assert second - first >= 1
    assert third - second >= 1
    assert elsewhere - first < 1
    assert 429 not in [status for _, _, status in gateway.journal("chat")]
