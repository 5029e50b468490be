"""Builds default objects with given times, without the validation of requests."""

from collections.abc import Iterable
from typing import Any

from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.content.block_parsing import KINDS
from workspace_sandbox.notes.data.state import (
    Block,
    Container,
    Database,
    DataSource,
    Option,
    Page,
    Parent,
    Property,
    User,
    Workspace,
)

TOP = Parent("workspace")


class DataBuilder:
    """Builds objects in *workspace*. The first person is their author."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.random = workspace.random
        self.people: list[User] = []

    def user(self, name: str, **fields: Any) -> User:
        """Create a person or a bot."""
        user = User(self.workspace.new_id(), name, **fields)
        self.workspace.users[user.id] = user
        if user.kind == "person":
            self.people.append(user)
        return user

    def property(self, kind: str, name: str, **fields: Any) -> Property:
        """Return a property. A title has the fixed title id."""
        uid = "title" if kind == "title" else self.workspace.new_property_id()
        return Property(uid, name, kind, **fields)

    def options(self, *pairs: tuple[str, str]) -> list[Option]:
        """Return options by name and colour."""
        return [Option(self.workspace.new_id(), name, color) for name, color in pairs]

    def status(self, name: str, **groups: list[tuple[str, str]]) -> Property:
        """Return a status property with *groups* of options. Underscores in group names stand for spaces."""
        options_by_group = {group.replace("_", " "): self.options(*pairs) for group, pairs in groups.items()}
        colors = dict(zip(options_by_group, ("gray", "blue", "green"), strict=True))
        return self.property(
            "status",
            name,
            options=[option for options in options_by_group.values() for option in options],
            groups=[
                (Option(self.workspace.new_id(), group, colors[group]), [option.id for option in options])
                for group, options in options_by_group.items()
            ],
        )

    def database(self, title: str, at: float, sources: dict[str, list[Property]], parent: Parent = TOP) -> Database:
        """Create a database with *sources*: its data sources with their properties, by title."""
        author_id = self.people[0].id
        created = at - 86_400.0 * 30
        database = Database(self.workspace.new_id(), parent, created, at, author_id, author_id, title=title)
        self.workspace.databases[database.id] = database
        for name, properties in sources.items():
            source_parent = Parent("database_id", database.id)
            source = DataSource(self.workspace.new_id(), source_parent, created, at, author_id, author_id)
            source.titles.append((0.0, name))
            source.properties = {prop.id: prop for prop in properties}
            self.workspace.sources[source.id] = source
            database.source_ids.append(source.id)
        return database

    def table(self, title: str, at: float, properties: list[Property], parent: Parent = TOP) -> DataSource:
        """Create a database with a single data source of the same title, and return that data source."""
        return self.workspace.only_source(self.database(title, at, {title: properties}, parent))

    def row(self, source: DataSource, at: float, values: dict[str, Any]) -> Page:
        """Create a row of *source*, an hour before its last edit. *values* has stored values by property name."""
        author_id, editor_id = self.random.choice(self.people).id, self.random.choice(self.people).id
        page = Page(self.workspace.new_id(), Parent("data_source_id", source.id), at - 3600.0, at, author_id, editor_id)
        by_name = {prop.name: prop for prop in source.properties.values()}
        page.values = {by_name[name].id: value for name, value in values.items()}
        source.last_number += 1
        page.values |= {prop.id: source.last_number for prop in source.properties_of_type("unique_id")}
        page.titles.append((0.0, page.title))
        source.rows.append(page.id)
        self.workspace.pages[page.id] = page
        return page

    def page(self, title: str, at: float, parent: Parent = TOP) -> Page:
        """Create a page outside databases."""
        author_id = self.people[0].id
        page = Page(self.workspace.new_id(), parent, at - 3600.0, at, author_id, author_id)
        page.values["title"] = rich_text.text(title)
        page.titles.append((0.0, title))
        self.workspace.pages[page.id] = page
        parent_page = self.workspace.pages.get(parent.id)
        if parent_page:
            parent_page.children.append(page.id)
        return page

    def body(self, into: Container, texts: Iterable[tuple[str, str]]) -> None:
        """Append text blocks to *into*, by type."""
        for kind, content in texts:
            parent = Parent("page_id", into.id)
            block = Block(
                self.workspace.new_id(), parent, into.created_at, into.edited_at, into.created_by, into.edited_by
            )
            block.type = kind
            block.content = {"rich_text": rich_text.text(content)} | KINDS[kind].defaults
            self.workspace.blocks[block.id] = block
            into.children.append(block.id)
