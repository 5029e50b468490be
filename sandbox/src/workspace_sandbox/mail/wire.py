"""HTTP requests, responses and errors, sent singly or inside a batch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.kit.context import EmulatorContext
from workspace_sandbox.kit.errors import VendorErrorResponse

JSON = "application/json; charset=UTF-8"
HTML = "text/html; charset=UTF-8"
ErrorDetail = dict[str, Any]


@dataclass(eq=False)
class ApiError(VendorErrorResponse):
    """An error response of the API."""

    code: int
    status: str
    reason: str
    message: str
    short: str = ""
    domain: str = "global"
    location: str = ""
    details: list[ErrorDetail] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    html: bool = False

    @property
    def body(self) -> dict[str, Any]:
        """The JSON error object."""
        first = {"message": self.short or self.message, "domain": self.domain, "reason": self.reason}
        if self.location:
            first |= {"location": self.location, "locationType": "header"}
        error = {"code": self.code, "message": self.message, "errors": [first], "status": self.status}
        return {"error": error | ({"details": self.details} if self.details else {})}

    @property
    def page(self) -> str:
        """The HTML error page of the vendor's front end."""
        return PAGE.format(code=self.code, title=self.status, message=self.message)

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error as a response."""
        return Reply.from_error(self).response


PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>Error {code} ({title})!!1</title>\n"
    "  <p><b>{code}.</b> <ins>That&rsquo;s an error.</ins>\n  <p>{message}  <ins>That&rsquo;s all we know.</ins>\n"
)


@dataclass(frozen=True)
class HttpRequest:
    """One HTTP request before it is authorised."""

    verb: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: dict[str, str]
    """The headers by lower-case name."""
    body: bytes
    origin: str
    """Scheme and host of the URL that the caller used."""

    @classmethod
    async def from_aiohttp(cls, request: web.Request) -> "HttpRequest":
        """Read the request that aiohttp received.

        A read whose URL is too long is sent as a POST with an override header.
        """
        body, query, verb = await request.read(), list(request.query.items()), request.method
        # Google's Python library sends a GET with a URL of more than 2048 characters as such a POST.
        override = request.headers.get("X-HTTP-Method-Override", "").upper()
        if override and verb == "POST":
            verb = override
            if request.content_type == "application/x-www-form-urlencoded":
                query, body = query + parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True), b""
        headers = {name.lower(): value for name, value in request.headers.items()}
        return cls(verb, request.path, query, headers, body, f"{request.scheme}://{request.host}")

    @property
    def token(self) -> str:
        """The access token, from the header or the query."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return token.strip()
        # The discovery document still lists tokens in the query, which is discouraged.
        return self.first("access_token") or self.first("oauth_token")

    def first(self, name: str) -> str:
        """Return the first query parameter with that name, empty if there is none."""
        return next((value for key, value in self.query if key == name), "")


@dataclass(frozen=True)
class Reply:
    """An HTTP response."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(
        cls, raw: Any, status: int = 200, *, pretty: bool = False, headers: Mapping[str, str] | None = None
    ) -> "Reply":
        """Return a JSON response."""
        text = json.dumps(raw, ensure_ascii=False, indent=2 if pretty else None)
        return cls(status, text.encode("utf-8", "replace"), {"Content-Type": JSON, **(headers or {})})

    @classmethod
    def from_error(cls, error: ApiError) -> "Reply":
        """Return *error* as a response."""
        if error.html:
            return cls(error.code, error.page.encode(), {"Content-Type": HTML})
        return cls.json(error.body, error.code, headers=error.headers)

    @property
    def response(self) -> web.Response:
        """The response for aiohttp."""
        return web.Response(status=self.status, body=self.content or None, headers=self.headers)
