"""Delivered messages are stored once, for the connections that watch them."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from slack_sdk.signature import SignatureVerifier
from structlog.testing import capture_logs

from connector_gateway.cli import main
from connector_gateway.core.events import inbound_hooks
from gateway.tests.connectors.chat.event_feed import (
    APP,
    BOT_USER,
    TEAM,
    build_envelope,
    change_settings,
    confirm_app,
    connect,
    deliver,
    events,
    get_status,
    list_deliveries,
    message,
    perform,
    post,
    post_message,
    read_texts,
    run_watching_gateway,
    sign,
    wait_for_poll,
)
from gateway.tests.connectors.chat.vendor_view import EMPTY, GENERAL, PERSON, PRIVATE, RANDOM, UNJOINED
from harness.gateway_server import Gateway
from harness.requirement import requirement
from harness.wait import wait_until
from harness.watch_state import watch_of
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

MAX_BODY_BYTES = 100_000


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    secrets = f"an older secret,{SIGNING_SECRET}"
    settings = {"GATEWAY_MAX_BODY_BYTES": str(MAX_BODY_BYTES)}
    with run_watching_gateway(tmp_path_factory.mktemp("events"), secrets, **settings) as gateway:
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    """Return the gateway, with deliveries of all events of the workspace."""
    module_gateway.clear("chat")
    module_gateway.authorise("chat")
    module_gateway.knob("chat", events_url=f"{module_gateway.base_url}/hooks/chat")
    return module_gateway


@pytest.fixture(scope="module")
def shared_connection(module_gateway: Gateway) -> str:
    """Return a connection for tests that send deliveries for their own channels."""
    module_gateway.clear("chat")
    module_gateway.authorise("chat")
    return connect(module_gateway, channels=[RANDOM])


# Observation


@requirement("chat-30", "chat-41", "chat-45")
def test_a_message_is_readable_when_its_delivery_is_acknowledged(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    post_message(gateway, GENERAL, "deploy <now> & here", user=PERSON)

    (event,) = events(gateway, connection)
    assert event["event_id"].startswith("evt_")
    assert timedelta(minutes=1) > datetime.now(UTC) - datetime.fromisoformat(event["observed_at"])
    assert {
        "type": "message.posted",
        "channel_id": GENERAL,
        "author": PERSON,
        "text": "deploy &lt;now&gt; &amp; here",
        "matched_keyword": None,
    } == {name: value for name, value in event.items() if name not in {"event_id", "observed_at"}}


@requirement("chat-38", "chat-39")
def test_with_keywords_only_matching_messages_are_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL], keywords=["deploy", "R&D"])
    post_message(gateway, GENERAL, "lunch?")
    post_message(gateway, GENERAL, "DEPLOY!")
    post_message(gateway, GENERAL, "redeployment")
    post_message(gateway, GENERAL, "ask R&D")

    seen = [(event["type"], event["matched_keyword"], event["text"]) for event in events(gateway, connection)]
    assert [("message.keyword", "deploy", "DEPLOY!"), ("message.keyword", "R&D", "ask R&amp;D")] == seen


@requirement("chat-40")
def test_all_channels_of_the_app_are_watched_by_default(gateway: Gateway) -> None:
    connection = connect(gateway)
    post_message(gateway, RANDOM, "in a public channel")
    post_message(gateway, PRIVATE, "in a private channel")
    post_message(gateway, "D04IM000001", "to the app itself")

    assert ["in a public channel", "in a private channel", "to the app itself"] == read_texts(gateway, connection)


def test_a_watched_person_means_the_direct_conversation(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[PERSON])
    post_message(gateway, "D04IM000001", "hello, app", user=PERSON)

    assert ["hello, app"] == read_texts(gateway, connection)


def test_a_channel_is_watched_as_soon_as_it_exists(gateway: Gateway) -> None:
    name = f"new-{time.time_ns()}"
    connection = connect(gateway, channels=[name])
    post_message(gateway, RANDOM, "elsewhere")
    created = perform(gateway, action="create", name=name)["channel_id"]
    perform(gateway, 2, action="invite", channel_id=created)
    wait_until(lambda: watch_of(gateway, connection).state["names"] == {name: created})
    post_message(gateway, created, "welcome")

    assert ["welcome"] == read_texts(gateway, connection)


def test_a_renamed_channel_is_watched_until_its_name_is_reused(gateway: Gateway) -> None:
    name = f"moving-{time.time_ns()}"
    channel_id = perform(gateway, action="create", name=name)["channel_id"]
    perform(gateway, 2, action="invite", channel_id=channel_id)
    connection = connect(gateway, channels=[name])
    perform(gateway, action="rename", channel_id=channel_id, name=f"{name}-on")
    post_message(gateway, channel_id, "still here")
    other = perform(gateway, action="create", name=name)["channel_id"]
    perform(gateway, 2, action="invite", channel_id=other)
    wait_until(lambda: watch_of(gateway, connection).state["names"] == {name: other})
    post_message(gateway, channel_id, "no longer")

    assert ["still here"] == read_texts(gateway, connection)


@requirement("chat-39")
def test_changed_settings_apply_to_later_messages(gateway: Gateway) -> None:
    connection = connect(gateway, channels=["general"])
    post_message(gateway, GENERAL, "first")
    change_settings(gateway, connection, channels=["random"], keywords=["second"])
    post_message(gateway, GENERAL, "second elsewhere")
    post_message(gateway, RANDOM, "second")
    post_message(gateway, RANDOM, "third")

    assert ["first", "second"] == read_texts(gateway, connection)


@requirement("chat-39", "chat-46")
def test_changed_settings_apply_from_the_change_not_the_next_poll(
    gateway: Gateway,
) -> None:
    connection = connect(gateway, channels=["random"])
    post_message(gateway, GENERAL, "before")
    gateway.fault("chat", path="/api/auth.test", fault="delay", seconds=0.3)
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"settings": {"channels": ["general"]}})
    post_message(gateway, GENERAL, "while its name is looked up")
    wait_for_poll(gateway, connection)

    assert ["while its name is looked up"] == read_texts(gateway, connection)


@requirement("chat-39")
def test_settings_are_changed_from_the_command_line(gateway: Gateway) -> None:
    connection = connect(gateway, channels=["general"])
    environment = {
        "GATEWAY_DATABASE_URL": gateway.app.settings.database_url,
        "GATEWAY_SECRET_KEYS": ",".join(gateway.app.settings.secret_keys),
    }
    command = ["connections", "watch", connection, "--channel", "#random", "--keyword", "on call", "--keyword", "R&D"]
    result = CliRunner().invoke(main, command, env=environment)
    wait_for_poll(gateway, connection)
    post_message(gateway, RANDOM, "who is on call?")
    post_message(gateway, GENERAL, "on call elsewhere")

    assert 0 == result.exit_code, result.output
    assert ["on call"] == [event["matched_keyword"] for event in events(gateway, connection)]


@requirement("chat-43")
def test_own_posts_are_not_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[RANDOM])
    known = len(list_deliveries(gateway))
    gateway.post("/chat/messages", channel=RANDOM, text="from us", idempotency_key=f"own-{connection}")
    wait_until(lambda: len(list_deliveries(gateway)) > known)
    post_message(gateway, RANDOM, "from them")

    assert ["from them"] == read_texts(gateway, connection)


def test_a_connection_to_another_workspace_receives_no_events(gateway: Gateway, shared_connection: str) -> None:
    bot = {"team_id": "T0ELSEWHERE", "user_id": BOT_USER, "is_bot": True}
    reply = deliver(
        gateway, build_envelope(message(RANDOM, "of another team"), team_id="T0ELSEWHERE", authorizations=[bot])
    )

    assert 200 == reply.status
    assert "of another team" not in read_texts(gateway, shared_connection, limit=200)


def test_a_message_of_a_shared_channel_is_observed_by_the_named_bot(gateway: Gateway, shared_connection: str) -> None:
    deliver(gateway, build_envelope(message(RANDOM, "from the other side", team="T0OTHER"), team_id="T0OTHER"))

    assert "from the other side" in read_texts(gateway, shared_connection, limit=200)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, "all", 7, [None], [TEAM], [{"team_id": TEAM}], [{"team_id": TEAM, "user_id": 7}], [[]]],
    ids=str,
)
def test_a_delivery_without_a_bot_triggers_polls_of_its_app(
    gateway: Gateway, value: Any, request: pytest.FixtureRequest
) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text=request.node.name)
    deliver(gateway, build_envelope(message(EMPTY, "as delivered"), authorizations=value))
    wait_until(lambda: read_texts(gateway, connection))

    assert [request.node.name] == read_texts(gateway, connection)


# Reading the feed


@requirement("chat-29", "chat-31", "chat-32", "chat-33", "chat-34")
def test_the_feed_is_filtered_by_channel_type_and_time_and_paginated(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL, RANDOM])
    post_message(gateway, GENERAL, "one")
    post_message(gateway, RANDOM, "two")
    post_message(gateway, GENERAL, "three")
    first = gateway.get("/chat/events", connection_id=connection, limit=2)
    rest = gateway.get("/chat/events", connection_id=connection, limit=2, cursor=first.body["next_cursor"])

    assert [["one", "two"], ["three"]] == [[event["text"] for event in page.data] for page in (first, rest)]
    assert rest.body["next_cursor"] is None
    assert ["one", "three"] == read_texts(gateway, connection, channel="#general")
    assert ["two"] == read_texts(gateway, connection, channel=RANDOM)
    assert [] == read_texts(gateway, connection, type="message.keyword")
    assert ["two", "three"] == read_texts(gateway, connection, since=first.data[1]["observed_at"])
    assert [] == read_texts(gateway, connection, since="2100-01-01T00:00:00Z")


@requirement("chat-31")
def test_an_unknown_channel_has_no_feed(gateway: Gateway) -> None:
    replies = [gateway.get("/chat/events", channel=named) for named in ("no-such-channel", "C0NOSUCH00", "U0NOSUCH00")]

    assert [(404, "channel_not_found")] * 3 == [(reply.status, reply.code) for reply in replies]


@requirement("chat-31")
def test_a_visible_channel_is_looked_up_once(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    gateway.clear("chat")
    matches = [read_texts(gateway, connection, channel=GENERAL), read_texts(gateway, connection, channel=GENERAL)]

    assert [[], []] == matches
    assert 1 == [path for _, path, _ in gateway.journal("chat")].count("/api/conversations.info")


# Repeated and disordered deliveries


def test_disordered_deliveries_are_all_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    gateway.knob("chat", deliver_disordered=True)
    known = len(list_deliveries(gateway))
    spoken = [f"message {number}" for number in range(6)]
    for text in spoken:
        gateway.act("chat", action="message", channel_id=GENERAL, text=text)
    wait_until(lambda: len(list_deliveries(gateway)) == known + len(spoken))

    assert spoken == sorted(read_texts(gateway, connection))


@requirement("chat-44")
def test_a_message_under_another_event_identifier_is_the_same_event(gateway: Gateway, shared_connection: str) -> None:
    event = message(RANDOM, "eleven deliveries of one message")
    replies = [deliver(gateway, build_envelope(event, event_id=f"Ev{number}")) for number in range(11)]

    assert {200} == {reply.status for reply in replies}
    assert 1 == read_texts(gateway, shared_connection, limit=200).count(event["text"])


def test_a_repeated_delivery_counts_if_the_first_was_lost(gateway: Gateway, shared_connection: str) -> None:
    retry = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    deliver(gateway, build_envelope(message(RANDOM, "delivered again")), **retry)

    assert 1 == read_texts(gateway, shared_connection, limit=200).count("delivered again")


# Authenticity of deliveries


@requirement("chat-50")
def test_the_url_verification_challenge_is_answered(gateway: Gateway) -> None:
    perform(gateway, action="verify_url")

    last = list_deliveries(gateway)[-1]
    assert ("url_verification", 200, None) == (last["type"], last["status"], last["reason"])


@requirement("chat-51")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda headers: {},
        lambda headers: headers | {"X-Slack-Signature": ""},
        lambda headers: headers | {"X-Slack-Signature": "v0=" + "0" * 64},
        lambda headers: headers | {"X-Slack-Signature": headers["X-Slack-Signature"].upper()},
        lambda headers: headers | {"X-Slack-Signature": headers["X-Slack-Signature"][3:]},
        lambda headers: {"X-Slack-Signature": headers["X-Slack-Signature"]},
        lambda headers: headers | {"X-Slack-Request-Timestamp": "now"},
        lambda headers: headers | {"X-Slack-Request-Timestamp": "-1"},
        lambda headers: headers | {"X-Slack-Request-Timestamp": "9" * 5000},
        lambda headers: headers | {"X-Slack-Request-Timestamp": str(int(headers["X-Slack-Request-Timestamp"]) + 1)},
    ],
    ids=["none", "empty", "wrong", "upper-case", "bare", "no-time", "word", "negative", "endless", "other-time"],
)
def test_an_unsigned_delivery_is_rejected(gateway: Gateway, shared_connection: str, spoil: Any) -> None:
    body = json.dumps(build_envelope(message(RANDOM, "forged"))).encode()
    reply = post(gateway, body, spoil(sign(body)))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert "forged" not in read_texts(gateway, shared_connection, limit=200)


@requirement("chat-51")
@pytest.mark.parametrize("seconds", [-310, 310], ids=["old", "future"])
def test_a_delivery_with_an_old_or_future_signature_is_rejected(
    gateway: Gateway, shared_connection: str, seconds: float
) -> None:
    body = json.dumps(build_envelope(message(RANDOM, "replayed"))).encode()
    reply = post(gateway, body, sign(body, time.time() + seconds))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert "replayed" not in read_texts(gateway, shared_connection, limit=200)


def get_rejection(gateway: Gateway, connection_id: str) -> Any:
    """Return a connection's report of a rejected delivery."""
    return gateway.operator("GET", f"/v1/connections/{connection_id}").data["deliveries_rejected"]


