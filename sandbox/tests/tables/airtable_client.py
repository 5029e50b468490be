"""An HTTP client of the Airtable emulator."""

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests

from harness.clocks import ManualClock
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

NOON = 1_790_000_000.0
PNG = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + (640).to_bytes(4) + (480).to_bytes(4) + bytes(8)
PERSON = {"id": "usrK2fGh9pWn40RtYc", "email": "jose.aran@example.com", "name": "José Arán"}


@dataclass
class AirtableClient:
    """A client with the default token and access to the control routes."""

    sandbox: Sandbox
    clock: ManualClock
    session: requests.Session
    was_controlled: bool = False

    @property
    def emulator(self) -> TablesEmulator:
        emulator = self.sandbox.emulators["tables"]
        assert isinstance(emulator, TablesEmulator)
        return emulator

    @property
    def examples(self) -> dict[str, Any]:
        return self.emulator.examples()

    @property
    def leads(self) -> str:
        return f"/v0/{self.examples['base_id']}/Leads"

    def control(self, route: str, **body: Any) -> Any:
        response = requests.post(f"{self.sandbox.address}/_control/{route}", json=body, timeout=60)
        assert 200 == response.status_code, response.text
        self.was_controlled = True
        return response.json()

    def has_written(self) -> bool:
        return any(
            exchange.method != "GET" for exchange in self.emulator.context.request_log if exchange.status in {None, 200}
        )

    def count(self) -> int:
        return len(self.list_all(self.leads, **{"fields[]": "Name"}))

    def knobs(self, **knobs: Any) -> None:
        self.control("tables/knobs", **knobs)

    def request(self, method: str, path: str, host: str = "base", **options: Any) -> requests.Response:
        address = self.emulator.context.addresses[host] + path
        return self.session.request(method, address, timeout=5, allow_redirects=False, **options)

    def get(self, path: str, **params: Any) -> Any:
        response = self.request("GET", path, params=params)
        assert 200 == response.status_code, response.text
        return response.json()

    def send(self, method: str, path: str, body: Any) -> Any:
        response = self.request(method, path, json=body)
        assert 200 == response.status_code, response.text
        return response.json()

    def rejection(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        response = self.request(method, path, json=body, **options)
        assert response.status_code >= 400, response.text
        error = response.json()["error"]
        return response.status_code, error if isinstance(error, str) else error["type"]

    def create(self, **fields: Any) -> dict[str, Any]:
        record: dict[str, Any] = self.send("POST", self.leads, {"fields": fields})
        return record

    def schema(self, table: str = "Leads") -> dict[str, Any]:
        tables = self.get(f"/v0/meta/bases/{self.examples['base_id']}/tables")["tables"]
        return next(definition for definition in tables if definition["name"] == table)

    def field(self, name: str) -> dict[str, Any]:
        return next(field for field in self.schema()["fields"] if field["name"] == name)

    def list_all(self, path: str, **params: Any) -> list[dict[str, Any]]:
        page = self.get(path, **params)
        if "offset" not in page:
            return list(page["records"])
        return [*page["records"], *self.list_all(path, **params | {"offset": page["offset"]})]

    def upload(self, record: str, field: str, content: bytes, filename: str = "a.png") -> requests.Response:
        body = {"contentType": "image/png", "file": base64.encodebytes(content).decode(), "filename": filename}
        path = f"/v0/{self.examples['base_id']}/{record}/{quote(field, safe='')}/uploadAttachment"
        return self.request("POST", path, host="content", json=body)
