"""A caller of the boards stand-in, and what its answers look like."""

from typing import Any

import requests

from workspace_sandbox.boards import BoardsEmulator

UNKNOWN = "5f0000000000000000000000"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


class Trello:
    """The emulator, the address it is steered by, and a caller who presents key and token."""

    def __init__(self, emulator: BoardsEmulator, control: str, session: requests.Session) -> None:
        self.emulator = emulator
        self.control = control
        self.session = session
        self.base = emulator.context.addresses["base"]
        self.examples = emulator.examples()
        self.key, self.token = emulator.credentials()["key"], emulator.credentials()["token"]

    def ask(self, method: str, path: str, *, auth: str | None = "", **named: Any) -> requests.Response:
        """Any request; with the account's own header unless *auth* is another one, or none."""
        given = f'OAuth oauth_consumer_key="{self.key}", oauth_token="{self.token}"' if auth == "" else auth
        headers = {**named.pop("headers", {}), **({"Authorization": given} if given else {})}
        return self.session.request(method, f"{self.base}{path}", headers=headers, allow_redirects=False, **named)

    def get(self, path: str, **params: Any) -> Any:
        return self._accepted(self.ask("GET", f"/1{path}", params=params))

    def post(self, path: str, **body: Any) -> Any:
        return self._accepted(self.ask("POST", f"/1{path}", json=body))

    def put(self, path: str, **body: Any) -> Any:
        return self._accepted(self.ask("PUT", f"/1{path}", json=body))

    def steer(self, route: str, **body: Any) -> Any:
        return self.session.post(f"{self.control}/_control{route}", json=body).json()

    def card(self, name: str = "A card", **values: Any) -> Any:
        return self.post("/cards", **{"idList": self.examples["list_ids"][0], "name": name, **values})

    @staticmethod
    def _accepted(answer: requests.Response) -> Any:
        assert 200 == answer.status_code, answer.text
        return answer.json()


def refused(answer: requests.Response) -> tuple[int, str, str]:
    return answer.status_code, answer.headers["Content-Type"], answer.text
