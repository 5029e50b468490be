"""A gateway with the chat room and its stand-in, with budgets opened wide."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from connector_gateway.connectors.chat import CHAT
from connector_gateway.connectors.chat.emulator import ChatEmulator
from connector_gateway.kit.budget import Budget
from harness.playing import playing
from harness.serving import Gateway, serving

UNHURRIED = replace(CHAT, budgets={name: Budget(100_000, per_seconds=1) for name in CHAT.budgets})


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(chat=ChatEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("chat"), connectors={"chat": UNHURRIED}) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("chat")
    return room
