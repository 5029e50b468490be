"""Webhooks of the notes emulator and their settings."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Answer, Inbox
from sandbox.tests.notes.notes_client import Notes, text
from workspace_sandbox.notes import CLIENT_ID, CLIENT_SECRET, NotesEmulator

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
FAILED: Answer = (500, {}, b"")


class FrozenClock:
    """A frozen clock, initially at 2026-10-05T14:07:31.402Z. Sleepers wait for ``wake``."""

    def __init__(self) -> None:
        self.at = 1_791_209_251.402
        self._asleep: list[tuple[float, asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._slept = threading.Condition()

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        sleeper = (seconds, asyncio.get_running_loop(), asyncio.Event())
        with self._slept:
            self._asleep.append(sleeper)
            self._slept.notify_all()
        try:
            await sleeper[2].wait()
        finally:
            self._asleep = [other for other in self._asleep if other is not sleeper]

    def wake(self, sleepers: int = 1) -> list[float]:
        """Wait for the number of *sleepers*, wake all, and return the seconds of each sleep."""
        with self._slept:
            assert self._slept.wait_for(lambda: len(self._asleep) >= sleepers, 5)
            asleep, self._asleep = self._asleep, []
        for _, loop, woken in asleep:
            loop.call_soon_threadsafe(woken.set)
        return [seconds for seconds, _, _ in asleep]


@pytest.fixture(scope="module")
def client() -> Iterator[Notes]:
    with run_emulators(notes=NotesEmulator) as sandbox:
        notes_client = Notes(sandbox)
        yield notes_client
        notes_client.close()


@pytest.fixture
def notes(client: Notes) -> Notes:
    """The emulator in its initial state, without a delay for gathering events."""
    client.reset()
    client.set_knobs(webhook_gather_seconds=0)
    return client


@pytest.fixture
def clock(notes: Notes) -> Iterator[FrozenClock]:
    original_clock = notes.emulator.context.clock
    notes.emulator.context.clock = frozen = FrozenClock()
    yield frozen
    notes.emulator.context.clock = original_clock


@pytest.fixture
def token(notes: Notes, inbox: Inbox) -> str:
    """The token of a subscription that is active."""
    return subscribe(notes, inbox)


@pytest.fixture
def subscriber(notes: Notes, inbox: Inbox) -> Inbox:
    """An address with an active subscription."""
    subscribe(notes, inbox)
    return inbox


def subscribe(notes: Notes, inbox: Inbox, **about: Any) -> str:
    notes.perform(action="subscribe", url=inbox.address, **about)
    token = str(inbox.next()["verification_token"])
    assert "active" == notes.perform(action="verify_webhook", verification_token=token).json()["state"]
    return token


def create_page(notes: Notes, **properties: Any) -> str:
    """The id of a page that a person has created."""
    result = notes.perform(
        action="create_page", database_id=notes.examples["database_id"], properties=properties
    ).json()
    return str(result["page_id"])


def update_page(notes: Notes, **properties: Any) -> None:
    """Let a person change the page of the examples."""
    notes.perform(action="update_page", page_id=notes.examples["page_id"], properties=properties)


def perform_all(notes: Notes, page_id: str, actions: list[str]) -> None:
    """Let a person do one thing after the other to a page."""
    for action in actions:
        assert 200 == notes.perform(action=action, page_id=page_id, properties={"Value": 1}).status_code


def event_deliveries(notes: Notes) -> list[dict[str, Any]]:
    """Return the delivery log of events without the handshake."""
    entries = notes.perform(action="deliveries").json()["deliveries"]
    return [entry for entry in entries if entry["type"] != "verification"]


def is_signed(token: str, headers: dict[str, str], body: bytes) -> bool:
    mac = HMAC(token.encode(), SHA256())
    mac.update(body)
    return headers.get("X-Notion-Signature") == f"sha256={mac.finalize().hex()}"


# The subscription


def test_a_subscription_sends_its_token_once_and_unsigned(notes: Notes, inbox: Inbox) -> None:
    settings = notes.perform(action="subscribe", url=inbox.address).json()
    headers, body = inbox.take()

    assert re.fullmatch(UUID, settings["subscription_id"])
    assert "pending_verification" == settings["state"]
    assert re.fullmatch(rb'\{"verification_token":"secret_[A-Za-z0-9]{43}"\}', body)
    assert ("application/json", None) == (headers["Content-Type"], headers.get("X-Notion-Signature"))


def test_a_pending_subscription_receives_no_events(notes: Notes, inbox: Inbox) -> None:
    notes.perform(action="subscribe", url=inbox.address)
    token = inbox.next()["verification_token"]
    create_page(notes, Name="Unheard")
    notes.perform(action="verify_webhook", verification_token=token)
    reported = create_page(notes, Name="Heard")

    assert reported == inbox.next()["entity"]["id"]


def test_a_failed_handshake_is_not_retried(notes: Notes, clock: FrozenClock, inbox: Inbox) -> None:
    inbox.answers.append(FAILED)
    token = subscribe(notes, inbox)
    create_page(notes)
    clock.wake()
    headers, body = inbox.take()

    assert is_signed(token, headers, body)


def test_the_events_url_knob_sets_the_subscription_url(notes: Notes, inbox: Inbox) -> None:
    notes.set_knobs(events_url=inbox.address)
    notes.perform(action="subscribe")

    assert inbox.next()["verification_token"].startswith("secret_")


def test_a_wrong_verification_token_is_rejected(notes: Notes, inbox: Inbox) -> None:
    notes.perform(action="subscribe", url=inbox.address)
    response = notes.perform(action="verify_webhook", verification_token="secret_guessed")

    assert 422 == response.status_code
    assert "not the verification token" in response.json()["error"]


def test_a_new_subscription_replaces_the_old_token(notes: Notes, inbox: Inbox) -> None:
    first = subscribe(notes, inbox)
    notes.perform(action="subscribe", url=inbox.address)
    second = inbox.next()["verification_token"]
    response = notes.perform(action="verify_webhook", verification_token=first)

    assert first != second
    assert 422 == response.status_code


@pytest.mark.parametrize(
    "action",
    [
        {"action": "verify_webhook", "verification_token": "secret_any"},
        {"action": "subscribe"},
        {"action": "subscribe", "url": "elsewhere"},
        {"action": "subscribe", "url": "http://127.0.0.1/", "connection": "unknown"},
    ],
)
def test_invalid_subscription_settings_are_rejected(notes: Notes, action: dict[str, Any]) -> None:
    assert 422 == notes.perform(**action).status_code


def test_a_new_subscription_receives_no_earlier_events(notes: Notes, clock: FrozenClock, inbox: Inbox) -> None:
    subscribe(notes, inbox)
    create_page(notes, Name="Before")
    subscribe(notes, inbox)
    reported = create_page(notes, Name="After")
    clock.wake()

    assert reported == inbox.next()["entity"]["id"]


# Contents of events


def test_an_event_contains_author_type_entity_and_parent(notes: Notes, clock: FrozenClock, inbox: Inbox) -> None:
    settings = notes.perform(action="subscribe", url=inbox.address).json()
    notes.perform(action="verify_webhook", verification_token=inbox.next()["verification_token"])
    page_id = create_page(notes, Name="New lead")
    clock.wake()
    event = inbox.next()
    me = notes.request("GET", "/v1/users/me")
    ada = notes.request("GET", "/v1/users")["results"][0]
    unshared = notes.http.get(f"/v1/databases/{notes.examples['unshared_database_id']}").json()

    assert re.fullmatch(UUID, event["id"])
    assert event == {
        "id": event["id"],
        "timestamp": "2026-10-05T14:07:31.402Z",
        "workspace_id": me["bot"]["workspace_id"],
        "workspace_name": "Fernweh Studios",
        "subscription_id": settings["subscription_id"],
        "integration_id": unshared["additional_data"]["integration_id"],
        "authors": [{"id": ada["id"], "type": "person"}],
        "attempt_number": 1,
        "api_version": "2026-03-11",
        "type": "page.created",
        "entity": {"id": page_id, "type": "page"},
        "data": {
            "parent": {
                "id": notes.examples["database_id"],
                "type": "database",
                "data_source_id": notes.examples["data_source_id"],
            }
        },
    }


def test_events_are_signed_with_the_token(notes: Notes, inbox: Inbox, token: str) -> None:
    create_page(notes, Name="Signed 🎈")
    headers, body = inbox.take()

    assert is_signed(token, headers, body)
    assert not is_signed(token, headers, body + b" ")


def test_events_contain_no_values_or_titles(notes: Notes, subscriber: Inbox) -> None:
    create_page(notes, Name="Sesame", Email="sesame@example.com", Stage="Sesame")
    bodies = [subscriber.take()[1] for _ in range(2)]

    assert ["data_source.schema_updated", "page.created"] == sorted(json.loads(body)["type"] for body in bodies)
    assert b"esame" not in b"".join(bodies)


def test_api_changes_are_authored_by_the_bot(notes: Notes, subscriber: Inbox) -> None:
    notes.create({"Name": {"title": text("By the bot")}})
    me = notes.request("GET", "/v1/users/me")

    assert [{"id": me["id"], "type": "bot"}] == subscriber.next()["authors"]


def append_blocks(notes: Notes) -> list[str]:
    """The ids of blocks that the connection has put on the page of the examples."""
    children = [{"paragraph": {"rich_text": text(content)}} for content in ("one", "two")]
    response = notes.request("PATCH", f"/v1/blocks/{notes.examples['page_id']}/children", {"children": children})
    return [block["id"] for block in response["results"]]


def patch_page(notes: Notes, **body: Any) -> Any:
    return notes.request("PATCH", f"/v1/pages/{notes.examples['page_id']}", body)


def wire_id(notes: Notes, name: str) -> str:
    source = notes.request("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")
    return str(source["properties"][name]["id"])


def test_changed_properties_are_named_by_their_encoded_ids(notes: Notes, subscriber: Inbox) -> None:
    update_page(notes, Value=7, Stage="Won")
    event = subscriber.next()

    assert (event["type"], event["entity"]) == (
        "page.properties_updated",
        {"id": notes.examples["page_id"], "type": "page"},
    )
    assert [wire_id(notes, "Value"), wire_id(notes, "Stage")] == event["data"]["updated_properties"]


def test_a_changed_title_is_a_content_update(notes: Notes, subscriber: Inbox) -> None:
    update_page(notes, Name="Renamed")
    event = subscriber.next()

    assert "page.content_updated" == event["type"]
    assert [{"id": notes.examples["page_id"], "type": "page"}] == event["data"]["updated_blocks"]


def test_appended_blocks_are_named(notes: Notes, subscriber: Inbox) -> None:
    block_ids = append_blocks(notes)
    event = subscriber.next()

    assert (event["type"], event["entity"]["id"]) == ("page.content_updated", notes.examples["page_id"])
    assert [{"id": uid, "type": "block"} for uid in block_ids] == event["data"]["updated_blocks"]


def test_a_deleted_block_updates_its_page(notes: Notes, subscriber: Inbox) -> None:
    block_id = append_blocks(notes)[0]
    subscriber.next()
    notes.request("DELETE", f"/v1/blocks/{block_id}")
    event = subscriber.next()

    assert (event["type"], event["entity"]["id"]) == ("page.content_updated", notes.examples["page_id"])
    assert [{"id": block_id, "type": "block"}] == event["data"]["updated_blocks"]


@pytest.mark.parametrize(
    ("change", "types"),
    [
        (lambda notes: patch_page(notes, in_trash=True), ["page.deleted"]),
        (lambda notes: notes.request("DELETE", f"/v1/blocks/{notes.examples['page_id']}"), ["page.deleted"]),
        (lambda notes: notes.perform(action="trash_page", page_id=notes.examples["page_id"]), ["page.deleted"]),
        (lambda notes: notes.request("DELETE", f"/v1/blocks/{notes.examples['database_id']}"), ["database.deleted"]),
        (lambda notes: patch_page(notes, is_locked=True), ["page.locked"]),
        (lambda notes: patch_page(notes, icon={"emoji": "🛴"}), ["page.content_updated"]),
        (lambda notes: patch_page(notes, erase_content=True), ["page.content_updated"]),
        (lambda notes: update_page(notes, Name="x", Value=1), ["page.properties_updated", "page.content_updated"]),
        (
            lambda notes: update_page(notes, Stage="Unheard of"),
            ["data_source.schema_updated", "page.properties_updated"],
        ),
        (
            lambda notes: update_page(notes, Tags=["eu", "mars"]),
            ["data_source.schema_updated", "page.properties_updated"],
        ),
    ],
)
def test_changes_emit_the_vendors_event_types(
    notes: Notes, subscriber: Inbox, change: Callable[[Notes], Any], types: list[str]
) -> None:
    change(notes)

    assert sorted(types) == sorted(subscriber.next()["type"] for _ in types)


def test_restoring_and_unlocking_emit_events(notes: Notes, inbox: Inbox) -> None:
    patch_page(notes, is_locked=True, in_trash=True)
    subscribe(notes, inbox)
    patch_page(notes, in_trash=False)
    restored = inbox.next()["type"]
    patch_page(notes, is_locked=False)

    assert ("page.undeleted", "page.unlocked") == (restored, inbox.next()["type"])


@pytest.mark.parametrize(
    ("action", "name", "done"),
    [
        ({"action": "rename_property", "property": "Stage", "name": "Phase"}, "Phase", "updated"),
        ({"action": "rename_option", "property": "Stage", "option": "Won", "name": "Gained"}, "Stage", "updated"),
        ({"action": "add_property", "name": "Region", "type": "select", "options": ["North"]}, "Region", "created"),
    ],
)
def test_a_schema_event_names_the_changed_columns(
    notes: Notes, subscriber: Inbox, action: dict[str, Any], name: str, done: str
) -> None:
    notes.perform(database_id=notes.examples["database_id"], **action)
    event = subscriber.next()

    assert (event["type"], event["entity"]) == (
        "data_source.schema_updated",
        {"id": notes.examples["data_source_id"], "type": "data_source"},
    )
    assert [{"id": wire_id(notes, name), "name": name, "action": done}] == event["data"]["updated_properties"]


def test_a_data_source_event_has_the_parent_of_its_database(notes: Notes, subscriber: Inbox) -> None:
    (handbook,) = notes.request("POST", "/v1/search", {"query": "handbook"})["results"]
    children = notes.request("GET", f"/v1/blocks/{handbook['id']}/children")["results"]
    database_id = next(child["id"] for child in children if child["type"] == "child_database")
    notes.perform(action="rename_property", database_id=database_id, property="Seats", name="Chairs")
    nested = subscriber.next()["data"]["parent"]
    notes.perform(action="rename_property", database_id=notes.examples["database_id"], property="Due", name="Until")
    top = subscriber.next()
    me = notes.request("GET", "/v1/users/me")

    assert {"id": handbook["id"], "type": "page"} == nested
    assert {"id": me["bot"]["workspace_id"], "type": "space"} == top["data"]["parent"]


# Receivers of events


def test_unshared_pages_emit_no_events(notes: Notes, subscriber: Inbox) -> None:
    notes.perform(
        action="create_page", database_id=notes.examples["unshared_database_id"], properties={"Name": "Secret"}
    )
    reported = create_page(notes)

    assert reported == subscriber.next()["entity"]["id"]


def authorise_bot(notes: Notes) -> str:
    """Grant consent and return the id of the bot."""
    params = {"client_id": CLIENT_ID, "response_type": "code", "owner": "user", "redirect_uri": "http://localhost/"}
    response = notes.http.get("/v1/oauth/authorize", params=params | {"auto_approve": "true"})
    code = parse_qs(urlsplit(response.headers["location"]).query)["code"][0]
    body = {"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost/"}
    basic = httpx.BasicAuth(CLIENT_ID, CLIENT_SECRET)
    return str(httpx.post(f"{notes.address}/v1/oauth/token", json=body, auth=basic).json()["bot_id"])


def test_a_public_connection_event_names_the_bot_with_access(notes: Notes, inbox: Inbox) -> None:
    bot_id = authorise_bot(notes)
    subscribe(notes, inbox, connection="public")
    create_page(notes)
    event = inbox.next()

    assert {"id": bot_id, "type": "bot"} == event["accessible_by"][-1]
    assert "person" == event["accessible_by"][0]["type"]
    assert CLIENT_ID == event["integration_id"]


def test_a_public_connection_receives_no_events_before_consent(notes: Notes, inbox: Inbox) -> None:
    subscribe(notes, inbox, connection="public")
    create_page(notes)
    authorise_bot(notes)
    reported = create_page(notes)

    assert reported == inbox.next()["entity"]["id"]


def test_a_revoked_connection_receives_no_events(notes: Notes, subscriber: Inbox) -> None:
    notes.control.post("/_control/notes/revoke")
    create_page(notes)
    notes.control.post("/_control/notes/authorise")
    reported = create_page(notes)

    assert reported == subscriber.next()["entity"]["id"]


def test_without_a_url_no_events_are_sent(notes: Notes, subscriber: Inbox) -> None:
    notes.set_knobs(events_url="")
    create_page(notes)
    notes.set_knobs(events_url=subscriber.address)
    reported = create_page(notes)

    assert reported == subscriber.next()["entity"]["id"]
    assert [] == [entry for entry in event_deliveries(notes) if entry["reason"]]


# Gathering


def test_changes_of_one_page_and_type_are_merged(notes: Notes, clock: FrozenClock, subscriber: Inbox) -> None:
    update_page(notes, Value=1, Hot=True)
    clock.at += 0.1
    patch_page(notes, properties={"Value": {"number": 2}, "Due": {"date": None}})
    clock.wake()
    event = subscriber.next()
    create_page(notes)
    clock.wake()

    assert [wire_id(notes, name) for name in ("Value", "Hot", "Due")] == event["data"]["updated_properties"]
    assert ["person", "bot"] == [author["type"] for author in event["authors"]]
    assert "2026-10-05T14:07:31.502Z" == event["timestamp"]
    assert "page.created" == subscriber.next()["type"]


def test_changes_of_different_pages_and_types_are_not_merged(
    notes: Notes, clock: FrozenClock, subscriber: Inbox
) -> None:
    update_page(notes, Value=1)
    append_blocks(notes)
    create_page(notes)
    clock.wake(2)

    assert ["page.content_updated", "page.created", "page.properties_updated"] == sorted(
        subscriber.next()["type"] for _ in range(3)
    )


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["trash_page"], []),
        (["trash_page", "restore_page"], ["page.created"]),
        (["update_page"], ["page.created", "page.properties_updated"]),
        (["update_page", "trash_page"], []),
    ],
)
def test_changes_after_a_creation_are_merged_within_a_window(
    notes: Notes, clock: FrozenClock, subscriber: Inbox, actions: list[str], expected: list[str]
) -> None:
    perform_all(notes, create_page(notes), actions)
    clock.wake()
    types = sorted(subscriber.next()["type"] for _ in expected)
    update_page(notes, Value=2)
    clock.wake()

    assert expected == types
    assert notes.examples["page_id"] == subscriber.next()["entity"]["id"]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["trash_page", "restore_page"], []),
        (["trash_page", "restore_page", "trash_page"], ["page.deleted"]),
        (["update_page", "trash_page", "restore_page"], ["page.properties_updated"]),
    ],
)
def test_undone_changes_within_a_window_emit_no_events(
    notes: Notes, clock: FrozenClock, subscriber: Inbox, actions: list[str], expected: list[str]
) -> None:
    perform_all(notes, notes.examples["page_id"], actions)
    clock.wake()
    types = sorted(subscriber.next()["type"] for _ in expected)
    create_page(notes)
    clock.wake()

    assert expected == types
    assert "page.created" == subscriber.next()["type"]


def test_a_lock_event_is_sent_immediately(notes: Notes, clock: FrozenClock, subscriber: Inbox) -> None:
    update_page(notes, Value=1)
    patch_page(notes, is_locked=True)

    assert "page.locked" == subscriber.next()["type"]


# Delivery


def test_a_failed_delivery_is_attempted_eight_times_over_a_day(
    notes: Notes, clock: FrozenClock, inbox: Inbox, token: str
) -> None:
    inbox.answers += [FAILED] * 8
    create_page(notes)
    attempts = [(clock.wake(), *inbox.take()) for _ in range(8)]
    _, *delays = [delay for (delay,), _, _ in attempts]
    bodies = [json.loads(body) for _, _, body in attempts]

    assert all(is_signed(token, headers, body) for _, headers, body in attempts)
    assert [1, 2, 3, 4, 5, 6, 7, 8] == [body.pop("attempt_number") for body in bodies]
    assert [bodies[0]] * 8 == bodies
    assert sorted(delays) == delays
    assert 24 * 3600 < sum(delays) < 25 * 3600


def test_an_event_can_be_delivered_twice_with_one_id(notes: Notes, subscriber: Inbox) -> None:
    notes.set_knobs(deliver_twice=True)
    create_page(notes)
    first, second = subscriber.next(), subscriber.next()

    assert (first["id"], 1, 2) == (second["id"], first["attempt_number"], second["attempt_number"])


def test_events_can_be_delivered_out_of_order(notes: Notes, clock: FrozenClock, subscriber: Inbox) -> None:
    notes.set_knobs(deliver_disordered=True)
    pages = [create_page(notes) for _ in range(2)]
    clock.wake(2)
    second = subscriber.next()
    clock.wake()
    first = subscriber.next()

    assert pages == [first["entity"]["id"], second["entity"]["id"]]
    assert first["id"] != second["id"]


def test_a_reset_ends_the_subscription_and_clears_the_deliveries(notes: Notes, inbox: Inbox, token: str) -> None:
    create_page(notes)
    inbox.take()
    notes.reset()

    assert 422 == notes.perform(action="verify_webhook", verification_token=token).status_code
    assert [] == event_deliveries(notes)


def test_event_ids_are_not_reused_after_a_reset(notes: Notes, subscriber: Inbox) -> None:
    create_page(notes)
    before = subscriber.next()["id"]
    notes.reset()
    subscribe(notes, subscriber)
    create_page(notes)

    assert before != subscriber.next()["id"]


def test_a_subscription_after_a_reset_has_a_new_token(notes: Notes, inbox: Inbox, token: str) -> None:
    notes.reset()

    assert token != subscribe(notes, inbox)


def test_comment_and_move_events_name_their_parent(notes: Notes, subscriber: Inbox) -> None:
    page = notes.examples["page_id"]
    comment_id = notes.perform(action="comment", page_id=page, text="Hello").json()["comment_id"]
    comment = subscriber.next()
    row = notes.rows(notes.examples["data_source_id"])[-1]["id"]
    notes.request("POST", f"/v1/pages/{row}/move", {"parent": {"page_id": page}})
    moved = subscriber.next()

    assert ("comment.created", {"id": comment_id, "type": "comment"}) == (comment["type"], comment["entity"])
    assert {"page_id": page, "parent": {"id": page, "type": "page"}} == comment["data"]
    assert ("page.moved", {"id": row, "type": "page"}) == (moved["type"], moved["entity"])
    assert {"id": page, "type": "page"} == moved["data"]["parent"]
