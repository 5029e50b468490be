"""What a connection does to databases and data sources, once the request has been read."""

from collections.abc import Sequence
from typing import Any

from workspace_sandbox.notes import edits, events
from workspace_sandbox.notes.definitions import CHOSEN, Defined
from workspace_sandbox.notes.state import Database, DataSource, Page, Parent, Property, User, Workspace

OWN = (*CHOSEN, "unique_id")
"""Types whose values mean nothing in another data source."""


def create(workspace: Workspace, above: Page, title: str, columns: Sequence[Defined], author: User) -> Database:
    """A new database on a page, with one data source of the same title."""
    workspace.require_editable(above)
    now = workspace.now()
    place = Parent("page_id", above.id)
    database = Database(workspace.new_id(), place, now, now, author.id, author.id, title=title)
    workspace.databases[database.id] = database
    above.children.append(database.id)
    workspace.touch(database, author.id, "database.created")
    add_source(workspace, database, title, columns, author)
    return database


def add_source(
    workspace: Workspace, database: Database, title: str, columns: Sequence[Defined], author: User
) -> DataSource:
    """Another data source of *database*."""
    workspace.require_editable(database)
    now = workspace.now()
    source = DataSource(workspace.new_id(), Parent("database_id", database.id), now, now, author.id, author.id)
    source.titles.append((now, title))
    source.properties = {prop.id: prop for prop in (column.made(workspace) for column in columns)}
    workspace.sources[source.id] = source
    database.source_ids.append(source.id)
    workspace.touch(source, author.id, "data_source.created")
    return source


def retitle(workspace: Workspace, entity: Database | DataSource, title: str, author: User) -> None:
    """Give it another title."""
    if isinstance(entity, Database):
        entity.title = title
        workspace.touch(entity, author.id, "database.content_updated")
    else:
        entity.titles.append((workspace.now(), title))
        workspace.touch(entity, author.id, "data_source.content_updated")


def trash(workspace: Workspace, source: DataSource, author: User, *, into: bool) -> None:
    """Move a data source into the trash or out of it."""
    if source.in_trash != into:
        source.in_trash = into
        workspace.touch(source, author.id, f"data_source.{'deleted' if into else 'undeleted'}")


def reshape(workspace: Workspace, source: DataSource, columns: Sequence[Defined], author: User) -> None:
    """Add, change and remove columns of *source*."""
    workspace.require_editable(source)
    for column in columns:
        if column.known is None:
            _add(workspace, source, column.made(workspace), author)
        elif column.removed:
            _remove(workspace, source, column.known, author)
        else:
            _change(workspace, source, column.known, column, author)


def _add(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    edits.add_property(workspace, source, prop, author)
    _prefill(workspace, source, prop)


def _prefill(workspace: Workspace, source: DataSource, prop: Property) -> None:
    """Give the rows that there are what every row has."""
    for number, uid in enumerate(source.rows, 1):
        if prop.type == "unique_id":
            workspace.pages[uid].values[prop.id] = number
        if prop.type == "status":
            workspace.pages[uid].values[prop.id] = prop.options[0].id


def _remove(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    del source.properties[prop.id]
    for uid in source.rows:
        workspace.pages[uid].values.pop(prop.id, None)
    workspace.touch(source, author.id, "data_source.schema_updated", events.columns("deleted", [prop]))


def _change(workspace: Workspace, source: DataSource, prop: Property, column: Defined, author: User) -> None:
    """Another name, type or set of options; values that no longer fit go."""
    if prop.type != column.type:
        for uid in source.rows:
            workspace.pages[uid].values.pop(prop.id, None)
    was = prop.type
    prop.name, prop.type, prop.config, prop.groups = column.name, column.type, column.config, column.groups
    if column.options is not None:
        prop.options = column.options
        _forget(workspace, source, prop)
    if was != prop.type:
        _prefill(workspace, source, prop)
    workspace.touch(source, author.id, "data_source.schema_updated", events.columns("updated", [prop]))


def _forget(workspace: Workspace, source: DataSource, prop: Property) -> None:
    """Take options that are no longer there off the rows."""
    there = {option.id for option in prop.options}
    for uid in source.rows if prop.type in CHOSEN else ():
        values = workspace.pages[uid].values
        held = values.get(prop.id)
        if isinstance(held, list):
            values[prop.id] = [one for one in held if one in there]
        elif held is not None and held not in there:
            values[prop.id] = prop.options[0].id if prop.type == "status" else None


def move(workspace: Workspace, page: Page, above: DataSource | Page, author: User) -> None:
    """Put *page* elsewhere; in a data source it keeps the values of columns of the same name and type."""
    workspace.require_editable(page)
    workspace.require_editable(above)
    before = workspace.source_of(page)
    _take_out(workspace, page)
    fitting = _fitting(page, before, above) if before is not None and isinstance(above, DataSource) else {}
    title = page.values.get("title", [])
    page.values = {**fitting, "title": title}
    if isinstance(above, DataSource):
        page.parent = Parent("data_source_id", above.id)
        above.rows.append(page.id)
        edits.prefill(above, page)
    else:
        page.parent = Parent("page_id", above.id)
        above.children.append(page.id)
    workspace.touch(page, author.id, "page.moved")


def _fitting(page: Page, before: DataSource, after: DataSource) -> dict[str, Any]:
    """What a row keeps in another data source: values whose columns are the same there, but for options."""
    pairs = ((prop, before.find(prop.name)) for prop in after.properties.values() if prop.type not in OWN)
    return {
        prop.id: page.values[known.id]
        for prop, known in pairs
        if known is not None and _is_alike(prop, known) and known.id in page.values
    }


def _is_alike(one: Property, other: Property) -> bool:
    """Whether the values of one column may stand in another: those of a relation belong to one data source."""
    return one.type == other.type and (one.type != "relation" or one.config == other.config)


def _take_out(workspace: Workspace, page: Page) -> None:
    holder = workspace.find(page.parent.id)
    held = holder.rows if isinstance(holder, DataSource) else getattr(holder, "children", [])
    if page.id in held:
        held.remove(page.id)
