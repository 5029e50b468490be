"""Two customers, one chat workspace, two apps: deliveries reach only the authorised identity."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.tests.connectors.chat.event_feed import (
    APP,
    BOT_USER,
    TEAM,
    callback,
    connect,
    deliver,
    events,
    heed,
    message,
    run_watching_gateway,
    status_of,
    texts,
)
from gateway.tests.connectors.chat.vendor_view import EMPTY, PERSON, PRIVATE
from harness.gateway_server import Gateway
from harness.requirement import requirement
from harness.wait import wait_until
from harness.watches import settle, watch_of
from workspace_sandbox.chat.access import VISITOR_TOKEN
from workspace_sandbox.chat.data.default_data import VISITOR

NAMED = {"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}
MANY = 1000


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_watching_gateway(tmp_path_factory.mktemp("tenants"), GATEWAY_CHAT_WATCH_SECONDS="3600") as gateway:
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("chat")
    room.authorise("chat")
    room.knob("chat", events_url="")
    return room


@pytest.fixture
def other(gateway: Gateway) -> str:
    """Create a connection of the other app in another customer's workspace."""
    workspace_id = gateway.operator("POST", "/v1/workspaces", json={"name": "B"}).data["workspace_id"]
    body = {"workspace_id": workspace_id, "connector": "chat", "credentials": {"token": VISITOR_TOKEN}}
    connection_id: str = gateway.operator("POST", "/v1/connections", json=body).data["connection_id"]
    gateway.loop.call_soon_threadsafe(gateway.app._watches.wake_event.set)
    wait_until(lambda: watch_of(gateway, connection_id).account is not None)
    settle(gateway, connection_id)
    return connection_id


def seen(gateway: Gateway, connection_id: str) -> list[str]:
    """Return the texts in the feed of any customer's connection."""
    rows, _ = gateway.run(gateway.app._feed.latest(connection_id))
    return [row["data"]["text"] for row in rows]


@requirement("chat-53", "connections-33")
def test_a_private_message_reaches_the_named_bot_and_no_other_app_of_the_workspace(
    gateway: Gateway, other: str
) -> None:
    ours = connect(gateway)
    deliver(gateway, callback(message(PRIVATE, "for A only", channel_type="group")))

    assert ["for A only"] == texts(gateway, ours)
    assert [] == seen(gateway, other)


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
def test_neither_a_team_nor_an_unproven_identity_is_an_authorisation(
    gateway: Gateway, other: str, more: dict[str, Any]
) -> None:
    deliver(gateway, callback(message(PRIVATE, "not for B"), **more))
    settle(gateway, other)

    assert [] == seen(gateway, other)


@requirement("chat-53", "connections-33")
def test_a_bot_of_one_app_receives_no_deliveries_of_another(gateway: Gateway) -> None:
    ours = connect(gateway)
    deliver(gateway, callback(message(EMPTY, "of another app"), api_app_id="A0ANOTHER"))

    assert [] == texts(gateway, ours)


@requirement("chat-53", "connections-33")
def test_a_delivery_for_the_other_apps_bot_reaches_that_one_alone(gateway: Gateway, other: str) -> None:
    ours = connect(gateway)
    theirs = [NAMED | {"user_id": VISITOR.bot_user_id}]
    deliver(gateway, callback(message(EMPTY, "for B"), authorizations=theirs, api_app_id=VISITOR.app_id))

    assert [] == texts(gateway, ours)
    assert ["for B"] == seen(gateway, other)


@requirement("chat-53", "connections-33")
def test_all_of_a_thousand_authorisations_count_and_only_those(gateway: Gateway, other: str) -> None:
    ours = connect(gateway)
    crowd = [NAMED | {"team_id": f"T0{number}", "user_id": f"U0{number}"} for number in range(MANY - 1)]
    reply = deliver(gateway, callback(message(EMPTY, "to a thousand"), authorizations=[*crowd, NAMED]))

    assert 200 == reply.status
    assert ["to a thousand"] == texts(gateway, ours)
    assert [] == seen(gateway, other)


@requirement("connections-34")
def test_beyond_a_thousand_authorisations_a_connection_looks_for_itself(gateway: Gateway) -> None:
    ours = connect(gateway)
    crowd = [NAMED | {"team_id": f"T0{number}", "user_id": f"U0{number}"} for number in range(MANY)]
    gateway.act("chat", action="message", channel_id=EMPTY, text="to more")
    deliver(gateway, callback(message(EMPTY, "as delivered"), authorizations=[*crowd, NAMED]))
    wait_until(lambda: texts(gateway, ours))

    assert ["to more"] == texts(gateway, ours)


@requirement("chat-54")
def test_until_a_delivery_proves_the_app_a_connection_is_polled(gateway: Gateway, other: str) -> None:
    is_due = watch_of(gateway, other).due_at is not None
    theirs = [NAMED | {"user_id": VISITOR.bot_user_id}]
    deliver(gateway, callback({"type": "app_home_opened"}, authorizations=theirs, api_app_id=VISITOR.app_id))
    heed(gateway, other)

    assert is_due
    assert watch_of(gateway, other).due_at is None


@requirement("connections-34")
def test_a_channel_that_the_scopes_do_not_open_is_not_taken_from_a_delivery(gateway: Gateway) -> None:
    gateway.knob("chat", scopes="channels:read,channels:history")
    ours = connect(gateway)
    deliver(gateway, callback(message(PRIVATE, "unreadable", channel_type="group")))
    deliver(gateway, callback(message(EMPTY, "readable", channel_type="channel")))

    assert ["readable"] == texts(gateway, ours)


@requirement("chat-49", "chat-55")
@pytest.mark.parametrize(
    "event",
    [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}],
    ids=["uninstalled", "revoked"],
)
def test_the_end_of_one_app_leaves_the_other_apps_connections_active(
    gateway: Gateway, other: str, event: dict[str, Any]
) -> None:
    ours = connect(gateway, channels=[EMPTY])
    gateway.revoke("chat")
    deliver(gateway, callback(event))

    assert ["revoked", "active"] == [status_of(gateway, each) for each in (ours, other)]


def test_an_app_that_is_uninstalled_takes_all_of_its_proven_connections_in_the_team_along(gateway: Gateway) -> None:
    ours = connect(gateway, channels=[EMPTY])
    gateway.revoke("chat")
    deliver(gateway, callback({"type": "app_uninstalled"}, authorizations=[], api_app_id=APP))

    assert "revoked" == status_of(gateway, ours)
    assert 401 == gateway.get("/chat/channels", connection_id=ours).status


def test_an_event_is_delivered_once_though_a_poll_finds_it_too(gateway: Gateway) -> None:
    ours = connect(gateway, channels=[EMPTY])
    said = gateway.act("chat", action="message", channel_id=EMPTY, text="once")
    deliver(gateway, callback(message(EMPTY, "once") | {"ts": said["ts"]}))
    deliver(gateway, callback(message(EMPTY, "look") | {"ts": said["ts"]}, authorizations=[]))
    heed(gateway, ours)

    assert ["once"] == [event["text"] for event in events(gateway, ours)]
