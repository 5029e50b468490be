"""The arguments of a method, in all formats that the vendor accepts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from workspace_sandbox.chat.error_responses import ApiError, invalid_arguments
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.oauth.server import read_basic_auth

FORMS = {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
CHARSETS = {None, "utf-8", "utf8", "iso-8859-1", "us-ascii"}
# Slack's own libraries differ: Python sends 1 and 0, Node sends words.
TRUTHS = {"1", "true", "True", "yes"}


class Arguments:
    """Arguments by name. Empty strings and null count as missing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def raw(self, name: str) -> Any:
        """Return the raw argument, or None if it is missing."""
        value = self._values.get(name)
        return None if value == "" else value

    @property
    def raw_values(self) -> Mapping[str, Any]:
        """Return all raw arguments."""
        return self._values

    def optional(self, name: str) -> str | None:
        """Return an argument as a string, or None if it is missing."""
        value = self.raw(name)
        if value is None or isinstance(value, str):
            return value
        raise invalid_arguments(f"must be a string [json-pointer:/{name}]")

    def text(self, name: str) -> str:
        """Return a required argument as a string."""
        return require(self.optional(name), invalid_arguments(f"missing required field: {name}"))

    def flag(self, name: str) -> bool:
        """Return True if a boolean argument is present and true."""
        value = self.raw(name)
        return value is True or str(value) in TRUTHS

    def limit(self, default: int, maximum: int) -> int:
        """Return the requested page size. 0 and a missing argument mean *default*."""
        value = self.raw("limit")
        # JSON has true and 2.5, which ``int`` would accept.
        if isinstance(value, bool | float):
            raise ApiError("invalid_limit")
        try:
            limit = int(value or 0)
        except (TypeError, ValueError):
            raise ApiError("invalid_limit") from None
        if not 0 <= limit <= maximum:
            raise ApiError("invalid_limit")
        return limit or default

    def structure(self, name: str, error_code: str) -> Any:
        """Return a nested argument, sent as JSON or as JSON text in a form. Other text is the error *error_code*."""
        value = self.raw(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ApiError(error_code) from None

    def words(self, name: str) -> list[str]:
        """Return a list, sent as JSON, as a comma-separated string or as JSON text."""
        value = self.raw(name)
        if isinstance(value, str):
            value = self.structure(name, "invalid_array_arg") if value.startswith("[") else value.split(",")
        if value is None:
            return []
        if not isinstance(value, list):
            raise ApiError("invalid_array_arg")
        return [str(word).strip() for word in value if str(word).strip()]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The token and arguments of a request, and the warnings of the response."""

    arguments: Arguments
    token: str
    warnings: list[str] = field(default_factory=list)


async def parse_request(request: web.Request) -> ParsedRequest:
    """Parse *request*. A token is accepted in the header or a form, but not in JSON or the query."""
    in_form: Mapping[str, Any] = {}
    body: Mapping[str, Any] = {}
    warnings: list[str] = []
    kind = request.content_type
    if request.method == "POST" and request.body_exists:
        if "Content-Type" not in request.headers:
            raise ApiError("missing_post_type")
        if (request.charset.lower() if request.charset else None) not in CHARSETS:
            raise ApiError("invalid_charset")
        if kind == "application/json":
            body = await _json(request)
            warnings = [] if request.charset else ["missing_charset"]
        elif kind in FORMS:
            body = in_form = await _form(request)
            warnings = ["superfluous_charset"] if request.charset and kind != "text/plain" else []
        else:
            raise ApiError("invalid_post_type")
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    token = credentials.strip() if scheme.lower() == "bearer" else str(in_form.get("token", ""))
    client = dict(zip(("client_id", "client_secret"), read_basic_auth(request) or (), strict=False))
    # Slack no longer accepts tokens in URLs, which are logged.
    query = {name: value for name, value in request.query.items() if name != "token"}
    return ParsedRequest(Arguments({**query, **body, **client}), token, warnings)


async def _json(request: web.Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.read() or b"{}")
    except (ValueError, RecursionError):
        raise ApiError("invalid_json") from None
    if not isinstance(body, dict):
        raise ApiError("json_not_object")
    return body


async def _form(request: web.Request) -> Mapping[str, Any]:
    if request.content_type == "text/plain":
        return {}
    try:
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    except (ValueError, AssertionError):
        raise ApiError("invalid_form_data") from None
