"""Databases with their rows, and pages, from a seed file."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.notes import user_actions
from workspace_sandbox.notes.data.default_data_builder import DataBuilder
from workspace_sandbox.notes.data.state import DataSource, Property

if TYPE_CHECKING:
    from workspace_sandbox.notes.emulator import NotesEmulator

OPTION_TYPES = ("select", "multi_select")


def apply_seed(notion: "NotesEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the objects of *data*, shared with both connections. Returns the identifiers by title."""
    data.check_object("databases", "pages")
    builder = DataBuilder(notion.workspace)
    builder.people = [user for user in notion.workspace.users.values() if user.kind == "person"]
    databases = dict(_database(notion, builder, item) for item in data.list_items("databases"))
    pages = dict(_page(notion, builder, item) for item in data.list_items("pages"))
    for bot in (notion.seeded.internal, notion.seeded.public):
        bot.shared |= {*databases.values(), *pages.values()}
    return {"databases": databases, "pages": pages}


def _database(notion: "NotesEmulator", builder: DataBuilder, seed: SeedValue) -> tuple[str, str]:
    seed.check_object("title", "properties", "rows", required="title")
    title, properties = seed.text("title"), SeedValue(seed.value.get("properties", {}), (*seed.path, "properties"))
    columns = [_property(builder, name, kind) for name, kind in properties.items()]
    if [prop.type for prop in columns].count("title") > 1:
        raise properties.error("A database needs exactly one title property.")
    if not any(prop.type == "title" for prop in columns):
        columns.insert(0, builder.property("title", "Name"))
    source = builder.table(title, notion.context.now(), columns)
    for row in seed.list_items("rows"):
        _row(notion, source, row)
    return title, source.parent.id


def _property(builder: DataBuilder, name: str, seed: SeedValue) -> Property:
    kind, options = seed.value, []
    if isinstance(kind, dict) and len(kind) == 1:
        kind = next(iter(kind))
        options = [item.as_text() for item in seed.list_items(kind)]
    if kind not in {"title", *user_actions.ADDED} or (options and kind not in OPTION_TYPES):
        raise seed.error(f"Unknown property type; allowed: title, {', '.join(user_actions.ADDED)}.")
    new_options = builder.options(*((item, "default") for item in options))
    return builder.property(kind, name, config=user_actions.number_config(kind), options=new_options)


def _row(notion: "NotesEmulator", source: DataSource, seed: SeedValue) -> None:
    properties = {name: value.value for name, value in seed.items()}
    with seed.locate_errors():
        notion.perform({"action": "create_page", "database_id": source.parent.id, "properties": properties})


def _page(notion: "NotesEmulator", builder: DataBuilder, seed: SeedValue) -> tuple[str, str]:
    seed.check_object("title", "text", required="title")
    page = builder.page(seed.text("title"), notion.context.now())
    builder.body(page, [("paragraph", line.as_text()) for line in seed.list_items("text")])
    return seed.text("title"), page.id
