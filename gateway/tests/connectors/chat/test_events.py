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
    act,
    callback,
    change,
    connect,
    deliver,
    deliveries,
    events,
    heed,
    message,
    post,
    prove,
    run_watching_gateway,
    say,
    signed,
    status_of,
    texts,
)
from gateway.tests.connectors.chat.vendor_view import EMPTY, GENERAL, PERSON, PRIVATE, RANDOM, UNJOINED
from harness.gateway_server import Gateway
from harness.requirement import requirement
from harness.wait import wait_until
from harness.watches import watch_of
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

MAX_BODY_BYTES = 100_000
BOT = "B05RELAY9KD"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    secrets = f"an older secret,{SIGNING_SECRET}"
    settings = {"GATEWAY_MAX_BODY_BYTES": str(MAX_BODY_BYTES)}
    with run_watching_gateway(tmp_path_factory.mktemp("events"), secrets, **settings) as gateway:
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    """Return the gateway, with deliveries of all events of the workspace."""
    room.clear("chat")
    room.authorise("chat")
    room.knob("chat", events_url=f"{room.base_url}/hooks/chat")
    return room


@pytest.fixture(scope="module")
def lasting(room: Gateway) -> str:
    """Return a connection for tests that send deliveries for their own channels."""
    room.clear("chat")
    room.authorise("chat")
    return connect(room, channels=[RANDOM])


# What is observed


@requirement("chat-30", "chat-41", "chat-45")
def test_a_message_can_be_read_once_its_delivery_is_acknowledged(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    say(gateway, GENERAL, "deploy <now> & here", user=PERSON)

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
def test_with_keywords_only_messages_with_one_of_them_are_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL], keywords=["deploy", "R&D"])
    say(gateway, GENERAL, "lunch?")
    say(gateway, GENERAL, "DEPLOY!")
    say(gateway, GENERAL, "redeployment")
    say(gateway, GENERAL, "ask R&D")

    seen = [(event["type"], event["matched_keyword"], event["text"]) for event in events(gateway, connection)]
    assert [("message.keyword", "deploy", "DEPLOY!"), ("message.keyword", "R&D", "ask R&amp;D")] == seen


@requirement("chat-40")
def test_every_channel_that_the_app_is_in_is_watched_unless_some_are_named(gateway: Gateway) -> None:
    connection = connect(gateway)
    say(gateway, RANDOM, "in a public channel")
    say(gateway, PRIVATE, "in a private channel")
    say(gateway, "D04IM000001", "to the app itself")

    assert ["in a public channel", "in a private channel", "to the app itself"] == texts(gateway, connection)


def test_a_person_stands_for_the_conversation_with_them(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[PERSON])
    say(gateway, "D04IM000001", "hello, app", user=PERSON)

    assert ["hello, app"] == texts(gateway, connection)


def test_a_channel_that_is_not_there_yet_is_watched_once_it_is(gateway: Gateway) -> None:
    name = f"new-{time.time_ns()}"
    connection = connect(gateway, channels=[name])
    say(gateway, RANDOM, "elsewhere")
    created = act(gateway, action="create", name=name)["channel_id"]
    act(gateway, 2, action="invite", channel_id=created)
    wait_until(lambda: watch_of(gateway, connection).state["names"] == {name: created})
    say(gateway, created, "welcome")

    assert ["welcome"] == texts(gateway, connection)


def test_a_renamed_channel_stays_watched_until_another_goes_by_its_name(gateway: Gateway) -> None:
    name = f"moving-{time.time_ns()}"
    channel_id = act(gateway, action="create", name=name)["channel_id"]
    act(gateway, 2, action="invite", channel_id=channel_id)
    connection = connect(gateway, channels=[name])
    act(gateway, action="rename", channel_id=channel_id, name=f"{name}-on")
    say(gateway, channel_id, "still here")
    other = act(gateway, action="create", name=name)["channel_id"]
    act(gateway, 2, action="invite", channel_id=other)
    wait_until(lambda: watch_of(gateway, connection).state["names"] == {name: other})
    say(gateway, channel_id, "no longer")

    assert ["still here"] == texts(gateway, connection)


@requirement("chat-39")
def test_settings_apply_from_when_they_are_changed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=["general"])
    say(gateway, GENERAL, "first")
    change(gateway, connection, channels=["random"], keywords=["second"])
    say(gateway, GENERAL, "second elsewhere")
    say(gateway, RANDOM, "second")
    say(gateway, RANDOM, "third")

    assert ["first", "second"] == texts(gateway, connection)


@requirement("chat-39", "chat-46")
def test_what_is_written_before_changed_settings_are_heeded_counts_and_what_was_written_before_does_not(
    gateway: Gateway,
) -> None:
    connection = connect(gateway, channels=["random"])
    say(gateway, GENERAL, "before")
    gateway.fault("chat", path="/api/auth.test", fault="delay", seconds=0.3)
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"settings": {"channels": ["general"]}})
    say(gateway, GENERAL, "while its name is looked up")
    heed(gateway, connection)

    assert ["while its name is looked up"] == texts(gateway, connection)


