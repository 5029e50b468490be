"""Vendor deliveries: they must be signed, and they only trigger a poll."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import func, select

from connector_gateway.storage.sql import tables
from gateway.tests.connectors.notes.event_feed import EventFeed, share, start_event_feed
from harness.gateway_server import Reply
from harness.requirement import requirement
from harness.wait import wait_until

HANDSHAKE = b'{"verification_token": "secret_of_deliveries"}'


@pytest.fixture(scope="module")
def module_feed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventFeed]:
    with start_event_feed(tmp_path_factory.mktemp("hooks"), "Leads", "Everything") as feed:
        yield feed


@pytest.fixture(scope="module")
def token(module_feed: EventFeed) -> str:
    """The secret that the emulator issued and signs its deliveries with."""
    module_feed.gateway.act("notes", action="subscribe", url=module_feed.gateway.base_url + open_window(module_feed))
    wait_until(lambda: get_hook_status(module_feed).status == 200)
    secret = str(get_hook_status(module_feed).data["verification_token"])
    module_feed.gateway.act("notes", action="verify_webhook", verification_token=secret)
    return secret


@pytest.fixture
def feed(module_feed: EventFeed, token: str) -> EventFeed:
    """An idle event feed."""
    module_feed.emulator.context.knobs["events_url"] = ""
    module_feed.emulator.hooks.cancel_all()
    module_feed.wait_until_idle()
    return module_feed


@pytest.fixture
def delivering_feed(feed: EventFeed) -> Iterator[EventFeed]:
    """An event feed whose emulator sends deliveries."""
    url = f"{feed.gateway.base_url}/hooks/notes"
    feed.emulator.context.knobs |= {"events_url": url, "deliver_twice": False, "deliver_disordered": False}
    yield feed
    # A late delivery would wake the gateway during the next test.
    wait_until(lambda: feed.emulator.hooks.is_idle)


def open_window(feed: EventFeed) -> str:
    """Open a verification window, and return its path."""
    return str(urlsplit(feed.gateway.operator("POST", "/v1/hooks/notes/window").data["url"]).path)


def get_hook_status(feed: EventFeed) -> Reply:
    """Return the management view of the hook."""
    return feed.gateway.operator("GET", "/v1/hooks/notes")


def build_delivery(feed: EventFeed, **more: Any) -> bytes:
    """Return the body of a delivery about a page of the leads."""
    leads = feed.source("Leads")
    parent = {"id": leads.parent.id, "type": "database", "data_source_id": leads.id}
    page = {"id": leads.rows[0], "type": "page"}
    return json.dumps({"type": "page.created", "entity": page, "data": {"parent": parent}, **more}).encode()


def sign(body: bytes, secret: str) -> dict[str, str]:
    return {"X-Notion-Signature": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def deliver(feed: EventFeed, body: bytes, headers: dict[str, Any], path: str = "/hooks/notes") -> Reply:
    return feed.gateway.request("POST", path, headers=headers, content=body)


def count_stored_rows(feed: EventFeed) -> tuple[int, int, int]:
    """Return the numbers of stored hooks, wakes and events."""

    def count(db: Any) -> tuple[int, int, int]:
        hooks, wakes, events = (
            db.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (tables.hooks, tables.wakes, tables.events)
        )
        return hooks, wakes, events

    return feed.gateway.run(feed.gateway.app.database.read(count))


# Genuine deliveries


@requirement("notes-70")
def test_delivered_change_is_observed_immediately(delivering_feed: EventFeed) -> None:
    page_id = delivering_feed.create(Name="delivered")
    wait_until(lambda: page_id in delivering_feed.created_page_ids())
    delivering_feed.update(page_id, Value=7)
    wait_until(lambda: delivering_feed.changes(page_id) == [("Value", "", "7")])


@requirement("notes-70")
def test_delivery_costs_two_vendor_requests(feed: EventFeed, token: str) -> None:
    feed.emulator.context.request_log.clear()
    body = build_delivery(feed)
    reply = deliver(feed, body, sign(body, token))
    wait_until(lambda: len(feed.gateway.journal("notes")) >= 2)
    feed.wait_until_idle()
    leads = f"/v1/data_sources/{feed.source('Leads').id}"

    assert (200, {}) == (reply.status, reply.body)
    assert [("GET", leads, 200), ("POST", f"{leads}/query", 200)] == feed.gateway.journal("notes")


@requirement("notes-68", "notes-90")
def test_duplicate_and_disordered_deliveries_add_no_events(delivering_feed: EventFeed) -> None:
    delivering_feed.emulator.context.knobs |= {"deliver_twice": True, "deliver_disordered": True}
    page_ids = [delivering_feed.create(Name=str(number)) for number in range(5)]
    delivering_feed.update(*page_ids, Value=1)
    wait_until(lambda: set(page_ids) <= set(delivering_feed.created_page_ids()))
    delivering_feed.update(*page_ids, Value=2)
    wait_until(lambda: all(delivering_feed.changes(page_id)[-1:] == [("Value", "1", "2")] for page_id in page_ids))
    delivering_feed.poll()
    ids = [event["event_id"] for event in delivering_feed.events()]

    assert len(set(ids)) == len(ids)
    assert [1] * 5 == [delivering_feed.created_page_ids().count(page_id) for page_id in page_ids]


@requirement("connections-33", "notes-89")
def test_delivery_wakes_only_the_accounts_that_it_names(feed: EventFeed, token: str) -> None:
    page_id = feed.rows("Leads")[0].id
    bot = {"id": feed.emulator.seeded.internal.id, "type": "bot"}
    person = {"id": feed.emulator.seeded.person.id, "type": "person"}
    feed.update(page_id, Value=815)
    foreign_delivery = build_delivery(feed, accessible_by=[person, {"id": "another-bot", "type": "bot"}])
    deliver(feed, foreign_delivery, sign(foreign_delivery, token))
    was_due = feed.is_due()
    own_delivery = build_delivery(feed, accessible_by=[person, bot])
    deliver(feed, own_delivery, sign(own_delivery, token))
    wait_until(lambda: [change[2] for change in feed.changes(page_id)] == ["815"])

    assert not was_due


@requirement("notes-70")
def test_delivery_about_an_unlisted_data_source_polls_it(feed: EventFeed, token: str) -> None:
    share(feed.emulator, "Leads", "Everything", "Salaries 2025")
    source = feed.source("Salaries 2025")
    entity, bot = {"id": source.id, "type": "data_source"}, {"id": feed.emulator.seeded.internal.id, "type": "bot"}
    body = build_delivery(feed, type="data_source.created", entity=entity, accessible_by=[bot])
    deliver(feed, body, sign(body, token))
    wait_until(lambda: source.id in feed.source_snapshots())
    feed.wait_until_idle()

    assert feed.source_snapshots()[source.id]["reached"] is None


@requirement("notes-87")
@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "comment.created"}',
        b"{}",
        b'{"entity": {"type": "page"}, "data": null}',
        b'{"entity": "page", "data": []}',
        b'{"entity": {"id": 5, "type": {}}, "data": {"parent": "x"}}',
        b'{"entity": {"id": "..", "type": "data_source"}, "accessible_by": 5}',
        b'{"accessible_by": [5], "data": {"parent": {"data_source_id": 5}}}',
    ],
)
def test_irrelevant_delivery_is_acknowledged(feed: EventFeed, token: str, body: bytes) -> None:
    before = count_stored_rows(feed)
    reply = deliver(feed, body, sign(body, token))

    assert 200 == reply.status
    assert before == count_stored_rows(feed)


# The handshake


@requirement("notes-86")
def test_repeated_handshake_is_acknowledged(feed: EventFeed, token: str) -> None:
    reply = deliver(feed, json.dumps({"verification_token": token}).encode(), {})

    assert 200 == reply.status
    assert token == get_hook_status(feed).data["verification_token"]


@requirement("notes-86")
def test_handshake_with_another_secret_is_rejected(feed: EventFeed, token: str) -> None:
    reply = deliver(feed, b'{"verification_token": "secret_of_a_stranger"}', {})

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert token == get_hook_status(feed).data["verification_token"]


@requirement("notes-86", "notes-87", "notes-91", "secrets-7")
def test_deliveries_are_rejected_before_the_handshake_in_an_open_window(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with start_event_feed(tmp_path_factory.mktemp("unknown"), "Leads") as feed:
        body = build_delivery(feed)
        reply = deliver(feed, body, sign(body, ""))
        unrequested = deliver(feed, HANDSHAKE, {})
        path = open_window(feed)
        equivalent_paths = (f"{path}=", f"{path[:-1]}%{ord(path[-1]):02X}")
        wrong_paths = ("/hooks/notes", path[:-1], path + "A", *equivalent_paths)
        wrong_path_statuses = [deliver(feed, HANDSHAKE, {}, wrong_path).status for wrong_path in wrong_paths]
        feed.gateway.operator("DELETE", "/v1/hooks/notes/window")
        after_closing = deliver(feed, HANDSHAKE, {}, path)
        handshake = deliver(feed, HANDSHAKE, {}, open_window(feed))
        accepted = deliver(feed, body, sign(body, "secret_of_deliveries"))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert (401, "invalid_signature") == (unrequested.status, unrequested.code)
    assert [401] * 5 == wrong_path_statuses
    assert (401, "invalid_signature") == (after_closing.status, after_closing.code)
    assert (200, 200) == (handshake.status, accepted.status)


@requirement("notes-86")
def test_window_cannot_be_opened_while_a_secret_is_stored(feed: EventFeed) -> None:
    rejected = feed.gateway.operator("POST", "/v1/hooks/notes/window")

    assert (409, "hook_secret_known") == (rejected.status, rejected.code)


@requirement("notes-86")
def test_only_connectors_with_vendor_issued_secrets_have_windows(feed: EventFeed) -> None:
    connectors = ("chat", "boards", "nowhere")
    replies = [
        feed.gateway.operator(method, f"/v1/hooks/{connector}/window")
        for connector in connectors
        for method in ("POST", "DELETE")
    ]

    assert [(404, "hook_not_found")] * 6 == [(reply.status, reply.code) for reply in replies]


@requirement("notes-86", "notes-87")
def test_deliveries_are_also_accepted_at_the_window_url(feed: EventFeed, token: str) -> None:
    body = build_delivery(feed)
    path = "/hooks/notes/whatever-it-was"

    assert 200 == deliver(feed, body, sign(body, token), path).status
    assert 401 == deliver(feed, body, {}, path).status


# Rejected deliveries


@requirement("notes-87", "notes-88")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Notion-Signature": ""},
        {"X-Notion-Signature": "sha256="},
        {"X-Notion-Signature": "sha256=" + "0" * 64},
        {"X-Notion-Signature": b"\xff"},
    ],
    ids=["missing", "empty", "truncated", "wrong", "not text"],
)
def test_unsigned_delivery_is_rejected_and_stores_nothing(feed: EventFeed, headers: dict[str, Any]) -> None:
    before = count_stored_rows(feed)
    reply = deliver(feed, build_delivery(feed), headers)

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert before == count_stored_rows(feed)


@requirement("notes-87", "notes-88")
def test_signature_of_another_secret_or_body_is_rejected(feed: EventFeed, token: str) -> None:
    body = build_delivery(feed)
    old_secret = deliver(feed, body, sign(body, "secret_that_was_used_before"))
    other_body = deliver(feed, body + b" ", sign(body, token))
    without_prefix = deliver(feed, body, {"X-Notion-Signature": sign(body, token)["X-Notion-Signature"][7:]})

    assert [401, 401, 401] == [old_secret.status, other_body.status, without_prefix.status]


@requirement("notes-88")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"text"', b"\xff", b"[" * 100_000])
def test_signed_delivery_that_is_no_json_object_is_rejected(feed: EventFeed, token: str, body: bytes) -> None:
    before = count_stored_rows(feed)
    reply = deliver(feed, body, sign(body, token))

    assert (400, "invalid_json") == (reply.status, reply.code)
    assert before == count_stored_rows(feed)
