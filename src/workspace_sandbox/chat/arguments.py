"""A method's arguments, out of every form the vendor takes them in."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from workspace_sandbox.chat.wire import SlackError, invalid_arguments
from workspace_sandbox.kit.refusals import require

FORMS = {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
CHARSETS = {None, "utf-8", "utf8", "iso-8859-1", "us-ascii"}
# Slack's own libraries disagree: the one for Python sends 1 and 0, the one for Node sends words.
TRUTHS = {"1", "true", "True", "yes"}


class Arguments:
    """Arguments by name; empty text and null count as absent."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def raw(self, name: str) -> Any:
        """The argument as it came; none if absent."""
        value = self._values.get(name)
        return None if value == "" else value

    @property
    def everything(self) -> Mapping[str, Any]:
        """All of them, as they came."""
        return self._values

    def optional(self, name: str) -> str | None:
        """The text of an argument, if it was given."""
        value = self.raw(name)
        if value is None or isinstance(value, str):
            return value
        raise invalid_arguments(f"must be a string [json-pointer:/{name}]")

    def text(self, name: str) -> str:
        """The text of an argument that must be given."""
        return require(self.optional(name), invalid_arguments(f"missing required field: {name}"))

    def flag(self, name: str) -> bool:
        """Whether a yes-or-no argument was given and says yes."""
        value = self.raw(name)
        return value is True or str(value) in TRUTHS

    def limit(self, usual: int, most: int) -> int:
        """The wanted page length; 0 and nothing mean the *usual* one."""
        value = self.raw("limit")
        # JSON knows true and 2.5, and ``int`` would take both.
        if isinstance(value, bool | float):
            raise SlackError("invalid_limit")
        try:
            limit = int(value or 0)
        except (TypeError, ValueError):
            raise SlackError("invalid_limit") from None
        if not 0 <= limit <= most:
            raise SlackError("invalid_limit")
        return limit or usual

    def structure(self, name: str, refusal: str) -> Any:
        """A nested argument: as such in JSON, as JSON text in a form; *refusal* is said of other text."""
        value = self.raw(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise SlackError(refusal) from None

    def words(self, name: str) -> list[str]:
        """A list: as such in JSON, or comma separated, or JSON text."""
        value = self.raw(name)
        if isinstance(value, str):
            value = self.structure(name, "invalid_array_arg") if value.startswith("[") else value.split(",")
        if value is None:
            return []
        if not isinstance(value, list):
            raise SlackError("invalid_array_arg")
        return [str(word).strip() for word in value if str(word).strip()]


@dataclass(frozen=True, slots=True)
class Received:
    """What a request brought: who calls, what with, and what the vendor will remark on."""

    arguments: Arguments
    token: str
    warnings: list[str] = field(default_factory=list)


async def receive(request: web.Request) -> Received:
    """Read *request*; a token is taken from its header, or from a form, but never from JSON or the address."""
    in_form: Mapping[str, Any] = {}
    body: Mapping[str, Any] = {}
    warnings: list[str] = []
    kind = request.content_type
    if request.method == "POST" and request.body_exists:
        if "Content-Type" not in request.headers:
            raise SlackError("missing_post_type")
        if _charset(request) not in CHARSETS:
            raise SlackError("invalid_charset")
        if kind == "application/json":
            body = await _json(request)
            warnings = [] if request.charset else ["missing_charset"]
        elif kind in FORMS:
            body = in_form = await _form(request)
            warnings = ["superfluous_charset"] if request.charset and kind != "text/plain" else []
        else:
            raise SlackError("invalid_post_type")
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    token = credentials.strip() if scheme.lower() == "bearer" else str(in_form.get("token", ""))
    client = _client(credentials) if scheme.lower() == "basic" else {}
    # Slack stopped taking tokens from addresses, which end up in logs.
    query = {name: value for name, value in request.query.items() if name != "token"}
    return Received(Arguments({**query, **body, **client}), token, warnings)


def _charset(request: web.Request) -> str | None:
    return request.charset.lower() if request.charset else None


async def _json(request: web.Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.read() or b"{}")
    except (ValueError, RecursionError):
        raise SlackError("invalid_json") from None
    if not isinstance(body, dict):
        raise SlackError("json_not_object")
    return body


async def _form(request: web.Request) -> Mapping[str, Any]:
    if request.content_type == "text/plain":
        return {}
    try:
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    except (ValueError, AssertionError):
        raise SlackError("invalid_form_data") from None


def _client(credentials: str) -> dict[str, str]:
    try:
        client_id, _, client_secret = base64.b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": client_id, "client_secret": client_secret}
