"""Objects in the vendor's format, for the requested API version."""

import re
from collections.abc import Collection, Sequence
from typing import Any

from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import dates, property_values
from workspace_sandbox.notes.data.state import (
    Block,
    Container,
    Database,
    DataSource,
    Entity,
    Option,
    Page,
    Parent,
    Property,
    User,
    Workspace,
)

VERSIONS = ("2022-06-28", "2025-09-03", "2026-03-11")
WITH_SOURCES = "2025-09-03"
"""The first version in which databases are containers of data sources."""

WITHOUT_ARCHIVED = "2026-03-11"
"""The first version without ``archived``."""


class ResponseBuilder:
    """Builds responses for one API version."""

    def __init__(self, workspace: Workspace, version: str) -> None:
        self._workspace = workspace
        self.version = version

    def user(self, user: User) -> dict[str, Any]:
        """Return a user object."""
        return property_values.user_object(user, user.id, self._workspace)

    def page(self, page: Page, only: Collection[str] | None = None) -> dict[str, Any]:
        """Return a page object, with all its properties or *only* those with the given ids."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", page.title).strip("-")
        fields = {
            "object": "page",
            "id": page.id,
            **self._audit_fields(page),
            "cover": page.cover,
            "icon": page.icon,
            "parent": self.parent(page.parent),
            "in_trash": page.in_trash,
            "is_archived": False,
            "is_locked": page.is_locked,
            "properties": self._properties(page, only),
            "url": _url(f"{slug}-{_without_dashes(page.id)}" if slug else _without_dashes(page.id)),
            "public_url": None,
        }
        return self._with_archived(fields)

    def database(self, database: Database) -> dict[str, Any]:
        """Return a database object with its data sources.

        Versions without data sources get the properties of the only one.
        """
        fields = {
            "object": "database",
            "id": database.id,
            "title": rich_text.text(database.title),
            "description": rich_text.text(database.description),
            "parent": self.parent(database.parent),
            "is_inline": database.is_inline,
            "in_trash": database.in_trash,
            "is_locked": False,
            "created_time": dates.format_database_time(database.created_at),
            "last_edited_time": dates.format_database_time(database.edited_at),
            "icon": database.icon,
            "cover": database.cover,
            "url": _url(_without_dashes(database.id)),
            "public_url": None,
        }
        return self._with_archived(fields | self._table(database))

    def _table(self, database: Database) -> dict[str, Any]:
        if self.version < WITH_SOURCES:
            source = self._workspace.only_source(database)
            return {"properties": self._schema(source)} | self._audit_fields(source)
        sources = [self._workspace.sources[uid] for uid in database.source_ids]
        return {"data_sources": [{"id": source.id, "name": source.title} for source in sources]}

    def source(self, source: DataSource) -> dict[str, Any]:
        """Return a data source object."""
        database = self._workspace.databases[source.parent.id]
        fields = {
            "object": "data_source",
            "id": source.id,
            "cover": source.cover,
            "icon": source.icon,
            **self._audit_fields(source),
            "title": rich_text.text(source.title),
            "description": rich_text.text(database.description),
            "is_inline": database.is_inline,
            "properties": self._schema(source),
            "parent": self.parent(source.parent),
            "database_parent": self.parent(database.parent),
            "url": _url(_without_dashes(database.id)),
            "public_url": None,
            "in_trash": source.in_trash,
            "is_archived": False,
        }
        return self._with_archived(fields)

    def search_result(self, entity: DataSource | Page) -> dict[str, Any]:
        """Return a search result."""
        if isinstance(entity, Page):
            return self.page(entity)
        if self.version < WITH_SOURCES:
            return self.database(self._workspace.databases[entity.parent.id])
        return self.source(entity)

    def block(self, block: Block | Page | Database) -> dict[str, Any]:
        """Return a block object. Pages and databases are child blocks."""
        fields = {
            "object": "block",
            "id": block.id,
            "parent": self.parent(block.parent),
            **self._audit_fields(block),
            "has_children": bool(isinstance(block, Container) and block.children),
            "in_trash": block.in_trash,
        }
        if isinstance(block, Block):
            return self._with_archived(fields | {"type": block.type, block.type: block.content})
        kind = f"child_{type(block).__name__.lower()}"
        return self._with_archived(fields | {"type": kind, kind: {"title": block.title}})

    def parent(self, parent: Parent) -> dict[str, Any]:
        """Return the parent object. A row also names its database, and in older versions only that."""
        if parent.kind == "workspace":
            return {"type": "workspace", "workspace": True}
        if parent.kind != "data_source_id":
            return {"type": parent.kind, parent.kind: parent.id}
        database_id = self._workspace.sources[parent.id].parent.id
        if self.version < WITH_SOURCES:
            return {"type": "database_id", "database_id": database_id}
        return {"type": "data_source_id", "data_source_id": parent.id, "database_id": database_id}

    def items(self, page: Page, prop: Property) -> list[dict[str, Any]] | None:
        """Return the values of *prop* as a list, or None for a type with a single value."""
        if prop.type not in property_values.ITEMS and prop.type != "rollup":
            return None
        head = {"object": "property_item", "id": prop.wire_id}
        if prop.type == "rollup":
            return [head | item for item in property_values.rollup(self._workspace, page, prop).get("array", [])]
        elements = property_values.ITEMS[prop.type](self._workspace, page, prop)
        return [head | {"type": prop.type, prop.type: item} for item in elements]

    def item(self, page: Page, prop: Property) -> dict[str, Any]:
        """Return the single value of *prop*."""
        head = {"object": "property_item", "id": prop.wire_id, "type": prop.type}
        return head | property_values.property_value(self._workspace, page, prop)

    def list_property_item(self, page: Page, prop: Property) -> dict[str, Any]:
        """Return the ``property_item`` object of the list of values."""
        if prop.type != "rollup":
            return {"id": prop.wire_id, "type": prop.type, prop.type: {}}
        total = property_values.rollup(self._workspace, page, prop)
        if "array" in total:
            total["array"] = []
        return {"id": prop.wire_id, "type": "rollup", "rollup": total}

    def _properties(self, page: Page, only: Collection[str] | None) -> dict[str, Any]:
        source = self._workspace.get_source(page)
        if source is None:
            return {"title": {"id": "title", "type": "title", "title": rich_text.truncate(page.values["title"])}}
        return {
            prop.name: {"id": prop.wire_id, "type": prop.type}
            | property_values.property_value(self._workspace, page, prop)
            for prop in source.properties.values()
            if only is None or prop.id in only
        }

    def _schema(self, source: DataSource) -> dict[str, Any]:
        return {prop.name: _column(prop) for prop in source.properties.values()}

    def _audit_fields(self, entity: Entity) -> dict[str, Any]:
        return {
            "created_time": dates.format_page_time(entity.created_at),
            "last_edited_time": dates.format_page_time(entity.edited_at),
            "created_by": {"object": "user", "id": entity.created_by},
            "last_edited_by": {"object": "user", "id": entity.edited_by},
        }

    def _with_archived(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Add the old name of the trash flag if the version still has it."""
        return fields if self.version >= WITHOUT_ARCHIVED else fields | {"archived": fields["in_trash"]}


def list_object(kind: str, results: Sequence[Any], cursor: str | None, **extra: Any) -> dict[str, Any]:
    """Return a list object of *kind*."""
    head = {"object": "list", "results": results, "next_cursor": cursor, "has_more": cursor is not None}
    return head | {"type": kind, kind: {}} | extra


def _column(prop: Property) -> dict[str, Any]:
    config: dict[str, Any] = dict(prop.config)
    if prop.type in {"select", "multi_select", "status"}:
        config["options"] = [_option(option) | {"description": None} for option in prop.options]
    if prop.type == "status":
        config["groups"] = [_option(group) | {"option_ids": uids} for group, uids in prop.groups]
    return {"id": prop.wire_id, "name": prop.name, "description": None, "type": prop.type, prop.type: config}


def _option(option: Option) -> dict[str, Any]:
    return {"id": option.id, "name": option.name, "color": option.color}


def _without_dashes(uid: str) -> str:
    return uid.replace("-", "")


def _url(path: str) -> str:
    return f"https://app.notion.com/p/{path}"
