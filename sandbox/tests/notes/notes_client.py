"""An HTTP client of the notes emulator, without the vendor's library."""

import base64
from itertools import chain
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from workspace_sandbox.notes import CLIENT_ID, CLIENT_SECRET, NotesEmulator
from workspace_sandbox.notes.data.default_data import EPOCH
from workspace_sandbox.sandbox import Sandbox

VERSION = "2026-03-11"


class Notes:
    """A client that says nothing of its own: paths and bodies as they are, JSON back."""

    def __init__(self, sandbox: Sandbox) -> None:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        self.emulator = emulator
        self.address = emulator.context.addresses["base"]
        self.control = httpx.Client(base_url=sandbox.address)
        token = emulator.credentials()["token"]
        headers = {"Authorization": f"Bearer {token}", "Notion-Version": VERSION}
        self.http = httpx.Client(base_url=self.address, headers=headers)

    def reset_if_changed(self) -> None:
        """Reset the emulator if its state has changed."""
        context, workspace = self.emulator.context, self.emulator.workspace
        entities = chain(workspace.pages.values(), workspace.sources.values(), workspace.databases.values())
        is_edited = max(entity.edited_at for entity in entities) > EPOCH
        if is_edited or context.faults or context.knobs != {**context.default_knobs, "limits": False}:
            self.reset()

    def close(self) -> None:
        self.http.close()
        self.control.close()

    def reset(self) -> None:
        self.control.post("/_control/reset")
        self.set_knobs(limits=False)
        self.examples = self.emulator.examples()

    def set_knobs(self, **knobs: Any) -> httpx.Response:
        return self.control.post("/_control/notes/knobs", json=knobs)

    def fault(self, **fault: Any) -> httpx.Response:
        return self.control.post("/_control/notes/faults", json=fault)

    def perform(self, **action: Any) -> httpx.Response:
        return self.control.post("/_control/notes/act", json=action)

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        response = self.http.request(method, path, json=body, **options)
        assert 200 == response.status_code, response.text
        return response.json()

    def error(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, str, str]:
        response = self.http.request(method, path, json=body, **options)
        raw = response.json()
        assert "error" == raw["object"]
        assert raw["status"] == response.status_code
        return response.status_code, raw["code"], raw["message"]

    def source(self, title: str) -> dict[str, Any]:
        body = {"query": title, "filter": {"property": "object", "value": "data_source"}}
        results = self.request("POST", "/v1/search", body)["results"]
        return next(raw for raw in results if raw["title"] and raw["title"][0]["plain_text"] == title)

    def rows(self, source_id: str, **body: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        following: dict[str, Any] = {}
        while True:
            raw = self.request("POST", f"/v1/data_sources/{source_id}/query", body | following)
            rows += raw["results"]
            if not raw["has_more"]:
                return rows
            following = {"start_cursor": raw["next_cursor"]}

    def create(self, properties: Any = None, source_id: str | None = None, **more: Any) -> dict[str, Any]:
        parent = {"type": "data_source_id", "data_source_id": source_id or self.examples["data_source_id"]}
        page: dict[str, Any] = self.request(
            "POST", "/v1/pages", {"parent": parent, "properties": properties or {}} | more
        )
        return page

    def create_error(self, properties: Any, source_id: str | None = None, **more: Any) -> tuple[int, str, str]:
        parent = {"data_source_id": source_id or self.examples["data_source_id"]}
        return self.error("POST", "/v1/pages", {"parent": parent, "properties": properties} | more)


def text(content: str) -> list[dict[str, Any]]:
    return [{"text": {"content": content}}]


def title(page: dict[str, Any]) -> str:
    """Return the title of a page under any property name."""
    property_ = next(raw for raw in page["properties"].values() if raw["type"] == "title")
    return "".join(item["plain_text"] for item in property_["title"])


def paragraph(content: str, *children: Any) -> dict[str, Any]:
    nested = {"children": list(children)} if children else {}
    return {"object": "block", "type": "paragraph", "paragraph": {"rich_text": text(content)} | nested}


def plain(page: dict[str, Any], name: str) -> Any:
    """The value of a property as a person would read it."""
    value = page["properties"][name][page["properties"][name]["type"]]
    if isinstance(value, dict) and "color" in value:
        return value["name"]
    if isinstance(value, dict) and "start" in value:
        return value["start"]
    if isinstance(value, list) and value and "plain_text" in value[0]:
        return "".join(item["plain_text"] for item in value)
    return value


REDIRECT = "https://client.example/callback"
AUTHORIZATION_PARAMS = {
    "client_id": CLIENT_ID,
    "response_type": "code",
    "owner": "user",
    "redirect_uri": REDIRECT,
    "state": "s&1",
}
BASIC = {"Authorization": "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()}


def consent(notes: Notes) -> str:
    sent = notes.http.get("/v1/oauth/authorize", params=AUTHORIZATION_PARAMS | {"auto_approve": "true"})
    return parse_qs(urlsplit(sent.headers["location"]).query)["code"][0]


def exchange(notes: Notes, **body: Any) -> httpx.Response:
    return notes.http.post("/v1/oauth/token", json=body, headers=BASIC)


def pair(notes: Notes) -> dict[str, Any]:
    response = exchange(notes, grant_type="authorization_code", code=consent(notes), redirect_uri=REDIRECT)
    assert 200 == response.status_code
    tokens: dict[str, Any] = response.json()
    return tokens


def status_with(notes: Notes, token: str) -> int:
    return notes.http.get("/v1/users/me", headers={"Authorization": f"Bearer {token}"}).status_code


def me(sandbox: Sandbox) -> httpx.Response:
    """Request the user of the initial token."""
    notes = sandbox.emulators["notes"]
    headers = {"Authorization": f"Bearer {notes.credentials()['token']}", "Notion-Version": "2026-03-11"}
    return httpx.get(f"{notes.context.addresses['base']}/v1/users/me", headers=headers)
