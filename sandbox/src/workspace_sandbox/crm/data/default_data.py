"""The default portal of a lighting manufacturer, with its customers, two pipelines and sales team."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any
from unicodedata import normalize

from workspace_sandbox.crm.data.account import Owner, PortalAccount
from workspace_sandbox.crm.data.built_in_properties import INDUSTRIES, LEAD_STATUS, LIFECYCLE, built_in
from workspace_sandbox.crm.data.object_types import COMPANIES, CONTACTS, DEALS, KINDS, NOTES, TICKETS, ObjectType
from workspace_sandbox.crm.data.pipelines import Pipeline, deal_stage, ticket_stage
from workspace_sandbox.crm.data.property_definitions import Definition, Option, options
from workspace_sandbox.crm.data.records import Creator, Record
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.data.ticket_product_activity_properties import PRIORITIES
from workspace_sandbox.kit.clock import SystemClock, format_timestamp
from workspace_sandbox.kit.emulator_context import EmulatorContext

CONTACT_COUNT = 1_060
DEAL_COUNT = 96
NOTE_COUNT = 48
TICKET_COUNT = 24
FIRST_IDS = {"contacts": 50_912, "companies": 9_001, "deals": 70_311, "notes": 810_455, "tickets": 330_204}
STEPS = {"contacts": 13, "companies": 7, "deals": 11, "notes": 9, "tickets": 17}
BEGINNING = datetime(2024, 2, 5, 8, tzinfo=UTC).timestamp()
ENDING = datetime(2025, 6, 27, 17, tzinfo=UTC).timestamp()
A_DAY = 86_400

PIPELINES = (
    Pipeline(
        "default",
        "Sales Pipeline",
        (
            deal_stage("appointmentscheduled", "Appointment Scheduled", "0.2"),
            deal_stage("qualifiedtobuy", "Qualified To Buy", "0.4"),
            deal_stage("presentationscheduled", "Presentation Scheduled", "0.6"),
            deal_stage("decisionmakerboughtin", "Decision Maker Bought-In", "0.8"),
            deal_stage("contractsent", "Contract Sent", "0.9"),
            deal_stage("closedwon", "Closed Won", "1.0", closed=True),
            deal_stage("closedlost", "Closed Lost", "0.0", closed=True),
        ),
    ),
    Pipeline(
        "98112230",
        "Partnerships",
        (
            deal_stage("98112231", "Intro Call", "0.1"),
            deal_stage("98112232", "Pilot", "0.35"),
            deal_stage("98112233", "Contract Sent", "0.75"),
            deal_stage("98112234", "Signed", "1.0", closed=True),
            deal_stage("98112235", "Declined", "0.0", closed=True),
        ),
    ),
)

SUPPORT = Pipeline(
    "0",
    "Support Pipeline",
    (
        ticket_stage("1", "New"),
        ticket_stage("2", "Waiting on contact"),
        ticket_stage("3", "Waiting on us"),
        ticket_stage("4", "Closed", closed=True),
    ),
    plural="tickets",
)

ANNEX = PortalAccount(9_022_540, domain="nordwolke.example", user_id=90_411, user="ines.baum@nordwolke.example")
"""A second portal, in which the app is not installed by default."""

ANNEX_OWNER = Owner(880_101, ANNEX.user_id, ANNEX.user, "Ines", "Baum")

OWNERS = (
    Owner(771_203, 88_123, "rita.poe@fjordlicht.example", "Rita", "Poe"),
    Owner(771_209, 88_131, "søren.krag@fjordlicht.example", "Søren", "Krag"),
    Owner(771_214, 88_140, "mei.tanaka@fjordlicht.example", "明衣", "田中"),
    Owner(771_220, 88_152, "omar.haddad@fjordlicht.example", "Omar", "Haddad"),
    Owner(771_226, 88_160, "zofia.lis@fjordlicht.example", "Zofia", "Liś"),
    Owner(771_231, 88_166, "former.rep@fjordlicht.example", "Jo", "Former", archived=True),
    Owner(771_237, 88_171, "left.last.year@fjordlicht.example", "Ada", "Gone", archived=True),
    Owner(771_242, None, None, "Inbound", "Queue", type="QUEUE"),
)

TIERS = (*options("gold=Gold", "silver=Silver", "bronze=Bronze"), Option("legacy", "Legacy customer", hidden=True))
TOPICS = options("street=Street lighting", "stage=Stage lighting", "home=Homes", "museum=Museums & galleries")
RISKS = options("low=Low risk", "medium=Medium risk", "high=High risk")


def _custom(name: str, label: str, kind: str = "string", field_type: str = "", **more: Any) -> Definition:
    created = "2024-02-05T08:00:00.000Z"
    return Definition(name, label, kind, field_type, built_in=False, created=created, updated=created, **more)


CUSTOM: Mapping[str, Sequence[Definition]] = {
    "contacts": (
        _custom("tier", "Tier", "enumeration", options=TIERS, group="contactinformation"),
        _custom("topics", "Topics of interest", "enumeration", "checkbox", options=TOPICS, group="contactinformation"),
        _custom("erp_id", "ERP number", unique=True, group="contactinformation", description="Number in the ERP"),
        _custom("nps_score", "NPS score", "number", group="contactinformation"),
        _custom("newsletter", "Receives the newsletter", "bool", group="contactinformation"),
        _custom("renewal_date", "Renewal date", "date", group="contactinformation"),
        _custom("last_demo_at", "Last demo", "datetime", group="contactinformation"),
        _custom("second_owner", "Second owner", "enumeration", refers_to="OWNER", group="contactinformation"),
        _custom("import_batch", "Import batch", hidden=True, group="contactinformation"),
        _custom(
            "old_segment", "Segment (until 2023)", group="contactinformation", archived_at="2024-03-01T09:00:00.000Z"
        ),
        _custom("passport_number", "Passport number", sensitivity="sensitive", group="contactinformation"),
    ),
    "companies": (
        _custom("account_code", "Account code", unique=True, group="companyinformation"),
        _custom("segment", "Segment", "enumeration", options=TIERS, group="companyinformation"),
    ),
    "deals": (
        _custom("external_ref", "External reference", unique=True, group="dealinformation"),
        _custom("risk", "Risk", "enumeration", options=RISKS, group="dealinformation"),
        _custom("signed_on", "Signed on", "date", group="dealinformation"),
    ),
}

FIRST_NAMES = (
    *("Ana", "Björn", "Chloë", "Dmitri", "Élodie", "Farida", "Gus", "Héctor", "İpek", "João", "Kwame", "Łukasz"),
    *("Mårten", "Nguyễn", "Óscar", "Priya", "Quentin", "Róisín", "Šárka", "Tariq", "Ülkü", "Víctor", "Wanjiru"),
    *("Xóchitl", "Yuki", "Žofie", "محمد", "さくら", "Ольга", "Ελένη"),
)
LAST_NAMES = (
    *("Lindqvist", "O'Neill", "García Márquez", "Müller-Weiß", "Dvořák", "Nakamura", "de la Cruz", "Okonkwo"),
    *("Þórsdóttir", "Kowalczyk", "Van den Berg", "Şahin", "Nguyen", "Ødegård", "Rossi", "Haddad", "Petrović"),
    *("Smith", "Lefèvre", "Andersson", "王", "Иванова", "Παπαδοπούλου"),
)
COMPANY_WORDS = (
    *("Aurora", "Bergvik", "Copper", "Delta", "Elbe", "Fennel", "Granit", "Harbour", "Indigo", "Juniper"),
    *("Kestrel", "Lumen", "Marble", "Nordsee", "Opal", "Prisma"),
)
COMPANY_KINDS = (
    ("Architekten", "archi.example"),
    ("Museums", "museum.example"),
    ("Teatro", "teatro.example"),
    ("Works", "works.example"),
)
CITIES = (("Bergen", "Norway"), ("München", "Germany"), ("São Paulo", "Brazil"), ("Łódź", "Poland"), ("大阪", "Japan"))
JOBS = ("Architect", "Buyer", "Lighting designer", "Directrice technique", "Head of facilities", "")
DEAL_SUBJECTS = ("renewal", "hall 4", "façade", "第2期", "pilot")
NOTE_TEXTS = (
    "Asked for samples of the warm white rail.",
    "Budget is decided in <b>September</b>; call again then.",
    "Prefers mail &amp; is away on Fridays.<br>Second line.",
    "Spoke with purchasing — they want a framework agreement “as last year”.",
)
TICKET_SUBJECTS = ("Rail flickers", "Facture en double", "Wrong colour temperature", "Lieferung fehlt", "保証について")

PLANTER = Creator.user(OWNERS[0].user_id)


def create_default_data(portal: Portal) -> None:
    """Create the default data in *portal*, identical each time."""
    portal.copy_from(_template())


def create_second_portal(portal: Portal) -> None:
    """Create the data of the second, small *portal*, which shares no objects with the first."""
    portal.owners[ANNEX_OWNER.id] = ANNEX_OWNER
    portal.pipelines.update((pipeline.id, pipeline) for pipeline in (PIPELINES[0], SUPPORT))
    for kind in KINDS:
        for definition in built_in(kind):
            portal.define(kind, definition)
    people = [{"email": f"{name.lower()}@nordwolke.example", "firstname": name} for name in ("Ines", "Pavel", "Thu")]
    _store_all(portal, CONTACTS, people, Random(2))


@cache
def _template() -> Portal:
    """Return a portal with the default data. Records are immutable, so copies share them."""
    portal = Portal(EmulatorContext(SystemClock()))
    random = Random(20_240_205)
    portal.owners.update((owner.id, owner) for owner in OWNERS)
    portal.pipelines.update((pipeline.id, pipeline) for pipeline in (*PIPELINES, SUPPORT))
    for kind in KINDS:
        for definition in (*built_in(kind), *CUSTOM.get(kind.plural, ())):
            portal.define(kind, definition)
    for kind, records in (
        (COMPANIES, _companies(random)),
        (CONTACTS, _contacts(random)),
        (DEALS, _deals(random)),
        (NOTES, _notes(random)),
    ):
        _store_all(portal, kind, list(records), random)
    _associate(portal, random)
    _store_all(portal, TICKETS, list(_tickets()), Random(5))
    for number, ticket in enumerate(portal.records["tickets"].values()):
        contact = list(portal.records["contacts"].values())[number]
        portal.edges.associate(ticket.reference, contact.reference)
    return portal


def examples(portal: Portal) -> dict[str, Any]:
    """Return identifiers of example objects, such as a contact with a company and an open deal."""
    contact = portal.records["contacts"][FIRST_IDS["contacts"]]
    company = portal.records["companies"][FIRST_IDS["companies"]]
    return {
        "email": contact.properties["email"],
        "ticket_id": str(FIRST_IDS["tickets"]),
        "pipeline": PIPELINES[0].label,
        "stages": [PIPELINES[0].stages[0].label, PIPELINES[0].stages[1].label],
        "contact_id": str(contact.id),
        "deal_id": str(FIRST_IDS["deals"]),
        "company_domain": company.properties["domain"],
        "portal_id": str(portal.account.portal_id),
        "custom_property": "tier",
    }


def _store_all(portal: Portal, kind: ObjectType, rows: list[dict[str, str]], random: Random) -> None:
    first, step = FIRST_IDS[kind.plural], STEPS[kind.plural]
    every = (ENDING - BEGINNING) / len(rows)
    for number, properties in enumerate(rows):
        created = round(BEGINNING + number * every, 3)
        updated = round(created + random.randrange(40 * A_DAY), 3)
        archived = updated + A_DAY if number and number % 61 == 0 else None
        record = Record(kind, first + number * step, {}, created, updated, archived)
        completed = portal.rules.with_calculated(record, {**properties, **PLANTER.properties})
        record = Record(kind, record.id, completed, created, updated, archived)
        portal.store(record)
        portal.index.add(record)


def _companies(random: Random) -> Iterator[dict[str, str]]:
    for word in COMPANY_WORDS:
        for kind, ending in COMPANY_KINDS:
            city, country = random.choice(CITIES)
            yield {
                "name": f"{word} {kind}",
                "domain": f"{word.lower()}-{ending}",
                "city": city,
                "country": country,
                "industry": random.choice(INDUSTRIES).value,
                "numberofemployees": str(random.randrange(3, 900)),
                "lifecyclestage": random.choice(LIFECYCLE).value,
                "hubspot_owner_id": random.choice(["", *(str(owner.id) for owner in OWNERS)]),
                "account_code": f"AC-{word[:3].upper()}-{kind[:3].upper()}",
            }
    yield {"name": "Aurora Architekten (copy)", "domain": "aurora-archi.example"}
    yield {"name": "Without a domain"}


def _contacts(random: Random) -> Iterator[dict[str, str]]:
    for number in range(CONTACT_COUNT):
        first, last = _names(number)
        email = _address(number, first, last)
        properties = {
            "email": email if number % 19 != 18 else "",
            "firstname": first,
            "lastname": last,
            "phone": f"+47 5{random.randrange(10**7):07}" if random.random() < 0.6 else "",
            "company": random.choice(COMPANY_WORDS) if random.random() < 0.5 else "",
            "jobtitle": random.choice(JOBS),
            "lifecyclestage": LIFECYCLE[number * 3 % 8].value if number % 7 != 6 else "",
            "hs_lead_status": random.choice(LEAD_STATUS).value if number % 5 == 0 else "",
            "hubspot_owner_id": str(random.choice(OWNERS).id) if number % 4 != 3 else "",
            "hs_additional_emails": _further_addresses(number),
            "annualrevenue": f"{random.randrange(10_000, 9_000_000)}.5" if number % 6 == 0 else "",
        }
        yield properties | _custom_values(number, random)


def _names(number: int) -> tuple[str, str]:
    if number % 43 == 42:
        return "", ""
    return FIRST_NAMES[number % len(FIRST_NAMES)], LAST_NAMES[number % len(LAST_NAMES)]


def _address(number: int, first: str, last: str) -> str:
    """Return an email address as a user might type it, in the vendor's normalised form."""
    typed = ".".join(filter(None, (_plain(first), _plain(last)))) or "info"
    word, ending = COMPANY_WORDS[number % len(COMPANY_WORDS)], COMPANY_KINDS[number // 16 % 4][1]
    tag = f"+{number}" if number >= len(COMPANY_WORDS) else ""
    return f" {typed.title()}{tag}@{word}-{ending} ".strip().lower()


@cache
def _plain(name: str) -> str:
    letters = normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "".join(letter for letter in letters if letter.isalpha())


def _further_addresses(number: int) -> str:
    if number % 41 != 5:
        return ""
    return f"old.address{number}@mail.example;second.address{number}@mail.example"


def _custom_values(number: int, random: Random) -> dict[str, str]:
    return {
        "tier": random.choice(TIERS).value if number % 3 == 0 else "",
        "topics": ";".join(topic.value for topic in TOPICS if random.random() < 0.3),
        "erp_id": f"ERP-{number:05}" if number % 10 == 0 else "",
        "nps_score": str(random.randrange(11)) if number % 4 == 0 else "",
        "newsletter": str(random.random() < 0.5).lower() if number % 2 else "",
        "renewal_date": f"2026-{random.randrange(1, 13):02}-15" if number % 8 == 0 else "",
        "last_demo_at": format_timestamp(ENDING - number * 3_600) if number % 9 == 0 else "",
        "import_batch": "2024-02" if number < 300 else "",
    }


def _deals(random: Random) -> Iterator[dict[str, str]]:
    for number in range(DEAL_COUNT):
        pipeline = PIPELINES[1] if number % 3 == 2 else PIPELINES[0]
        stage = pipeline.stages[number // 3 % len(pipeline.stages)]
        yield {
            "dealname": f"{COMPANY_WORDS[number % 16]}: {random.choice(DEAL_SUBJECTS)}",
            "pipeline": pipeline.id,
            "dealstage": stage.id,
            "amount": f"{random.randrange(900, 250_000)}.{random.randrange(100):02}" if number % 11 else "",
            "closedate": format_timestamp(ENDING + random.randrange(-200, 200) * A_DAY),
            "hubspot_owner_id": str(random.choice(OWNERS[:7]).id) if number % 5 else "",
            "deal_currency_code": "EUR",
            "risk": random.choice(RISKS).value if number % 2 else "",
            "external_ref": f"PO-{7_000 + number}" if number % 4 == 0 else "",
        }


def _notes(random: Random) -> Iterator[dict[str, str]]:
    for number in range(NOTE_COUNT):
        yield {
            "hs_note_body": NOTE_TEXTS[number % len(NOTE_TEXTS)],
            "hs_timestamp": format_timestamp(BEGINNING + random.randrange(500) * A_DAY),
            "hubspot_owner_id": str(random.choice(OWNERS[:5]).id),
        }


def _tickets() -> Iterator[dict[str, str]]:
    for number in range(TICKET_COUNT):
        yield {
            "subject": TICKET_SUBJECTS[number % len(TICKET_SUBJECTS)],
            "content": f"Order {4_000 + number}",
            "hs_pipeline": SUPPORT.id,
            "hs_pipeline_stage": SUPPORT.stages[number % 4].id,
            "hs_ticket_priority": PRIORITIES[number % 3].value,
        }


def _associate(portal: Portal, random: Random) -> None:
    contacts, companies = list(portal.records["contacts"].values()), list(portal.records["companies"].values())
    deals, notes = list(portal.records["deals"].values()), list(portal.records["notes"].values())
    by_domain = {company.properties.get("domain"): company for company in reversed(companies)}
    for contact in contacts[: CONTACT_COUNT * 2 // 3]:
        if company := by_domain.get(contact.properties.get("hs_email_domain")):
            portal.edges.associate(contact.reference, company.reference)
    decides = portal.edges.types.find("deals", "contacts", "USER_DEFINED", 36)
    for number, deal in enumerate(deals):
        portal.edges.associate(deal.reference, contacts[number].reference, decides if number % 6 == 0 else None)
        portal.edges.associate(deal.reference, companies[number % len(companies)].reference)
        if number % 4 == 0:
            portal.edges.associate(deal.reference, random.choice(contacts[DEAL_COUNT:]).reference)
    for number, note in enumerate(notes):
        portal.edges.associate(note.reference, deals[number % 30].reference)
        portal.edges.associate(note.reference, contacts[number % 30].reference)
