"""What the notes stand-in sends of its own accord, and the settings it is sent by."""

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
from sandbox.tests.notes.asking import Notes, text
from workspace_sandbox.notes import CLIENT_ID, CLIENT_SECRET, NotesEmulator

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
FAILED: Answer = (500, {}, b"")


class Standstill:
    """A clock that stands still, at 2026-10-05T14:07:31.402Z at first; whoever sleeps waits to be woken."""

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
        """Wait until so many are asleep, and wake them all; how long each was going to sleep."""
        with self._slept:
            assert self._slept.wait_for(lambda: len(self._asleep) >= sleepers, 5)
            asleep, self._asleep = self._asleep, []
        for _, loop, woken in asleep:
            loop.call_soon_threadsafe(woken.set)
        return [seconds for seconds, _, _ in asleep]


@pytest.fixture(scope="module")
def client() -> Iterator[Notes]:
    with run_emulators(notes=NotesEmulator) as sandbox:
        made = Notes(sandbox)
        yield made
        made.close()


@pytest.fixture
def notes(client: Notes) -> Notes:
    """The stand-in as it was seeded, where nothing is waited for until it is gathered."""
    client.reset()
    client.turn(webhook_gather_seconds=0)
    return client


@pytest.fixture
def clock(notes: Notes) -> Iterator[Standstill]:
    own = notes.emulator.context.clock
    notes.emulator.context.clock = made = Standstill()
    yield made
    notes.emulator.context.clock = own


@pytest.fixture
def token(notes: Notes, inbox: Inbox) -> str:
    """The token of a subscription that is active."""
    return subscribed(notes, inbox)


@pytest.fixture
def subscriber(notes: Notes, inbox: Inbox) -> Inbox:
    """An address with an active subscription."""
    subscribed(notes, inbox)
    return inbox


def subscribed(notes: Notes, inbox: Inbox, **about: Any) -> str:
    notes.act(action="subscribe", url=inbox.address, **about)
    token = str(inbox.next()["verification_token"])
    assert "active" == notes.act(action="verify_webhook", verification_token=token).json()["state"]
    return token


def created(notes: Notes, **properties: Any) -> str:
    """The id of a page that a person has created."""
    made = notes.act(action="create_page", database_id=notes.examples["database_id"], properties=properties).json()
    return str(made["page_id"])


def updated(notes: Notes, **properties: Any) -> None:
    """Let a person change the page of the examples."""
    notes.act(action="update_page", page_id=notes.examples["page_id"], properties=properties)


def live(notes: Notes, page_id: str, fates: list[str]) -> None:
    """Let a person do one thing after the other to a page."""
    for fate in fates:
        assert 200 == notes.act(action=fate, page_id=page_id, properties={"Value": 1}).status_code


def journal(notes: Notes) -> list[dict[str, Any]]:
    """What is written down of events, and not of the handshake."""
    written = notes.act(action="deliveries").json()["deliveries"]
    return [entry for entry in written if entry["type"] != "verification"]


def is_signed(token: str, headers: dict[str, str], body: bytes) -> bool:
    made = HMAC(token.encode(), SHA256())
    made.update(body)
    return headers.get("X-Notion-Signature") == f"sha256={made.finalize().hex()}"


# The subscription


def test_a_subscription_hands_its_token_to_the_address_once_and_unsigned(notes: Notes, inbox: Inbox) -> None:
    settings = notes.act(action="subscribe", url=inbox.address).json()
    headers, body = inbox.take()

    assert re.fullmatch(UUID, settings["subscription_id"])
    assert "pending_verification" == settings["state"]
    assert re.fullmatch(rb'\{"verification_token":"secret_[A-Za-z0-9]{43}"\}', body)
    assert ("application/json", None) == (headers["Content-Type"], headers.get("X-Notion-Signature"))


def test_a_pending_subscription_is_told_nothing(notes: Notes, inbox: Inbox) -> None:
    notes.act(action="subscribe", url=inbox.address)
    token = inbox.next()["verification_token"]
    created(notes, Name="Unheard")
    notes.act(action="verify_webhook", verification_token=token)
    heard = created(notes, Name="Heard")

    assert heard == inbox.next()["entity"]["id"]


def test_a_handshake_that_fails_is_not_repeated(notes: Notes, clock: Standstill, inbox: Inbox) -> None:
    inbox.answers.append(FAILED)
    token = subscribed(notes, inbox)
    created(notes)
    clock.wake()
    headers, body = inbox.take()

    assert is_signed(token, headers, body)


