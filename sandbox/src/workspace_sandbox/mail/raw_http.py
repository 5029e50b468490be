"""HTTP requests and responses, sent singly or inside a batch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

JSON = "application/json; charset=UTF-8"
HTML = "text/html; charset=UTF-8"


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

    @property
    def response(self) -> web.Response:
        """The response for aiohttp."""
        return web.Response(status=self.status, body=self.content or None, headers=self.headers)
