"""Two customers, one chat workspace, two apps: deliveries reach only the authorised identity."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.tests.connectors.chat.event_feed import (
    APP,
    BOT_USER,
    TEAM,
    build_envelope,
    connect,
    deliver,
    events,
    get_status,
    message,
    read_texts,
    run_watching_gateway,
    wait_for_poll,
)
from gateway.tests.connectors.chat.vendor_view import EMPTY, PERSON, PRIVATE
from harness.gateway_server import Gateway
from harness.requirement import requirement
from harness.wait import wait_until
from harness.watch_state import settle, watch_of
from workspace_sandbox.chat.access import VISITOR_TOKEN
from workspace_sandbox.chat.data.default_data import VISITOR

NAMED = {"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}
MANY = 1000


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_watching_gateway(tmp_path_factory.mktemp("tenants"), GATEWAY_CHAT_WATCH_SECONDS="3600") as gateway:
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    module_gateway.clear("chat")
    module_gateway.authorise("chat")
    module_gateway.knob("chat", events_url="")
    return module_gateway


@pytest.fixture
def other_connection(gateway: Gateway) -> str:
    """Create a connection of the other app in another customer's workspace."""
    workspace_id = gateway.operator("POST", "/v1/workspaces", json={"name": "B"}).data["workspace_id"]
    body = {"workspace_id": workspace_id, "connector": "chat", "credentials": {"token": VISITOR_TOKEN}}
    connection_id: str = gateway.operator("POST", "/v1/connections", json=body).data["connection_id"]
    gateway.loop.call_soon_threadsafe(gateway.app._watches.wake_event.set)
    wait_until(lambda: watch_of(gateway, connection_id).account is not None)
    settle(gateway, connection_id)
    return connection_id


def list_stored_texts(gateway: Gateway, connection_id: str) -> list[str]:
    """Return the texts in the feed of any customer's connection."""
    rows, _ = gateway.run(gateway.app._feed.latest(connection_id))
    return [row["data"]["text"] for row in rows]


@requirement("chat-53", "connections-33")
def test_a_private_message_reaches_only_the_named_bot(gateway: Gateway, other_connection: str) -> None:
    ours = connect(gateway)
    deliver(gateway, build_envelope(message(PRIVATE, "for A only", channel_type="group")))

    assert ["for A only"] == read_texts(gateway, ours)
    assert [] == list_stored_texts(gateway, other_connection)


@requirement("chat-53", "connections-33")
@pytest.mark.parametrize(
    "more",
    [
        {"authorizations": []},
        {"team_id": "T0OTHER", "context_team_id": TEAM, "authorizations": []},
        {"authorizations": [NAMED | {"user_id": PERSON, "is_bot": False}]},
        {"authorizations": [NAMED | {"user_id": VISITOR.bot_user_id, "is_bot": False}]},
        {"authorizations": [NAMED | {"user_id": VISITOR.bot_user_id}], "api_app_id": None},
        {"authorizations": [NAMED | {"user_id": VISITOR.bot_user_id, "team_id": "T0OTHER"}]},
    ],
    ids=["team", "context team", "a person", "not a bot", "no app", "another team"],
)
def test_a_team_or_an_unconfirmed_identity_is_no_authorisation(
    gateway: Gateway, other_connection: str, more: dict[str, Any]
) -> None:
    deliver(gateway, build_envelope(message(PRIVATE, "not for B"), **more))
    settle(gateway, other_connection)

    assert [] == list_stored_texts(gateway, other_connection)


@requirement("chat-53", "connections-33")
def test_a_bot_of_one_app_receives_no_deliveries_of_another(gateway: Gateway) -> None:
    ours = connect(gateway)
    deliver(gateway, build_envelope(message(EMPTY, "of another app"), api_app_id="A0ANOTHER"))

    assert [] == read_texts(gateway, ours)


