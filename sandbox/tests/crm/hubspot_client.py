"""An HTTP client of the HubSpot emulator, for the dated paths."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from workspace_sandbox.crm import CrmEmulator

OBJECTS = "/crm/objects/2026-09"
LINKS = "/crm/associations/2026-09"
BEGAN = 1_780_000_000.0


@dataclass
class Api:
    """A client with the default token and access to the control routes."""

    base: str
    control_base: str
    emulator: CrmEmulator
    session: requests.Session

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.emulator.credentials()['token']}", **more.pop("headers", {})}
        sent = {"json": body} if body is not None else {}
        return self.session.request(method, self.base + path, headers=headers, timeout=10, **sent, **more)

    def control(self, path: str, method: str = "POST", **body: Any) -> Any:
        response = self.session.request(method, f"{self.control_base}/_control/{path}", json=body, timeout=60)
        return response.json()

    def knobs(self, **knobs: Any) -> None:
        self.control("crm/knobs", **knobs)

    def perform(self, **action: Any) -> Any:
        return self.control("crm/act", **action)

    def example(self, name: str) -> Any:
        return self.emulator.examples()[name]

    def create(self, kind: str, associations: Any = None, **properties: Any) -> str:
        """Create a record and return its id."""
        body = {"properties": properties, "associations": associations or []}
        response = self("POST", f"{OBJECTS}/{kind}", body)
        assert 201 == response.status_code, response.text
        return str(response.json()["id"])

    def read(self, kind: str, identifier: str, *properties: str) -> dict[str, Any]:
        response = self("GET", f"{OBJECTS}/{kind}/{identifier}", params={"properties": ",".join(properties)})
        assert 200 == response.status_code, response.text
        return dict(response.json()["properties"])

    def find(self, kind: str, *filters: dict[str, Any], **more: Any) -> dict[str, Any]:
        response = self("POST", f"{OBJECTS}/{kind}/search", {"filterGroups": [{"filters": list(filters)}], **more})
        assert 200 == response.status_code, response.text
        return dict(response.json())


def equal(name: str, value: str) -> dict[str, Any]:
    return {"propertyName": name, "operator": "EQ", "value": value}


def ids(response: dict[str, Any]) -> list[str]:
    return [record["id"] for record in response["results"]]


def codes(response: requests.Response) -> list[str]:
    return [error["code"] for error in response.json()["errors"]]


def consent(crm: Api, **more: str) -> dict[str, list[str]]:
    """Return the query parameters of the consent redirect."""
    params = {
        "client_id": crm.emulator.knobs["client_id"],
        "redirect_uri": "http://localhost/callback?x=1",
        "scope": "oauth crm.objects.contacts.read",
        "auto_approve": "true",
        "state": "s1",
        **more,
    }
    response = crm.session.get(f"{crm.base}/oauth/authorize", params=params, allow_redirects=False, timeout=60)
    assert 302 == response.status_code, response.text
    return parse_qs(urlsplit(response.headers["Location"]).query)


def token(crm: Api, path: str = "/oauth/2026-09/token", **form: str) -> requests.Response:
    secrets = {name: crm.emulator.knobs[name] for name in ("client_id", "client_secret")}
    return crm.session.post(crm.base + path, data={**secrets, **form}, timeout=60)


def exchange(crm: Api, **more: str) -> requests.Response:
    code = consent(crm)["code"][0]
    redirect = "http://localhost/callback?x=1"
    return token(crm, grant_type="authorization_code", code=code, redirect_uri=redirect, **more)
