"""The routes that the emulator serves. All other paths have the response of an unknown URL."""

from collections.abc import Callable, Sequence
from typing import Any

from workspace_sandbox.kit.routes import PageRoute, Route, page
from workspace_sandbox.notes.access import NotionOAuth
from workspace_sandbox.notes.api import blocks, comments, data_sources, databases, pages, search, users
from workspace_sandbox.notes.request import ApiRequest


class ApiRoute(Route[Callable[[ApiRequest], dict[str, Any]]]):
    """The route of a request with the token of a connection."""


on = ApiRoute.at("/v1")

ROUTES: Sequence[ApiRoute | PageRoute] = (
    on("GET /users/me", users.get_bot_user),
    on("GET /users", users.list_users),
    on("GET /users/{user_id}", users.retrieve_user),
    on("POST /search", search.search),
    on("POST /databases", databases.create_database, "columns of computed types, style"),
    on("PATCH /databases/{database_id}", databases.update_database, "columns of computed types, style, other parents"),
    on("GET /databases/{database_id}", databases.retrieve_database),
    on("POST /databases/{database_id}/query", databases.query_database),
    on("POST /data_sources", data_sources.create_source, "columns of computed types, relations on both sides, style"),
    on(
        "PATCH /data_sources/{data_source_id}",
        data_sources.update_source,
        "columns of computed types, relations on both sides, style, other parents",
    ),
    on("GET /data_sources/{data_source_id}/templates", data_sources.list_templates, "no templates exist"),
    on("GET /data_sources/{data_source_id}", data_sources.retrieve_source),
    on("POST /data_sources/{data_source_id}/query", data_sources.query_source),
    on("POST /pages", pages.create_page, "templates and file uploads"),
    on("GET /pages/{page_id}", pages.retrieve_page),
    on("PATCH /pages/{page_id}", pages.update_page, "templates and file uploads"),
    on("GET /pages/{page_id}/properties/{property_id}", pages.retrieve_property),
    on("GET /pages/{page_id}/markdown", pages.retrieve_markdown, "transcripts"),
    on(
        "PATCH /pages/{page_id}/markdown",
        pages.update_markdown,
        "replacing parts; insertions go to the end; HTML is treated as text",
    ),
    on("POST /pages/{page_id}/move", pages.move_page),
    on("GET /blocks/{block_id}", blocks.retrieve_block),
    on("PATCH /blocks/{block_id}", blocks.update_block),
    on("DELETE /blocks/{block_id}", blocks.delete_block),
    on("GET /blocks/{block_id}/children", blocks.list_children),
    on(
        "PATCH /blocks/{block_id}/children",
        blocks.append_children,
        "columns, synced blocks, links to pages, uploaded files",
    ),
    on("GET /comments", comments.list_comments),
    on("POST /comments", comments.create_comment, "attachments, other names, markdown"),
    on("GET /comments/{comment_id}", comments.retrieve_comment),
    on("PATCH /comments/{comment_id}", comments.update_comment, "markdown"),
    on("DELETE /comments/{comment_id}", comments.delete_comment),
    page("GET /v1/oauth/authorize", NotionOAuth.authorize),
    page("POST /v1/oauth/authorize", NotionOAuth.authorize),
    page("POST /v1/oauth/token", NotionOAuth.token),
    page("POST /v1/oauth/revoke", NotionOAuth.revoke),
    page("POST /v1/oauth/introspect", NotionOAuth.introspect),
)
