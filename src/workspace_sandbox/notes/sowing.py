"""Databases with their rows, and pages, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.notes import acts
from workspace_sandbox.notes.seed import Seeded
from workspace_sandbox.notes.seeding import Seeder
from workspace_sandbox.notes.state import DataSource, Property

CHOSEN = ("select", "multi_select")


def sow(seeded: Seeded, given: SeedValue) -> dict[str, Any]:
    """Make what *given* tells, shared with both connections; the identifiers by title."""
    given.object_of("databases", "pages")
    seeder = Seeder(seeded.workspace)
    seeder.people = [user for user in seeded.workspace.users.values() if user.kind == "person"]
    databases = dict(_database(seeded, seeder, one) for one in given.each("databases"))
    pages = dict(_page(seeded, seeder, one) for one in given.each("pages"))
    for bot in (seeded.internal, seeded.public):
        bot.shared |= {*databases.values(), *pages.values()}
    return {"databases": databases, "pages": pages}


def _database(seeded: Seeded, seeder: Seeder, given: SeedValue) -> tuple[str, str]:
    given.object_of("title", "properties", "rows", needs="title")
    title, properties = given.text("title"), SeedValue(given.value.get("properties", {}), (*given.path, "properties"))
    made = [_property(seeder, name, kind) for name, kind in properties.items()]
    if [prop.type for prop in made].count("title") > 1:
        raise properties.wrong("A database has one title.")
    if not any(prop.type == "title" for prop in made):
        made.insert(0, seeder.property("title", "Name"))
    source = seeder.table(title, seeded.workspace.now(), made)
    for row in given.each("rows"):
        _row(seeded, source, row)
    return title, source.parent.id


def _property(seeder: Seeder, name: str, given: SeedValue) -> Property:
    kind, options = given.value, []
    if isinstance(kind, dict) and len(kind) == 1:
        kind = next(iter(kind))
        options = [one.as_text() for one in given.each(kind)]
    if kind not in {"title", *acts.ADDED} or (options and kind not in CHOSEN):
        raise given.wrong(f"No such type of property; there are title, {', '.join(acts.ADDED)}.")
    config = {"format": "number"} if kind == "number" else {}
    return seeder.property(kind, name, config=config, options=seeder.options(*((one, "default") for one in options)))


def _row(seeded: Seeded, source: DataSource, given: SeedValue) -> None:
    properties = {name: value.value for name, value in given.items()}
    action = {"action": "create_page", "database_id": source.parent.id, "properties": properties}
    with given.doing():
        acts.perform(seeded.workspace, seeded.person, action)


def _page(seeded: Seeded, seeder: Seeder, given: SeedValue) -> tuple[str, str]:
    given.object_of("title", "text", needs="title")
    page = seeder.page(given.text("title"), seeded.workspace.now())
    seeder.body(page, [("paragraph", line.as_text()) for line in given.each("text")])
    return given.text("title"), page.id
