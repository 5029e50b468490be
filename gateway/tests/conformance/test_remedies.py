"""Every error of the catalogue is raised through the API, and the call succeeds after its remedy is followed."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
from click.testing import CliRunner
from pydantic_core import from_json, to_json

from connector_gateway.cli import main
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.core.writes.write_executor import CHECK_AFTER_RESTORE, CHECK_OBJECT_FIRST, CHECK_UPSTREAM_FIRST
from connector_gateway.http import pages
from connector_gateway.http.console.request import NAVIGATION
from connector_gateway.http.openapi import openapi
from connector_gateway.kit.errors import GatewayError, all_errors
from connector_gateway.kit.errors.remedy_placeholders import PHRASES, REFERENCE, SURFACES, resolve_remedy
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.management.routes import MANAGEMENT
from connector_gateway.mcp import resources
from gateway.tests.connectors.chat.vendor_view import get_scopes_without
from harness.all_connectors import UNTHROTTLED
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.mcp_clients import agent, named
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.state import User

CONNECTOR = "/v1/connectors"
UUID = "11111111-1111-4111-8111-111111111111"
TWIN, TWINS = "Sam Twin", (UUID, f"2{UUID[1:]}")
"""A name of two people, and their identifiers."""

numbers = count(1)


@dataclass(frozen=True)
class World:
    """A gateway in front of all emulators, and a site with files."""

    gateway: Gateway
    site: str

    def known(self, connector: str) -> Mapping[str, Any]:
        return CONNECTORS[connector].examples(self.gateway.examples(connector))

    @property
    def notes(self) -> NotesEmulator:
        emulator = self.gateway.sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        return emulator

    # Calls of which one thing is wrong, unless it is put right

    def create_page(self, **properties: Any) -> Reply:
        leads = self.known("notes")["database_id"]
        return self.gateway.post("/notes/pages", database_id=leads, properties=properties)

    def update_page(self, **body: Any) -> Reply:
        return self.gateway.patch(f"/notes/pages/{self.known('notes')['page_id']}", **body)

    def create_card(self, **body: Any) -> Reply:
        return self.gateway.post(
            "/boards/cards", **({"list_id": self.known("boards")["list_ids"][0], "name": "x"} | body)
        )

    def comment(self, card_id: str, **body: Any) -> Reply:
        return self.gateway.post(f"/boards/cards/{card_id}/comments", text="x", **body)

    def draft(self, *to: str, **body: Any) -> Reply:
        return self.gateway.post("/mail/drafts", to=list(to), subject="x", body_html="<p>x</p>", **body)

    def reply_in(self, thread_id: str) -> Reply:
        message: dict[str, Any] = {"to": ["ann@acme.test"], "subject": "x", "body_html": "<p>x</p>"}
        return self.gateway.post("/mail/messages", **message, thread_id=thread_id)

    def label(self, **body: Any) -> Reply:
        return self.gateway.post(f"/mail/messages/{self.known('mail')['message_id']}/labels", **body)

    def attachment(self, attachment_id: str) -> Reply:
        message_id = self.known("mail")["message_id"]
        return self.gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id)

    def post_message(self, channel: str) -> Reply:
        return self.gateway.post("/chat/messages", channel=channel, text="x")

    def react(self, message_ts: str, emoji: str) -> Reply:
        channel = self.known("chat")["channel_id"]
        return self.gateway.post("/chat/reactions", channel=channel, message_ts=message_ts, emoji=emoji)

    def edit(self, message_ts: str) -> Reply:
        channel = self.known("chat")["channel_id"]
        return self.gateway.patch(f"/chat/messages/{message_ts}", channel=channel, text="y")

    def posted(self) -> str:
        ts: str = self.post_message(self.known("chat")["channel_id"]).data["message_ts"]
        return ts

    def contact(self, **properties: Any) -> Reply:
        email = f"remedy{next(numbers)}@acme.test"
        return self.gateway.post("/crm/contacts", email=email, properties=properties)

    def link(self, **body: Any) -> Reply:
        contact: dict[str, Any] = {
            "email": "linked@acme.test",
            "properties": {},
            "associate_company": "nobody-has-this.example",
        }
        return self.gateway.post("/crm/contacts", **contact, **body)

    def deal(self, **body: Any) -> Reply:
        crm = self.known("crm")
        properties = {"dealname": "x", "pipeline": crm["pipeline"], "dealstage": crm["stages"][0]}
        return self.gateway.post("/crm/deals", **(properties | body))

    def records(self, **query: Any) -> Reply:
        tables = self.known("tables")
        return self.gateway.get("/tables/records", **({"base_id": tables["base_id"], "table": tables["table"]} | query))

    def update_record(self, record_id: str | None = None, /, **fields: Any) -> Reply:
        tables = self.known("tables")
        place = {"base_id": tables["base_id"], "table": tables["table"]}
        return self.gateway.patch(f"/tables/records/{record_id or tables['record_id']}", **place, fields=fields)

    def create_records(self, number: int) -> Reply:
        tables = self.known("tables")
        place = {"base_id": tables["base_id"], "table": tables["table"]}
        return self.gateway.post("/tables/records", **place, records=[{"Name": "x"}] * number)

    def attach(self, url: str) -> Reply:
        tables = self.known("tables")
        about = {"record_id": tables["record_id"], "field": tables["attachment_field"]}
        return self.gateway.post("/tables/attachments", **about, url=url)

    def raw(self, content: bytes, media_type: str = "application/json") -> Reply:
        headers = {"Content-Type": media_type}
        return self.gateway.request("POST", f"{CONNECTOR}/notes/pages/search", headers=headers, content=content)

    def search(self, padding: int = 0) -> bytes:
        connection_id, leads = self.gateway.connections["notes"], self.known("notes")["database_id"]
        body = f'"connection_id":"{connection_id}","database_id":"{leads}","property":"Name","value":"x"'
        return b"{" + b" " * padding + body.encode() + b"}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    files = PublicFileFetcher(2, 100_000, is_reachable=lambda address: address == "127.0.0.1")
    pages = {
        "/note.txt": scripted_response(b"Needed", "text/plain"),
        "/empty.txt": scripted_response(b"", "text/plain"),
        "/huge.bin": scripted_response(b"x" * 200_000, "application/octet-stream"),
    }
    folder = tmp_path_factory.mktemp("remedies")
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(sandbox, folder, connectors=UNTHROTTLED, files=files) as gateway,
        serve_files(pages) as site,
    ):
        for connector in EMULATORS:
            gateway.clear(connector)
        world = World(gateway, site)
        world.notes.workspace.users.update({uid: User(uid, TWIN, email=f"{uid[0]}@twins.example") for uid in TWINS})
        yield world


def detail(reply: Reply) -> Mapping[str, Any]:
    return reply.details[0]


def listed(reply: Reply) -> Any:
    """Return the first allowed value in the details."""
    return detail(reply)["allowed"][0]


def suggested_name(reply: Reply) -> str:
    """Return the suggestion in the details."""
    text: str = detail(reply)["did_you_mean"]
    return text


# Errors whose scenario takes more than a call


def not_shared(world: World) -> Reply:
    shared = world.known("notes")["unshared_database_id"]
    return world.gateway.post("/notes/pages/search", database_id=shared, property="Name", value="x")


def share(world: World, _: Reply) -> Reply:
    world.notes.seeded.internal.shared.add(world.known("notes")["unshared_database_id"])
    return world.gateway.get("/notes/databases", query="Sal", limit=1)


def namesakes(world: World) -> Reply:
    return world.create_page(Owner=TWIN)


def without_reactions(world: World) -> Reply:
    ts = world.posted()
    world.gateway.knob("chat", scopes=get_scopes_without("reactions:write"))
    return world.react(ts, "eyes")


def granted(world: World, _: Reply) -> Reply:
    world.gateway.clear("chat")
    return world.react(world.posted(), "eyes")


def by_identifier(world: World, _: Reply) -> Reply:
    return world.create_page(Owner=world.notes.seeded.person.id)


def modified(world: World) -> Reply:
    return world.update_page(properties={"Name": "x"}, if_unmodified_since="2001-01-01T00:00:00Z")


def trashed(world: World) -> Reply:
    page_id = world.create_page(Name="trashed").data["page_id"]
    world.gateway.patch(f"/notes/pages/{page_id}", archived=True)
    return world.gateway.patch(f"/notes/pages/{page_id}", properties={"Name": page_id})


def restored(world: World, _: Reply) -> Reply:
    page_id = world.create_page(Name="restored").data["page_id"]
    world.gateway.patch(f"/notes/pages/{page_id}", archived=True)
    return world.gateway.patch(f"/notes/pages/{page_id}", properties={"Name": "back"}, archived=False)


def two_sources(world: World) -> Reply:
    database_id = world.known("notes")["multi_source_database_id"]
    return world.gateway.post("/notes/pages", database_id=database_id, properties={"Budget": 1, "Client": "x"})


def one_source(world: World, reply: Reply) -> Reply:
    database_id = world.known("notes")["multi_source_database_id"]
    name = next(name for one in reply.details for name in one["properties"] if name in {"Budget", "Client"})
    value = 1 if name == "Budget" else "x"
    return world.gateway.post("/notes/pages", database_id=database_id, properties={name: value})


def revoked(world: World) -> Reply:
    world.gateway.revoke("boards")
    return world.comment(world.known("boards")["card_id"])


def reconnected(world: World, _: Reply) -> Reply:
    world.gateway.authorise("boards")
    return world.comment(world.known("boards")["card_id"])


def outside(world: World) -> Reply:
    world.gateway.knob("chat", scopes=get_scopes_without("chat:write.public"))
    reply = world.post_message("finance")
    world.gateway.clear("chat")
    return reply


def twins(world: World) -> Reply:
    for _ in range(2):
        world.gateway.act("crm", action="create_pipeline", label="Twins", stages=["One"])
    return world.deal(pipeline="Twins", dealstage="One")


def taken(world: World) -> Reply:
    world.contact(erp_id="ERP-taken")
    return world.contact(erp_id="ERP-taken")


def reused(world: World) -> Reply:
    key = {"idempotency_key": "reused"}
    world.comment(world.known("boards")["card_id"], **key)
    other = world.create_card().data["card_id"]
    return world.comment(other, **key)


def limited(world: World, path: str, **query: Any) -> Reply:
    return world.gateway.with_key(operations=["boards_*"]).get(path, **query)


def followed(world: World, suggested: str) -> Reply:
    """Perform the call in a message, such as ``GET /v1/connectors/notes/databases``."""
    method, _, path = suggested.partition(" ")
    return world.gateway.request(method, path, params={"connection_id": world.gateway.connections["notes"]})


def download(world: World, path: str) -> Reply:
    response = world.gateway.http.get(world.gateway.base_url + path)
    body = response.json() if response.status_code >= 400 else None
    return Reply(response.status_code, response.headers, body)


def fresh_link(world: World, _: Reply) -> Reply:
    url = world.attachment(world.known("mail")["attachment_id"]).data["download_url"]
    return download(world, urlsplit(url).path)


Wrong = Callable[[World], Reply]
Remedy = Callable[[World, Reply], Reply]

DATABASES = "/notes/databases"

FOLLOWED: Mapping[str, tuple[Wrong, Remedy]] = {
    "missing_api_key": (
        lambda w: w.gateway.request("GET", f"{CONNECTOR}{DATABASES}", headers={"Authorization": ""}),
        lambda w, _: w.gateway.get(DATABASES, limit=1),
    ),
    "invalid_api_key": (
        lambda w: replace(w.gateway, key="cgw_" + "a" * 49).get(DATABASES),
        lambda w, _: w.gateway.with_key().get(DATABASES, limit=1),
    ),
    "write_scope_required": (
        lambda w: w.gateway.with_key("read").post("/mail/drafts"),
        lambda w, _: w.draft("ann@acme.test"),
    ),
    "operation_not_allowed": (
        lambda w: limited(w, DATABASES),
        lambda w, _: limited(w, "/boards/lists", board_id=w.known("boards")["board_id"]),
    ),
    "operator_token_required": (
        lambda w: w.gateway.request("GET", "/v1/keys"),
        lambda w, _: w.gateway.operator("GET", "/v1/keys"),
    ),
    "invalid_json": (lambda w: w.raw(b"{"), lambda w, _: w.raw(w.search())),
    "unsupported_media_type": (lambda w: w.raw(w.search(), "text/plain"), lambda w, _: w.raw(w.search())),
    "payload_too_large": (lambda w: w.raw(w.search(2**20)), lambda w, _: w.raw(w.search())),
    "invalid_parameters": (
        lambda w: w.gateway.get(DATABASES, limit=0),
        lambda w, reply: w.gateway.get(DATABASES, **{detail(reply)["parameter"]: 1}),
    ),
    "invalid_cursor": (
        lambda w: w.gateway.get(DATABASES, cursor="abc"),
        lambda w, _: w.gateway.get(DATABASES, limit=1),
    ),
    "route_not_found": (
        lambda w: w.gateway.request("GET", f"{CONNECTOR}/notes/database"),
        lambda w, reply: followed(w, suggested_name(reply)),
    ),
    "method_not_allowed": (
        lambda w: w.gateway.request("DELETE", f"{CONNECTOR}{DATABASES}"),
        lambda w, reply: followed(w, f"{reply.headers['allow'].split(',')[0]} {CONNECTOR}{DATABASES}"),
    ),
    "idempotency_key_reused": (
        reused,
        lambda w, _: w.comment(w.known("boards")["card_id"], idempotency_key="another"),
    ),
    "connection_not_found": (
        lambda w: w.gateway.get(DATABASES, connection_id="conn_unknown"),
        lambda w, _: w.gateway.get(
            DATABASES,
            connection_id=next(
                one["connection_id"]
                for one in w.gateway.request("GET", "/v1/connections").body["data"]
                if one["connector"] == "notes"
            ),
        ),
    ),
    "connection_mismatch": (
        lambda w: w.gateway.get(DATABASES, connection_id=w.gateway.connections["boards"]),
        lambda w, _: w.gateway.get(DATABASES, limit=1),
    ),
    "workspace_not_found": (
        lambda w: w.gateway.operator("PATCH", "/v1/workspaces/ws_unknown", json={"name": "x"}),
        lambda w, _: w.gateway.operator("GET", "/v1/workspaces"),
    ),
    "key_not_found": (
        lambda w: w.gateway.operator("DELETE", "/v1/keys/key_unknown"),
        lambda w, _: w.gateway.operator("GET", "/v1/keys"),
    ),
    "webhook_not_found": (
        lambda w: w.gateway.operator("GET", "/v1/webhooks/wh_unknown"),
        lambda w, _: w.gateway.operator("GET", "/v1/webhooks"),
    ),
    "run_not_found": (
        lambda w: w.gateway.request("GET", "/v1/runs/run_unknown"),
        lambda w, _: w.gateway.request("GET", f"/v1/runs/{w.gateway.get(DATABASES, limit=1).body['run_id']}"),
    ),
    "database_not_shared": (not_shared, share),
    "page_not_found": (
        lambda w: w.gateway.patch(f"/notes/pages/{UUID}", archived=False),
        lambda w, _: w.update_page(archived=False),
    ),
    "person_not_found": (
        lambda w: w.create_page(Owner="ada@fernweh.exampel"),
        lambda w, reply: w.create_page(Owner=suggested_name(reply)),
    ),
    "ambiguous_person": (namesakes, lambda w, reply: w.create_page(Owner=listed(reply))),
    "property_not_found": (
        lambda w: w.create_page(Stagee="Open"),
        lambda w, reply: w.create_page(**{suggested_name(reply): "Open"}),
    ),
    "lossy_cast": (lambda w: w.create_page(Value="much"), lambda w, _: w.create_page(Value="2.5")),
    "select_option_missing": (
        lambda w: w.create_page(Stage="Nowhere"),
        lambda w, reply: w.create_page(Stage=listed(reply)),
    ),
    "page_modified": (
        modified,
        lambda w, reply: w.update_page(properties={"Name": "x"}, if_unmodified_since=detail(reply)["last_edited_at"]),
    ),
    "page_in_trash": (trashed, restored),
    "ambiguous_database": (two_sources, one_source),
    "unsupported_block": (
        lambda w: w.gateway.post(
            "/notes/pages", database_id=w.known("notes")["database_id"], properties={}, children=[{"type": "code"}]
        ),
        lambda w, _: w.gateway.post(
            "/notes/pages",
            database_id=w.known("notes")["database_id"],
            properties={},
            children=[{"type": "callout", "text": "x"}],
        ),
    ),
    "connection_scope_missing": (without_reactions, granted),
    "upstream_refused": (
        lambda w: w.create_page(Owner=UUID.replace("1111-1", "2222-1")),
        by_identifier,
    ),
    "board_not_authorised": (
        lambda w: w.gateway.get("/boards/lists", board_id="1" * 24),
        lambda w, _: w.gateway.get("/boards/lists", board_id=w.known("boards")["board_id"]),
    ),
    "list_not_found": (
        lambda w: w.create_card(list_id="To do"),
        lambda w, _: w.create_card(
            list_id=w.gateway.get("/boards/lists", board_id=w.known("boards")["board_id"]).data["lists"][0]["list_id"]
        ),
    ),
    "card_not_found": (lambda w: w.comment("1" * 24), lambda w, _: w.comment(w.known("boards")["card_id"])),
    "label_not_on_board": (
        lambda w: w.create_card(labels=["urgnt"]),
        lambda w, r: w.create_card(labels=[suggested_name(r)]),
    ),
    "connection_revoked": (revoked, reconnected),
    "message_not_found": (lambda w: w.edit("1700000000.000001"), lambda w, _: w.edit(w.posted())),
    "thread_not_found": (
        lambda w: w.reply_in("19a3e99010aa2b77"),
        lambda w, _: w.reply_in(w.known("mail")["thread_id"]),
    ),
    "label_not_found": (
        lambda w: w.label(add=["No such label"]),
        lambda w, _: w.label(add=["No such label"], create_missing=True),
    ),
    "attachment_not_found": (
        lambda w: w.attachment("att_unknown"),
        lambda w, _: w.attachment(w.known("mail")["attachment_id"]),
    ),
    "link_not_found": (lambda w: download(w, "/v1/downloads/unknown"), fresh_link),
    "invalid_recipient": (lambda w: w.draft("ann"), lambda w, _: w.draft("ann@acme.test")),
    "channel_not_found": (lambda w: w.post_message("genral"), lambda w, reply: w.post_message(suggested_name(reply))),
    "not_in_channel": (outside, lambda w, _: w.post_message(w.known("chat")["channel_id"])),
    "channel_archived": (
        lambda w: w.post_message("2024-project-01"),
        lambda w, _: w.post_message(w.known("chat")["channel_id"]),
    ),
    "ambiguous_channel": (
        lambda w: w.post_message("war-room"),
        lambda w, reply: w.post_message(detail(reply)["channel_id"]),
    ),
    "emoji_not_found": (
        lambda w: w.react(w.posted(), "no_such_emoji"),
        lambda w, _: w.react(w.posted(), "eyes"),
    ),
    "not_message_author": (
        lambda w: w.edit(w.gateway.examples("chat")["foreign_message_ts"]),
        lambda w, _: w.edit(w.posted()),
    ),
    "contact_not_found": (
        lambda w: w.deal(contact_id="424242"),
        lambda w, _: w.deal(contact_id=w.known("crm")["contact_id"]),
    ),
    "company_not_found": (lambda w: w.link(), lambda w, _: w.link(create_company=True)),
    "deal_not_found": (
        lambda w: w.gateway.patch("/crm/deals/424242", note="x"),
        lambda w, _: w.gateway.patch(f"/crm/deals/{w.known('crm')['deal_id']}", note="x"),
    ),
    "pipeline_not_found": (
        lambda w: w.deal(pipeline="Nowhere"),
        lambda w, reply: w.deal(pipeline=listed(reply)),
    ),
    "ambiguous_pipeline": (
        twins,
        lambda w, reply: w.deal(pipeline=detail(reply)["identifiers"][0], dealstage="One"),
    ),
    "stage_not_found": (lambda w: w.deal(dealstage="Nowhere"), lambda w, reply: w.deal(dealstage=listed(reply))),
    "option_missing": (lambda w: w.contact(tier="platinum"), lambda w, reply: w.contact(tier=listed(reply))),
    "unique_value_taken": (taken, lambda w, _: w.contact(erp_id="ERP-free")),
    "base_not_found": (
        lambda w: w.records(base_id="appDoesNotExist00"),
        lambda w, _: w.records(limit=1),
    ),
    "table_not_found": (
        lambda w: w.records(table="Nowhere"),
        lambda w, _: w.records(
            table=w.gateway.get("/tables/tables", base_id=w.known("tables")["base_id"]).data[0]["table"], limit=1
        ),
    ),
    "view_not_found": (lambda w: w.records(view="Nowhere"), lambda w, reply: w.records(view=listed(reply), limit=1)),
    "record_not_found": (
        lambda w: w.update_record("recDoesNotExist00", Name="x"),
        lambda w, _: w.update_record(Name="x"),
    ),
    "field_not_found": (lambda w: w.update_record(Nmae="x"), lambda w, r: w.update_record(**{suggested_name(r): "x"})),
    "read_only_field": (
        lambda w: w.update_record(Name="x", **{computed(w): 1}),
        lambda w, _: w.update_record(Name="x"),
    ),
    "too_many_records": (lambda w: w.create_records(11), lambda w, _: w.create_records(10)),
    "url_not_allowed": (lambda w: w.attach("ftp://files.example/a"), lambda w, _: w.attach(f"{w.site}/note.txt")),
    "url_unreachable": (lambda w: w.attach(f"{w.site}/nowhere"), lambda w, _: w.attach(f"{w.site}/note.txt")),
    "file_empty": (lambda w: w.attach(f"{w.site}/empty.txt"), lambda w, _: w.attach(f"{w.site}/note.txt")),
    "file_too_large": (lambda w: w.attach(f"{w.site}/huge.bin"), lambda w, _: w.attach(f"{w.site}/note.txt")),
}


def computed(world: World) -> str:
    """Return the name of a field that the vendor computes."""
    tables = world.gateway.get("/tables/tables", base_id=world.known("tables")["base_id"]).data
    fields = next(one for one in tables if one["table"] == world.known("tables")["table"])["fields"]
    name: str = next(field["name"] for field in fields if field["type"] in {"formula", "autoNumber", "createdTime"})
    return name


A_MINUTE = "waiting is the remedy, and tests with a clock of their own wait"
SETTING = "the remedy is another setting of the installation or another start of it, not another call"
VENDOR = "the vendor has to change; no request of a caller can follow the remedy"
CLOSED = "the connection is closed with the response, which tests of the protocol read by themselves"
AGENTS = "only programs of agents meet it, and tests of the tools for agents follow it"
BROWSER = "only browsers and operators meet it while an account is connected; tests of connecting follow it"
HOOKS = "only deliveries of an application and operators of hooks meet it; tests of hooks follow it"

NOT_FOLLOWED: Mapping[str, str] = {
    "rate_limited": A_MINUTE,
    "run_not_recorded": A_MINUTE,
    "idempotency_in_progress": A_MINUTE,
    "upstream_rate_limited": A_MINUTE,
    "upstream_conflict": A_MINUTE,
    "overloaded": A_MINUTE,
    "invalid_signature": HOOKS,
    "hook_secret_known": HOOKS,
    "hook_not_found": HOOKS,
    "origin_not_allowed": AGENTS,
    "invalid_message": AGENTS,
    "tool_not_found": AGENTS,
    "result_too_large": AGENTS,
    "malformed_request": CLOSED,
    "headers_too_large": CLOSED,
    "request_incomplete": CLOSED,
    "connection_pending": BROWSER,
    "credentials_refused": BROWSER,
    "other_account": BROWSER,
    "connect_not_set_up": SETTING,
    "quota_exceeded": SETTING,
    "secret_unreadable": SETTING,
    "storage_unavailable": SETTING,
    "shared_store_unavailable": SETTING,
    "admin_role_required": "another operator's token is the remedy; tests of roles use one",
    "operator_not_found": "operators are managed by operators only; tests of administration list them",
    "channel_list_too_long": "it takes a workspace of more channels than are read; tests of chat name one by id",
    "upstream_forbidden": VENDOR,
    "upstream_error": VENDOR,
    "upstream_unexpected": VENDOR,
    "upstream_timeout": VENDOR,
    "upstream_unavailable": VENDOR,
    "outcome_unknown": "the remedy is to look in the application and to repeat with the key; tests of doubts do",
    "internal_error": "no call brings it about",
    "agents_off": "the remedy is a setting of the operator",
    "confirmation_required": "a person confirms it; tests of confirmations repeat the call with the token",
    "confirmation_declined": "a person declines it; tests of forms show that nothing is sent",
}


def test_every_error_has_a_followed_remedy_or_an_exemption() -> None:
    assert sorted(error.code for error in all_errors()) == sorted([*FOLLOWED, *NOT_FOLLOWED])


@requirement("common-227")
@pytest.mark.parametrize("code", FOLLOWED)
def test_a_call_succeeds_after_its_remedy_is_followed(world: World, code: str) -> None:
    provoke, follow = FOLLOWED[code]
    rejected = provoke(world)
    after = follow(world, rejected) if rejected.status >= 400 else rejected

    assert code == rejected.code
    assert re.search(r"\w", rejected.body["error"]["remedy"])
    assert 200 == after.status, after.body


# The words of each surface

PARAMETERS = {
    name for connector in CONNECTORS.values() for operation in connector.operations for name in operation.parameters
}
MANAGED = {name for route in MANAGEMENT for name in route.params.model_fields}
OPERATIONS = {operation.name for connector in CONNECTORS.values() for operation in connector.operations}
DOCUMENT = openapi(CONNECTORS.values(), "http://127.0.0.1")
ROUTES = {f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods}
TEMPLATES = "".join(path.read_text() for path in Path(pages.__file__).parent.parent.glob("templates/console/*.html"))


RESOURCES = {re.sub(r"{\?.*", "", template.uri_template) for template in resources.TEMPLATES}
GUIDES = "".join(path.read_text() for path in (Path(__file__).parents[3] / "docs" / "guide").glob("*.md"))
PER_CONNECTOR = re.compile(rf"GATEWAY_({'|'.join(name.upper() for name in CONNECTORS)})_")


def commands(command: click.Command, path: str = "connector-gateway") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands below *command* with their full names."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from commands(below, f"{path} {name}")


COMMANDS = dict(commands(main))
OPTIONS = {option for command in COMMANDS.values() for parameter in command.params for option in parameter.opts}
NAMED: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "http": (r"(?:GET|POST|PATCH|DELETE) [/\w{}]+", ROUTES.__contains__),
    "cli": (r"(?<=')connector-gateway(?: [a-z][a-z-]*)*", COMMANDS.__contains__),
    "options": (r"(?<!\w)--[a-z-]+", {*OPTIONS, "--help"}.__contains__),
    "tools": (
        rf"\b(?:{'|'.join(CONNECTORS)})_\w+",
        {
            f"{connector.name}_{one.name}" for connector in CONNECTORS.values() for one in connector.operations
        }.__contains__,
    ),
    "resources": (r"gateway://[/\w{}]+", RESOURCES.__contains__),
    "pages": (r"the page [A-Z]\w+", {f"the page {label}" for _, label in NAVIGATION}.__contains__),
    "buttons": (r"button [A-Z]\w+(?: \w+)?", lambda button: button.removeprefix("button ") in TEMPLATES),
    "settings": (r"GATEWAY_[A-Z_<>]+", lambda name: PER_CONNECTOR.sub("GATEWAY_<CONNECTOR>_", name) in GUIDES),
}
"""Kinds of names in remedies: a pattern, and a function that returns True if the name exists."""


def own_connectors(error: type[GatewayError]) -> Sequence[AnyConnector]:
    """Return the connectors whose operations declare *error*; all of them if none does."""
    own = [connector for connector in CONNECTORS.values() if any(error in one.errors for one in connector.operations)]
    return own or list(CONNECTORS.values())


REMEDIES = [
    *(pytest.param(error.remedy, id=error.code) for error in all_errors()),
    *(
        pytest.param(remedy, id=f"{connector.name} {cause}")
        for connector in CONNECTORS.values()
        for cause, remedy in connector.error_table.remedies.items()
    ),
    *(pytest.param(text, id=text[:20]) for text in (CHECK_UPSTREAM_FIRST, CHECK_OBJECT_FIRST, CHECK_AFTER_RESTORE)),
]


@requirement("common-228")
@pytest.mark.parametrize("remedy", REMEDIES)
def test_remedies_refer_only_to_existing_names(remedy: str) -> None:
    references = {name for reference in REFERENCE.findall(remedy) for name in reference.split("|")}
    general = {name for name in references if name.isupper()} | {"vendor", "wait"}

    assert set() == references - general - PHRASES.keys() - OPERATIONS - PARAMETERS - MANAGED


@requirement("common-228")
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("error", list(all_errors()), ids=lambda error: error.code)
def test_names_in_remedies_exist_on_their_surface(error: type[GatewayError], surface: str) -> None:
    texts = [resolve_remedy(error, surface, [connector]) for connector in own_connectors(error)]
    named = [(kind, name) for kind, (form, _) in NAMED.items() for text in texts for name in re.findall(form, text)]

    assert [] == [(kind, name) for kind, name in named if not NAMED[kind][1](name)]


# Followed on each surface

ExampleCall = tuple[str, str, Mapping[str, Any]]
"""A connector, an operation and its arguments."""

Look = Callable[[World], tuple[ExampleCall, Mapping[str, Any], str]]
"""Returns a call that is rejected, the arguments of the operation that its remedy names, and what that returns."""

LOOKED_UP: Mapping[str, Look] = {
    "list_not_found": lambda w: (
        ("boards", "create_card", {"list_id": "To do", "name": "x"}),
        {"board_id": w.known("boards")["board_id"]},
        w.known("boards")["list_ids"][0],
    ),
    "channel_not_found": lambda w: (
        ("chat", "post_message", {"channel": "genral", "text": "x"}),
        {"limit": 100},
        w.known("chat")["channel_id"],
    ),
    "table_not_found": lambda w: (
        ("tables", "read_records", {"base_id": w.known("tables")["base_id"], "table": "Nowhere"}),
        {"base_id": w.known("tables")["base_id"]},
        w.known("tables")["table"],
    ),
}


async def over_http(world: World, connector: str, operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    call = world.gateway.get if operation.method == "GET" else world.gateway.post
    return call(f"/{connector}{operation.path}", connection_id=world.gateway.connections[connector], **arguments).body


async def on_the_command_line(
    world: World, connector: str, operation: AnyOperation, arguments: Mapping[str, Any]
) -> Any:
    options = [part for name, value in arguments.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    command = ["call", connector, operation.name.replace("_", "-"), *options, "--json"]
    connection = ["--connection", world.gateway.connections[connector]]
    # In a thread, since a command has an event loop of its own.
    result = await asyncio.to_thread(CliRunner().invoke, main, [*command, *connection], env=named(world.gateway))
    return from_json(result.stdout)


async def by_an_agent(world: World, connector: str, operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    async with agent(world.gateway) as client:
        return (await client.call_tool(f"{connector}_{operation.name}", dict(arguments))).structured_content


def named_operation(remedy: str, connector: str) -> AnyOperation:
    """Return the operation that *remedy* names in the terms of any surface."""
    (operation,) = [
        one
        for one in CONNECTORS[connector].operations
        for words in (
            f"{one.method} {CONNECTOR}/{connector}{one.path} ",
            f"{connector} {one.name.replace('_', '-')}'",
            f"{connector}_{one.name} ",
        )
        if words in remedy
    ]
    return operation


@requirement("common-228")
@pytest.mark.parametrize("call_operation", [over_http, on_the_command_line, by_an_agent])
@pytest.mark.parametrize("code", LOOKED_UP)
async def test_operations_named_by_remedies_return_the_needed_values(
    world: World, code: str, call_operation: Callable[[World, str, AnyOperation, Mapping[str, Any]], Any]
) -> None:
    (connector, name, arguments), looked_up_with, needed = LOOKED_UP[code](world)
    operation = next(one for one in CONNECTORS[connector].operations if one.name == name)
    error = (await call_operation(world, connector, operation, arguments))["error"]
    response = await call_operation(world, connector, named_operation(error["remedy"], connector), looked_up_with)

    assert code == error["code"]
    assert needed in to_json(response["data"]).decode()
