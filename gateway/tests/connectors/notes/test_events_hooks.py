"""What the application delivers: it must be signed, and all it does is to make a poll come at once."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import func, select

from connector_gateway.storage import tables
from gateway.tests.connectors.notes.watching import Watched, share, watched_from_now
from harness.gateway_server import Reply
from harness.requirement import requirement
from harness.wait import wait_until

HANDSHAKE = b'{"verification_token": "secret_of_deliveries"}'


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_from_now(tmp_path_factory.mktemp("hooks"), "Leads", "Everything") as watched:
        yield watched


@pytest.fixture(scope="module")
def token(room: Watched) -> str:
    """The secret that the stand-in has handed over, and signs its deliveries with."""
    room.gateway.act("notes", action="subscribe", url=room.gateway.base_url + opened(room))
    wait_until(lambda: shown(room).status == 200)
    secret = str(shown(room).data["verification_token"])
    room.gateway.act("notes", action="verify_webhook", verification_token=secret)
    return secret


@pytest.fixture
def watched(room: Watched, token: str) -> Watched:
    """The room, with nothing under way."""
    room.emulator.context.knobs["events_url"] = ""
    room.emulator.hooks.cancel_all()
    room.settle()
    return room


@pytest.fixture
def delivered(watched: Watched) -> Iterator[Watched]:
    """The room, while the stand-in delivers what happens."""
    address = f"{watched.gateway.base_url}/hooks/notes"
    watched.emulator.context.knobs |= {"events_url": address, "deliver_twice": False, "deliver_disordered": False}
    yield watched
    # One that arrives later would wake the room while the next test looks whether something else does.
    wait_until(lambda: watched.emulator.hooks.is_idle)


def opened(watched: Watched) -> str:
    """The path that the operator has made for handing over a secret."""
    return str(urlsplit(watched.gateway.operator("POST", "/v1/hooks/notes/window").data["url"]).path)


def shown(watched: Watched) -> Reply:
    """What the operator is shown of the hook."""
    return watched.gateway.operator("GET", "/v1/hooks/notes")


def delivery(watched: Watched, **more: Any) -> bytes:
    """The body of a delivery about a page of the leads."""
    leads = watched.source("Leads")
    parent = {"id": leads.parent.id, "type": "database", "data_source_id": leads.id}
    page = {"id": leads.rows[0], "type": "page"}
    return json.dumps({"type": "page.created", "entity": page, "data": {"parent": parent}, **more}).encode()


def signed(body: bytes, secret: str) -> dict[str, str]:
    return {"X-Notion-Signature": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def deliver(watched: Watched, body: bytes, headers: dict[str, Any], path: str = "/hooks/notes") -> Reply:
    return watched.gateway.request("POST", path, headers=headers, content=body)


def stored(watched: Watched) -> tuple[int, int, int]:
    """How much is stored of what may come of a delivery."""

    def count(reading: Any) -> tuple[int, int, int]:
        hooks, wakes, events = (
            reading.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (tables.hooks, tables.wakes, tables.events)
        )
        return hooks, wakes, events

    return watched.gateway.run(watched.gateway.app.database.read(count))


# What is genuine


@requirement("notes-70")
def test_a_change_is_seen_at_once_when_it_is_delivered(delivered: Watched) -> None:
    page_id = delivered.create(Name="delivered")
    wait_until(lambda: page_id in delivered.created())
    delivered.update(page_id, Value=7)
    wait_until(lambda: delivered.changes(page_id) == [("Value", "", "7")])


@requirement("notes-70")
def test_a_delivered_hint_costs_two_requests(watched: Watched, token: str) -> None:
    watched.emulator.context.request_log.clear()
    body = delivery(watched)
    reply = deliver(watched, body, signed(body, token))
    wait_until(lambda: len(watched.gateway.journal("notes")) >= 2)
    watched.settle()
    leads = f"/v1/data_sources/{watched.source('Leads').id}"

    assert (200, {}) == (reply.status, reply.body)
    assert [("GET", leads, 200), ("POST", f"{leads}/query", 200)] == watched.gateway.journal("notes")


@requirement("notes-68", "notes-90")
def test_deliveries_that_come_twice_and_out_of_order_add_nothing(delivered: Watched) -> None:
    delivered.emulator.context.knobs |= {"deliver_twice": True, "deliver_disordered": True}
    made = [delivered.create(Name=str(number)) for number in range(5)]
    delivered.update(*made, Value=1)
    wait_until(lambda: set(made) <= set(delivered.created()))
    delivered.update(*made, Value=2)
    wait_until(lambda: all(delivered.changes(page_id)[-1:] == [("Value", "1", "2")] for page_id in made))
    delivered.poll()
    ids = [event["event_id"] for event in delivered.events()]

    assert len(set(ids)) == len(ids)
    assert [1] * 5 == [delivered.created().count(page_id) for page_id in made]


@requirement("connections-33", "notes-89")
def test_a_delivery_may_say_by_whom_its_object_can_be_seen(watched: Watched, token: str) -> None:
    page_id = watched.rows("Leads")[0].id
    bot = {"id": watched.emulator.seeded.internal.id, "type": "bot"}
    person = {"id": watched.emulator.seeded.person.id, "type": "person"}
    watched.update(page_id, Value=815)
    others = delivery(watched, accessible_by=[person, {"id": "another-bot", "type": "bot"}])
    deliver(watched, others, signed(others, token))
    unmoved = watched.is_due()
    ours = delivery(watched, accessible_by=[person, bot])
    deliver(watched, ours, signed(ours, token))
    wait_until(lambda: [change[2] for change in watched.changes(page_id)] == ["815"])

    assert not unmoved


@requirement("notes-70")
def test_a_delivery_may_be_about_a_data_source_that_was_never_listed(watched: Watched, token: str) -> None:
    share(watched.emulator, "Leads", "Everything", "Salaries 2025")
    source = watched.source("Salaries 2025")
    entity, bot = {"id": source.id, "type": "data_source"}, {"id": watched.emulator.seeded.internal.id, "type": "bot"}
    body = delivery(watched, type="data_source.created", entity=entity, accessible_by=[bot])
    deliver(watched, body, signed(body, token))
    wait_until(lambda: source.id in watched.remembered())
    watched.settle()

    assert watched.remembered()[source.id]["reached"] is None


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
def test_a_delivery_about_anything_else_is_acknowledged(watched: Watched, token: str, body: bytes) -> None:
    before = stored(watched)
    reply = deliver(watched, body, signed(body, token))

    assert 200 == reply.status
    assert before == stored(watched)


# The handshake


@requirement("notes-86")
def test_a_handshake_that_is_repeated_is_acknowledged(watched: Watched, token: str) -> None:
    reply = deliver(watched, json.dumps({"verification_token": token}).encode(), {})

    assert 200 == reply.status
    assert token == shown(watched).data["verification_token"]


@requirement("notes-86")
def test_another_handshake_is_refused(watched: Watched, token: str) -> None:
    reply = deliver(watched, b'{"verification_token": "secret_of_a_stranger"}', {})

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert token == shown(watched).data["verification_token"]


@requirement("notes-86", "notes-87", "notes-91", "secrets-7")
def test_without_a_handshake_nothing_is_taken(tmp_path_factory: pytest.TempPathFactory) -> None:
    with watched_from_now(tmp_path_factory.mktemp("unknown"), "Leads") as watched:
        body = delivery(watched)
        reply = deliver(watched, body, signed(body, ""))
        unasked = deliver(watched, HANDSHAKE, {})
        path = opened(watched)
        respelled = (f"{path}=", f"{path[:-1]}%{ord(path[-1]):02X}")
        others = ("/hooks/notes", path[:-1], path + "A", *respelled)
        elsewhere = [deliver(watched, HANDSHAKE, {}, other).status for other in others]
        watched.gateway.operator("DELETE", "/v1/hooks/notes/window")
        closed = deliver(watched, HANDSHAKE, {}, path)
        handed_over = deliver(watched, HANDSHAKE, {}, opened(watched))
        taken = deliver(watched, body, signed(body, "secret_of_deliveries"))

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert (401, "invalid_signature") == (unasked.status, unasked.code)
    assert [401] * 5 == elsewhere
    assert (401, "invalid_signature") == (closed.status, closed.code)
    assert (200, 200) == (handed_over.status, taken.status)


@requirement("notes-86")
def test_while_a_secret_is_known_none_can_be_asked_for(watched: Watched) -> None:
    refused = watched.gateway.operator("POST", "/v1/hooks/notes/window")

    assert (409, "hook_secret_known") == (refused.status, refused.code)


@requirement("notes-86")
def test_only_where_the_application_makes_up_the_secret_one_can_be_asked_for(watched: Watched) -> None:
    rooms = ("chat", "boards", "nowhere")
    asked = [watched.gateway.operator(way, f"/v1/hooks/{room}/window") for room in rooms for way in ("POST", "DELETE")]

    assert [(404, "hook_not_found")] * 6 == [(reply.status, reply.code) for reply in asked]


@requirement("notes-86", "notes-87")
def test_deliveries_are_taken_at_the_address_of_the_handover_as_well(watched: Watched, token: str) -> None:
    body = delivery(watched)
    path = "/hooks/notes/whatever-it-was"

    assert 200 == deliver(watched, body, signed(body, token), path).status
    assert 401 == deliver(watched, body, {}, path).status


# What is refused


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
    ids=["absent", "empty", "cut", "wrong", "no text"],
)
def test_what_is_not_signed_is_refused_and_leaves_nothing(watched: Watched, headers: dict[str, Any]) -> None:
    before = stored(watched)
    reply = deliver(watched, delivery(watched), headers)

    assert (401, "invalid_signature") == (reply.status, reply.code)
    assert before == stored(watched)


@requirement("notes-87", "notes-88")
def test_a_signature_of_another_secret_or_of_another_body_is_refused(watched: Watched, token: str) -> None:
    body = delivery(watched)
    old = deliver(watched, body, signed(body, "secret_that_was_used_before"))
    other = deliver(watched, body + b" ", signed(body, token))
    bare = deliver(watched, body, {"X-Notion-Signature": signed(body, token)["X-Notion-Signature"][7:]})

    assert [401, 401, 401] == [old.status, other.status, bare.status]


@requirement("notes-88")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"text"', b"\xff", b"[" * 100_000])
def test_what_is_signed_but_no_json_object_is_refused(watched: Watched, token: str, body: bytes) -> None:
    before = stored(watched)
    reply = deliver(watched, body, signed(body, token))

    assert (400, "invalid_json") == (reply.status, reply.code)
    assert before == stored(watched)
