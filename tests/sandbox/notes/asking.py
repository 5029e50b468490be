"""The notes stand-in asked over real HTTP, without any library of the vendor's."""

from itertools import chain
from typing import Any

import httpx

from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.seed import EPOCH
from workspace_sandbox.sandbox import Sandbox

VERSION = "2026-03-11"


class Notes:
    """A client that says nothing of its own: paths and bodies as they are, JSON back."""

    def __init__(self, sandbox: Sandbox) -> None:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        self.emulator = emulator
        self.address = emulator.stage.addresses["base"]
        self.control = httpx.Client(base_url=sandbox.address)
        token = emulator.credentials()["token"]
        headers = {"Authorization": f"Bearer {token}", "Notion-Version": VERSION}
        self.http = httpx.Client(base_url=self.address, headers=headers)

    def freshen(self) -> None:
        """Return to the seed if anything is not as it was."""
        stage, workspace = self.emulator.stage, self.emulator.workspace
        entities = chain(workspace.pages.values(), workspace.sources.values(), workspace.databases.values())
        is_edited = max(entity.edited_at for entity in entities) > EPOCH
        if is_edited or stage.faults or stage.knobs != {**stage.default_knobs, "limits": False}:
            self.reset()

    def close(self) -> None:
        self.http.close()
        self.control.close()

    def reset(self) -> None:
        self.control.post("/_control/reset")
        self.turn(limits=False)
        self.examples = self.emulator.examples()

    def turn(self, **knobs: Any) -> httpx.Response:
        return self.control.post("/_control/notes/knobs", json=knobs)

    def fault(self, **wanted: Any) -> httpx.Response:
        return self.control.post("/_control/notes/faults", json=wanted)

    def act(self, **action: Any) -> httpx.Response:
        return self.control.post("/_control/notes/act", json=action)

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        response = self.http.request(method, path, json=body, **options)
        assert 200 == response.status_code, response.text
        return response.json()

    def refused(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, str, str]:
        response = self.http.request(method, path, json=body, **options)
        raw = response.json()
        assert "error" == raw["object"]
        assert raw["status"] == response.status_code
        return response.status_code, raw["code"], raw["message"]

    def source(self, title: str) -> dict[str, Any]:
        body = {"query": title, "filter": {"property": "object", "value": "data_source"}}
        found = self.ask("POST", "/v1/search", body)["results"]
        return next(raw for raw in found if raw["title"] and raw["title"][0]["plain_text"] == title)

    def rows(self, source_id: str, **body: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        following: dict[str, Any] = {}
        while True:
            raw = self.ask("POST", f"/v1/data_sources/{source_id}/query", body | following)
            found += raw["results"]
            if not raw["has_more"]:
                return found
            following = {"start_cursor": raw["next_cursor"]}

    def create(self, properties: Any = None, source_id: str | None = None, **more: Any) -> dict[str, Any]:
        parent = {"type": "data_source_id", "data_source_id": source_id or self.examples["data_source_id"]}
        made: dict[str, Any] = self.ask("POST", "/v1/pages", {"parent": parent, "properties": properties or {}} | more)
        return made

    def refused_create(self, properties: Any, source_id: str | None = None, **more: Any) -> tuple[int, str, str]:
        parent = {"data_source_id": source_id or self.examples["data_source_id"]}
        return self.refused("POST", "/v1/pages", {"parent": parent, "properties": properties} | more)


def text(content: str) -> list[dict[str, Any]]:
    return [{"text": {"content": content}}]