@requirement("chat-39")
def test_settings_are_changed_from_the_command_line(gateway: Gateway) -> None:
    connection = connect(gateway, channels=["general"])
    environment = {
        "GATEWAY_DATABASE_URL": gateway.app.settings.database_url,
        "GATEWAY_SECRET_KEYS": ",".join(gateway.app.settings.secret_keys),
    }
    command = ["connections", "watch", connection, "--channel", "#random", "--keyword", "on call", "--keyword", "R&D"]
    result = CliRunner().invoke(main, command, env=environment)
    heed(gateway, connection)
    say(gateway, RANDOM, "who is on call?")
    say(gateway, GENERAL, "on call elsewhere")

    assert 0 == result.exit_code, result.output
    assert ["on call"] == [event["matched_keyword"] for event in events(gateway, connection)]


@requirement("chat-43")
def test_what_was_posted_through_the_connection_is_not_observed(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[RANDOM])
    known = len(deliveries(gateway))
    gateway.post("/chat/messages", channel=RANDOM, text="from us", idempotency_key=f"own-{connection}")
    wait_until(lambda: len(deliveries(gateway)) > known)
    say(gateway, RANDOM, "from them")

    assert ["from them"] == texts(gateway, connection)


def test_a_connection_to_another_workspace_receives_no_events(gateway: Gateway, lasting: str) -> None:
    bot = {"team_id": "T0ELSEWHERE", "user_id": BOT_USER, "is_bot": True}
    reply = deliver(gateway, callback(message(RANDOM, "of another team"), team_id="T0ELSEWHERE", authorizations=[bot]))

    assert 200 == reply.status
    assert "of another team" not in texts(gateway, lasting, limit=200)


def test_a_message_of_a_shared_channel_is_heard_by_the_bot_that_the_delivery_names(
    gateway: Gateway, lasting: str
) -> None:
    deliver(gateway, callback(message(RANDOM, "from the other side", team="T0OTHER"), team_id="T0OTHER"))

    assert "from the other side" in texts(gateway, lasting, limit=200)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, "all", 7, [None], [TEAM], [{"team_id": TEAM}], [{"team_id": TEAM, "user_id": 7}], [[]]],
    ids=str,
)
def test_a_delivery_without_a_bot_makes_the_connections_of_its_app_poll(
    gateway: Gateway, value: Any, request: pytest.FixtureRequest
) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text=request.node.name)
    deliver(gateway, callback(message(EMPTY, "as delivered"), authorizations=value))
    wait_until(lambda: texts(gateway, connection))

    assert [request.node.name] == texts(gateway, connection)


# Reading the feed


@requirement("chat-29", "chat-31", "chat-32", "chat-33", "chat-34")
def test_the_feed_is_read_by_channel_type_instant_and_page(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL, RANDOM])
    say(gateway, GENERAL, "one")
    say(gateway, RANDOM, "two")
    say(gateway, GENERAL, "three")
    first = gateway.get("/chat/events", connection_id=connection, limit=2)
    rest = gateway.get("/chat/events", connection_id=connection, limit=2, cursor=first.body["next_cursor"])

    assert [["one", "two"], ["three"]] == [[event["text"] for event in page.data] for page in (first, rest)]
    assert rest.body["next_cursor"] is None
    assert ["one", "three"] == texts(gateway, connection, channel="#general")
    assert ["two"] == texts(gateway, connection, channel=RANDOM)
    assert [] == texts(gateway, connection, type="message.keyword")
    assert ["two", "three"] == texts(gateway, connection, since=first.data[1]["observed_at"])
    assert [] == texts(gateway, connection, since="2100-01-01T00:00:00Z")


@requirement("chat-31")
def test_a_channel_that_is_not_there_has_no_feed(gateway: Gateway) -> None:
    replies = [gateway.get("/chat/events", channel=named) for named in ("no-such-channel", "C0NOSUCH00", "U0NOSUCH00")]

    assert [(404, "channel_not_found")] * 3 == [(reply.status, reply.code) for reply in replies]


