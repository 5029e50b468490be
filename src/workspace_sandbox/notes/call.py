"""A request of a connection, read as far as all requests are alike."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.strict_json import parse_json
from workspace_sandbox.notes import checks, wire
from workspace_sandbox.notes.answers import VERSIONS, WITH_SOURCES, WITHOUT_ARCHIVED, ResponseBuilder
from workspace_sandbox.notes.paging import Cursors
from workspace_sandbox.notes.state import User, Workspace
from workspace_sandbox.notes.wire import Refusal, invalid

MOST_BYTES = 500 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An authenticated request, and what it is made to."""

    workspace: Workspace
    stage: EmulatorContext
    cursors: Cursors
    bot: User
    answers: ResponseBuilder
    path: Mapping[str, str]
    query: Mapping[str, str]
    filter_properties: list[str]
    """Of the query string too, where it may be repeated."""
    body: dict[str, Any]

    def uid(self, name: str) -> str:
        """The identifier *name* of the path."""
        return checks.uid(self.path[name], f"path.{name}")

    def fields(self, *allowed: str) -> dict[str, Any]:
        """The body, which may have the *allowed* keys only; older versions call ``in_trash`` by another name too."""
        body = dict(self.body)
        if self.answers.version < WITHOUT_ARCHIVED and "in_trash" in allowed and "archived" in body:
            body.setdefault("in_trash", body.pop("archived"))
            body.pop("archived", None)
        return checks.obj(body, "body", *allowed)

    def require_sources(self) -> None:
        """Refuse a version that knows no data sources."""
        if self.answers.version < WITH_SOURCES:
            raise wire.bad_url()


def scope(*parts: Any) -> str:
    """What a cursor holds for: the object listed, and what was asked about it."""
    return json.dumps(parts, sort_keys=True)


def version_of(request: web.Request) -> str:
    """The version that a request asks for."""
    version = request.headers.get("Notion-Version")
    if version is None:
        message = "Notion-Version header should be defined, instead was `undefined`."
        raise Refusal(400, "missing_version", f"Notion-Version header failed validation: {message}")
    if version not in VERSIONS:
        known = ", ".join(f'`"{known}"`' for known in VERSIONS)
        shown = json.dumps(version)
        raise invalid(
            f"Notion-Version header failed validation: Notion-Version header should be {known}, instead was `{shown}`."
        )
    return version


async def body_of(request: web.Request) -> dict[str, Any]:
    """The JSON object that a request carries; an empty one where it carries nothing."""
    sent = await request.read()
    if len(sent) > MOST_BYTES:
        raise checks.unfit("body.length", f"≤ `{MOST_BYTES}`", len(sent))
    try:
        return checks.obj(parse_json(sent) if sent else {}, "body")
    except (ValueError, RecursionError) as fault:
        raise Refusal(400, "invalid_json", "Error parsing JSON body.") from fault
