"""The boards room behind the gateway, in front of its emulator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.boards.desk import Desk, Move
from harness.playing import playing
from harness.rooms import only
from harness.serving import Gateway, Restarting, serving
from harness.serving import restarting as serving_again
from workspace_sandbox.boards import BoardsEmulator


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(boards=BoardsEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("boards"), connectors=only("boards")) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("boards")
    return room


@pytest.fixture
def desk(gateway: Gateway) -> Desk:
    list_id = gateway.examples("boards")["list_ids"][0]
    card_id = gateway.act("boards", action="create_card", list_id=list_id, name="Fresh card")["card_id"]
    return Desk(gateway, card_id)


@pytest.fixture
def impatient(room: Gateway, tmp_path: Path) -> Iterator[Move]:
    """Makes a desk whose gateway waits a second at most for a turn, and whose budgets are nobody else's."""
    rooms = only("boards")
    with serving(
        room.sandbox, tmp_path, connectors=rooms, GATEWAY_QUEUE_SECONDS="1", GATEWAY_RUN_SECONDS="1"
    ) as gateway:
        yield lambda desk: Desk(gateway, desk.card_id)


@pytest.fixture
def unsettled(room: Gateway, tmp_path: Path) -> Iterator[Move]:
    """Makes a desk in front of an application that may work on a request for a minute."""
    with serving(room.sandbox, tmp_path, connectors=only("boards"), GATEWAY_BOARDS_SETTLE_SECONDS="60") as gateway:
        yield lambda desk: Desk(gateway, desk.card_id)


@pytest.fixture
def restarting(room: Gateway, tmp_path: Path) -> Restarting:
    """A gateway of its own that can be started again."""
    return serving_again(room.sandbox, tmp_path, connectors=only("boards"))


@pytest.fixture
def afresh(room: Gateway, tmp_path: Path) -> Iterator[Move]:
    """Makes a desk whose gateway remembers nothing of what the other has done."""
    with serving(room.sandbox, tmp_path, connectors=only("boards")) as gateway:
        yield lambda desk: Desk(gateway, desk.card_id)
