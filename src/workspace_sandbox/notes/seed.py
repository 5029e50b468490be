"""The default workspace after a reset. It is always identical, and older than any clock."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from random import Random
from typing import Any

from workspace_sandbox.notes import everything, richtext, values
from workspace_sandbox.notes.access import CLIENT_ID, INTEGRATION_ID
from workspace_sandbox.notes.seeding import DataBuilder
from workspace_sandbox.notes.state import (
    Database,
    DataSource,
    Home,
    Page,
    Parent,
    Property,
    ShareOption,
    User,
    Workspace,
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
class Seeded:
    """A new workspace and its notable objects."""

    workspace: Workspace
    internal: User
    """The bot of the connection with the fixed token."""
    public: User
    """The bot of the connection that is authorised by OAuth."""
    person: User
    """The author of user actions."""
    homes: tuple[Home, ...]
    """The workspaces in which the person can authorise an OAuth app."""
    examples: dict[str, Any]


def build_default_workspace(now: Callable[[], float], random: Random) -> Seeded:
    """Build a workspace from a fixed random source. Later changes use *random*."""
    workspace = Workspace("Fernweh Studios", now, Random("notes"))
    seeder = DataBuilder(workspace)
    for name in PEOPLE:
        seeder.user(name, email=f"{name.split()[0].casefold()}@fernweh.example")
    person = seeder.people[0]
    internal = seeder.user("Connector", kind="bot", integration_id=INTEGRATION_ID)
    public = seeder.user("Connector (public)", kind="bot", owner_id=person.id, integration_id=CLIENT_ID)

    leads = _leads(seeder)
    table = everything.plant(seeder, EPOCH - 2 * DAY, leads)
    projects = _projects(seeder)
    secret = _salaries(seeder)
    handbook = _handbook(seeder)
    shelves = _shelves(seeder)

    shared = {leads.parent.id, table.parent.id, projects.id, handbook.id, *(shelf.parent.id for shelf in shelves)}
    internal.shared, public.shared = set(shared), set(shared)
    first = next(page for page in workspace.live_rows(leads) if page.title)
    workspace.random = random
    examples = {
        "database_id": leads.parent.id,
        "page_id": first.id,
        "title": first.title,
        "unshared_database_id": secret.parent.id,
        "multi_source_database_id": projects.id,
        "data_source_id": leads.id,
    }
    home = Home(workspace, public, (*_offers(leads, table, projects, handbook), _all_shelves(shelves)))
    return Seeded(workspace, internal, public, person, (home, _bakery(now, random)), examples)


def _offers(leads: DataSource, table: DataSource, projects: Database, handbook: Page) -> list[ShareOption]:
    tables = [(leads.title, leads.parent.id), (table.title, table.parent.id), (projects.title, projects.id)]
    return [ShareOption(title, frozenset({uid})) for title, uid in [*tables, (handbook.title, handbook.id)]]


def _all_shelves(shelves: list[DataSource]) -> ShareOption:
    return ShareOption(f"{len(shelves)} databases of the teams", frozenset(shelf.parent.id for shelf in shelves))


def _bakery(now: Callable[[], float], random: Random) -> Home:
    """Build a second, small workspace in which the same OAuth app can be authorised."""
    workspace = Workspace("Lantern Bakery", now, Random("bakery"))
    seeder = DataBuilder(workspace)
    person = seeder.user("Noor van Dijk", email="noor@lantern.example")
    bot = seeder.user("Connector (public)", kind="bot", owner_id=person.id, integration_id=CLIENT_ID)
    minutes = seeder.property("number", "Minutes", config={"format": "number"})
    recipes = seeder.table("Recipes", EPOCH, [seeder.property("title", "Name"), minutes])
    for number, name in enumerate(("Rye loaf", "Krentenbollen", "Baguette", "メロンパン")):
        seeder.row(recipes, EPOCH - number * HOUR, {"Name": richtext.text(name), "Minutes": 40 + 5 * number})
    notice = seeder.page("Opening hours 🕗", EPOCH - HOUR)
    bot.shared = {recipes.parent.id, notice.id}
    workspace.random = random
    offers = [ShareOption("Recipes", frozenset({recipes.parent.id})), ShareOption(notice.title, frozenset({notice.id}))]
    return Home(workspace, bot, tuple(offers))


def _leads(seeder: DataBuilder) -> DataSource:
    value = seeder.property("number", "Value", config={"format": "euro"})
    hot = seeder.property("checkbox", "Hot")
    stages = seeder.options(
        ("Open", "blue"), ("Qualified", "yellow"), ("Proposal", "orange"), ("Won", "green"), ("Lost", "red")
    )
    status = seeder.status(
        "Status",
        To_do=[("Not started", "default")],
        In_progress=[("In progress", "blue"), ("Waiting", "purple")],
        Complete=[("Done", "green")],
    )
    tags = seeder.options(("eu", "blue"), ("us", "red"), ("apac", "pink"), ("key account", "yellow"), ("Öko", "green"))
    properties = [
        seeder.property("title", "Name"),
        seeder.property("select", "Stage", options=stages),
        status,
        value,
        seeder.property("date", "Due"),
        seeder.property("multi_select", "Tags", options=tags),
        seeder.property("email", "Email"),
        hot,
        seeder.property("people", "Owner"),
        seeder.property("formula", "Score", config={"expression": SCORE}, compute=partial(_score, value, hot)),
    ]
    source = seeder.table("Leads", EPOCH, properties)
    names = [f"{company}: {deal}" for deal, company in product(KINDS_OF_DEAL, COMPANIES)]
    for number, name in enumerate(names[:LEADS]):
        page = seeder.row(source, EPOCH - number * 5 * HOUR, _lead(seeder, properties, number, name))
        page.in_trash = number % 18 == 17
    seeder.row(source, EPOCH - 400 * HOUR, {"Status": status.options[0].id})
    seeder.body(seeder.workspace.pages[source.rows[0]], LEAD_BODY)
    return source


SCORE = 'round(prop("Value") / 1000) + if(prop("Hot"), 10, 0)'
LEAD_BODY = (
    ("heading_2", "Background"),
    ("paragraph", "Met at the spring fair; wants a pilot before the summer break."),
    ("bulleted_list_item", "Decision by end of June"),
    ("bulleted_list_item", "Budget: ≈ 12 k€"),
)


def _score(value: Property, hot: Property, _: Workspace, page: Page) -> Any:
    return round((values.kept(page, value) or 0) / 1000) + 10 * values.kept(page, hot)


def _lead(seeder: DataBuilder, properties: list[Property], number: int, name: str) -> dict[str, Any]:
    random = seeder.random
    named = {prop.name: prop for prop in properties}
    tags = [option.id for option in named["Tags"].options]
    due = {"start": f"2025-{number % 6 + 6:02}-{number % 27 + 1:02}", "end": None, "time_zone": None}
    domain = name.split(maxsplit=1)[0].casefold().encode("ascii", "ignore").decode() or "lead"
    return {
        "Name": richtext.text(name),
        "Stage": random.choice(named["Stage"].options).id,
        "Status": random.choice(named["Status"].options).id,
        "Value": None if number % 9 == 8 else random.randrange(500, 90_000, 250) + (0.5 if number % 7 == 6 else 0),
        "Due": None if number % 5 == 4 else due,
        "Tags": random.sample(tags, number % 4),
        "Email": None if number % 6 == 5 else f"contact{number}@{domain}.example",
        "Hot": random.random() < 0.3,
        "Owner": [random.choice(seeder.people).id] if number % 4 else [],
    }


def _projects(seeder: DataBuilder) -> Database:
    """Build a database with two data sources whose titles differ from its own."""
    projects = [seeder.property("title", "Project"), seeder.property("number", "Budget", config={"format": "number"})]
    clients = [seeder.property("title", "Client"), seeder.property("email", "Email"), seeder.property("url", "Site")]
    database = seeder.database("Projects & clients", EPOCH - 3 * HOUR, {"Projects": projects, "Clients": clients})
    first, second = (seeder.workspace.sources[uid] for uid in database.source_ids)
    for number, company in enumerate(COMPANIES[:8]):
        seeder.row(
            first, EPOCH - number * DAY, {"Project": richtext.text(f"{company} relaunch"), "Budget": number * 1000}
        )
        seeder.row(second, EPOCH - number * DAY, {"Client": richtext.text(company), "Site": "https://example.com"})
    return database


def _salaries(seeder: DataBuilder) -> DataSource:
    """Build a database that is not shared with any connection."""
    money = seeder.property("number", "Salary", config={"format": "euro"})
    source = seeder.table("Salaries 2025", EPOCH - DAY, [seeder.property("title", "Name"), money])
    for person in seeder.people[:5]:
        seeder.row(source, EPOCH - DAY, {"Name": richtext.text(person.name), "Salary": 60_000})
    return source


def _handbook(seeder: DataBuilder) -> Page:
    """Build a shared page outside databases. Its child database is readable, but not listed by a search."""
    page = seeder.page("Team handbook 📘", EPOCH - 6 * HOUR)
    seeder.body(
        page, [("heading_1", "Willkommen"), ("paragraph", "How we work, in one place."), ("callout", "Read me first")]
    )
    for title in ("Onboarding", "Travel & expenses", "Vieux brouillon"):
        seeder.page(title, EPOCH - 7 * HOUR, Parent("page_id", page.id))
    seeder.workspace.pages[page.children[-1]].in_trash = True
    room = [seeder.property("title", "Room"), seeder.property("number", "Seats", config={"format": "number"})]
    rooms = seeder.table("Meeting rooms", EPOCH - 8 * HOUR, room, Parent("page_id", page.id))
    page.children.append(rooms.parent.id)
    seeder.row(rooms, EPOCH - 8 * HOUR, {"Room": richtext.text("Aquarium"), "Seats": 6})
    return page


def _shelves(seeder: DataBuilder) -> list[DataSource]:
    """Build plain databases, enough for several pages of any list. One has no title, and two have the same title."""
    titles = [f"{team} {thing}" for thing, team in product(THINGS, TEAMS)]
    return [_shelf(seeder, title, number) for number, title in enumerate([*titles, "", titles[0]])]


def _shelf(seeder: DataBuilder, title: str, number: int) -> DataSource:
    tags = seeder.options(("new", "blue"), ("later", "gray"))
    properties = [
        seeder.property("title", "Name" if number % 3 else "Titel"),
        seeder.property("select", "Priority", options=seeder.options(("P1", "red"), ("P2", "yellow"))),
        seeder.property("date", "When"),
        seeder.property("multi_select", "Tags", options=tags),
    ]
    at = EPOCH - 3 * DAY - number * 5_417.25
    source = seeder.table(title, at, properties[: 2 + number % 3])
    for entry in range(number % 3):
        seeder.row(source, at - entry * HOUR, {properties[0].name: richtext.text(f"{title} {entry + 1}".strip())})
    return source
