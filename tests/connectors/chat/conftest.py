"""A gateway with the chat room and its stand-in, with budgets opened wide."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.playing import playing
from harness.rooms import only
from harness.serving import Gateway, Restarting, serving
from harness.serving import restarting as serving_again
from workspace_sandbox.chat import ChatEmulator


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(chat=ChatEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("chat"), connectors=only("chat")) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("chat")
    return room


@pytest.fixture
def unsettled(room: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose application may work on a request for two seconds, longer than it is waited for."""
    settings: dict[str, Any] = {"GATEWAY_CHAT_SETTLE_SECONDS": "2", "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.5"}
    with serving(room.sandbox, tmp_path, connectors=only("chat"), **settings) as gateway:
        gateway.clear("chat")
        yield gateway


@pytest.fixture
def restarting(room: Gateway, tmp_path: Path) -> Restarting:
    """A gateway of its own that can be started again."""
    return serving_again(room.sandbox, tmp_path, connectors=only("chat"))
