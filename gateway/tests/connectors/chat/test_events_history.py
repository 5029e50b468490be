"""Reads of the channels' history after missed deliveries, and their gaps."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from connector_gateway.connectors.chat import client, events
from connector_gateway.core.events.polling import PollSession
from connector_gateway.core.events.watches import LeasedPoll
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.errors import Overloaded, UpstreamError
from connector_gateway.kit.events import FORMER, RENEWED_AT, HookRequest, HookResult, Observation
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.storage.sql import tables
from gateway.tests.connectors.chat.event_feed import APP, BOT_USER, TEAM, build_envelope, sign
from gateway.tests.connectors.chat.event_feed import events as feed
from gateway.tests.connectors.chat.vendor_view import (
    ARCHIVED,
    EMPTY,
    FOREIGN,
    GENERAL,
    PERSON,
    PRIVATE,
    RANDOM,
    UNJOINED,
    count_requests,
    get_scopes_without,
)
from gateway.tests.connectors.chat.vendor_view import workspace as standing
from harness.all_connectors import only
from harness.clocks import ShiftedClock
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.watch_state import watch_of
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

AT = 1_790_000_000.0
RETRIED_SECONDS = events.inbound_hooks.REDELIVERY_SECONDS
MINUTE = 60.0
HOUR = 3600.0


@dataclass
class WatchedConnection:
    """A connection that the test polls at any time."""

    gateway: Gateway
    connection_id: str
    claimed: LeasedPoll
    started_at: float

    def poll(
        self, clock: ShiftedClock | None = None, *, behind_since: float | None, pushed: bool = True
    ) -> PollSession:
        """Run a poll and return it."""
        claimed = replace(self.claimed, behind_since=behind_since, state=self.state)
        taken = self.gateway.run(self._prepare(claimed, clock or ShiftedClock()))
        taken.receives_changes = pushed
        self.gateway.run(events.polls.poll(taken))
        return taken

    async def _prepare(self, claimed: LeasedPoll, clock: ShiftedClock) -> PollSession:
        app, run = self.gateway.app, Run("watch")
        connection = (await app.connections.get_many([self.connection_id]))[self.connection_id]
        prepared = PollSession(claimed, connection, run, database=app.database, feed=app._feed, clock=clock)
        with app._new_call_executor().poll_client(run, connection) as prepared.upstream:
            return prepared

    @property
    def state(self) -> Any:
        return watch_of(self.gateway, self.connection_id).state

    def store_state(self, state: Any) -> None:
        """Change the stored state of the watch."""
        query = update(tables.watches).where(tables.watches.c.connection_id == self.connection_id)

        async def store_state() -> None:
            await self.gateway.app.database.write(lambda db: db.execute(query.values(state=state)))

        self.gateway.run(store_state())

    @property
    def texts(self) -> Sequence[str]:
        return [event["text"] for event in feed(self.gateway, self.connection_id, limit=200)]

    @property
    def warnings(self) -> Sequence[str]:
        """The warnings for readers."""
        reply = self.gateway.get("/chat/events", connection_id=self.connection_id)
        return reply.headers.get_list("warning")

    @property
    def read_snapshots(self) -> Any:
        """The snapshots of read channels."""
        poll = self.gateway.run(self._prepare(self.claimed, ShiftedClock()))
        return self.gateway.run(poll.snapshots(events.backfill.READ_UNTIL))


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("history"), connectors=only("chat")) as gateway,
    ):
        gateway.run(gateway.app._watches.claim("chat", 10))
        yield gateway


def create_watch(gateway: Gateway, **settings: Any) -> WatchedConnection:
    """Create a connection and run its first poll."""
    app, credentials = gateway.app, gateway.sandbox.emulators["chat"].credentials()
    created = gateway.run(
        app.connections.create(WorkspaceId(gateway.workspace_id), "chat", credentials, settings=settings)
    )
    (claimed,) = gateway.run(app._watches.claim("chat", 10))
    watch = WatchedConnection(gateway, created["connection_id"], claimed, time.time())
    watch.poll(behind_since=claimed.behind_since)
    return watch


def post_message(gateway: Gateway, channel_id: str, text: str, **more: Any) -> str:
    posted: str = gateway.act("chat", action="message", channel_id=channel_id, text=text, **more)["ts"]
    return posted


@pytest.fixture
def channel_id(gateway: Gateway) -> str:
    """Create a channel with the app as a member."""
    created: str = gateway.act("chat", action="create", name=f"history-{time.time_ns()}")["channel_id"]
    gateway.act("chat", action="invite", channel_id=created)
    return created


# Reads


def test_the_first_poll_ignores_messages_from_before_the_connection(gateway: Gateway, channel_id: str) -> None:
    post_message(gateway, channel_id, "long before")
    watch = create_watch(gateway, channels=[channel_id, GENERAL])

    assert [] == watch.texts
    assert [] == watch.warnings
    assert (TEAM, "U05RELAYBOT", "B05RELAY9KD") == tuple(watch.state[name] for name in ("team_id", "user_id", "bot_id"))


def test_a_late_first_poll_finds_messages_since_the_connection(gateway: Gateway) -> None:
    gateway.knob("chat", history_tier="restricted")
    watch = create_watch(gateway, channels=[GENERAL])
    post_message(gateway, GENERAL, "just after")
    watch.poll(ShiftedClock(ahead=HOUR), behind_since=watch.claimed.behind_since)

    assert ["just after"] == watch.texts
    assert [] == watch.warnings


@requirement("chat-46")
def test_a_newly_watched_channel_starts_at_the_change_of_settings(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[EMPTY])
    post_message(gateway, channel_id, "before it was watched")
    started_at = time.time()
    post_message(gateway, channel_id, "after")
    app = gateway.app
    gateway.run(app.connections.change(watch.connection_id, settings={"channels": [EMPTY, channel_id]}))
    post_message(gateway, channel_id, "later")
    watch.poll(behind_since=watch.started_at, pushed=False)
    changed = watch.texts
    gateway.run(app.connections.change(watch.connection_id, name="another"))
    watch.poll(behind_since=started_at, pushed=False)

    assert ["later"] == changed
    assert ["later"] == watch.texts


@requirement("chat-46")
def test_a_newly_joined_channel_is_read_since_the_last_poll(gateway: Gateway) -> None:
    watch = create_watch(gateway)
    created = gateway.act("chat", action="create", name=f"entered-{time.time_ns()}")["channel_id"]
    post_message(gateway, created, "long before")
    polled_at = time.time()
    post_message(gateway, created, "just before")
    gateway.act("chat", action="invite", channel_id=created)
    watch.poll(behind_since=polled_at, pushed=False)

    assert ["just before"] == watch.texts


@requirement("chat-46")
def test_credentials_of_another_workspace_start_a_new_watch(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    post_message(gateway, channel_id, "of the time of the other workspace")
    renewed_at = time.time()
    post_message(gateway, channel_id, "since then")
    watch.store_state({FORMER: {**watch.state, "team_id": "T0OTHER"}, RENEWED_AT: renewed_at})
    watch.poll(behind_since=watch.started_at)

    assert ["since then"] == watch.texts


@requirement("chat-47")
def test_missed_messages_are_read_once_oldest_first(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id], keywords=["deploy"])
    spoken = [f"deploy {number}" for number in range(5)]
    for text in [*spoken, "lunch"]:
        post_message(gateway, channel_id, text)
    watch.poll(behind_since=watch.started_at)
    watch.poll(behind_since=watch.started_at)

    assert spoken == watch.texts


@requirement("chat-44")
def test_delivered_messages_are_not_read_again(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    ts = post_message(gateway, channel_id, "delivered")
    event = {"type": "message", "channel": channel_id, "user": PERSON, "text": "delivered", "ts": ts, "team": "T0X"}
    state = watch.state
    gateway.run(gateway.app._feed.add({watch.connection_id: events.inbound_hooks.read(event, {}, state) or []}))
    post_message(gateway, channel_id, "missed")
    watch.poll(behind_since=watch.started_at)

    assert ["delivered", "missed"] == watch.texts


@pytest.mark.usefixtures("gateway")
def test_every_channel_of_the_app_is_read_except_archived_ones(gateway: Gateway) -> None:
    watch = create_watch(gateway)
    post_message(gateway, PRIVATE, "in private")
    post_message(gateway, "D04IM000001", "to the app itself")
    gateway.clear("chat")
    watch.poll(behind_since=watch.started_at)
    in_it = [channel for channel in standing(gateway).channels.values() if standing(gateway).is_member(channel)]

    assert {"in private", "to the app itself"} == set(watch.texts)
    assert len([channel for channel in in_it if not channel.is_archived]) == count_requests(
        gateway, "conversations.history"
    )
    assert standing(gateway).is_member(standing(gateway).channels[ARCHIVED])


@requirement("common-189")
def test_the_memory_of_a_poll_counts_against_the_shared_limit(tmp_path: Path) -> None:
    large = {"ok": True, "messages": [], "pad": "x" * 2_000_000}
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors=only("chat"), GATEWAY_MAX_HELD_BYTES="1000000") as narrow,
    ):
        narrow.run(narrow.app._watches.claim("chat", 10))
        watch = create_watch(narrow, channels=[GENERAL])
        narrow.fault("chat", path="/api/conversations.history", fault="status", status=200, body=large)

        with pytest.raises(Overloaded):
            watch.poll(behind_since=watch.started_at)


def test_replies_are_read_after_the_messages_of_the_channel(gateway: Gateway, channel_id: str) -> None:
    old = post_message(gateway, channel_id, "an old question")
    idle = post_message(gateway, channel_id, "an older thread")
    post_message(gateway, channel_id, "an old answer", thread_ts=idle)
    watch = create_watch(gateway, channels=[channel_id])
    post_message(gateway, channel_id, "a late answer", thread_ts=old)
    new = post_message(gateway, channel_id, "a question")
    for number in range(3):
        post_message(gateway, channel_id, f"answer {number}", thread_ts=new)
    post_message(gateway, channel_id, "for all", thread_ts=new, subtype="thread_broadcast")
    gateway.clear("chat")
    watch.poll(behind_since=watch.started_at)

    assert ["a question", "for all", "a late answer", "answer 0", "answer 1", "answer 2"] == watch.texts
    assert 2 == count_requests(gateway, "conversations.replies")


def test_own_messages_edits_and_joins_are_not_observed(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    gateway.post("/chat/messages", channel=channel_id, text="ours")
    deleted = post_message(gateway, channel_id, "gone")
    gateway.act("chat", action="delete", channel_id=channel_id, ts=deleted)
    edited = post_message(gateway, channel_id, "first")
    gateway.act("chat", action="edit", channel_id=channel_id, ts=edited, text="better")
    gateway.act("chat", action="invite", channel_id=channel_id, user=PERSON)
    watch.poll(behind_since=watch.started_at)

    assert ["better"] == watch.texts


def test_many_pages_of_messages_and_replies_are_read_in_order(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    gateway.knob("chat", history_tier="restricted")
    spoken = [f"message {number}" for number in range(40)]
    first, *_ = [post_message(gateway, channel_id, text) for text in spoken]
    replied = [f"reply {number}" for number in range(40)]
    for text in replied:
        post_message(gateway, channel_id, text, thread_ts=first)
    watch.poll(behind_since=watch.started_at)

    assert [*spoken, *replied] == watch.texts
    assert [] == watch.warnings


def test_an_unneeded_poll_reads_no_history(gateway: Gateway) -> None:
    watch = create_watch(gateway, channels=[GENERAL])
    gateway.clear("chat")
    watch.poll(behind_since=None)

    assert [("GET", "/api/auth.test", 200)] == gateway.journal("chat")


# Interrupted polls


def test_an_interrupted_poll_is_continued(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id, RANDOM, PRIVATE])
    post_message(gateway, channel_id, "first")
    gateway.clear("chat")
    gateway.fault(
        "chat",
        path="/api/conversations.history",
        times=1,
        fault="status",
        status=200,
        body={"ok": True, "messages": []},
    )
    gateway.fault("chat", path="/api/conversations.history", times=3, fault="status", status=500)
    with pytest.raises(UpstreamError):
        watch.poll(behind_since=watch.started_at)
    done = set(watch.read_snapshots)
    gateway.clear("chat")
    watch.poll(behind_since=watch.started_at)

    assert 1 == len(done)
    assert 3 == count_requests(gateway, "conversations.history")
    assert {} == watch.read_snapshots


def test_messages_read_by_an_interrupted_poll_are_stored(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    parent = post_message(gateway, channel_id, "a question")
    post_message(gateway, channel_id, "an answer", thread_ts=parent)
    gateway.fault("chat", path="/api/conversations.replies", times=3, fault="status", status=500)
    with pytest.raises(UpstreamError):
        watch.poll(behind_since=watch.started_at)
    at_first = watch.texts
    watch.poll(behind_since=watch.started_at)

    assert ["a question"] == at_first
    assert ["a question", "an answer"] == watch.texts


@requirement("chat-47")
def test_threads_not_read_in_time_are_reported_as_a_gap(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    for number in range(3):
        parent = post_message(gateway, channel_id, f"question {number}")
        post_message(gateway, channel_id, f"answer {number}", thread_ts=parent)
    watch.poll(ShiftedClock(step=events.backfill.MAX_BACKFILL_SECONDS * 0.3), behind_since=watch.started_at)

    (warning,) = watch.warnings
    assert channel_id in warning
    assert ["question 0", "question 1", "question 2"] == watch.texts


@requirement("chat-57")
def test_the_channel_of_the_latest_message_is_read_first(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[GENERAL, RANDOM, channel_id])
    post_message(gateway, channel_id, "seen")
    watch.poll(behind_since=watch.started_at)
    for channel in (GENERAL, RANDOM, channel_id):
        post_message(gateway, channel, f"missed in {channel}")
    watch.poll(ShiftedClock(step=events.backfill.MAX_BACKFILL_SECONDS / 3), behind_since=watch.started_at)

    assert ["seen", f"missed in {channel_id}"] == watch.texts


@requirement("chat-57")
def test_the_channel_of_the_latest_delivered_event_is_read_first(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[GENERAL, RANDOM, channel_id])
    delivered = Observation(("delivered",), "message.posted", {"text": "delivered"}, RANDOM)
    gateway.run(gateway.app._feed.add({watch.connection_id: [delivered]}))
    channels = gateway.run(watch.poll(behind_since=watch.started_at).latest_events())

    assert [RANDOM] == list(channels)


@requirement("chat-47")
def test_channels_not_read_in_time_are_a_gap_and_read_next(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id, RANDOM])
    post_message(gateway, channel_id, "in one")
    post_message(gateway, RANDOM, "in the other")
    watch.poll(ShiftedClock(step=events.backfill.MAX_BACKFILL_SECONDS / 3), behind_since=watch.started_at)
    reached = watch.texts
    (warning,) = watch.warnings
    (late,) = watch.read_snapshots.items()
    watch.poll(behind_since=watch.started_at + MINUTE)

    assert 1 == len(reached)
    assert "may be missing" in warning
    assert watch.started_at == pytest.approx(late[1], abs=1)
    assert {"in one", "in the other"} == set(watch.texts)
    assert {} == watch.read_snapshots


# Unreadable channels


@requirement("chat-47")
def test_more_messages_than_a_poll_can_read_are_reported_as_a_gap(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    channel = standing(gateway).channels[channel_id]
    for number in range(800):
        standing(gateway).post(channel, f"message {number}", PERSON)
    gateway.knob("chat", history_tier="restricted")
    poll = watch.poll(behind_since=watch.started_at)
    page = gateway.get("/chat/events", connection_id=watch.connection_id, limit=1)
    (warning,) = page.headers.get_list("warning")

    assert poll.missed
    assert ["message 50"] == [event["text"] for event in page.data]
    assert channel_id in warning


@requirement("chat-47")
@pytest.mark.parametrize(
    ("channel", "scopes"),
    [(UNJOINED, ()), (FOREIGN, ()), ("C0NOSUCHONE", ()), (RANDOM, ("channels:history",))],
    ids=["not-a-member", "private", "unknown", "not-permitted"],
)
def test_an_unreadable_channel_is_reported_and_the_others_are_read(
    gateway: Gateway, channel_id: str, channel: str, scopes: Sequence[str]
) -> None:
    if_permitted = PRIVATE
    watch = create_watch(gateway, channels=[channel, if_permitted])
    post_message(gateway, if_permitted, "legible")
    gateway.knob("chat", scopes=get_scopes_without(*scopes))
    watch.poll(behind_since=watch.started_at)

    assert ["legible"] == watch.texts
    assert [channel] == watch.state["blind"]
    assert any(channel in warning for warning in watch.warnings)


@pytest.mark.parametrize(
    "odd",
    [
        {"ok": False, "error": "something_new"},
        {"ok": False, "error": {"code": "internal_error"}},
        {"ok": True},
        {"ok": True, "messages": [{"ts": 1790000000.0001, "text": "a number"}]},
    ],
    ids=str,
)
def test_an_unknown_error_affects_only_one_channel(gateway: Gateway, channel_id: str, odd: Any) -> None:
    watch = create_watch(gateway, channels=[channel_id, RANDOM])
    post_message(gateway, channel_id, "in one")
    post_message(gateway, RANDOM, "in the other")
    gateway.fault("chat", path="/api/conversations.history", fault="status", status=200, body=odd)
    watch.poll(behind_since=watch.started_at)

    assert 1 == len(watch.texts)
    assert 1 == len(watch.warnings)


def test_an_app_without_read_scopes_is_reported(gateway: Gateway) -> None:
    watch = create_watch(gateway)
    gateway.knob("chat", scopes="chat:write")
    watch.poll(behind_since=watch.started_at)

    assert [""] == watch.state["blind"]
    assert 1 == len(watch.warnings)


def test_a_deleted_thread_is_no_gap(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id])
    parent = post_message(gateway, channel_id, "a question")
    post_message(gateway, channel_id, "an answer", thread_ts=parent)
    gone = {"ok": False, "error": "thread_not_found"}
    gateway.fault("chat", path="/api/conversations.replies", fault="status", status=200, body=gone)
    watch.poll(behind_since=watch.started_at)

    assert ["a question"] == watch.texts
    assert [] == watch.warnings


@requirement("chat-47")
@pytest.mark.parametrize(
    ("absent_seconds", "channel", "expected"),
    [(HOUR, GENERAL, True), (HOUR, EMPTY, False), (4 * MINUTE, GENERAL, False)],
    ids=["long", "long-but-unrestricted", "short"],
)
def test_a_long_absence_is_reported_as_a_gap_for_old_threads(
    gateway: Gateway, channel: str, absent_seconds: float, *, expected: bool
) -> None:
    gateway.knob("chat", history_tier="restricted")
    watch = create_watch(gateway, channels=[channel])
    watch.poll(ShiftedClock(ahead=MINUTE + absent_seconds), behind_since=watch.started_at + MINUTE)

    assert expected is bool(watch.warnings)


# Connections without deliveries


def test_without_deliveries_old_threads_are_not_reported_at_every_poll(gateway: Gateway) -> None:
    watch = create_watch(gateway, channels=[GENERAL])
    watch.poll(ShiftedClock(ahead=HOUR), behind_since=watch.started_at + MINUTE, pushed=False)

    assert [] == watch.warnings


@pytest.mark.parametrize("pushed", [False, True], ids=["frequent", "rare"])
def test_with_frequent_polls_only_the_first_reports_an_unreadable_channel(gateway: Gateway, *, pushed: bool) -> None:
    watch = create_watch(gateway, channels=[UNJOINED])
    before = len(watch.warnings)
    polls = [watch.poll(behind_since=watch.started_at, pushed=pushed) for _ in range(2)]

    assert 1 == before
    assert [pushed, pushed] == [poll.missed for poll in polls]


def test_a_watched_name_after_the_listed_channels_is_reported(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_CHANNEL_PAGES", 1)
    monkeypatch.setattr(client, "PAGE_SIZE", 1)
    watch = create_watch(gateway, channels=["no-such-channel"])
    poll = watch.poll(behind_since=watch.started_at)

    assert poll.missed
    assert {"no-such-channel": None} == watch.state["names"]


def test_with_frequent_polls_names_are_not_looked_up_every_time(gateway: Gateway) -> None:
    watch = create_watch(gateway, channels=["random", "no-such-channel"])
    gateway.clear("chat")
    watch.poll(behind_since=watch.started_at, pushed=False)
    soon = count_requests(gateway, "users.conversations")
    watch.poll(ShiftedClock(ahead=HOUR), behind_since=watch.started_at, pushed=False)
    later = count_requests(gateway, "users.conversations")

    assert (0, True) == (soon, later > 0)
    assert {"random": RANDOM, "no-such-channel": None} == watch.state["names"]


def test_with_frequent_polls_late_channels_are_read_by_the_next(gateway: Gateway, channel_id: str) -> None:
    watch = create_watch(gateway, channels=[channel_id, RANDOM])
    post_message(gateway, channel_id, "in one")
    post_message(gateway, RANDOM, "in the other")
    watch.poll(ShiftedClock(step=events.backfill.MAX_BACKFILL_SECONDS / 3), behind_since=watch.started_at, pushed=False)
    watch.poll(behind_since=watch.started_at + HOUR, pushed=False)

    assert {"in one", "in the other"} == set(watch.texts)
    assert [] == watch.warnings


# Deliveries of other events


def build_receipt(**about: Any) -> HookResult:
    """Return a receipt for the bot of the app."""
    return HookResult(app=APP, accounts={f"{TEAM}/{BOT_USER}"}, app_accounts={f"{TEAM}/{BOT_USER}"}, **about)


@pytest.mark.parametrize(
    ("envelope", "receipt"),
    [
        (build_envelope({"type": "app_uninstalled"}), build_receipt(places=[TEAM], revoked=True, missed_since=AT)),
        (
            build_envelope({"type": "tokens_revoked", "tokens": {"bot": [BOT_USER]}}),
            build_receipt(revoked=True, missed_since=AT),
        ),
        (
            build_envelope({"type": "tokens_revoked", "tokens": {"oauth": [PERSON]}}),
            HookResult(app=APP, accounts={f"{TEAM}/{PERSON}"}, app_accounts=set(), revoked=True, missed_since=AT),
        ),
        (build_envelope({"type": "channel_rename", "channel": {}}), build_receipt(places={TEAM}, wakes=["channels"])),
        (build_envelope({"type": "member_joined_channel", "user": BOT_USER}), build_receipt(wakes=["channels"])),
        (build_envelope({"type": "member_joined_channel", "user": PERSON}), build_receipt()),
        (build_envelope({"type": "app_mention"}), build_receipt()),
        (
            build_envelope({"type": "message", "ts": "1"}),
            build_receipt(places={TEAM}, event={"type": "message", "ts": "1"}, happened_at=AT - RETRIED_SECONDS),
        ),
        (
            {"type": "app_rate_limited", "team_id": TEAM, "api_app_id": APP, "minute_rate_limited": 1000},
            HookResult(
                app=APP,
                accounts=frozenset(),
                app_accounts=frozenset(),
                places={TEAM},
                wakes=["limited 1000"],
                missed_since=1000 - RETRIED_SECONDS,
            ),
        ),
        ({"type": "url_verification", "challenge": "abc"}, HookResult(reply={"challenge": "abc"})),
    ],
    ids=str,
)
def test_deliveries_are_parsed_into_hook_results(envelope: dict[str, Any], receipt: HookResult) -> None:
    body = json.dumps(envelope).encode()
    headers = {name.lower(): value for name, value in sign(body, AT).items()}

    assert receipt == events.inbound_hooks.receive(HookRequest(headers, body, AT), [SIGNING_SECRET])