@requirement("chat-51")
def test_rejected_deliveries_are_reported_and_logged_once(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound_hooks, "REJECTED_SECONDS", 0.0)
    connection = connect(gateway, channels=[EMPTY])
    body = json.dumps(build_envelope(message(RANDOM, "signed elsewhere"))).encode()
    with capture_logs() as lines:
        post(gateway, body, sign(body, secret="of nobody"))
        post(gateway, body, sign(body, secret="of nobody"))
    fields = get_rejection(gateway, connection)
    deliver(gateway, build_envelope(message(RANDOM, "signed as it should be")))

    assert "The delivery is not signed with a secret of this installation." == fields["why"]
    assert 1 == sum(connection in line.get("connection_ids", ()) for line in lines)
    assert get_rejection(gateway, connection) is None


def test_every_configured_secret_is_accepted(gateway: Gateway, shared_connection: str) -> None:
    body = json.dumps(build_envelope(message(RANDOM, "signed as before"))).encode()
    reply = post(gateway, body, sign(body, secret="an older secret"))

    assert 200 == reply.status
    assert "signed as before" in read_texts(gateway, shared_connection, limit=200)


@pytest.mark.parametrize("seconds", [0, -290, 290, -310, 310])
@pytest.mark.parametrize("secret", [SIGNING_SECRET, "not ours"])
def test_signatures_are_verified_like_the_vendor_library_does(gateway: Gateway, secret: str, seconds: float) -> None:
    body = b'{"type": "something_new", "text": "\xf0\x9f\x8e\x89"}'
    headers = sign(body, time.time() + seconds, secret)
    reply = post(gateway, body, headers)

    assert SignatureVerifier(SIGNING_SECRET).is_valid_request(body, headers) is (reply.status == 200)


