"""Databases with their rows, and pages, from the plain words of a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.notes import acts
from workspace_sandbox.notes.seeding import DataBuilder
from workspace_sandbox.notes.state import DataSource, Property

if TYPE_CHECKING:
    from workspace_sandbox.notes.emulator import NotesEmulator

CHOSEN = ("select", "multi_select")


def apply_seed(notion: "NotesEmulator", given: SeedValue) -> dict[str, Any]:
    """Create what *given* tells, shared with both connections; the identifiers by title."""
    given.object_of("databases", "pages")
    seeder = DataBuilder(notion.workspace)
    seeder.people = [user for user in notion.workspace.users.values() if user.kind == "person"]
    databases = dict(_database(notion, seeder, one) for one in given.each("databases"))
    pages = dict(_page(notion, seeder, one) for one in given.each("pages"))
    for bot in (notion.seeded.internal, notion.seeded.public):
        bot.shared |= {*databases.values(), *pages.values()}
    return {"databases": databases, "pages": pages}


def _database(notion: "NotesEmulator", seeder: DataBuilder, given: SeedValue) -> tuple[str, str]:
    given.object_of("title", "properties", "rows", needs="title")
    title, properties = given.text("title"), SeedValue(given.value.get("properties", {}), (*given.path, "properties"))
    made = [_property(seeder, name, kind) for name, kind in properties.items()]
    if [prop.type for prop in made].count("title") > 1:
        raise properties.wrong("A database has one title.")
    if not any(prop.type == "title" for prop in made):
        made.insert(0, seeder.property("title", "Name"))
    source = seeder.table(title, notion.stage.now(), made)
    for row in given.each("rows"):
        _row(notion, source, row)
    return title, source.parent.id


def _property(seeder: DataBuilder, name: str, given: SeedValue) -> Property:
    kind, options = given.value, []
    if isinstance(kind, dict) and len(kind) == 1:
        kind = next(iter(kind))
        options = [one.as_text() for one in given.each(kind)]
    if kind not in {"title", *acts.ADDED} or (options and kind not in CHOSEN):
        raise given.wrong(f"No such type of property; there are title, {', '.join(acts.ADDED)}.")
    made = seeder.options(*((one, "default") for one in options))
    return seeder.property(kind, name, config=acts.number_config(kind), options=made)


def _row(notion: "NotesEmulator", source: DataSource, given: SeedValue) -> None:
    properties = {name: value.value for name, value in given.items()}
    with given.locate_errors():
        notion.perform({"action": "create_page", "database_id": source.parent.id, "properties": properties})


def _page(notion: "NotesEmulator", seeder: DataBuilder, given: SeedValue) -> tuple[str, str]:
    given.object_of("title", "text", needs="title")
    page = seeder.page(given.text("title"), notion.stage.now())
    seeder.body(page, [("paragraph", line.as_text()) for line in given.each("text")])
    return given.text("title"), page.id