def test_the_address_may_stand_in_the_knob(notes: Notes, inbox: Inbox) -> None:
    notes.turn(events_url=inbox.address)
    notes.act(action="subscribe")

    assert inbox.next()["verification_token"].startswith("secret_")


def test_only_the_token_that_was_sent_verifies(notes: Notes, inbox: Inbox) -> None:
    notes.act(action="subscribe", url=inbox.address)
    refused = notes.act(action="verify_webhook", verification_token="secret_guessed")

    assert 422 == refused.status_code
    assert "not the verification token" in refused.json()["error"]


def test_a_new_subscription_has_a_new_token_and_ends_the_old_one(notes: Notes, inbox: Inbox) -> None:
    first = subscribed(notes, inbox)
    notes.act(action="subscribe", url=inbox.address)
    second = inbox.next()["verification_token"]
    refused = notes.act(action="verify_webhook", verification_token=first)

    assert first != second
    assert 422 == refused.status_code


@pytest.mark.parametrize(
    "action",
    [
        {"action": "verify_webhook", "verification_token": "secret_any"},
        {"action": "subscribe"},
        {"action": "subscribe", "url": "elsewhere"},
        {"action": "subscribe", "url": "http://127.0.0.1/", "connection": "unknown"},
    ],
)
def test_settings_that_cannot_be_made_are_refused(notes: Notes, action: dict[str, Any]) -> None:
    assert 422 == notes.act(**action).status_code


def test_a_new_subscription_is_told_nothing_of_before(notes: Notes, clock: Standstill, inbox: Inbox) -> None:
    subscribed(notes, inbox)
    created(notes, Name="Before")
    subscribed(notes, inbox)
    heard = created(notes, Name="After")
    clock.wake()

    assert heard == inbox.next()["entity"]["id"]


# What an event says


def test_an_event_says_who_did_what_to_what(notes: Notes, clock: Standstill, inbox: Inbox) -> None:
    settings = notes.act(action="subscribe", url=inbox.address).json()
    notes.act(action="verify_webhook", verification_token=inbox.next()["verification_token"])
    page_id = created(notes, Name="New lead")
    clock.wake()
    event = inbox.next()
    me = notes.ask("GET", "/v1/users/me")
    ada = notes.ask("GET", "/v1/users")["results"][0]
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
    created(notes, Name="Signed 🎈")
    headers, body = inbox.take()

    assert is_signed(token, headers, body)
    assert not is_signed(token, headers, body + b" ")


def test_values_and_titles_are_never_told(notes: Notes, subscriber: Inbox) -> None:
    created(notes, Name="Sesame", Email="sesame@example.com", Stage="Sesame")
    bodies = [subscriber.take()[1] for _ in range(2)]

    assert ["data_source.schema_updated", "page.created"] == sorted(json.loads(body)["type"] for body in bodies)
    assert b"esame" not in b"".join(bodies)


def test_what_comes_through_the_api_is_authored_by_the_bot(notes: Notes, subscriber: Inbox) -> None:
    notes.create({"Name": {"title": text("By the bot")}})
    me = notes.ask("GET", "/v1/users/me")

    assert [{"id": me["id"], "type": "bot"}] == subscriber.next()["authors"]


def appended(notes: Notes) -> list[str]:
    """The ids of blocks that the connection has put on the page of the examples."""
    children = [{"paragraph": {"rich_text": text(content)}} for content in ("one", "two")]
    made = notes.ask("PATCH", f"/v1/blocks/{notes.examples['page_id']}/children", {"children": children})
    return [block["id"] for block in made["results"]]


def patched(notes: Notes, **body: Any) -> Any:
    return notes.ask("PATCH", f"/v1/pages/{notes.examples['page_id']}", body)


def wire_id(notes: Notes, name: str) -> str:
    source = notes.ask("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")
    return str(source["properties"][name]["id"])


def test_changed_properties_are_named_by_their_encoded_ids(notes: Notes, subscriber: Inbox) -> None:
    updated(notes, Value=7, Stage="Won")
    event = subscriber.next()

    assert (event["type"], event["entity"]) == (
        "page.properties_updated",
        {"id": notes.examples["page_id"], "type": "page"},
    )
    assert [wire_id(notes, "Value"), wire_id(notes, "Stage")] == event["data"]["updated_properties"]


