"""The place in which checks may write, for each vendor: made, filled, and read by requests of one's own."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from harness.gateway_server import Gateway

MAIL = "/gmail/v1/users/me"
CRM = "/crm/objects/2026-09"


def vendor(gateway: Gateway, connector: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
    """Send a request to the vendor, and return the body of the response."""
    values: dict[str, Any] = {"method": method, "path": path, "query": query}
    if body is not None:
        # Without the charset, Slack warns.
        values |= {"body": body, "headers": {"Content-Type": "application/json; charset=utf-8"}}
    return gateway.request("POST", f"/v1/connections/{gateway.connections[connector]}/request", json=values).data[
        "body"
    ]


@dataclass(frozen=True)
class Place:
    """The place of one vendor."""

    create: Callable[[Gateway], str]
    """Creates an empty one and returns its ID."""

    fill: Callable[[Gateway, str], object]
    """Adds an object that no check created."""

    contents: Callable[[Gateway, str], Any]
    """Returns what is in it, and what checks create elsewhere."""

    foreign: Callable[[Gateway], str]
    """Returns a place of another kind, or one that the connection cannot access."""

    restrict: Callable[[Gateway], None]
    """Takes a permission that checks need from the connection."""


def empty_page(gateway: Gateway) -> str:
    parent = {"type": "page_id", "page_id": gateway.examples("notes")["page_id"]}
    body = {"parent": parent, "properties": {"title": {"title": [{"text": {"content": "Checks"}}]}}}
    return str(vendor(gateway, "notes", "POST", "/v1/pages", body)["id"])


def add_block(gateway: Gateway, page_id: str) -> None:
    block = {"type": "paragraph", "paragraph": {"rich_text": [{"text": {"content": "Ours"}}]}}
    vendor(gateway, "notes", "PATCH", f"/v1/blocks/{page_id}/children", {"children": [block]})


def empty_board(gateway: Gateway) -> str:
    return str(vendor(gateway, "boards", "POST", "/1/boards", {"name": "Checks", "defaultLists": False})["id"])


def empty_label(gateway: Gateway) -> str:
    return str(vendor(gateway, "mail", "POST", f"{MAIL}/labels", {"name": f"Checks {uuid4().hex}"})["id"])


def store_message(gateway: Gateway, label_id: str) -> None:
    raw = urlsafe_b64encode(b"Subject: Ours\r\n\r\nOurs").decode()
    vendor(gateway, "mail", "POST", f"{MAIL}/messages", {"raw": raw, "labelIds": [label_id]})


def mailbox(gateway: Gateway, _: str) -> Any:
    paths = ("messages", "drafts", "labels")
    return [vendor(gateway, "mail", "GET", f"{MAIL}/{path}", maxResults=500) for path in paths[:2]] + [
        vendor(gateway, "mail", "GET", f"{MAIL}/{paths[2]}")
    ]


def empty_channel(gateway: Gateway) -> str:
    body = {"name": f"checks-{uuid4().hex}"}
    return str(vendor(gateway, "chat", "POST", "/api/conversations.create", body)["channel"]["id"])


def messages(gateway: Gateway, channel_id: str) -> Any:
    history = vendor(gateway, "chat", "GET", "/api/conversations.history", channel=channel_id)
    scheduled = vendor(gateway, "chat", "GET", "/api/chat.scheduledMessages.list", channel=channel_id)
    return [history["messages"], scheduled["scheduled_messages"]]


def own_company(gateway: Gateway) -> str:
    body = {"properties": {"name": "Checks", "domain": "checks.example"}, "associations": []}
    return str(vendor(gateway, "crm", "POST", f"{CRM}/companies", body)["id"])


def associate_contact(gateway: Gateway, company_id: str) -> None:
    body = {"properties": {"email": f"{uuid4().hex}@checks.example"}, "associations": []}
    contact_id = vendor(gateway, "crm", "POST", f"{CRM}/contacts", body)["id"]
    vendor(gateway, "crm", "PUT", f"{CRM}/contacts/{contact_id}/associations/default/companies/{company_id}")


def associations(gateway: Gateway, company_id: str) -> Any:
    path = f"{CRM}/companies/{company_id}"
    return vendor(gateway, "crm", "GET", path, associations="contacts,deals").get("associations")


def empty_base(gateway: Gateway) -> str:
    fields = [
        {"name": "Name", "type": "singleLineText"},
        {"name": "Notes", "type": "multilineText"},
        {"name": "Status", "type": "singleSelect", "options": {"choices": [{"name": "Done"}]}},
        {"name": "Attachments", "type": "multipleAttachments"},
        {"name": "Number", "type": "number", "options": {"precision": 1}},
        {"name": "Date", "type": "date", "options": {"dateFormat": {"name": "iso"}}},
    ]
    tables = [{"name": "Table 1", "fields": fields}, {"name": "Table 2", "fields": fields[:1]}]
    body = {"workspaceId": gateway.examples("tables")["workspace_id"], "name": "Checks", "tables": tables}
    return str(vendor(gateway, "tables", "POST", "/v0/meta/bases", body)["id"])


def tables_in(gateway: Gateway, base_id: str) -> list[str]:
    return [one["id"] for one in vendor(gateway, "tables", "GET", f"/v0/meta/bases/{base_id}/tables")["tables"]]


def add_record(gateway: Gateway, base_id: str) -> None:
    vendor(gateway, "tables", "POST", f"/v0/{base_id}/{tables_in(gateway, base_id)[0]}", {"fields": {"Name": "Ours"}})


def records(gateway: Gateway, base_id: str) -> Any:
    return [
        vendor(gateway, "tables", "GET", f"/v0/{base_id}/{table_id}")["records"]
        for table_id in tables_in(gateway, base_id)
    ]


def _forbid(connector: str, status: int, path: str, body: Any, method: str = "POST") -> Callable[[Gateway], None]:
    return lambda gateway: gateway.fault(
        connector, fault="status", status=status, times=1000, method=method, path=path, body=body
    )


PLACES: Mapping[str, Place] = {
    "notes": Place(
        empty_page,
        add_block,
        lambda gateway, page_id: vendor(gateway, "notes", "GET", f"/v1/blocks/{page_id}/children")["results"],
        lambda gateway: str(gateway.examples("notes")["unshared_database_id"]),
        _forbid("notes", 403, "/v1/search", {"object": "error", "status": 403, "code": "restricted_resource"}),
    ),
    "boards": Place(
        empty_board,
        lambda gateway, board_id: vendor(gateway, "boards", "POST", "/1/lists", {"idBoard": board_id, "name": "Ours"}),
        lambda gateway, board_id: vendor(gateway, "boards", "GET", f"/1/boards/{board_id}/lists"),
        lambda _: "0" * 24,
        _forbid("boards", 401, "/1/lists", "unauthorized permission requested"),
    ),
    "mail": Place(
        empty_label,
        store_message,
        mailbox,
        lambda _: "STARRED",
        lambda gateway: gateway.knob("mail", token_scopes=["https://www.googleapis.com/auth/gmail.readonly"]),
    ),
    "chat": Place(
        empty_channel,
        lambda gateway, channel_id: vendor(
            gateway, "chat", "POST", "/api/chat.postMessage", {"channel": channel_id, "text": "Ours"}
        ),
        messages,
        lambda gateway: str(gateway.examples("chat")["archived_channel_id"]),
        lambda gateway: gateway.knob("chat", scopes="channels:read,channels:history,im:read"),
    ),
    "crm": Place(
        own_company,
        associate_contact,
        associations,
        lambda _: "999999999",
        _forbid("crm", 403, f"{CRM}/contacts", {"status": "error", "category": "MISSING_SCOPES", "message": "Scopes."}),
    ),
    "tables": Place(
        empty_base,
        add_record,
        records,
        lambda _: "app00000000000000",
        _forbid(
            "tables",
            403,
            "/v0/app",
            {"error": {"type": "INVALID_PERMISSIONS", "message": "Permissions."}},
        ),
    ),
}
