"""What a connection or a person does to pages, once the request has been read."""

from collections.abc import Iterable, Sequence
from typing import Any

from workspace_sandbox.notes import bodies, checks, events, richtext, writes
from workspace_sandbox.notes.state import (
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
from workspace_sandbox.notes.wire import invalid

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
    drafts: Sequence[bodies.Draft] = (),
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
        prefill(above, page)
    else:
        above.children.append(page.id)
    workspace.pages[page.id] = page
    _keep(workspace, page, found, author.id)
    _retitle(workspace, page)
    bodies.place(workspace, page, drafts, author.id)
    workspace.touch(page, author.id, "page.created")
    return page


def prefill(source: DataSource, page: Page) -> None:
    """Give a new row what every row has: a number, and the first status."""
    source.numbered += 1
    page.values |= {prop.id: source.numbered for prop in source.of_type("unique_id")}
    # A status is never empty: a new row stands at the first option.
    page.values |= {prop.id: prop.options[0].id for prop in source.of_type("status")}


def _keep(workspace: Workspace, page: Page, found: Given, author_id: str) -> None:
    offered = [len(prop.options) for prop, _ in found]
    for prop, value in found:
        page.values[prop.id] = writes.keep(workspace, author_id, prop, value)
    # New options change the data source as well: a write to a page can cause an event about its table.
    grown = [prop for (prop, _), before in zip(found, offered, strict=True) if len(prop.options) > before]
    source = workspace.source_of(page)
    if source and grown:
        _reshape(workspace, source, author_id, "updated", *grown)


def _retitle(workspace: Workspace, page: Page) -> None:
    if not page.titles or page.titles[-1][1] != page.title:
        page.titles.append((workspace.now(), page.title))


def update(workspace: Workspace, page: Page, found: Given, author: User) -> None:
    """Give *page* other values; what is not named stays. By the vendor's account, a title is content."""
    workspace.require_editable(page)
    _keep(workspace, page, found, author.id)
    _retitle(workspace, page)
    # A change of a title is told as one of the content: so in the example of "Event types & delivery".
    wire_ids = [prop.wire_id for prop, _ in found if prop.type != "title"]
    if wire_ids:
        workspace.touch(page, author.id, "page.properties_updated", {uid: uid for uid in wire_ids})
    if len(wire_ids) < len(found):
        revise(workspace, page, author)


def revise(workspace: Workspace, page: Page, author: User) -> None:
    """Note that *page* itself looks different: its title, icon or cover."""
    workspace.touch(page, author.id, "page.content_updated", events.blocks("page", [page.id]))


def lock(workspace: Workspace, page: Page, author: User, *, locked: bool) -> None:
    """Lock *page* or unlock it, unless it is so already."""
    # No event for what was so already.
    if page.is_locked != locked:
        page.is_locked = locked
        workspace.touch(page, author.id, "page.locked" if locked else "page.unlocked")


def trash(workspace: Workspace, block: Block | Page | Database, author: User, *, into: bool) -> None:
    """Move *block* into the trash or out of it; what is out already stays so, what is in already is refused."""
    if into:
        workspace.require_editable(block)
    if block.in_trash == into:
        return
    block.in_trash = into
    if isinstance(block, Block):
        _rewrite(workspace, block, author, [block.id])
    else:
        kind = type(block).__name__.lower()
        workspace.touch(block, author.id, f"{kind}.{'deleted' if into else 'undeleted'}")


def append(workspace: Workspace, into: Container, body: dict[str, Any], author: User) -> list[str]:
    """Add the blocks of a request to *into*; returns their ids."""
    workspace.require_editable(into)
    drafts = bodies.read(checks.need(body, "children", "body"), "body.children")
    made = bodies.place(workspace, into, drafts, author.id, bodies.position(into, body, "body"))
    _rewrite(workspace, into, author, made)
    return made


def extend(workspace: Workspace, page: Page, drafts: Sequence[bodies.Draft], author: User) -> None:
    """Put blocks at the end of *page*."""
    _rewrite(workspace, page, author, bodies.place(workspace, page, drafts, author.id))


def rewrite(workspace: Workspace, block: Block, content: dict[str, Any], author: User) -> None:
    """Give *block* another content."""
    workspace.require_editable(block)
    block.content = content
    _rewrite(workspace, block, author, [block.id])


def erase(workspace: Workspace, page: Page, author: User) -> None:
    """Take all blocks off *page*."""
    erased, page.children = page.children, []
    _rewrite(workspace, page, author, erased)


def _rewrite(workspace: Workspace, within: Container, author: User, block_ids: Iterable[str]) -> None:
    """Record that blocks changed: on *within*, which they are or lie in, and on the page that holds it."""
    page = next(upper for upper in workspace.lineage(within) if isinstance(upper, Page))
    workspace.touch(page, author.id, "page.content_updated", events.blocks("block", block_ids))
    within.edited_at, within.edited_by = page.edited_at, author.id


def comment(
    workspace: Workspace, about: Block | Page | Database, discussion_id: str, text: richtext.Items, author: User
) -> Comment:
    """Say something about a page or block."""
    now, place = workspace.now(), Parent("page_id" if isinstance(about, Page) else "block_id", about.id)
    made = Comment(workspace.new_id(), place, now, now, author.id, author.id, discussion_id=discussion_id, text=text)
    workspace.comments[made.id] = made
    workspace.touch(made, author.id, "comment.created")
    return made


def add_property(workspace: Workspace, source: DataSource, prop: Property, author: User) -> None:
    """Give *source* another property, empty on every page there is."""
    _require_free(source, prop.name)
    source.properties[prop.id] = prop
    _reshape(workspace, source, author.id, "created", prop)


def rename_property(workspace: Workspace, source: DataSource, prop: Property, name: str, author: User) -> None:
    """Call *prop* of *source* by another name."""
    _require_free(source, name)
    prop.name = name
    _reshape(workspace, source, author.id, "updated", prop)


def rename_option(
    workspace: Workspace, source: DataSource, prop: Property, option: Option, name: str, *, author: User
) -> None:
    """Call *option* of *prop* by another name, also on the pages that have it, which do not count as edited."""
    if prop.option(name):
        raise invalid(f"There is an option {name} already.")
    option.name = name
    _reshape(workspace, source, author.id, "updated", prop)


def _require_free(source: DataSource, name: str) -> None:
    if any(other.name == name for other in source.properties.values()):
        raise invalid(f"There is a property {name} already.")


def _reshape(workspace: Workspace, source: DataSource, author_id: str, action: str, *props: Property) -> None:
    """Note what was done to columns of *source*."""
    workspace.touch(source, author_id, "data_source.schema_updated", events.columns(action, props))
