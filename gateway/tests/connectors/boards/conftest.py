"""A desk: one card of its own, and the gateways in front of it."""

import pytest

from gateway.tests.connectors.boards.desk import Desk, Move
from gateway.tests.connectors.conftest import Beside
from harness.gateway_server import Gateway


@pytest.fixture
def desk(gateway: Gateway) -> Desk:
    list_id = gateway.examples("boards")["list_ids"][0]
    card_id = gateway.act("boards", action="create_card", list_id=list_id, name="Fresh card")["card_id"]
    return Desk(gateway, card_id)


@pytest.fixture
def impatient(beside: Beside) -> Move:
    """Makes a desk whose gateway waits a second at most for a turn, and whose budgets are nobody else's."""
    gateway = beside(GATEWAY_QUEUE_SECONDS="1", GATEWAY_RUN_SECONDS="1")
    return lambda desk: Desk(gateway, desk.card_id)


@pytest.fixture
def unsettled(beside: Beside) -> Move:
    """Makes a desk in front of an application that may work on a request for a minute."""
    gateway = beside(GATEWAY_BOARDS_SETTLE_SECONDS="60")
    return lambda desk: Desk(gateway, desk.card_id)


@pytest.fixture
def afresh(beside: Beside) -> Move:
    """Makes a desk whose gateway remembers nothing of what the other has done."""
    gateway = beside()
    return lambda desk: Desk(gateway, desk.card_id)