def test_another_title_is_other_content(notes: Notes, subscriber: Inbox) -> None:
    updated(notes, Name="Renamed")
    event = subscriber.next()

    assert "page.content_updated" == event["type"]
    assert [{"id": notes.examples["page_id"], "type": "page"}] == event["data"]["updated_blocks"]


def test_appended_blocks_are_named(notes: Notes, subscriber: Inbox) -> None:
    block_ids = appended(notes)
    event = subscriber.next()

    assert (event["type"], event["entity"]["id"]) == ("page.content_updated", notes.examples["page_id"])
    assert [{"id": uid, "type": "block"} for uid in block_ids] == event["data"]["updated_blocks"]


def test_a_deleted_block_is_a_change_of_its_page(notes: Notes, subscriber: Inbox) -> None:
    block_id = appended(notes)[0]
    subscriber.next()
    notes.ask("DELETE", f"/v1/blocks/{block_id}")
    event = subscriber.next()

    assert (event["type"], event["entity"]["id"]) == ("page.content_updated", notes.examples["page_id"])
    assert [{"id": block_id, "type": "block"}] == event["data"]["updated_blocks"]


@pytest.mark.parametrize(
    ("act", "types"),
    [
        (lambda notes: patched(notes, in_trash=True), ["page.deleted"]),
        (lambda notes: notes.ask("DELETE", f"/v1/blocks/{notes.examples['page_id']}"), ["page.deleted"]),
        (lambda notes: notes.act(action="trash_page", page_id=notes.examples["page_id"]), ["page.deleted"]),
        (lambda notes: notes.ask("DELETE", f"/v1/blocks/{notes.examples['database_id']}"), ["database.deleted"]),
        (lambda notes: patched(notes, is_locked=True), ["page.locked"]),
        (lambda notes: patched(notes, icon={"emoji": "🛴"}), ["page.content_updated"]),
        (lambda notes: patched(notes, erase_content=True), ["page.content_updated"]),
        (lambda notes: updated(notes, Name="x", Value=1), ["page.properties_updated", "page.content_updated"]),
        (lambda notes: updated(notes, Stage="Unheard of"), ["data_source.schema_updated", "page.properties_updated"]),
        (lambda notes: updated(notes, Tags=["eu", "mars"]), ["data_source.schema_updated", "page.properties_updated"]),
    ],
)
def test_what_happens_is_told_by_the_vendors_names(
    notes: Notes, subscriber: Inbox, act: Callable[[Notes], Any], types: list[str]
) -> None:
    act(notes)

    assert sorted(types) == sorted(subscriber.next()["type"] for _ in types)


def test_restoring_and_unlocking_are_told_too(notes: Notes, inbox: Inbox) -> None:
    patched(notes, is_locked=True, in_trash=True)
    subscribed(notes, inbox)
    patched(notes, in_trash=False)
    restored = inbox.next()["type"]
    patched(notes, is_locked=False)

    assert ("page.undeleted", "page.unlocked") == (restored, inbox.next()["type"])


@pytest.mark.parametrize(
    ("action", "name", "done"),
    [
        ({"action": "rename_property", "property": "Stage", "name": "Phase"}, "Phase", "updated"),
        ({"action": "rename_option", "property": "Stage", "option": "Won", "name": "Gained"}, "Stage", "updated"),
        ({"action": "add_property", "name": "Region", "type": "select", "options": ["North"]}, "Region", "created"),
    ],
)
def test_another_schema_is_told_by_its_columns(
    notes: Notes, subscriber: Inbox, action: dict[str, Any], name: str, done: str
) -> None:
    notes.act(database_id=notes.examples["database_id"], **action)
    event = subscriber.next()

    assert (event["type"], event["entity"]) == (
        "data_source.schema_updated",
        {"id": notes.examples["data_source_id"], "type": "data_source"},
    )
    assert [{"id": wire_id(notes, name), "name": name, "action": done}] == event["data"]["updated_properties"]


