"""The seeded database with a property of every type and some values that are hard to parse."""

from functools import partial
from typing import Any

from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import property_values
from workspace_sandbox.notes.data.default_data_builder import DataBuilder
from workspace_sandbox.notes.data.state import DataSource, Page, Property, Workspace

ROWS = 320
EMPTY_EVERY = 16
"""Every 16th row has only a title."""

FUTURE_TYPE = "sentiment"
"""A property type that no current client knows."""

TITLES = (
    "Änderungsantrag",
    "Ordre du jour",
    "会議メモ",
    "Заметки",
    "ملاحظات الاجتماع",
    "Retro 🎉",
    "Quarterly plan",
    "Ideas, unsorted",
    "Ωmega checklist",
    "Press kit",
)
PLACES = (("Lisboa", 38.7223, -9.1393), ("Zürich", 47.3769, 8.5417), ("東京", 35.6762, 139.6503))
TEXTS = ("", "  leading and trailing blanks  ", "Line one\nLine two", "naïve café, 50 % done", "«Ёлка» 👩‍👩‍👧 first")


def build_all_types_database(builder: DataBuilder, at: float, related: DataSource) -> DataSource:
    """Build the database, with relations to rows of *related*."""
    relation = builder.property(
        "relation",
        "Relation",
        config={
            "database_id": related.parent.id,
            "data_source_id": related.id,
            "type": "single_property",
            "single_property": {},
        },
    )
    properties = _columns(builder, related, relation)
    source = builder.table("Everything", at, properties)
    by_name = {prop.name: prop for prop in properties}
    for number in range(ROWS):
        row = {"Title": rich_text.text(f"{TITLES[number % len(TITLES)]} {number}")}
        if number % EMPTY_EVERY:
            row |= _row(builder, by_name, number, related)
        builder.row(source, at - 86_400.0 * 3 - number * 1_733.25, row)
    _overflow(builder, source, by_name, related)
    return source


def _columns(builder: DataBuilder, related: DataSource, relation: Property) -> list[Property]:
    number = builder.property("number", "Number", config={"format": "number"})
    value = next(prop for prop in related.properties.values() if prop.name == "Value")
    return [
        builder.property("title", "Title"),
        builder.property("rich_text", "Text"),
        number,
        builder.property(
            "select", "Select", options=builder.options(("Low", "gray"), ("Mid", "blue"), ("Höchste", "red"))
        ),
        builder.property(
            "multi_select",
            "Multi-select",
            options=builder.options(("alpha", "blue"), ("beta", "green"), ("γάμμα", "pink"), ("with space", "brown")),
        ),
        builder.status(
            "Status",
            To_do=[("Not started", "default")],
            In_progress=[("In progress", "blue")],
            Complete=[("Done", "green")],
        ),
        builder.property("date", "Date"),
        builder.property("checkbox", "Checkbox"),
        builder.property("url", "URL"),
        builder.property("email", "Email"),
        builder.property("phone_number", "Phone"),
        builder.property("people", "People"),
        relation,
        builder.property("files", "Files & media"),
        builder.property("place", "Place"),
        builder.property("verification", "Verification"),
        builder.property(
            "formula", "Formula", config={"expression": 'prop("Number") * 2'}, compute=partial(_doubled, number)
        ),
        builder.property(
            "formula",
            "Formula text",
            config={"expression": 'format(prop("Number"))'},
            compute=partial(_formula_text, number),
        ),
        _rollup(builder, "Rollup", relation, value, "sum"),
        _rollup(builder, "Rollup list", relation, value, "show_original"),
        builder.property("created_time", "Created time"),
        builder.property("created_by", "Created by"),
        builder.property("last_edited_time", "Last edited time"),
        builder.property("last_edited_by", "Last edited by"),
        builder.property("unique_id", "ID", config={"prefix": "EV"}),
        builder.property("button", "Button"),
        builder.property(FUTURE_TYPE, "Sentiment", config={"scale": 5}),
    ]