@requirement("chat-31")
def test_a_channel_that_the_app_sees_is_looked_up_once(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    gateway.clear("chat")
    matches = [texts(gateway, connection, channel=GENERAL), texts(gateway, connection, channel=GENERAL)]

    assert [[], []] == matches
    assert 1 == [path for _, path, _ in gateway.journal("chat")].count("/api/conversations.info")


# Deliveries that come more than once, or in no order


def test_what_is_delivered_in_disorder_is_all_there(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[GENERAL])
    gateway.knob("chat", deliver_disordered=True)
    known = len(deliveries(gateway))
    spoken = [f"message {number}" for number in range(6)]
    for text in spoken:
        gateway.act("chat", action="message", channel_id=GENERAL, text=text)
    wait_until(lambda: len(deliveries(gateway)) == known + len(spoken))

    assert spoken == sorted(texts(gateway, connection))


@requirement("chat-44")
def test_a_message_under_another_event_identifier_is_the_same_event(gateway: Gateway, lasting: str) -> None:
    event = message(RANDOM, "eleven deliveries of one message")
    replies = [deliver(gateway, callback(event, event_id=f"Ev{number}")) for number in range(11)]

    assert {200} == {reply.status for reply in replies}
    assert 1 == texts(gateway, lasting, limit=200).count(event["text"])


def test_a_repeated_delivery_counts_if_the_first_was_lost(gateway: Gateway, lasting: str) -> None:
    retry = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    deliver(gateway, callback(message(RANDOM, "delivered again")), **retry)

    assert 1 == texts(gateway, lasting, limit=200).count("delivered again")


# Who may deliver


@requirement("chat-50")
def test_the_address_proves_itself_to_the_vendor(gateway: Gateway) -> None:
    act(gateway, action="verify_url")

    last = deliveries(gateway)[-1]
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
def test_a_delivery_that_is_not_signed_is_rejected(gateway: Gateway, lasting: str, spoil: Any) -> None:
    body = json.dumps(callback(message(RANDOM, "forged"))).encode()
    reply = post(gateway, body, spoil(signed(body)))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert "forged" not in texts(gateway, lasting, limit=200)


@requirement("chat-51")
@pytest.mark.parametrize("seconds", [-310, 310], ids=["old", "future"])
def test_a_delivery_that_was_signed_at_another_time_is_rejected(gateway: Gateway, lasting: str, seconds: float) -> None:
    body = json.dumps(callback(message(RANDOM, "replayed"))).encode()
    reply = post(gateway, body, signed(body, time.time() + seconds))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert "replayed" not in texts(gateway, lasting, limit=200)


def rejected(gateway: Gateway, connection_id: str) -> Any:
    """Return a connection's report of a rejected delivery."""
    return gateway.operator("GET", f"/v1/connections/{connection_id}").data["deliveries_rejected"]


@requirement("chat-51")
def test_rejected_deliveries_are_reported_by_the_connection_and_logged_once(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound_hooks, "REJECTED_SECONDS", 0.0)
    connection = connect(gateway, channels=[EMPTY])
    body = json.dumps(callback(message(RANDOM, "signed elsewhere"))).encode()
    with capture_logs() as lines:
        post(gateway, body, signed(body, secret="of nobody"))
        post(gateway, body, signed(body, secret="of nobody"))
    fields = rejected(gateway, connection)
    deliver(gateway, callback(message(RANDOM, "signed as it should be")))

    assert "The delivery is not signed with a secret of this installation." == fields["why"]
    assert 1 == sum(connection in line.get("connection_ids", ()) for line in lines)
    assert rejected(gateway, connection) is None


def test_any_of_the_secrets_will_do(gateway: Gateway, lasting: str) -> None:
    body = json.dumps(callback(message(RANDOM, "signed as before"))).encode()
    reply = post(gateway, body, signed(body, secret="an older secret"))

    assert 200 == reply.status
    assert "signed as before" in texts(gateway, lasting, limit=200)


@pytest.mark.parametrize("seconds", [0, -290, 290, -310, 310])
@pytest.mark.parametrize("secret", [SIGNING_SECRET, "not ours"])
def test_signatures_are_judged_as_the_vendors_own_library_judges_them(
    gateway: Gateway, secret: str, seconds: float
) -> None:
    body = b'{"type": "something_new", "text": "\xf0\x9f\x8e\x89"}'
    headers = signed(body, time.time() + seconds, secret)
    reply = post(gateway, body, headers)

    assert SignatureVerifier(SIGNING_SECRET).is_valid_request(body, headers) is (reply.status == 200)


@requirement("chat-52")
@pytest.mark.parametrize(
    "body",
    [b"", b"not JSON", b"[]", b'"text"', b'{"type": ', b"\xff\xfe", b"[" * 20_000],
    ids=["empty", "text", "list", "string", "cut", "bytes", "deep"],
)
def test_a_delivery_that_is_no_json_object_is_rejected(gateway: Gateway, body: bytes) -> None:
    reply = post(gateway, body, signed(body))

    assert (400, "invalid_json") == (reply.status, reply.code)


@requirement("chat-52")
def test_an_oversized_delivery_is_rejected(gateway: Gateway, lasting: str) -> None:
    body = json.dumps(callback(message(RANDOM, "x" * MAX_BODY_BYTES))).encode()
    reply = post(gateway, body, signed(body))

    assert (413, "payload_too_large") == (reply.status, reply.code)
    assert 0 == len([text for text in texts(gateway, lasting, limit=200) if text.startswith("xxx")])


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "something_new"},
        {},
        {"type": "event_callback"},
        {"type": "event_callback", "event": "message"},
        {"type": "app_rate_limited", "team_id": TEAM},
        callback({"type": "reaction_added", "user": PERSON}),
        callback({"type": "tokens_revoked", "tokens": {"oauth": [PERSON], "bot": []}}),
        callback({"type": "member_joined_channel", "user": PERSON, "channel": RANDOM}),
        callback({"type": "message", "channel": RANDOM}),
        callback({"type": "message", "channel": {"id": RANDOM}, "text": "odd", "ts": "1.000000"}),
        callback({"type": "message", "channel": RANDOM, "text": "odd", "ts": "lately"}),
        callback({"type": "message", "channel": RANDOM, "text": ["odd"], "ts": "1790000000.000100"}),
        callback({"type": "message", "channel": RANDOM, "text": "odd", "ts": "1790000000.000100", "bot_id": 7}),
        callback({"type": 7}),
        callback({"type": "tokens_revoked", "tokens": "all"}),
        callback({"type": "tokens_revoked", "tokens": {"bot": "all"}}),
        callback({"type": "member_joined_channel", "user": {"id": BOT_USER}}),
        callback(message(RANDOM, "odd"), team_id=7),
        {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 10**40},
        {"type": ["event_callback"]},
        {"type": "url_verification", "challenge": {}},
    ],
)
def test_what_says_nothing_to_us_is_acknowledged(gateway: Gateway, lasting: str, envelope: dict[str, Any]) -> None:
    before = texts(gateway, lasting, limit=200)
    reply = deliver(gateway, envelope)

    assert 200 == reply.status
    assert before == texts(gateway, lasting, limit=200)
    assert "active" == status_of(gateway, lasting)


