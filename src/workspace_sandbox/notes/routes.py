"""Every route of the vendor's that is played; all else is answered like an address that it does not have."""

from collections.abc import Callable, Sequence
from typing import Any

from workspace_sandbox.kit.routes import Page, Route
from workspace_sandbox.notes import blocks, comments, data_sources, databases, pages, search, users
from workspace_sandbox.notes.access import Authorisations
from workspace_sandbox.notes.call import Call


class Request(Route[Callable[[Call], dict[str, Any]]]):
    """A request with the token of a connection."""


ROUTES: Sequence[Request | Page] = (
    Request(method="GET", path="/v1/users/me", handler=users.me),
    Request(method="GET", path="/v1/users", handler=users.list_users),
    Request(method="GET", path="/v1/users/{user_id}", handler=users.retrieve_user),
    Request(method="POST", path="/v1/search", handler=search.search),
    Request(
        method="POST", path="/v1/databases", handler=databases.create_database, lacks="columns of computed types, style"
    ),
    Request(
        method="PATCH",
        path="/v1/databases/{database_id}",
        handler=databases.update_database,
        lacks="columns of computed types, style, other parents",
    ),
    Request(method="GET", path="/v1/databases/{database_id}", handler=databases.retrieve_database),
    Request(method="POST", path="/v1/databases/{database_id}/query", handler=databases.query_database),
    Request(
        method="POST",
        path="/v1/data_sources",
        handler=data_sources.create_source,
        lacks="columns of computed types, relations on both sides, style",
    ),
    Request(
        method="PATCH",
        path="/v1/data_sources/{data_source_id}",
        handler=data_sources.update_source,
        lacks="columns of computed types, relations on both sides, style, other parents",
    ),
    Request(
        method="GET",
        path="/v1/data_sources/{data_source_id}/templates",
        handler=data_sources.list_templates,
        lacks="there are none",
    ),
    Request(method="GET", path="/v1/data_sources/{data_source_id}", handler=data_sources.retrieve_source),
    Request(method="POST", path="/v1/data_sources/{data_source_id}/query", handler=data_sources.query_source),
    Request(method="POST", path="/v1/pages", handler=pages.create_page, lacks="templates and file uploads"),
    Request(method="GET", path="/v1/pages/{page_id}", handler=pages.retrieve_page),
    Request(method="PATCH", path="/v1/pages/{page_id}", handler=pages.update_page, lacks="templates and file uploads"),
    Request(method="GET", path="/v1/pages/{page_id}/properties/{property_id}", handler=pages.retrieve_property),
    Request(method="GET", path="/v1/pages/{page_id}/markdown", handler=pages.retrieve_markdown, lacks="transcripts"),
    Request(
        method="PATCH",
        path="/v1/pages/{page_id}/markdown",
        handler=pages.update_markdown,
        lacks="parts that are replaced; what is inserted goes to the end; HTML is read as text",
    ),
    Request(method="POST", path="/v1/pages/{page_id}/move", handler=pages.move_page),
    Request(method="GET", path="/v1/blocks/{block_id}", handler=blocks.retrieve_block),
    Request(method="PATCH", path="/v1/blocks/{block_id}", handler=blocks.update_block),
    Request(method="DELETE", path="/v1/blocks/{block_id}", handler=blocks.delete_block),
    Request(method="GET", path="/v1/blocks/{block_id}/children", handler=blocks.list_children),
    Request(
        method="PATCH",
        path="/v1/blocks/{block_id}/children",
        handler=blocks.append_children,
        lacks="columns, synced blocks, links to pages, uploaded files",
    ),
    Request(method="GET", path="/v1/comments", handler=comments.list_comments),
    Request(
        method="POST", path="/v1/comments", handler=comments.create_comment, lacks="attachments, other names, markdown"
    ),
    Request(method="GET", path="/v1/comments/{comment_id}", handler=comments.retrieve_comment),
    Request(method="PATCH", path="/v1/comments/{comment_id}", handler=comments.update_comment, lacks="markdown"),
    Request(method="DELETE", path="/v1/comments/{comment_id}", handler=comments.delete_comment),
    Page(method="GET", path="/v1/oauth/authorize", handler=Authorisations.authorize),
    Page(method="POST", path="/v1/oauth/authorize", handler=Authorisations.authorize),
    Page(method="POST", path="/v1/oauth/token", handler=Authorisations.token),
    Page(method="POST", path="/v1/oauth/revoke", handler=Authorisations.revoke),
    Page(method="POST", path="/v1/oauth/introspect", handler=Authorisations.introspect),
)