def test_a_data_source_lies_where_its_database_does(notes: Notes, subscriber: Inbox) -> None:
    (handbook,) = notes.ask("POST", "/v1/search", {"query": "handbook"})["results"]
    children = notes.ask("GET", f"/v1/blocks/{handbook['id']}/children")["results"]
    rooms = next(child["id"] for child in children if child["type"] == "child_database")
    notes.act(action="rename_property", database_id=rooms, property="Seats", name="Chairs")
    nested = subscriber.next()["data"]["parent"]
    notes.act(action="rename_property", database_id=notes.examples["database_id"], property="Due", name="Until")
    top = subscriber.next()
    me = notes.ask("GET", "/v1/users/me")

    assert {"id": handbook["id"], "type": "page"} == nested
    assert {"id": me["bot"]["workspace_id"], "type": "space"} == top["data"]["parent"]


# Who is told


def test_what_is_not_shared_is_not_told(notes: Notes, subscriber: Inbox) -> None:
    notes.act(action="create_page", database_id=notes.examples["unshared_database_id"], properties={"Name": "Secret"})
    heard = created(notes)

    assert heard == subscriber.next()["entity"]["id"]


def authorised(notes: Notes) -> str:
    """The id of the bot that a user has let in."""
    asked = {"client_id": CLIENT_ID, "response_type": "code", "owner": "user", "redirect_uri": "http://localhost/"}
    sent = notes.http.get("/v1/oauth/authorize", params=asked | {"auto_approve": "true"})
    code = parse_qs(urlsplit(sent.headers["location"]).query)["code"][0]
    body = {"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost/"}
    basic = httpx.BasicAuth(CLIENT_ID, CLIENT_SECRET)
    return str(httpx.post(f"{notes.address}/v1/oauth/token", json=body, auth=basic).json()["bot_id"])


def test_a_public_connection_is_told_by_which_bot_it_may_look(notes: Notes, inbox: Inbox) -> None:
    bot_id = authorised(notes)
    subscribed(notes, inbox, connection="public")
    created(notes)
    event = inbox.next()

    assert {"id": bot_id, "type": "bot"} == event["accessible_by"][-1]
    assert "person" == event["accessible_by"][0]["type"]
    assert CLIENT_ID == event["integration_id"]


def test_a_public_connection_is_told_nothing_before_anybody_lets_it_in(notes: Notes, inbox: Inbox) -> None:
    subscribed(notes, inbox, connection="public")
    created(notes)
    authorised(notes)
    heard = created(notes)

    assert heard == inbox.next()["entity"]["id"]


def test_a_removed_connection_is_told_nothing(notes: Notes, subscriber: Inbox) -> None:
    notes.control.post("/_control/notes/revoke")
    created(notes)
    notes.control.post("/_control/notes/authorise")
    heard = created(notes)

    assert heard == subscriber.next()["entity"]["id"]


def test_without_an_address_nothing_is_told(notes: Notes, subscriber: Inbox) -> None:
    notes.turn(events_url="")
    created(notes)
    notes.turn(events_url=subscriber.address)
    heard = created(notes)

    assert heard == subscriber.next()["entity"]["id"]
    assert [] == [entry for entry in journal(notes) if entry["reason"]]


# Gathering


def test_changes_of_one_page_and_type_are_told_as_one(notes: Notes, clock: Standstill, subscriber: Inbox) -> None:
    updated(notes, Value=1, Hot=True)
    clock.at += 0.1
    patched(notes, properties={"Value": {"number": 2}, "Due": {"date": None}})
    clock.wake()
    event = subscriber.next()
    created(notes)
    clock.wake()

    assert [wire_id(notes, name) for name in ("Value", "Hot", "Due")] == event["data"]["updated_properties"]
    assert ["person", "bot"] == [author["type"] for author in event["authors"]]
    assert "2026-10-05T14:07:31.502Z" == event["timestamp"]
    assert "page.created" == subscriber.next()["type"]


def test_changes_of_other_pages_and_types_stay_apart(notes: Notes, clock: Standstill, subscriber: Inbox) -> None:
    updated(notes, Value=1)
    appended(notes)
    created(notes)
    clock.wake(2)

    assert ["page.content_updated", "page.created", "page.properties_updated"] == sorted(
        subscriber.next()["type"] for _ in range(3)
    )


@pytest.mark.parametrize(
    ("fates", "left"),
    [
        (["trash_page"], []),
        (["trash_page", "restore_page"], ["page.created"]),
        (["update_page"], ["page.created", "page.properties_updated"]),
        (["update_page", "trash_page"], []),
    ],
)
def test_a_page_that_comes_and_goes_within_a_window_was_never_there(
    notes: Notes, clock: Standstill, subscriber: Inbox, fates: list[str], left: list[str]
) -> None:
    live(notes, created(notes), fates)
    clock.wake()
    told = sorted(subscriber.next()["type"] for _ in left)
    updated(notes, Value=2)
    clock.wake()

    assert left == told
    assert notes.examples["page_id"] == subscriber.next()["entity"]["id"]


