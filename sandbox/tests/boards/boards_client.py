"""An HTTP client of the boards emulator."""

from typing import Any

import requests

from workspace_sandbox.boards import BoardsEmulator

UNKNOWN = "5f0000000000000000000000"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


class Trello:
    """The emulator, the URL of its control routes, and a client with key and token."""

    def __init__(self, emulator: BoardsEmulator, control: str, session: requests.Session) -> None:
        self.emulator = emulator
        self.control_url = control
        self.session = session
        self.base = emulator.context.addresses["base"]
        self.examples = emulator.examples()
        self.key, self.token = emulator.credentials()["key"], emulator.credentials()["token"]

    def request(self, method: str, path: str, *, auth: str | None = "", **options: Any) -> requests.Response:
        """Send a request with the header *auth*, by default that of the account, or without one if it is None."""
        authorization = f'OAuth oauth_consumer_key="{self.key}", oauth_token="{self.token}"' if auth == "" else auth
        headers = {**options.pop("headers", {}), **({"Authorization": authorization} if authorization else {})}
        return self.session.request(method, f"{self.base}{path}", headers=headers, allow_redirects=False, **options)

    def get(self, path: str, **params: Any) -> Any:
        return self._json(self.request("GET", f"/1{path}", params=params))

    def post(self, path: str, **body: Any) -> Any:
        return self._json(self.request("POST", f"/1{path}", json=body))

    def put(self, path: str, **body: Any) -> Any:
        return self._json(self.request("PUT", f"/1{path}", json=body))

    def control(self, route: str, **body: Any) -> Any:
        return self.session.post(f"{self.control_url}/_control{route}", json=body).json()

    def card(self, name: str = "A card", **values: Any) -> Any:
        return self.post("/cards", **{"idList": self.examples["list_ids"][0], "name": name, **values})

    @staticmethod
    def _json(response: requests.Response) -> Any:
        assert 200 == response.status_code, response.text
        return response.json()


def status_type_and_text(response: requests.Response) -> tuple[int, str, str]:
    return response.status_code, response.headers["Content-Type"], response.text
