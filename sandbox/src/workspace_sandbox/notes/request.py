"""A request of a connection, with the parsing that all routes share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.strict_json import parse_json
from workspace_sandbox.notes import error_responses, validation
from workspace_sandbox.notes.data.state import User, Workspace
from workspace_sandbox.notes.error_responses import ApiError, invalid
from workspace_sandbox.notes.object_json import VERSIONS, WITH_SOURCES, WITHOUT_ARCHIVED, ResponseBuilder
from workspace_sandbox.notes.pagination import Cursors

MAX_BYTES = 500 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """An authenticated request and the state that it works on."""

    workspace: Workspace
    context: EmulatorContext
    cursors: Cursors
    bot: User
    responses: ResponseBuilder
    path: Mapping[str, str]
    query: Mapping[str, str]
    filter_properties: list[str]
    """The repeatable parameter ``filter_properties`` of the query string."""
    body: dict[str, Any]

    def path_id(self, name: str) -> str:
        """Return the identifier *name* in the path."""
        return validation.uid(self.path[name], f"path.{name}")

    def read_fields(self, *allowed: str) -> dict[str, Any]:
        """Return the body.

        Raises an error if it has keys that are not *allowed*. Older versions may rename ``in_trash``.
        """
        body = dict(self.body)
        if self.responses.version < WITHOUT_ARCHIVED and "in_trash" in allowed and "archived" in body:
            body.setdefault("in_trash", body.pop("archived"))
            body.pop("archived", None)
        return validation.obj(body, "body", *allowed)

    def check_data_sources(self) -> None:
        """Reject versions without data sources."""
        if self.responses.version < WITH_SOURCES:
            raise error_responses.bad_url()


def cursor_scope(*parts: Any) -> str:
    """Return the scope of a cursor: the listed object and the parameters of the list."""
    return json.dumps(parts, sort_keys=True)


def read_version(request: web.Request) -> str:
    """Return the API version of a request."""
    version = request.headers.get("Notion-Version")
    if version is None:
        message = "Notion-Version header should be defined, instead was `undefined`."
        raise ApiError(400, "missing_version", f"Notion-Version header failed validation: {message}")
    if version not in VERSIONS:
        names = ", ".join(f'`"{names}"`' for names in VERSIONS)
        value = json.dumps(version)
        raise invalid(
            f"Notion-Version header failed validation: Notion-Version header should be {names}, instead was `{value}`."
        )
    return version


async def read_body(request: web.Request) -> dict[str, Any]:
    """Return the JSON object in the body, empty if there is no body."""
    content = await request.read()
    if len(content) > MAX_BYTES:
        raise validation.invalid_field("body.length", f"≤ `{MAX_BYTES}`", len(content))
    try:
        return validation.obj(parse_json(content) if content else {}, "body")
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid_json", "Error parsing JSON body.") from error