@requirement("chat-52")
@pytest.mark.parametrize(
    "body",
    [b"", b"not JSON", b"[]", b'"text"', b'{"type": ', b"\xff\xfe", b"[" * 20_000],
    ids=["empty", "text", "list", "string", "truncated", "bytes", "deep"],
)
def test_a_delivery_that_is_not_a_json_object_is_rejected(gateway: Gateway, body: bytes) -> None:
    reply = post(gateway, body, sign(body))

    assert (400, "invalid_json") == (reply.status, reply.code)


@requirement("chat-52")
def test_an_oversized_delivery_is_rejected(gateway: Gateway, shared_connection: str) -> None:
    body = json.dumps(build_envelope(message(RANDOM, "x" * MAX_BODY_BYTES))).encode()
    reply = post(gateway, body, sign(body))

    assert (413, "payload_too_large") == (reply.status, reply.code)
    assert 0 == len([text for text in read_texts(gateway, shared_connection, limit=200) if text.startswith("xxx")])


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "something_new"},
        {},
        {"type": "event_callback"},
        {"type": "event_callback", "event": "message"},
        {"type": "app_rate_limited", "team_id": TEAM},
        build_envelope({"type": "reaction_added", "user": PERSON}),
        build_envelope({"type": "tokens_revoked", "tokens": {"oauth": [PERSON], "bot": []}}),
        build_envelope({"type": "member_joined_channel", "user": PERSON, "channel": RANDOM}),
        build_envelope({"type": "message", "channel": RANDOM}),
        build_envelope({"type": "message", "channel": {"id": RANDOM}, "text": "odd", "ts": "1.000000"}),
        build_envelope({"type": "message", "channel": RANDOM, "text": "odd", "ts": "lately"}),
        build_envelope({"type": "message", "channel": RANDOM, "text": ["odd"], "ts": "1790000000.000100"}),
        build_envelope({"type": "message", "channel": RANDOM, "text": "odd", "ts": "1790000000.000100", "bot_id": 7}),
        build_envelope({"type": 7}),
        build_envelope({"type": "tokens_revoked", "tokens": "all"}),
        build_envelope({"type": "tokens_revoked", "tokens": {"bot": "all"}}),
        build_envelope({"type": "member_joined_channel", "user": {"id": BOT_USER}}),
        build_envelope(message(RANDOM, "odd"), team_id=7),
        {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 10**40},
        {"type": ["event_callback"]},
        {"type": "url_verification", "challenge": {}},
    ],
)
def test_irrelevant_deliveries_are_acknowledged(
    gateway: Gateway, shared_connection: str, envelope: dict[str, Any]
) -> None:
    before = read_texts(gateway, shared_connection, limit=200)
    reply = deliver(gateway, envelope)

    assert 200 == reply.status
    assert before == read_texts(gateway, shared_connection, limit=200)
    assert "active" == get_status(gateway, shared_connection)


