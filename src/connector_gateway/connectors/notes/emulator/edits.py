"""What a connection or a person does to pages, once the request has been read."""

from collections.abc import Sequence
from typing import Any

from connector_gateway.connectors.notes.emulator import blocks, checks, writes
from connector_gateway.connectors.notes.emulator.refusals import invalid
from connector_gateway.connectors.notes.emulator.state import (
    Block,
    Container,
    Database,
    DataSource,
    Page,
    Parent,
    Property,
    User,
    Workspace,
)

Given = list[tuple[Property, Any]]
"""Properties with values that may be kept."""


def given(workspace: Workspace, source: DataSource | None, raw: Any, bot: User | None) -> Given:
    """The properties of a request for a page of *source*; of a person (no *bot*) they may refer to anything."""
    found = writes.matched(source, writes.formed(raw, "body.properties"))
    writes.verify(workspace, bot, found)
    return found


def create(
    workspace: Workspace,
    above: DataSource | Page,
    found: Given,
    drafts: Sequence[blocks.Draft] = (),
    *,
    author: User,
) -> Page:
    """A new page under *above*."""
    workspace.require_editable(above)
    source = above if isinstance(above, DataSource) else None
    now = workspace.now()
    parent = Parent("data_source_id" if source else "page_id", above.id)
    page = Page(workspace.new_id(), parent, now, now, author.id, author.id)
    if isinstance(above, DataSource):
        above.rows.append(page.id)
        _prefill(above, page)
    else:
        above.children.append(page.id)
    workspace.pages[page.id] = page
    _keep(workspace, page, found, author.id)
    _retitle(workspace, page)
    blocks.place(workspace, page, drafts, author.id)
    workspace.touch(page, author.id, "page.created")
    return page


def _prefill(source: DataSource, page: Page) -> None:
    """Give a new row what every row has: a number, and the first status."""
    source.numbered += 1
    page.values |= {prop.id: source.numbered for prop in source.of_type("unique_id")}
    page.values |= {prop.id: prop.options[0].id for prop in source.of_type("status")}


def _keep(workspace: Workspace, page: Page, found: Given, author_id: str) -> None:
    for prop, value in found:
        page.values[prop.id] = writes.keep(workspace, author_id, prop, value)


def _retitle(workspace: Workspace, page: Page) -> None:
    if not page.titles or page.titles[-1][1] != page.title:
        page.titles.append((workspace.now(), page.title))


def update(workspace: Workspace, page: Page, found: Given, author: User) -> None:
    """Give *page* other values; what is not named stays."""
    workspace.require_editable(page)
    if found:
        _keep(workspace, page, found, author.id)
        _retitle(workspace, page)
        changed = tuple(prop.wire_id for prop, _ in found)
        workspace.touch(page, author.id, "page.properties_updated", changed)


def trash(workspace: Workspace, block: Block | Page | Database, author: User, *, into: bool) -> None:
    """Move *block* into the trash or out of it; what is out already stays so, what is in already is refused."""
    if into:
        workspace.require_editable(block)
    if block.in_trash == into:
        return
    block.in_trash = into
    kind = type(block).__name__.lower()
    workspace.touch(block, author.id, f"{kind}.{'deleted' if into else 'undeleted'}")


def append(workspace: Workspace, into: Container, body: dict[str, Any], author: User) -> list[str]:
    """Add the blocks of a request to *into*; returns their ids."""
    workspace.require_editable(into)
    drafts = blocks.read(checks.need(body, "children", "body"), "body.children")
    made = blocks.place(workspace, into, drafts, author.id, blocks.position(into, body, "body"))
    page = next(upper for upper in workspace.lineage(into) if isinstance(upper, Page))
    workspace.touch(page, author.id, "page.content_updated")
    into.edited_at, into.edited_by = page.edited_at, author.id
    return made


def rename_property(workspace: Workspace, source: DataSource, key: str, name: str, author: User) -> None:
    """Call the property *key* of *source* by another name."""
    prop = source.find(key)
    if prop is None or any(other.name == name for other in source.properties.values()):
        raise invalid(f"Cannot rename {key} to {name}.")
    prop.name = name
    workspace.touch(source, author.id, "data_source.schema_updated", (prop.wire_id,))
