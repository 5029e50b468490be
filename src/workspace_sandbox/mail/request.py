"""A request on its way in and its answer on its way out, whether it came alone or inside a batch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.mail.methods import AUTH, Method, Query
from workspace_sandbox.mail.refusals import Refusal
from workspace_sandbox.mail.schema import Mask
from workspace_sandbox.mail.state import Mailbox

METADATA = f"{AUTH}gmail.metadata"
JSON = "application/json; charset=UTF-8"
HTML = "text/html; charset=UTF-8"


@dataclass(frozen=True)
class Call:
    """One request as it was written on the wire."""

    verb: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: dict[str, str]
    """By names in small letters."""
    body: bytes
    origin: str
    """Scheme and host the caller used."""

    @classmethod
    async def of(cls, request: web.Request) -> "Call":
        """What aiohttp received; a read that was too long for a GET comes as a POST that says so."""
        body, query, verb = await request.read(), list(request.query.items()), request.method
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
        return self.first("access_token") or self.first("oauth_token")

    def first(self, name: str) -> str:
        """The first query parameter of that name, empty when there is none."""
        return next((value for key, value in self.query if key == name), "")


@dataclass(frozen=True)
class Ask:
    """A request that was let in, read and typed."""

    method: Method
    mailbox: Mailbox
    scopes: frozenset[str]
    ids: Mapping[str, str]
    query: Query
    knobs: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    media: bytes | None = None
    mask: Mask | None = None

    @property
    def metadata_only(self) -> bool:
        """Whether nothing but the metadata scope lets it in."""
        return METADATA in self.method.scopes and not self.scopes & (self.method.scopes - {METADATA})


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(
        cls, raw: Any, status: int = 200, *, pretty: bool = False, headers: Mapping[str, str] | None = None
    ) -> "Reply":
        """An answer in JSON."""
        text = json.dumps(raw, ensure_ascii=False, indent=2 if pretty else None)
        return cls(status, text.encode("utf-8", "replace"), {"Content-Type": JSON, **(headers or {})})

    @classmethod
    def refusing(cls, refusal: Refusal) -> "Reply":
        """The answer that tells *refusal*."""
        if refusal.html:
            return cls(refusal.code, refusal.page.encode(), {"Content-Type": HTML})
        return cls.json(refusal.body, refusal.code, headers=refusal.headers)

    @property
    def response(self) -> web.Response:
        """The same for aiohttp."""
        return web.Response(status=self.status, body=self.content or None, headers=self.headers)
