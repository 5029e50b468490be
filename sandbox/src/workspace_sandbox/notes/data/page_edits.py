"""Edits of pages by a connection or a person, after the request has been parsed."""

from collections.abc import Iterable, Sequence
from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import block_parsing, rich_text
from workspace_sandbox.notes.data import property_input, webhook_event_contents
from workspace_sandbox.notes.data.state import (
    Block,
    Comment,
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
from workspace_sandbox.notes.error_responses import invalid

PropertyValues = list[tuple[Property, Any]]
"""Properties with validated values."""


def validate_properties(workspace: Workspace, source: DataSource | None, raw: Any, bot: User | None) -> PropertyValues:
    """Validate a request's properties for a page of *source*.

    Without *bot*, for a person, references are unrestricted.
    """
    values = property_input.match_properties(source, property_input.parse_properties(raw, "body.properties"))
    property_input.check_references(workspace, bot, values)
    return values


def create(
    workspace: Workspace,
    above: DataSource | Page,
    values: PropertyValues,
    drafts: Sequence[block_parsing.BlockDraft] = (),
    *,
    author: User,
) -> Page:
    """Create a page under *above*."""
    workspace.check_editable(above)
    source = above if isinstance(above, DataSource) else None
    now = workspace.now()
    parent = Parent("data_source_id" if source else "page_id", above.id)
    page = Page(workspace.new_id(), parent, now, now, author.id, author.id)
    if isinstance(above, DataSource):
        above.rows.append(page.id)
        set_initial_values(above, page)
    else:
        above.children.append(page.id)
    workspace.pages[page.id] = page
    _store_values(workspace, page, values, author.id)
    _record_title(workspace, page)
    block_parsing.insert_blocks(workspace, page, drafts, author.id)
    workspace.record_change(page, author.id, "page.created")
    return page


def set_initial_values(source: DataSource, page: Page) -> None:
    """Set the initial values of a new row: its number and the first status."""
    source.last_number += 1
    page.values |= {prop.id: source.last_number for prop in source.properties_of_type("unique_id")}
    # A status is never empty: a new row gets the first option.
    page.values |= {prop.id: prop.options[0].id for prop in source.properties_of_type("status")}


def _store_values(workspace: Workspace, page: Page, values: PropertyValues, author_id: str) -> None:
    option_counts = [len(prop.options) for prop, _ in values]
    for prop, value in values:
        page.values[prop.id] = property_input.to_stored(workspace, author_id, prop, value)
    # New options change the data source as well, so a write to a page can cause an event of its data source.
    extended = [prop for (prop, _), count in zip(values, option_counts, strict=True) if len(prop.options) > count]
    source = workspace.get_source(page)
    if source and extended:
        _record_schema(workspace, source, author_id, "updated", *extended)


def _record_title(workspace: Workspace, page: Page) -> None:
    if not page.titles or page.titles[-1][1] != page.title:
        page.titles.append((workspace.now(), page.title))


def update(workspace: Workspace, page: Page, values: PropertyValues, author: User) -> None:
    """Update values of *page*. The vendor treats a title as content."""
    workspace.check_editable(page)
    _store_values(workspace, page, values, author.id)
    _record_title(workspace, page)
    # A title change is reported as a content change, as in the example of "Event types & delivery".
    wire_ids = [prop.wire_id for prop, _ in values if prop.type != "title"]
    if wire_ids:
        workspace.record_change(page, author.id, "page.properties_updated", {uid: uid for uid in wire_ids})
    if len(wire_ids) < len(values):
        record_content_change(workspace, page, author)


def record_content_change(workspace: Workspace, page: Page, author: User) -> None:
    """Record a change of the page itself: its title, icon or cover."""
    workspace.record_change(page, author.id, "page.content_updated", webhook_event_contents.blocks("page", [page.id]))


def lock(workspace: Workspace, page: Page, author: User, *, locked: bool) -> None:
    """Lock or unlock *page*, unless it already has that state."""
    # An unchanged state causes no event.
    if page.is_locked != locked:
        page.is_locked = locked
        workspace.record_change(page, author.id, "page.locked" if locked else "page.unlocked")


def trash(workspace: Workspace, block: Block | Page | Database, author: User, *, into: bool) -> None:
    """Move *block* to the trash or out of it.

    Restoring an active block has no effect. Trashing it twice is an error.
    """
    if into:
        workspace.check_editable(block)
    if block.in_trash == into:
        return
    block.in_trash = into
    if isinstance(block, Block):
        _record_blocks(workspace, block, author, [block.id])
    else:
        kind = type(block).__name__.lower()
        workspace.record_change(block, author.id, f"{kind}.{'deleted' if into else 'undeleted'}")


def append(workspace: Workspace, into: Container, body: dict[str, Any], author: User) -> list[str]:
    """Add the blocks of a request to *into*. Returns their ids."""
    workspace.check_editable(into)
    drafts = block_parsing.parse_blocks(validation.need(body, "children", "body"), "body.children")
    block_ids = block_parsing.insert_blocks(
        workspace, into, drafts, author.id, block_parsing.read_position(into, body, "body")
    )
    _record_blocks(workspace, into, author, block_ids)
    return block_ids


def extend(workspace: Workspace, page: Page, drafts: Sequence[block_parsing.BlockDraft], author: User) -> None:
    """Append blocks to *page*."""
    _record_blocks(workspace, page, author, block_parsing.insert_blocks(workspace, page, drafts, author.id))


def rewrite(workspace: Workspace, block: Block, content: dict[str, Any], author: User) -> None:
    """Replace the content of *block*."""
    workspace.check_editable(block)
    block.content = content
    _record_blocks(workspace, block, author, [block.id])


def erase(workspace: Workspace, page: Page, author: User) -> None:
    """Remove all blocks from *page*."""
    removed, page.children = page.children, []
    _record_blocks(workspace, page, author, removed)


def _record_blocks(workspace: Workspace, within: Container, author: User, block_ids: Iterable[str]) -> None:
    """Record changed blocks, on *within* and on the page that contains it."""
    page = next(upper for upper in workspace.lineage(within) if isinstance(upper, Page))
    workspace.record_change(page, author.id, "page.content_updated", webhook_event_contents.blocks("block", block_ids))
    within.edited_at, within.edited_by = page.edited_at, author.id


def comment(
    workspace: Workspace, subject: Block | Page | Database, discussion_id: str, text: rich_text.Items, author: User
) -> Comment:
    """Add a comment on a page or block."""
    now, parent = workspace.now(), Parent("page_id" if isinstance(subject, Page) else "block_id", subject.id)
    new_comment = Comment(
        workspace.new_id(), parent, now, now, author.id, author.id, discussion_id=discussion_id, text=text
    )
    workspace.comments[new_comment.id] = new_comment
    workspace.record_change(new_comment, author.id, "comment.created")
    return new_comment


def add_property(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    """Add a property to *source*, empty on every existing page."""
    _check_free_name(source, prop.name)
    source.properties[prop.id] = prop
    _record_schema(workspace, source, author.id, "created", prop)


def rename_property(workspace: Workspace, source: DataSource, prop: Property, name: str, author: User) -> None:
    """Rename *prop* of *source*."""
    _check_free_name(source, name)
    prop.name = name
    _record_schema(workspace, source, author.id, "updated", prop)


def rename_option(
    workspace: Workspace, source: DataSource, prop: Property, option: Option, name: str, *, author: User
) -> None:
    """Rename *option* of *prop*. The pages that have it do not count as edited."""
    if prop.option(name):
        raise invalid(f"There is an option {name} already.")
    option.name = name
    _record_schema(workspace, source, author.id, "updated", prop)


def _check_free_name(source: DataSource, name: str) -> None:
    if any(other.name == name for other in source.properties.values()):
        raise invalid(f"There is a property {name} already.")


def _record_schema(workspace: Workspace, source: DataSource, author_id: str, action: str, *props: Property) -> None:
    """Record changes to columns of *source*."""
    workspace.record_change(
        source, author_id, "data_source.schema_updated", webhook_event_contents.columns(action, props)
    )