@pytest.mark.parametrize(
    ("fates", "left"),
    [
        (["trash_page", "restore_page"], []),
        (["trash_page", "restore_page", "trash_page"], ["page.deleted"]),
        (["update_page", "trash_page", "restore_page"], ["page.properties_updated"]),
    ],
)
def test_what_is_undone_within_a_window_is_not_told(
    notes: Notes, clock: Standstill, subscriber: Inbox, fates: list[str], left: list[str]
) -> None:
    live(notes, notes.examples["page_id"], fates)
    clock.wake()
    told = sorted(subscriber.next()["type"] for _ in left)
    created(notes)
    clock.wake()

    assert left == told
    assert "page.created" == subscriber.next()["type"]


def test_a_lock_is_told_at_once(notes: Notes, clock: Standstill, subscriber: Inbox) -> None:
    updated(notes, Value=1)
    patched(notes, is_locked=True)

    assert "page.locked" == subscriber.next()["type"]


# Delivery


def test_a_failed_delivery_is_tried_eight_times_over_a_day(
    notes: Notes, clock: Standstill, inbox: Inbox, token: str
) -> None:
    inbox.answers += [FAILED] * 8
    created(notes)
    tries = [(clock.wake(), *inbox.take()) for _ in range(8)]
    _, *pauses = [pause for (pause,), _, _ in tries]
    bodies = [json.loads(body) for _, _, body in tries]

    assert all(is_signed(token, headers, body) for _, headers, body in tries)
    assert [1, 2, 3, 4, 5, 6, 7, 8] == [body.pop("attempt_number") for body in bodies]
    assert [bodies[0]] * 8 == bodies
    assert sorted(pauses) == pauses
    assert 24 * 3600 < sum(pauses) < 25 * 3600


def test_an_event_can_come_twice_under_one_id(notes: Notes, subscriber: Inbox) -> None:
    notes.turn(deliver_twice=True)
    created(notes)
    first, second = subscriber.next(), subscriber.next()

    assert (first["id"], 1, 2) == (second["id"], first["attempt_number"], second["attempt_number"])


def test_events_can_come_in_disorder(notes: Notes, clock: Standstill, subscriber: Inbox) -> None:
    notes.turn(deliver_disordered=True)
    pages = [created(notes) for _ in range(2)]
    clock.wake(2)
    second = subscriber.next()
    clock.wake()
    first = subscriber.next()

    assert pages == [first["entity"]["id"], second["entity"]["id"]]
    assert first["id"] != second["id"]


def test_a_reset_ends_the_subscription_and_forgets_the_journal(notes: Notes, inbox: Inbox, token: str) -> None:
    created(notes)
    inbox.take()
    notes.reset()

    assert 422 == notes.act(action="verify_webhook", verification_token=token).status_code
    assert [] == journal(notes)


def test_ids_of_events_do_not_return_after_a_reset(notes: Notes, subscriber: Inbox) -> None:
    created(notes)
    before = subscriber.next()["id"]
    notes.reset()
    subscribed(notes, subscriber)
    created(notes)

    assert before != subscriber.next()["id"]


def test_a_subscription_after_a_reset_has_another_token(notes: Notes, inbox: Inbox, token: str) -> None:
    notes.reset()

    assert token != subscribed(notes, inbox)


def test_comments_and_moves_say_where_they_are(notes: Notes, subscriber: Inbox) -> None:
    page = notes.examples["page_id"]
    said = notes.act(action="comment", page_id=page, text="Hello").json()["comment_id"]
    comment = subscriber.next()
    row = notes.rows(notes.examples["data_source_id"])[-1]["id"]
    notes.ask("POST", f"/v1/pages/{row}/move", {"parent": {"page_id": page}})
    moved = subscriber.next()

    assert ("comment.created", {"id": said, "type": "comment"}) == (comment["type"], comment["entity"])
    assert {"page_id": page, "parent": {"id": page, "type": "page"}} == comment["data"]
    assert ("page.moved", {"id": row, "type": "page"}) == (moved["type"], moved["entity"])
    assert {"id": page, "type": "page"} == moved["data"]["parent"]
