"""The default bases, always identical."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.tables.data import extra_default_bases
from workspace_sandbox.tables.data.atomic_cell_changes import set_cells
from workspace_sandbox.tables.data.default_data_builder import (
    CHECK,
    ISO_DATE,
    STARS,
    TEXT,
    Identifiers,
    choices,
    date_time,
    fields,
    link_options,
    lookup_options,
)
from workspace_sandbox.tables.data.record_operations import Workspace
from workspace_sandbox.tables.data.state import Attachment, Base, Cells, Field, Record, Table, User, View

OWNER = User("usrA8sVd3kQe71LxZm", "mara.lindqvist@example.com", "Mara Lindqvist")
COLLEAGUE = User("usrK2fGh9pWn40RtYc", "jose.aran@example.com", "José Arán")
THIRD = User("usrT6bNm5jXv83DsUo", "li.wei@example.com", "李伟")
PEOPLE = (OWNER, COLLEAGUE, THIRD)

START_TIME = 1_767_603_600.0
"""2026-01-05T09:00:00Z, the creation time of the first record."""

INTERVAL = 5_940.0
LEADS = 640
COMPANIES = 60
FILL_SHARE = 0.8
"""The share of optional fields that are filled in."""

STAGES = ("Open", "Contacted", "Offer", "Won", "Lost")
TAGS = ("eu", "b2b", "öffentlich", "renewal", "high touch", "日本")
CITIES = ("Malmö", "København", "São Paulo", "東京", "Zürich", "Łódź", "Lyon", "Θεσσαλονίκη")
NAMES = ("Acme", "Bolt", "Čapek", "Dürr", "Ægir", "Fjord", "Gülşen", "Hansa", "Ímpar", "Jørgensen", "北極星", "Ωmega")
TRADES = ("Works", "Logistics", "Foods", "& Söhne", "Textiles", "Robotics", "Média")
PHRASES = (
    "Met at the fair; wants a call back.",
    "Asks for a quote by the end of the month.",
    "Zweiter Kontakt.\nBitte auf Deutsch schreiben.",
    "Budget is not decided yet … try again in spring ☀",
)


def build_workspace(context: EmulatorContext) -> Workspace:
    """Return the default workspace with three bases."""
    new_id = Identifiers(2026)
    bases = [_sales(new_id), *extra_default_bases.build_other_bases(new_id, PEOPLE, START_TIME)]
    return Workspace(context, (OWNER, COLLEAGUE), bases, people=PEOPLE)


def examples(workspace: Workspace) -> dict[str, Any]:
    """Return example identifiers."""
    sales, office, hidden, *_ = workspace.bases
    return {
        "base_id": sales.id,
        "table": sales.tables[0].name,
        "view": "Open leads",
        "record_id": next(iter(sales.tables[0].records)),
        "attachment_field": "Files",
        "select_field": "Stage",
        "other_base_id": office.id,
        "hidden_base_id": hidden.id,
        "workspace_id": workspace.id,
    }


def _sales(new_id: Identifiers) -> Base:
    """Return a base with companies and their leads. The leads have a field of every type."""
    leads, companies = _leads(new_id), _companies(new_id)
    base = Base(new_id("app"), "Vertrieb & Sales", "create", [leads, companies], PEOPLE, {COLLEAGUE.id: "edit"})
    back = _join(new_id, leads, companies)
    leads.views.extend(_views(new_id, {field.name: field.id for field in leads.fields}))
    companies.views.append(View(new_id("viw"), "Grid view", hidden=frozenset({back.id})))
    for number in range(COMPANIES):
        companies.add(_record(new_id, number))
        set_cells(base, companies, companies.records[_last(companies)], _company(new_id, companies, number))
    for number in range(LEADS):
        leads.add(_record(new_id, number))
        set_cells(base, leads, leads.records[_last(leads)], _lead(new_id, base, leads, number))
    return base


def _leads(new_id: Identifiers) -> Table:
    columns = {
        "Name": "singleLineText",
        "Notes": "multilineText",
        "Brief": "richText",
        "Email": "email",
        "Website": "url",
        "Phone": "phoneNumber",
        "Value": ("number", {"precision": 2}),
        "Budget/Jahr €": ("currency", {"precision": 2, "symbol": "€"}),
        "Probability": ("percent", {"precision": 1}),
        "Call length": ("duration", {"durationFormat": "h:mm:ss"}),
        "Priority": ("rating", STARS),
        "Hot": ("checkbox", CHECK),
        "Stage": ("singleSelect", choices(new_id, STAGES)),
        "Tags": ("multipleSelects", choices(new_id, TAGS)),
        "Owner": "singleCollaborator",
        "Watchers": "multipleCollaborators",
        "Due": ("date", {"dateFormat": ISO_DATE}),
        "Next call": ("dateTime", date_time("utc")),
        "Visit": ("dateTime", date_time("Europe/Berlin")),
        "Files": ("multipleAttachments", {"isReversed": False}),
        "Badge": "barcode",
        "Summary": ("aiText", {"prompt": ["Summarise the notes."], "referencedFieldIds": []}),
        "Created": ("createdTime", {"result": {"type": "dateTime", "options": date_time("utc")}}),
        "Changed": ("lastModifiedTime", _watching_everything()),
        "Created by": "createdBy",
        "Changed by": "lastModifiedBy",
        "No.": "autoNumber",
        "Call": "button",
        "Source": ("externalSyncSource", choices(new_id, ("Fair", "Website"))),
        "Manual sort": "manualSort",
        "Mood": ("emotionScale", {"steps": 7, "palette": "warm"}),
    }
    return Table(
        new_id("tbl"), "Leads", fields(new_id, columns), [], description="Whom we talk to, and how far we are."
    )


def _watching_everything() -> dict[str, Any]:
    result = {"type": "dateTime", "options": date_time("utc")}
    return {"isValid": True, "referencedFieldIds": [], "result": result}


def _companies(new_id: Identifiers) -> Table:
    columns = {
        "Company": "singleLineText",
        "City": "singleLineText",
        "Revenue": ("currency", {"precision": 0, "symbol": "€"}),
        "Contracts": ("multipleAttachments", {"isReversed": True}),
    }
    return Table(new_id("tbl"), "Companies / Konten", fields(new_id, columns), [])


def _join(new_id: Identifiers, leads: Table, companies: Table) -> Field:
    """Add the fields that need both tables. Returns the inverse link field."""
    link_id, inverse_id = new_id("fld"), new_id("fld")
    city, revenue = companies.fields[1].id, companies.fields[2].id
    inverse = Field(inverse_id, "Leads", "multipleRecordLinks", link_options(leads.id, link_id))
    companies.fields.append(inverse)
    value, priority = (field.id for field in leads.fields if field.name in {"Value", "Priority"})
    average = Field(
        new_id("fld"),
        "Average revenue",
        "rollup",
        lookup_options(link_id, revenue, {"type": "number", "options": {"precision": 0}})
        | {"referencedFieldIds": [revenue]},
        aggregate="AVERAGE",
    )
    quotient = {
        "isValid": True,
        "formula": f"{{{value}}}/{{{priority}}}",
        "referencedFieldIds": [value, priority],
        "result": {"type": "number", "options": {"precision": 2}},
    }
    leads.fields.extend(
        (
            Field(link_id, "Company", "multipleRecordLinks", link_options(companies.id, inverse_id)),
            Field(new_id("fld"), "Companies", "count", {"isValid": True, "recordLinkFieldId": link_id}),
            Field(new_id("fld"), "City", "multipleLookupValues", lookup_options(link_id, city, TEXT)),
            average,
            Field(new_id("fld"), "Value per star", "formula", quotient),
        )
    )
    return inverse


def _open(stage: str, cells: Mapping[str, Any]) -> bool:
    return bool(cells.get(stage) == "Open")


def _filled(column: str, cells: Mapping[str, Any]) -> bool:
    return column in cells


def _nothing(_: Mapping[str, Any]) -> bool:
    return False


def _views(new_id: Identifiers, ids: dict[str, str]) -> list[View]:
    stage, value, due, hot = (ids[name] for name in ("Stage", "Value", "Due", "Hot"))
    secret = frozenset(ids[name] for name in ("Notes", "Budget/Jahr €", "Email", "Phone"))
    return [
        View(new_id("viw"), "All leads"),
        View(
            new_id("viw"),
            "Open leads",
            matches=partial(_open, stage),
            sorts=((value, True),),
            hidden=secret,
        ),
        View(new_id("viw"), "Hot / heiß", matches=partial(_filled, hot), sorts=((due, False),), hidden=secret),
        View(new_id("viw"), "Nothing yet", matches=_nothing),
        View(new_id("viw"), "By stage", "kanban", sorts=((stage, False),)),
        View(new_id("viw"), "Calendar", "calendar", matches=partial(_filled, due)),
        View(new_id("viw"), "Gallery", "gallery"),
        View(new_id("viw"), "Timeline", "timeline"),
        View(new_id("viw"), "New lead", "form"),
    ]


def _record(new_id: Identifiers, number: int) -> Record:
    at = START_TIME + number * INTERVAL
    return Record(new_id("rec"), 0, at, PEOPLE[number % 3], at + 60 * (number % 7), PEOPLE[number % 2])


def _last(table: Table) -> str:
    return next(reversed(table.records))


def _company(new_id: Identifiers, table: Table, number: int) -> Cells:
    company, city, revenue, contracts, _ = (field.id for field in table.fields)
    name = f"{NAMES[number % len(NAMES)]} {TRADES[number % len(TRADES)]}"
    cells: Cells = {company: name, city: CITIES[number % len(CITIES)], revenue: new_id.random.randrange(10, 900) * 1000}
    if number % 10 == 0:
        cells[contracts] = [_attachment(new_id, number, "contract", "Vertrag 1.pdf", "application/pdf")]
    return cells


def _lead(new_id: Identifiers, base: Base, table: Table, number: int) -> Cells:
    """Return the cells of a lead. The first has all of them, the others lack some optional ones."""
    companies = list(base.tables[1].records)
    name = f"{NAMES[new_id.random.randrange(len(NAMES))]} {TRADES[number % len(TRADES)]} {number + 1}"
    full = {
        "Name": name,
        "Notes": PHRASES[number % len(PHRASES)],
        "Brief": f"**{name}** wants:\n\n- a demo\n- prices\n",
        "Email": f"lead{number + 1}@example.com",
        "Website": f"https://example.com/leads/{number + 1}",
        "Phone": f"+46 40 {number:06d}",
        "Value": new_id.random.randrange(100, 1_000_000) / 100,
        "Budget/Jahr €": new_id.random.randrange(1, 400) * 250,
        "Probability": new_id.random.randrange(0, 1001) / 1000,
        "Call length": new_id.random.randrange(30, 5400),
        "Priority": 1 + number % 5,
        "Hot": True,
        "Stage": STAGES[new_id.random.randrange(len(STAGES))] if number else "Open",
        "Tags": new_id.random.sample(TAGS, 1 + number % 3),
        "Owner": PEOPLE[number % 3],
        "Watchers": list(PEOPLE[: 1 + number % 3]),
        "Due": f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}",
        "Next call": START_TIME + number * 3600.0,
        "Visit": START_TIME + number * 7200.0,
        "Files": _lead_files(new_id, number),
        "Badge": {"text": f"{4_006_381_000_000 + number}", "type": "ean13"},
        "Summary": _summary(number),
        "Source": ("Fair", "Website")[number % 2],
        "Manual sort": f"a{number:04d}",
        "Mood": {"step": number % 7, "label": "calm"},
        "Company": new_id.random.sample(companies, 1 + number % 2),
    }
    return {field.id: full[field.name] for field in table.fields if field.name in full and _has(new_id, number, field)}


def _has(new_id: Identifiers, number: int, field: Field) -> bool:
    return number == 0 or field.name in {"Name", "Stage"} or new_id.random.random() < FILL_SHARE


def _lead_files(new_id: Identifiers, number: int) -> list[Attachment]:
    if number % 8:
        return []
    photo = _attachment(new_id, number, "photo", "photo Büro №3.jpg", "image/jpeg")
    photo.pixels = (1280, 960)
    return [_attachment(new_id, number, "offer", f"offer {number + 1}.pdf", "application/pdf"), photo]


def _attachment(new_id: Identifiers, number: int, what: str, filename: str, kind: str) -> Attachment:
    return Attachment(new_id("att"), filename, kind, f"https://example.com/files/{number}/{what}", 2000 + 37 * number)


def _summary(number: int) -> dict[str, Any]:
    if number % 9 == 5:
        return {"state": "error", "errorType": "emptyDependency", "isStale": False, "value": None}
    return {"state": "generated", "isStale": number % 4 == 0, "value": "Interested, not in a hurry."}
