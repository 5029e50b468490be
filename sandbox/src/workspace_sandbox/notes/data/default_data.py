"""The default workspace after a reset. It is always identical, and older than any clock."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from random import Random
from typing import Any

from workspace_sandbox.notes.access import CLIENT_ID, INTEGRATION_ID
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import all_types_database, property_values
from workspace_sandbox.notes.data.default_data_builder import DataBuilder
from workspace_sandbox.notes.data.state import (
    Database,
    DataSource,
    Page,
    Parent,
    Property,
    ShareOption,
    User,
    Workspace,
    WorkspaceInstallation,
)

EPOCH = datetime(2025, 6, 2, 9, 30, 12, 345_000, tzinfo=UTC).timestamp()
"""The time of the last edit of the newest object."""

HOUR = 3600.0
DAY = 24 * HOUR

PEOPLE = (
    *("Ada Lindqvist", "Bao Trần", "Chiara Conti", "Dmitri Орлов", "Élise Fournier", "Femi Adeyemi", "Göksu Şahin"),
    *("Hana 佐藤", "Íñigo Peña", "Jamila Haddad", "Kwame Mensah", "Łukasz Nowak", "María José Ruiz", "Noor van Dijk"),
    *("Oisín Byrne", "Priya Raman", "Quentin Leroy", "Rosa Müller", "Søren Holm", "Tomáš Dvořák", "Uma Iyer"),
    *("Viktor Szabó", "Wanjiru Kamau", "Xiu 李", "Yara Costa", "Zoë de Vries", "Anders Åberg", "Bianca Popescu"),
    *("Carlos Muñoz", "Dana Cohen", "Emre Kaya", "Frida Strand", "Giulia Ferri", "Hugo Almeida"),
)
TEAMS = ("Marketing", "Design", "Vertrieb", "Opérations", "Support", "People", "Finance", "R&D", "法務", "Студия")
THINGS = (
    *("tasks", "roadmap", "meeting notes", "OKRs 2025", "reading list", "vendors", "inventory", "requests 📬"),
    *("risks", "hiring", "events", "content calendar", "bugs", "FAQ", "glossary"),
)

COMPANIES = (
    *("Acme GmbH", "Brightwater", "Café Central", "Delta Works", "Éclair & Fils", "Fjordkraft", "Grüne Wiese"),
    *("Harbour Light", "Île Verte", "Juniper", "Güneş Lojistik", "Lumen", "Møller & Co", "Northwind", "Ōsaka Denki"),
    *("Piña Soft", "Quartz", "Rivière", "Σigma Labs", "Tundra"),
)
KINDS_OF_DEAL = ("pilot", "renewal", "expansion")
LEADS = 54


@dataclass(frozen=True, slots=True)
class DefaultWorkspace:
    """A new workspace and its notable objects."""

    workspace: Workspace
    internal: User
    """The bot of the connection with the fixed token."""
    public: User
    """The bot of the connection that is authorised by OAuth."""
    person: User
    """The author of user actions."""
    homes: tuple[WorkspaceInstallation, ...]
    """The workspaces in which the person can authorise an OAuth app."""
    examples: dict[str, Any]


def build_default_workspace(now: Callable[[], float], random: Random) -> DefaultWorkspace:
    """Build a workspace from a fixed random source. Later changes use *random*."""
    workspace = Workspace("Fernweh Studios", now, Random("notes"))
    builder = DataBuilder(workspace)
    for name in PEOPLE:
        builder.user(name, email=f"{name.split()[0].casefold()}@fernweh.example")
    person = builder.people[0]
    internal = builder.user("Connector", kind="bot", integration_id=INTEGRATION_ID)
    public = builder.user("Connector (public)", kind="bot", owner_id=person.id, integration_id=CLIENT_ID)

    leads = _leads(builder)
    table = all_types_database.build_all_types_database(builder, EPOCH - 2 * DAY, leads)
    projects = _projects(builder)
    secret = _salaries(builder)
    handbook = _handbook(builder)
    shelves = _shelves(builder)

    shared = {leads.parent.id, table.parent.id, projects.id, handbook.id, *(shelf.parent.id for shelf in shelves)}
    internal.shared, public.shared = set(shared), set(shared)
    first = next(page for page in workspace.active_rows(leads) if page.title)
    workspace.random = random
    examples = {
        "database_id": leads.parent.id,
        "page_id": first.id,
        "title": first.title,
        "unshared_database_id": secret.parent.id,
        "multi_source_database_id": projects.id,
        "data_source_id": leads.id,
    }
    home = WorkspaceInstallation(workspace, public, (*_offers(leads, table, projects, handbook), _all_shelves(shelves)))
    return DefaultWorkspace(workspace, internal, public, person, (home, _bakery(now, random)), examples)


def _offers(leads: DataSource, table: DataSource, projects: Database, handbook: Page) -> list[ShareOption]:
    tables = [(leads.title, leads.parent.id), (table.title, table.parent.id), (projects.title, projects.id)]
    return [ShareOption(title, frozenset({uid})) for title, uid in [*tables, (handbook.title, handbook.id)]]


def _all_shelves(shelves: list[DataSource]) -> ShareOption:
    return ShareOption(f"{len(shelves)} databases of the teams", frozenset(shelf.parent.id for shelf in shelves))


def _bakery(now: Callable[[], float], random: Random) -> WorkspaceInstallation:
    """Build a second, small workspace in which the same OAuth app can be authorised."""
    workspace = Workspace("Lantern Bakery", now, Random("bakery"))
    builder = DataBuilder(workspace)
    person = builder.user("Noor van Dijk", email="noor@lantern.example")
    bot = builder.user("Connector (public)", kind="bot", owner_id=person.id, integration_id=CLIENT_ID)
    minutes = builder.property("number", "Minutes", config={"format": "number"})
    recipes = builder.table("Recipes", EPOCH, [builder.property("title", "Name"), minutes])
    for number, name in enumerate(("Rye loaf", "Krentenbollen", "Baguette", "メロンパン")):
        builder.row(recipes, EPOCH - number * HOUR, {"Name": rich_text.text(name), "Minutes": 40 + 5 * number})
    notice = builder.page("Opening hours 🕗", EPOCH - HOUR)
    bot.shared = {recipes.parent.id, notice.id}
    workspace.random = random
    offers = [ShareOption("Recipes", frozenset({recipes.parent.id})), ShareOption(notice.title, frozenset({notice.id}))]
    return WorkspaceInstallation(workspace, bot, tuple(offers))


def _leads(builder: DataBuilder) -> DataSource:
    value = builder.property("number", "Value", config={"format": "euro"})
    hot = builder.property("checkbox", "Hot")
    stages = builder.options(
        ("Open", "blue"), ("Qualified", "yellow"), ("Proposal", "orange"), ("Won", "green"), ("Lost", "red")
    )
    status = builder.status(
        "Status",
        To_do=[("Not started", "default")],
        In_progress=[("In progress", "blue"), ("Waiting", "purple")],
        Complete=[("Done", "green")],
    )
    tags = builder.options(("eu", "blue"), ("us", "red"), ("apac", "pink"), ("key account", "yellow"), ("Öko", "green"))
    properties = [
        builder.property("title", "Name"),
        builder.property("select", "Stage", options=stages),
        status,
        value,
        builder.property("date", "Due"),
        builder.property("multi_select", "Tags", options=tags),
        builder.property("email", "Email"),
        hot,
        builder.property("people", "Owner"),
        builder.property("formula", "Score", config={"expression": SCORE}, compute=partial(_score, value, hot)),
    ]
    source = builder.table("Leads", EPOCH, properties)
    names = [f"{company}: {deal}" for deal, company in product(KINDS_OF_DEAL, COMPANIES)]
    for number, name in enumerate(names[:LEADS]):
        page = builder.row(source, EPOCH - number * 5 * HOUR, _lead(builder, properties, number, name))
        page.in_trash = number % 18 == 17
    builder.row(source, EPOCH - 400 * HOUR, {"Status": status.options[0].id})
    builder.body(builder.workspace.pages[source.rows[0]], LEAD_BODY)
    return source


SCORE = 'round(prop("Value") / 1000) + if(prop("Hot"), 10, 0)'
LEAD_BODY = (
    ("heading_2", "Background"),
    ("paragraph", "Met at the spring fair; wants a pilot before the summer break."),
    ("bulleted_list_item", "Decision by end of June"),
    ("bulleted_list_item", "Budget: ≈ 12 k€"),
)


def _score(value: Property, hot: Property, _: Workspace, page: Page) -> Any:
    return round((property_values.stored_value(page, value) or 0) / 1000) + 10 * property_values.stored_value(page, hot)


def _lead(builder: DataBuilder, properties: list[Property], number: int, name: str) -> dict[str, Any]:
    random = builder.random
    by_name = {prop.name: prop for prop in properties}
    tags = [option.id for option in by_name["Tags"].options]
    due = {"start": f"2025-{number % 6 + 6:02}-{number % 27 + 1:02}", "end": None, "time_zone": None}
    domain = name.split(maxsplit=1)[0].casefold().encode("ascii", "ignore").decode() or "lead"
    return {
        "Name": rich_text.text(name),
        "Stage": random.choice(by_name["Stage"].options).id,
        "Status": random.choice(by_name["Status"].options).id,
        "Value": None if number % 9 == 8 else random.randrange(500, 90_000, 250) + (0.5 if number % 7 == 6 else 0),
        "Due": None if number % 5 == 4 else due,
        "Tags": random.sample(tags, number % 4),
        "Email": None if number % 6 == 5 else f"contact{number}@{domain}.example",
        "Hot": random.random() < 0.3,
        "Owner": [random.choice(builder.people).id] if number % 4 else [],
    }


def _projects(builder: DataBuilder) -> Database:
    """Build a database with two data sources whose titles differ from its own."""
    projects = [builder.property("title", "Project"), builder.property("number", "Budget", config={"format": "number"})]
    clients = [builder.property("title", "Client"), builder.property("email", "Email"), builder.property("url", "Site")]
    database = builder.database("Projects & clients", EPOCH - 3 * HOUR, {"Projects": projects, "Clients": clients})
    first, second = (builder.workspace.sources[uid] for uid in database.source_ids)
    for number, company in enumerate(COMPANIES[:8]):
        builder.row(
            first, EPOCH - number * DAY, {"Project": rich_text.text(f"{company} relaunch"), "Budget": number * 1000}
        )
        builder.row(second, EPOCH - number * DAY, {"Client": rich_text.text(company), "Site": "https://example.com"})
    return database


def _salaries(builder: DataBuilder) -> DataSource:
    """Build a database that is not shared with any connection."""
    money = builder.property("number", "Salary", config={"format": "euro"})
    source = builder.table("Salaries 2025", EPOCH - DAY, [builder.property("title", "Name"), money])
    for person in builder.people[:5]:
        builder.row(source, EPOCH - DAY, {"Name": rich_text.text(person.name), "Salary": 60_000})
    return source


def _handbook(builder: DataBuilder) -> Page:
    """Build a shared page outside databases. Its child database is readable, but not listed by a search."""
    page = builder.page("Team handbook 📘", EPOCH - 6 * HOUR)
    builder.body(
        page, [("heading_1", "Willkommen"), ("paragraph", "How we work, in one place."), ("callout", "Read me first")]
    )
    for title in ("Onboarding", "Travel & expenses", "Vieux brouillon"):
        builder.page(title, EPOCH - 7 * HOUR, Parent("page_id", page.id))
    builder.workspace.pages[page.children[-1]].in_trash = True
    columns = [builder.property("title", "Room"), builder.property("number", "Seats", config={"format": "number"})]
    seats = builder.table("Meeting rooms", EPOCH - 8 * HOUR, columns, Parent("page_id", page.id))
    page.children.append(seats.parent.id)
    builder.row(seats, EPOCH - 8 * HOUR, {"Room": rich_text.text("Aquarium"), "Seats": 6})
    return page


def _shelves(builder: DataBuilder) -> list[DataSource]:
    """Build plain databases, enough for several pages of any list. One has no title, and two have the same title."""
    titles = [f"{team} {thing}" for thing, team in product(THINGS, TEAMS)]
    return [_shelf(builder, title, number) for number, title in enumerate([*titles, "", titles[0]])]


def _shelf(builder: DataBuilder, title: str, number: int) -> DataSource:
    tags = builder.options(("new", "blue"), ("later", "gray"))
    properties = [
        builder.property("title", "Name" if number % 3 else "Titel"),
        builder.property("select", "Priority", options=builder.options(("P1", "red"), ("P2", "yellow"))),
        builder.property("date", "When"),
        builder.property("multi_select", "Tags", options=tags),
    ]
    at = EPOCH - 3 * DAY - number * 5_417.25
    source = builder.table(title, at, properties[: 2 + number % 3])
    for entry in range(number % 3):
        builder.row(source, at - entry * HOUR, {properties[0].name: rich_text.text(f"{title} {entry + 1}".strip())})
    return source
