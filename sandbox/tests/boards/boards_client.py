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
        self.control = control
        self.session = session
        self.base = emulator.context.addresses["base"]
        self.examples = emulator.examples()
        self.key, self.token = emulator.credentials()["key"], emulator.credentials()["token"]

    def ask(self, method: str, path: str, *, auth: str | None = "", **options: Any) -> requests.Response:
        """Any request; with the account's own header unless *auth* is another one, or none."""
        authorization = f'OAuth oauth_consumer_key="{self.key}", oauth_token="{self.token}"' if auth == "" else auth
        headers = {**options.pop("headers", {}), **({"Authorization": authorization} if authorization else {})}
        return self.session.request(method, f"{self.base}{path}", headers=headers, allow_redirects=False, **options)

    def get(self, path: str, **params: Any) -> Any:
        return self._json(self.ask("GET", f"/1{path}", params=params))

    def post(self, path: str, **body: Any) -> Any:
        return self._json(self.ask("POST", f"/1{path}", json=body))

    def put(self, path: str, **body: Any) -> Any:
        return self._json(self.ask("PUT", f"/1{path}", json=body))

    def steer(self, route: str, **body: Any) -> Any:
        return self.session.post(f"{self.control}/_control{route}", json=body).json()

    def card(self, name: str = "A card", **values: Any) -> Any:
        return self.post("/cards", **{"idList": self.examples["list_ids"][0], "name": name, **values})

    @staticmethod
    def _json(answer: requests.Response) -> Any:
        assert 200 == answer.status_code, answer.text
        return answer.json()


def status_type_and_text(answer: requests.Response) -> tuple[int, str, str]:
    return answer.status_code, answer.headers["Content-Type"], answer.text
