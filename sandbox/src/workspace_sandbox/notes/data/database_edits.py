"""Changes of databases and data sources by a connection, after the request has been parsed."""

from collections.abc import Sequence
from typing import Any

from workspace_sandbox.notes.data import page_edits, webhook_event_contents
from workspace_sandbox.notes.data.column_definitions import OPTION_TYPES, ColumnDefinition
from workspace_sandbox.notes.data.state import Database, DataSource, Page, Parent, Property, User, Workspace

NOT_TRANSFERABLE = (*OPTION_TYPES, "unique_id")
"""The types whose values are meaningless in another data source."""


def create(
    workspace: Workspace, above: Page, title: str, columns: Sequence[ColumnDefinition], author: User
) -> Database:
    """Create a database on a page, with one data source of the same title."""
    workspace.check_editable(above)
    now = workspace.now()
    parent = Parent("page_id", above.id)
    database = Database(workspace.new_id(), parent, now, now, author.id, author.id, title=title)
    workspace.databases[database.id] = database
    above.children.append(database.id)
    workspace.record_change(database, author.id, "database.created")
    add_source(workspace, database, title, columns, author)
    return database


def add_source(
    workspace: Workspace, database: Database, title: str, columns: Sequence[ColumnDefinition], author: User
) -> DataSource:
    """Add a data source to *database*."""
    workspace.check_editable(database)
    now = workspace.now()
    source = DataSource(workspace.new_id(), Parent("database_id", database.id), now, now, author.id, author.id)
    source.titles.append((now, title))
    source.properties = {prop.id: prop for prop in (column.create(workspace) for column in columns)}
    workspace.sources[source.id] = source
    database.source_ids.append(source.id)
    workspace.record_change(source, author.id, "data_source.created")
    return source


def retitle(workspace: Workspace, entity: Database | DataSource, title: str, author: User) -> None:
    """Change the title."""
    if isinstance(entity, Database):
        entity.title = title
        workspace.record_change(entity, author.id, "database.content_updated")
    else:
        entity.titles.append((workspace.now(), title))
        workspace.record_change(entity, author.id, "data_source.content_updated")


def trash(workspace: Workspace, source: DataSource, author: User, *, into: bool) -> None:
    """Move a data source to the trash or out of it."""
    if source.in_trash != into:
        source.in_trash = into
        workspace.record_change(source, author.id, f"data_source.{'deleted' if into else 'undeleted'}")


def change_columns(workspace: Workspace, source: DataSource, columns: Sequence[ColumnDefinition], author: User) -> None:
    """Add, change and remove columns of *source*."""
    workspace.check_editable(source)
    for column in columns:
        if column.existing is None:
            _add(workspace, source, column.create(workspace), author)
        elif column.removed:
            _remove(workspace, source, column.existing, author)
        else:
            _change(workspace, source, column.existing, column, author)


def _add(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    page_edits.add_property(workspace, source, prop, author)
    _prefill(workspace, source, prop)


def _prefill(workspace: Workspace, source: DataSource, prop: Property) -> None:
    """Set the initial values of *prop* in existing rows."""
    for number, uid in enumerate(source.rows, 1):
        if prop.type == "unique_id":
            workspace.pages[uid].values[prop.id] = number
        if prop.type == "status":
            workspace.pages[uid].values[prop.id] = prop.options[0].id


def _remove(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    del source.properties[prop.id]
    for uid in source.rows:
        workspace.pages[uid].values.pop(prop.id, None)
    workspace.record_change(
        source, author.id, "data_source.schema_updated", webhook_event_contents.columns("deleted", [prop])
    )


def _change(workspace: Workspace, source: DataSource, prop: Property, column: ColumnDefinition, author: User) -> None:
    """Change the name, type or options of a column. Values that become invalid are removed."""
    if prop.type != column.type:
        for uid in source.rows:
            workspace.pages[uid].values.pop(prop.id, None)
    old_type = prop.type
    prop.name, prop.type, prop.config, prop.groups = column.name, column.type, column.config, column.groups
    if column.options is not None:
        prop.options = column.options
        _remove_options(workspace, source, prop)
    if old_type != prop.type:
        _prefill(workspace, source, prop)
    workspace.record_change(
        source, author.id, "data_source.schema_updated", webhook_event_contents.columns("updated", [prop])
    )


def _remove_options(workspace: Workspace, source: DataSource, prop: Property) -> None:
    """Remove deleted options from the rows."""
    option_ids = {option.id for option in prop.options}
    for uid in source.rows if prop.type in OPTION_TYPES else ():
        values = workspace.pages[uid].values
        value = values.get(prop.id)
        if isinstance(value, list):
            values[prop.id] = [option_id for option_id in value if option_id in option_ids]
        elif value is not None and value not in option_ids:
            values[prop.id] = prop.options[0].id if prop.type == "status" else None


def move(workspace: Workspace, page: Page, target: DataSource | Page, author: User) -> None:
    """Move *page*. In a data source it keeps the values of columns with the same name and type."""
    workspace.check_editable(page)
    workspace.check_editable(target)
    old_source = workspace.get_source(page)
    _detach(workspace, page)
    transferable = (
        _transferable_values(page, old_source, target)
        if old_source is not None and isinstance(target, DataSource)
        else {}
    )
    title = page.values.get("title", [])
    page.values = {**transferable, "title": title}
    if isinstance(target, DataSource):
        page.parent = Parent("data_source_id", target.id)
        target.rows.append(page.id)
        page_edits.set_initial_values(target, page)
    else:
        page.parent = Parent("page_id", target.id)
        target.children.append(page.id)
    workspace.record_change(page, author.id, "page.moved")


def _transferable_values(page: Page, old_source: DataSource, new_source: DataSource) -> dict[str, Any]:
    """Return the values that a row keeps in another data source: those of equal columns without options."""
    pairs = (
        (prop, old_source.find(prop.name))
        for prop in new_source.properties.values()
        if prop.type not in NOT_TRANSFERABLE
    )
    return {
        prop.id: page.values[match.id]
        for prop, match in pairs
        if match is not None
        and (prop.type == match.type and (prop.type != "relation" or prop.config == match.config))
        and match.id in page.values
    }


def _detach(workspace: Workspace, page: Page) -> None:
    parent = workspace.find(page.parent.id)
    child_ids = parent.rows if isinstance(parent, DataSource) else getattr(parent, "children", [])
    if page.id in child_ids:
        child_ids.remove(page.id)
