"""An HTTP client of the Slack emulator."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from workspace_sandbox import Sandbox
from workspace_sandbox.chat import access
from workspace_sandbox.chat.routes import ROUTES, ApiRoute

GENERAL = "C04GENERAL1"
UNJOINED_PUBLIC = "C04FINANCE1"
DELETED_IM = "D04IM000014"
FOREIGN_IM = "D04IM000015"
METHODS = {route.name: route for route in ROUTES if isinstance(route, ApiRoute)}


@dataclass
class ChatClient:
    """A client that sends forms and returns parsed JSON."""

    sandbox: Sandbox
    token: str
    http: requests.Session

    @property
    def address(self) -> str:
        return self.sandbox.emulators["chat"].context.addresses["base"]

    def send(self, method: str, **options: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        verb = options.pop("verb", "POST")
        return self.http.request(verb, f"{self.address}/api/{method}", headers=headers, timeout=10, **options)

    def with_token(self, token: str) -> "ChatClient":
        return ChatClient(self.sandbox, token, self.http)

    def __call__(self, method: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.send(method, data=arguments).json())

    def post(self, text: str, channel: str = GENERAL, **arguments: Any) -> str:
        return str(self("chat.postMessage", channel=channel, text=text, **arguments)["ts"])

    def control(self, what: str, **body: Any) -> Any:
        response = self.http.post(f"{self.sandbox.address}/_control/chat/{what}", json=body, timeout=60)
        assert 200 == response.status_code, response.text
        return response.json()

    def perform(self, action: str, **fields: Any) -> dict[str, Any]:
        return dict(self.control("act", action=action, **fields))

    def reset(self) -> None:
        self.http.post(f"{self.sandbox.address}/_control/reset", timeout=60)

    def pages(self, method: str, key: str, **arguments: Any) -> list[list[dict[str, Any]]]:
        pages, cursor = [], ""
        while True:
            response = self(method, cursor=cursor, **arguments)
            pages.append(response[key])
            cursor = response.get("response_metadata", {}).get("next_cursor", "")
            if not cursor:
                return pages


def consent(chat: ChatClient, **query: str) -> requests.Response:
    params = {
        "client_id": access.CLIENT_ID,
        "scope": "chat:write,channels:read",
        "redirect_uri": "https://app.example/back?a=1",
        "state": "s t",
    } | query
    return requests.get(f"{chat.address}/oauth/v2/authorize", params=params, allow_redirects=False, timeout=60)


def authorization_code(response: requests.Response) -> str:
    return parse_qs(urlsplit(response.headers["Location"]).query)["code"][0]