# Withdrawn authorisations


@requirement("chat-49")
@pytest.mark.parametrize(
    "event",
    [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}],
    ids=["uninstalled", "revoked"],
)
def test_a_withdrawn_authorisation_is_known_without_a_call(gateway: Gateway, event: dict[str, Any]) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.revoke("chat")
    deliver(gateway, callback(event))

    assert "revoked" == status_of(gateway, connection)


@requirement("chat-49")
def test_what_was_written_while_the_app_was_removed_is_there_once_it_is_back(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    known = len(deliveries(gateway))
    gateway.revoke("chat")
    wait_until(lambda: len(deliveries(gateway)) == known + 2)
    wait_until(lambda: status_of(gateway, connection) == "revoked")
    gateway.act("chat", action="message", channel_id=EMPTY, text="are you there?")
    gateway.authorise("chat")
    credentials = gateway.sandbox.emulators["chat"].credentials()
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials})
    wait_until(lambda: texts(gateway, connection) == ["are you there?"])

    assert "active" == status_of(gateway, connection)


@requirement("chat-49", "common-69")
def test_a_reader_notices_an_undelivered_revocation_and_misses_no_event(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.revoke("chat")
    gateway.act("chat", action="message", channel_id=EMPTY, text="unnoticed")
    response = gateway.get("/chat/events", connection_id=connection)
    gateway.authorise("chat")
    repeat = gateway.get("/chat/events", connection_id=connection)
    heed(gateway, connection)

    assert (401, "connection_revoked", 200) == (response.status, response.code, repeat.status)
    assert ["unnoticed"] == texts(gateway, connection)


@requirement("chat-46")
def test_replacing_credentials_before_a_poll_loses_no_event(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text="unnoticed")
    credentials = gateway.sandbox.emulators["chat"].credentials()
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials})
    prove(gateway, connection)

    assert ["unnoticed"] == texts(gateway, connection)


# Deliveries that the vendor leaves out


@requirement("chat-47")
def test_messages_that_were_left_out_are_read_from_the_history(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_url="")
    gateway.act("chat", action="message", channel_id=EMPTY, text="left out")
    minute = int(time.time() // 60 - 3) * 60
    deliver(gateway, {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": minute, "api_app_id": APP})
    heed(gateway, connection)

    assert ["left out"] == texts(gateway, connection)


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


def test_the_vendors_own_remark_that_it_leaves_deliveries_out_is_understood(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[EMPTY])
    gateway.knob("chat", events_per_hour=1)
    gateway.act("chat", action="message", channel_id=EMPTY, text="delivered")
    gateway.act("chat", action="message", channel_id=EMPTY, text="not delivered")
    wait_until(lambda: [tried["type"] for tried in deliveries(gateway)][-1:] == ["app_rate_limited"])

    wait_until(lambda: watch_of(gateway, connection).failures == 1)
    assert ["delivered"] == texts(gateway, connection)