# Revoked authorisations


@requirement("chat-49")
@pytest.mark.parametrize(
    "event",
    [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}],
    ids=["uninstalled", "revoked"],
)
def test_a_revoked_authorisation_is_detected_without_a_call(gateway: Gateway, event: dict[str, Any]) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.revoke("chat")
    deliver(gateway, build_envelope(event))

    assert "revoked" == get_status(gateway, connection)


@requirement("chat-49")
def test_messages_from_before_reauthorisation_are_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    known = len(list_deliveries(gateway))
    gateway.revoke("chat")
    wait_until(lambda: len(list_deliveries(gateway)) == known + 2)
    wait_until(lambda: get_status(gateway, connection) == "revoked")
    gateway.act("chat", action="message", channel_id=EMPTY, text="are you there?")
    gateway.authorise("chat")
    credentials = gateway.sandbox.emulators["chat"].credentials()
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials})
    wait_until(lambda: read_texts(gateway, connection) == ["are you there?"])

    assert "active" == get_status(gateway, connection)


@requirement("chat-49", "common-69")
def test_an_undelivered_revocation_is_reported_and_loses_no_event(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.revoke("chat")
    gateway.act("chat", action="message", channel_id=EMPTY, text="unnoticed")
    response = gateway.get("/chat/events", connection_id=connection)
    gateway.authorise("chat")
    repeat = gateway.get("/chat/events", connection_id=connection)
    wait_for_poll(gateway, connection)

    assert (401, "connection_revoked", 200) == (response.status, response.code, repeat.status)
    assert ["unnoticed"] == read_texts(gateway, connection)


@requirement("chat-46")
def test_replacing_credentials_before_a_poll_loses_no_event(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text="unnoticed")
    credentials = gateway.sandbox.emulators["chat"].credentials()
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials})
    confirm_app(gateway, connection)

    assert ["unnoticed"] == read_texts(gateway, connection)


