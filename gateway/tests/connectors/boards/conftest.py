"""A client with a card of its own, and clients of other gateways."""

import pytest

from gateway.tests.connectors.boards.card_client import CardClient, Switch
from gateway.tests.connectors.conftest import GatewayStarter
from harness.gateway_server import Gateway


@pytest.fixture
def client(gateway: Gateway) -> CardClient:
    list_id = gateway.examples("boards")["list_ids"][0]
    card_id = gateway.act("boards", action="create_card", list_id=list_id, name="Fresh card")["card_id"]
    return CardClient(gateway, card_id)


@pytest.fixture
def with_short_queue(start_gateway: GatewayStarter) -> Switch:
    """Returns a client of a gateway with separate budgets, which queues requests for at most a second."""
    gateway = start_gateway(GATEWAY_QUEUE_SECONDS="1", GATEWAY_RUN_SECONDS="1")
    return lambda client: CardClient(gateway, client.card_id)


@pytest.fixture
def with_long_settling(start_gateway: GatewayStarter) -> Switch:
    """Returns a client of a gateway that expects requests to take effect for up to a minute."""
    gateway = start_gateway(GATEWAY_BOARDS_SETTLE_SECONDS="60")
    return lambda client: CardClient(gateway, client.card_id)


@pytest.fixture
def with_empty_cache(start_gateway: GatewayStarter) -> Switch:
    """Returns a client of a gateway with an empty cache."""
    gateway = start_gateway()
    return lambda client: CardClient(gateway, client.card_id)