@requirement("chat-53", "connections-33")
def test_a_delivery_for_another_app_reaches_only_its_bot(gateway: Gateway, other_connection: str) -> None:
    ours = connect(gateway)
    theirs = [NAMED | {"user_id": VISITOR.bot_user_id}]
    deliver(gateway, build_envelope(message(EMPTY, "for B"), authorizations=theirs, api_app_id=VISITOR.app_id))

    assert [] == read_texts(gateway, ours)
    assert ["for B"] == list_stored_texts(gateway, other_connection)


@requirement("chat-53", "connections-33")
def test_exactly_the_listed_thousand_authorisations_count(gateway: Gateway, other_connection: str) -> None:
    ours = connect(gateway)
    crowd = [NAMED | {"team_id": f"T0{number}", "user_id": f"U0{number}"} for number in range(MANY - 1)]
    reply = deliver(gateway, build_envelope(message(EMPTY, "to a thousand"), authorizations=[*crowd, NAMED]))

    assert 200 == reply.status
    assert ["to a thousand"] == read_texts(gateway, ours)
    assert [] == list_stored_texts(gateway, other_connection)


@requirement("connections-34")
def test_with_more_than_a_thousand_authorisations_connections_are_polled(gateway: Gateway) -> None:
    ours = connect(gateway)
    crowd = [NAMED | {"team_id": f"T0{number}", "user_id": f"U0{number}"} for number in range(MANY)]
    gateway.act("chat", action="message", channel_id=EMPTY, text="to more")
    deliver(gateway, build_envelope(message(EMPTY, "as delivered"), authorizations=[*crowd, NAMED]))
    wait_until(lambda: read_texts(gateway, ours))

    assert ["to more"] == read_texts(gateway, ours)


@requirement("chat-54")
def test_a_connection_is_polled_until_a_delivery_confirms_its_app(gateway: Gateway, other_connection: str) -> None:
    is_due = watch_of(gateway, other_connection).due_at is not None
    theirs = [NAMED | {"user_id": VISITOR.bot_user_id}]
    deliver(gateway, build_envelope({"type": "app_home_opened"}, authorizations=theirs, api_app_id=VISITOR.app_id))
    wait_for_poll(gateway, other_connection)

    assert is_due
    assert watch_of(gateway, other_connection).due_at is None


@requirement("connections-34")
def test_a_delivery_of_a_channel_outside_the_scopes_is_ignored(gateway: Gateway) -> None:
    gateway.knob("chat", scopes="channels:read,channels:history")
    ours = connect(gateway)
    deliver(gateway, build_envelope(message(PRIVATE, "unreadable", channel_type="group")))
    deliver(gateway, build_envelope(message(EMPTY, "readable", channel_type="channel")))

    assert ["readable"] == read_texts(gateway, ours)


@requirement("chat-49", "chat-55")
@pytest.mark.parametrize(
    "event",
    [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}],
    ids=["uninstalled", "revoked"],
)
def test_uninstalling_one_app_leaves_connections_of_others_active(
    gateway: Gateway, other_connection: str, event: dict[str, Any]
) -> None:
    ours = connect(gateway, channels=[EMPTY])
    gateway.revoke("chat")
    deliver(gateway, build_envelope(event))

    assert ["revoked", "active"] == [get_status(gateway, each) for each in (ours, other_connection)]


def test_uninstalling_an_app_revokes_its_confirmed_connections_of_the_team(gateway: Gateway) -> None:
    ours = connect(gateway, channels=[EMPTY])
    gateway.revoke("chat")
    deliver(gateway, build_envelope({"type": "app_uninstalled"}, authorizations=[], api_app_id=APP))

    assert "revoked" == get_status(gateway, ours)
    assert 401 == gateway.get("/chat/channels", connection_id=ours).status


def test_a_delivered_and_polled_event_is_stored_once(gateway: Gateway) -> None:
    ours = connect(gateway, channels=[EMPTY])
    posted = gateway.act("chat", action="message", channel_id=EMPTY, text="once")
    deliver(gateway, build_envelope(message(EMPTY, "once") | {"ts": posted["ts"]}))
    deliver(gateway, build_envelope(message(EMPTY, "look") | {"ts": posted["ts"]}, authorizations=[]))
    wait_for_poll(gateway, ours)

    assert ["once"] == [event["text"] for event in events(gateway, ours)]