# Deliveries that the vendor omits


@requirement("chat-47")
def test_omitted_messages_are_read_from_the_history(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text="left out")
    minute = int(time.time() // 60 - 3) * 60
    deliver(gateway, {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": minute, "api_app_id": APP})
    wait_for_poll(gateway, connection)

    assert ["left out"] == read_texts(gateway, connection)


@requirement("chat-47")
def test_unreadable_channels_are_reported_with_the_feed_and_in_the_history(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[UNJOINED])
    reply = gateway.get("/chat/events", connection_id=connection)
    warning, *_ = reply.headers.get_list("warning")
    run, *_ = gateway.request("GET", f"/v1/runs?connection_id={connection}&operation=observe_events").data

    assert ("partial", "events_missed") == (run["status"], run["code"])
    assert UNJOINED in warning
    assert run["run_id"] in warning


@pytest.mark.parametrize("ahead", [0, 3600])
def test_a_poll_waits_until_deliveries_are_complete_again(gateway: Gateway, ahead: int) -> None:
    connection = connect(gateway, channels=[EMPTY])
    minute = int(time.time() // 60) * 60
    left_out = {"team_id": TEAM, "minute_rate_limited": minute + ahead, "api_app_id": APP}
    deliver(gateway, {"type": "app_rate_limited", **left_out})
    wait_until(lambda: watch_of(gateway, connection).failures == 1)
    (run,) = gateway.request("GET", f"/v1/runs?connection_id={connection}").data

    assert ("observe_events", "upstream_rate_limited") == (run["operation"], run["code"])
    assert minute + 120 <= watch_of(gateway, connection).due_at < minute + 600


def test_a_failed_poll_is_retried_when_the_vendors_budget_allows(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    minute = int(time.time() // 60) * 60
    deliver(gateway, {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": minute, "api_app_id": APP})
    wait_until(lambda: watch_of(gateway, connection).failures == 1)

    gateway.run(gateway.app.retry_upstream())

    wait_until(lambda: watch_of(gateway, connection).failures == 0)


def test_the_vendor_notice_of_omitted_deliveries_is_recognised(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_per_hour=1)
    gateway.act("chat", action="message", channel_id=EMPTY, text="delivered")
    gateway.act("chat", action="message", channel_id=EMPTY, text="not delivered")
    wait_until(lambda: [tried["type"] for tried in list_deliveries(gateway)][-1:] == ["app_rate_limited"])

    wait_until(lambda: watch_of(gateway, connection).failures == 1)
    assert ["delivered"] == read_texts(gateway, connection)
