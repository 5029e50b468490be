"""Makes the seeded objects at given instants, without the checks of a request."""

from collections.abc import Iterable
from typing import Any

from workspace_sandbox.notes import richtext
from workspace_sandbox.notes.bodies import KINDS
from workspace_sandbox.notes.state import (
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
    """Plants objects in *workspace*; who made them is the first of its people."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.random = workspace.random
        self.people: list[User] = []

    def user(self, name: str, **about: Any) -> User:
        """A person or a bot."""
        user = User(self.workspace.new_id(), name, **about)
        self.workspace.users[user.id] = user
        if user.kind == "person":
            self.people.append(user)
        return user

    def property(self, kind: str, name: str, **about: Any) -> Property:
        """A property; a title has the id that every title has."""
        uid = "title" if kind == "title" else self.workspace.new_property_id()
        return Property(uid, name, kind, **about)

    def options(self, *named: tuple[str, str]) -> list[Option]:
        """Options by name and colour."""
        return [Option(self.workspace.new_id(), name, color) for name, color in named]

    def status(self, name: str, **groups: list[tuple[str, str]]) -> Property:
        """A status property with its *groups* of options; their names are told with underscores."""
        made = {group.replace("_", " "): self.options(*named) for group, named in groups.items()}
        colors = dict(zip(made, ("gray", "blue", "green"), strict=True))
        return self.property(
            "status",
            name,
            options=[option for options in made.values() for option in options],
            groups=[
                (Option(self.workspace.new_id(), group, colors[group]), [option.id for option in options])
                for group, options in made.items()
            ],
        )

    def database(self, title: str, at: float, sources: dict[str, list[Property]], parent: Parent = TOP) -> Database:
        """A database of *sources*: their titles with their properties."""
        maker = self.people[0].id
        created = at - 86_400.0 * 30
        database = Database(self.workspace.new_id(), parent, created, at, maker, maker, title=title)
        self.workspace.databases[database.id] = database
        for name, properties in sources.items():
            within = Parent("database_id", database.id)
            source = DataSource(self.workspace.new_id(), within, created, at, maker, maker)
            source.titles.append((0.0, name))
            source.properties = {prop.id: prop for prop in properties}
            self.workspace.sources[source.id] = source
            database.source_ids.append(source.id)
        return database

    def table(self, title: str, at: float, properties: list[Property], parent: Parent = TOP) -> DataSource:
        """The data source of a new database that has only one, of the same title."""
        return self.workspace.sole_source(self.database(title, at, {title: properties}, parent))

    def row(self, source: DataSource, at: float, values: dict[str, Any]) -> Page:
        """A row of *source*, made an hour before it was last edited; *values* by property name, as pages keep them."""
        maker, editor = self.random.choice(self.people).id, self.random.choice(self.people).id
        page = Page(self.workspace.new_id(), Parent("data_source_id", source.id), at - 3600.0, at, maker, editor)
        named = {prop.name: prop for prop in source.properties.values()}
        page.values = {named[name].id: value for name, value in values.items()}
        source.numbered += 1
        page.values |= {prop.id: source.numbered for prop in source.of_type("unique_id")}
        page.titles.append((0.0, page.title))
        source.rows.append(page.id)
        self.workspace.pages[page.id] = page
        return page

    def page(self, title: str, at: float, parent: Parent = TOP) -> Page:
        """A page outside databases."""
        maker = self.people[0].id
        page = Page(self.workspace.new_id(), parent, at - 3600.0, at, maker, maker)
        page.values["title"] = richtext.text(title)
        page.titles.append((0.0, title))
        self.workspace.pages[page.id] = page
        above = self.workspace.pages.get(parent.id)
        if above:
            above.children.append(page.id)
        return page

    def body(self, into: Container, texts: Iterable[tuple[str, str]]) -> None:
        """Blocks of text in *into*, by type."""
        for kind, content in texts:
            parent = Parent("page_id", into.id)
            block = Block(
                self.workspace.new_id(), parent, into.created_at, into.edited_at, into.created_by, into.edited_by
            )
            block.type = kind
            block.content = {"rich_text": richtext.text(content)} | KINDS[kind].defaults
            self.workspace.blocks[block.id] = block
            into.children.append(block.id)