def _rollup(builder: DataBuilder, name: str, relation: Property, target: Property, function: str) -> Property:
    config = {
        "relation_property_name": relation.name,
        "relation_property_id": relation.id,
        "rollup_property_name": target.name,
        "rollup_property_id": target.id,
        "function": function,
    }
    return builder.property("rollup", name, config=config)


def _doubled(number: Property, _: Workspace, page: Page) -> Any:
    return property_values.stored_value(page, number) and property_values.stored_value(page, number) * 2


def _formula_text(number: Property, _: Workspace, page: Page) -> str | None:
    value = property_values.stored_value(page, number)
    return None if value is None else f"№ {value}"


def _row(builder: DataBuilder, by_name: dict[str, Property], number: int, related: DataSource) -> dict[str, Any]:
    random = builder.random
    tags = [option.id for option in by_name["Multi-select"].options]
    location = PLACES[number % len(PLACES)]
    row: dict[str, Any] = {
        "Text": rich_text.text(TEXTS[number % len(TEXTS)]),
        "Number": (number - 160) / 4 if number % 3 else number,
        "Select": random.choice(by_name["Select"].options).id,
        "Multi-select": random.sample(tags, number % 4),
        "Status": random.choice(by_name["Status"].options).id,
        "Date": _date(number),
        "Checkbox": number % 2 == 0,
        "URL": f"https://example.com/notes/{number}?q=a%20b",
        "Email": f"reader.{number}@example.com",
        "Phone": f"+49 30 5550 {number:04}",
        "People": [user.id for user in random.sample(builder.people, number % 3)],
        "Relation": random.sample(related.rows, number % 4),
        "Files & media": _files(number),
        "Place": {"lat": location[1], "lon": location[2], "name": location[0], "address": None}
        | {"aws_place_id": None, "google_place_id": None},
        "Verification": _verification(builder, number),
        "Sentiment": {"score": number % 5, "labels": ["calm"] * (number % 2)},
    }
    for name in random.sample(sorted(row.keys() - {"Status", "Checkbox", "Sentiment"}), number % 3):
        del row[name]
    return row


def _date(number: int) -> dict[str, Any]:
    day = f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}"
    shapes = (
        {"start": day, "end": None, "time_zone": None},
        {"start": f"{day}T09:30:00.000+00:00", "end": None, "time_zone": None},
        {"start": day, "end": "2025-12-31", "time_zone": None},
        {"start": f"{day}T18:00:00.000", "end": None, "time_zone": "America/New_York"},
    )
    return shapes[number % len(shapes)]


def _files(number: int) -> list[dict[str, Any]]:
    linked = {"name": "Plan.pdf", "type": "external", "external": {"url": f"https://example.com/files/{number}.pdf"}}
    url = f"https://files.example.com/secure/{number}/photo.png?signature=fixed"
    hosted = {"name": "Foto ☀.png", "type": "file", "file": {"url": url, "expiry_time": "2025-06-01T10:00:00.000Z"}}
    return [linked, hosted][: number % 3]


def _verification(builder: DataBuilder, number: int) -> dict[str, Any] | None:
    if number % 5:
        return None
    date = {"start": "2025-01-07T00:00:00.000+00:00", "end": None, "time_zone": None}
    return {"state": "verified", "by": builder.people[0].id, "date": date}


def _overflow(builder: DataBuilder, source: DataSource, by_name: dict[str, Property], related: DataSource) -> None:
    """Fill a row with more relations, people and text than a page object contains."""
    page = builder.workspace.pages[source.rows[1]]
    page.values[by_name["Relation"].id] = related.rows[:40]
    page.values[by_name["People"].id] = [user.id for user in builder.people[:30]]
    day = {"start": "2025-03-01", "end": None, "time_zone": None}
    mentions = [rich_text.mention("date", day, "2025-03-01") for _ in range(30)]
    page.values[by_name["Text"].id] = mentions + rich_text.text(" and so on")
