"""An HTTP client of the mail emulator, and messages for it."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import httpx

from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.sandbox import Sandbox

USER = "/gmail/v1/users/me"
OWN = "nora@brightfjord.test"
JONAS = "jonas@brightfjord.test"
OUTSIDE = "someone@elsewhere.test"


class Mail:
    """A plain client of the emulated API."""

    def __init__(self, sandbox: Sandbox) -> None:
        emulator = sandbox.emulators["mail"]
        assert isinstance(emulator, MailEmulator)
        self.emulator = emulator
        self.examples = emulator.examples()
        self.address = emulator.context.addresses["base"]
        self.token = emulator.credentials()["token"]
        self.http = httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {self.token}"})
        self.control = httpx.Client(base_url=f"{sandbox.address}/_control")

    def get(self, path: str, **params: Any) -> Any:
        return self._json(self.http.get(USER + path, params=params))

    def post(self, path: str, body: Any = None) -> Any:
        return self._json(self.http.post(USER + path, json=body))

    def put(self, path: str, body: Any) -> Any:
        return self._json(self.http.put(USER + path, json=body))

    def error(self, method: str, path: str, **request: Any) -> tuple[int, str, str]:
        """Status, reason and message of a refused request."""
        response = self.http.request(method, USER + path, **request)
        error = response.json()["error"]
        return response.status_code, error["errors"][0]["reason"], error["message"]

    def set_knobs(self, **knobs: Any) -> None:
        assert 200 == self.control.post("/mail/knobs", json=knobs).status_code

    def perform(self, **action: Any) -> Any:
        response = self.control.post("/mail/act", json=action)
        assert 200 == response.status_code, response.text
        return response.json()

    def fault(self, **options: Any) -> None:
        self.control.post("/mail/faults", json=options)

    def receive(self, subject: str, **more: Any) -> Any:
        action = {"action": "receive", "from": "Ben Roe <ben@acmefreight.test>", "body_html": "<p>Hello</p>"}
        return self.perform(**{**action, "subject": subject, **more})

    @staticmethod
    def _json(response: httpx.Response) -> Any:
        assert response.is_success, response.text
        return response.json() if response.content else None


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode()


def decoded(data: str) -> bytes:
    return urlsafe_b64decode(data + "=" * (-len(data) % 4))


def rfc822_message(to: str = OUTSIDE, subject: str = "Hello", body: str = "Good day", **headers: str) -> bytes:
    lines = {"To": to, "Subject": subject, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode() + f"\r\n{body}\r\n".encode()


def raw_message(to: str = OUTSIDE, subject: str = "Hello", body: str = "Good day", **headers: str) -> dict[str, str]:
    return {"raw": encoded(rfc822_message(to, subject, body, **headers))}


def header(message: Any, name: str) -> str:
    return next(str(one["value"]) for one in message["payload"]["headers"] if one["name"].lower() == name.lower())


def parts(part: Any) -> list[Any]:
    return [part, *(inner for below in part.get("parts", []) for inner in parts(below))]


def matching_ids(mail: Mail, q: str, **params: Any) -> list[str]:
    return [message["id"] for message in mail.get("/messages", q=q, **params).get("messages", [])]


def get_match(mail: Mail, q: str, **params: Any) -> Any:
    (message_id,) = matching_ids(mail, q)
    return mail.get(f"/messages/{message_id}", **params)


# --- threads


def reply_to(mail: Mail, message_id: str, subject: str, **headers: str) -> dict[str, str]:
    parent = mail.get(f"/messages/{message_id}", format="metadata")
    following = {"In_Reply_To": header(parent, "Message-ID"), "References": header(parent, "Message-ID")}
    return {**raw_message(subject=subject, **{**following, **headers}), "threadId": parent["threadId"]}


def batch_replies(response: httpx.Response) -> dict[str, tuple[int, Any]]:
    boundary = response.headers["Content-Type"].partition("boundary=")[2]
    raw_parts = response.content.split(f"--{boundary}".encode())[1:-1]
    replies = {}
    for part in raw_parts:
        outer, head, body = part.split(b"\r\n\r\n", 2)
        content_id = next(line for line in outer.decode().splitlines() if line.startswith("Content-ID: "))
        status = int(head.split(b" ", 2)[1])
        read = json.loads(body) if b"application/json" in head else body.decode()
        replies[content_id.removeprefix("Content-ID: ")] = (status, read)
    return replies
