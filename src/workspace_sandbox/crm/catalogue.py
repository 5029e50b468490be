"""The object types, and the properties every portal has for them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from workspace_sandbox.crm.definitions import Definition, Option, options


@dataclass(frozen=True, slots=True)
class Kind:
    """An object type; ``scope`` is the one its records are read and written under."""

    plural: str
    singular: str
    type_id: str
    scope: str
    created: str
    modified: str
    defaults: tuple[str, ...]
    searched: tuple[str, ...]
    """Properties that a search's free text looks into."""

    @property
    def stamped(self) -> tuple[str, ...]:
        """Properties that come with every answer, asked for or not."""
        return (self.created, self.modified, "hs_object_id")


CONTACTS = Kind(
    *("contacts", "contact", "0-1", "contacts", "createdate", "lastmodifieddate"),
    defaults=("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"),
    searched=("firstname", "lastname", "email", "phone", "company", "hs_additional_emails"),
)
COMPANIES = Kind(
    *("companies", "company", "0-2", "companies", "createdate", "hs_lastmodifieddate"),
    defaults=("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"),
    searched=("name", "domain", "website", "phone"),
)
DEALS = Kind(
    *("deals", "deal", "0-3", "deals", "createdate", "hs_lastmodifieddate"),
    defaults=(
        *("amount", "closedate", "createdate", "dealname", "dealstage"),
        *("hs_lastmodifieddate", "hs_object_id", "pipeline"),
    ),
    searched=("dealname", "description", "dealtype"),
)
NOTES = Kind(
    *("notes", "note", "0-46", "contacts", "hs_createdate", "hs_lastmodifieddate"),
    defaults=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
    searched=("hs_note_body",),
)
KINDS = (CONTACTS, COMPANIES, DEALS, NOTES)
KIND_NAMES = {name: kind for kind in KINDS for name in (kind.plural, kind.singular, kind.type_id)}
"""Every name an object type goes by."""

LIFECYCLE = options(
    *("subscriber=Subscriber", "lead=Lead", "marketingqualifiedlead=Marketing Qualified Lead"),
    *("salesqualifiedlead=Sales Qualified Lead", "opportunity=Opportunity", "customer=Customer"),
    *("evangelist=Evangelist", "other=Other"),
)
"""In the order in which records move through them."""

INDUSTRIES = options(
    *("COMPUTER_SOFTWARE=Computer Software", "CONSTRUCTION=Construction", "FINANCIAL_SERVICES=Financial Services"),
    *("FOOD_PRODUCTION=Food Production", "HOSPITAL_HEALTH_CARE=Hospital & Health Care"),
    *("LOGISTICS_AND_SUPPLY_CHAIN=Logistics and Supply Chain", "RENEWABLES_ENVIRONMENT=Renewables & Environment"),
)
LEAD_STATUS = options(
    *("NEW=New", "OPEN=Open", "IN_PROGRESS=In Progress", "OPEN_DEAL=Open Deal", "UNQUALIFIED=Unqualified"),
    *("ATTEMPTED_TO_CONTACT=Attempted to Contact", "CONNECTED=Connected", "BAD_TIMING=Bad Timing"),
)


def built_in(kind: Kind) -> Iterator[Definition]:
    """What every portal has for *kind*."""
    group = GROUPS[kind.plural]
    yield from _stamps(kind)
    yield Definition("hubspot_owner_id", "Owner", "enumeration", group=group, refers_to="OWNER")
    for table in (PLAIN[kind.plural], CALCULATED[kind.plural], FAMILIES.get(kind.plural, ())):
        for definition in table:
            yield replace(definition, group=group)


MADE_BY = {
    "hs_object_source": "Record source",
    "hs_object_source_id": "Record source ID",
    "hs_object_source_label": "Record source label",
    "hs_object_source_user_id": "Record source user ID",
    "hs_created_by_user_id": "Created by user ID",
}
"""Who made a record, as records and the property lists of public integrations show it."""


def _stamps(kind: Kind) -> Iterator[Definition]:
    group = GROUPS[kind.plural]
    for name, label in ((kind.created, "Create Date"), (kind.modified, "Last Modified Date")):
        yield Definition(name, label, "datetime", group=group, read_only=True)
    yield Definition("hs_object_id", "Record ID", "number", group=group, read_only=True)
    for name, label in MADE_BY.items():
        yield Definition(name, label, group=group, read_only=True)


def _of(kind: str, *names: str, **more: Any) -> tuple[Definition, ...]:
    """Definitions of one type, each named as ``name=Label``."""
    return tuple(replace(Definition(option.value, option.label, kind), **more) for option in options(*names))


def _family(kind: str, patterns: str, words: str) -> tuple[Definition, ...]:
    """Calculated definitions for every pattern and word, as the vendor keeps one for each stage or source."""
    named = [pattern.format(word) for pattern, word in product(patterns.split(), words.split())]
    return tuple(
        Definition(name, name.replace("_", " ").capitalize(), kind, read_only=True, calculated=True, hidden=True)
        for name in named
    )


def _choice(name: str, label: str, choices: tuple[Option, ...], field_type: str = "select") -> Definition:
    return Definition(name, label, "enumeration", field_type, options=choices)


GROUPS = {
    "contacts": "contactinformation",
    "companies": "companyinformation",
    "deals": "dealinformation",
    "notes": "engagement",
}

PLACE = (
    *("address=Street Address", "city=City", "state=State/Region", "zip=Postal Code", "country=Country/Region"),
    *("website=Website URL", "phone=Phone Number", "timezone=Time Zone"),
)

PLAIN: dict[str, tuple[Definition, ...]] = {
    "contacts": (
        Definition("email", "Email", unique=True),
        *_of("string", "firstname=First Name", "lastname=Last Name", "company=Company Name", "jobtitle=Job Title"),
        *_of("string", *PLACE, "mobilephone=Mobile Phone Number", "fax=Fax Number", "salutation=Salutation"),
        *_of("string", "hs_additional_emails=Additional email addresses", "industry=Industry", "degree=Degree"),
        *_of("string", "linkedinbio=LinkedIn Bio", "twitterhandle=Twitter Username", "school=School", "work_email="),
        *_of("string", "message=Message", "hs_content_membership_notes=Membership Notes", field_type="textarea"),
        *_of("date", "date_of_birth=Date of birth", "start_date=Start Date", "graduation_date=Graduation date"),
        *_of("datetime", "closedate=Close Date", "first_deal_created_date=First Deal Created Date"),
        *_of("number", "annualrevenue=Annual Revenue", "numemployees=Number of Employees", "hubspotscore=Score"),
        *_of("bool", "hs_email_optout=Unsubscribed from all email", "hs_is_unworked=Contact unworked"),
        _choice("lifecyclestage", "Lifecycle Stage", LIFECYCLE, "radio"),
        _choice("hs_lead_status", "Lead Status", LEAD_STATUS, "radio"),
        _choice("hs_language", "Preferred language", options("en=English", "de=German", "fr=French", "ja=Japanese")),
        _choice(
            "hs_buying_role",
            "Buying Role",
            options("DECISION_MAKER=Decision Maker", "BUDGET_HOLDER=Budget Holder", "BLOCKER=Blocker", "OTHER=Other"),
            "checkbox",
        ),
    ),
    "companies": (
        *_of("string", "name=Company name", "domain=Company Domain Name", *PLACE, "about_us=About Us"),
        *_of("string", "description=Description", field_type="textarea"),
        *_of("string", "linkedin_company_page=LinkedIn Company Page", "twitterhandle=Twitter Handle"),
        *_of("string", "hs_additional_domains=Additional Domains", "founded_year=Year Founded"),
        *_of("number", "annualrevenue=Annual Revenue", "numberofemployees=Number of Employees"),
        *_of("bool", "is_public=Is Public", "hs_is_target_account=Target Account"),
        _choice("industry", "Industry", INDUSTRIES),
        _choice("type", "Type", options("PROSPECT=Prospect", "PARTNER=Partner", "VENDOR=Vendor", "OTHER=Other")),
        _choice("lifecyclestage", "Lifecycle Stage", LIFECYCLE, "radio"),
        _choice("hs_lead_status", "Lead Status", LEAD_STATUS, "radio"),
    ),
    "deals": (
        *_of("string", "dealname=Deal Name", "hs_next_step=Next step", "closed_lost_reason=Closed Lost Reason"),
        *_of("string", "description=Deal Description", field_type="textarea"),
        *_of("number", "amount=Amount", "hs_forecast_probability=Forecast Probability"),
        *_of("datetime", "closedate=Close Date"),
        Definition("pipeline", "Pipeline", "enumeration", "select"),
        Definition("dealstage", "Deal Stage", "enumeration", "radio"),
        _choice("dealtype", "Deal Type", options("newbusiness=New Business", "existingbusiness=Existing Business")),
        _choice("hs_priority", "Priority", options("low=Low", "medium=Medium", "high=High")),
        _choice("deal_currency_code", "Currency", options("EUR=Euro", "USD=US Dollar", "GBP=British Pound")),
    ),
    "notes": (
        *_of("string", "hs_note_body=Note body", field_type="html"),
        *_of("string", "hs_attachment_ids=Attached file IDs"),
        *_of("datetime", "hs_timestamp=Activity date"),
    ),
}

CALCULATED: dict[str, tuple[Definition, ...]] = {
    "contacts": (
        *_of("string", "hs_email_domain=Email Domain", read_only=True, calculated=True),
        *_of("string", "hs_full_name_or_email=Full name or email", read_only=True, calculated=True),
    ),
    "companies": (),
    "deals": (
        *_of("bool", "hs_is_closed=Is Deal Closed?", read_only=True, calculated=True),
        *_of("bool", "hs_is_closed_won=Is Closed Won", read_only=True, calculated=True),
        *_of("number", "hs_deal_stage_probability=Deal probability", read_only=True, calculated=True),
        *_of("number", "amount_in_home_currency=Amount in company currency", read_only=True, calculated=True),
    ),
    "notes": _of("string", "hs_body_preview=Body preview", read_only=True, calculated=True),
}

STAGES = " ".join(option.value for option in LIFECYCLE)
ANALYTICS = "num_page_views num_visits num_event_completions average_page_views revenue pages_per_visit"
VISITS = "url referrer touch_converting_campaign source_data_1 source_data_2 landing_page"
MAILINGS = "delivered open click replied bounce forwarded sent_unopened attempts"
NETWORKS = "facebook twitter linkedin instagram google_plus pinterest youtube broadcast"
ORIGINS = "label detail_1 detail_2 detail_3 id user_id data_1 data_2"
OCCASIONS = "meeting_booked activity contacted engagement sequence_enrolled sales_activity form_submission call"
ACTIVITIES = "meetings calls notes tasks emails sequences forms tickets quotes payments"
FACTS = "marketable enriched subscribed imported inside_portal_region sales_qualified customer_referral"
GUESSES = "scoring_tier contact_score signals topic segment cluster seniority role"
SOURCES = "organic_search paid_search email_marketing social_media referrals direct_traffic offline"

FAMILIES: dict[str, tuple[Definition, ...]] = {
    "contacts": (
        *_family("datetime", "hs_lifecyclestage_{}_date hs_v2_date_entered_{} hs_v2_date_exited_{}", STAGES),
        *_family("number", "hs_v2_latest_time_in_{} hs_v2_cumulative_time_in_{} hs_time_in_{}", STAGES),
        *_family("datetime", "hs_date_entered_{} hs_date_exited_{}", STAGES),
        *_family("number", "hs_analytics_{} hs_analytics_{}_before_conversion", ANALYTICS),
        *_family("string", "hs_analytics_first_{} hs_analytics_last_{}", VISITS),
        *_family("datetime", "hs_analytics_first_{} hs_analytics_last_{}", "timestamp visit_timestamp"),
        *_family("number", "hs_email_{} hs_email_{}_since_last_engagement hs_sales_email_{}", MAILINGS),
        *_family("datetime", "hs_email_first_{}_date hs_email_last_{}_date", "send open click reply"),
        *_family("number", "hs_social_{}_clicks hs_social_{}_engagements", NETWORKS),
        *_family("string", "hs_object_source_{} hs_latest_source_{} hs_merged_{}", ORIGINS),
        *_family("datetime", "hs_last_{}_date hs_next_{}_date hs_first_{}_date", OCCASIONS),
        *_family("number", "hs_count_{}_total hs_count_{}_last_30_days", ACTIVITIES),
        *_family("bool", "hs_is_{} hs_was_{}", FACTS),
        *_family("string", "hs_predictive_{} hs_intent_{} hs_persona_{}", GUESSES),
        *_family("number", "hs_ad_clicks_{}", SOURCES),
    ),
    "companies": (
        *_family("datetime", "hs_v2_date_entered_{} hs_v2_date_exited_{}", STAGES),
        *_family("number", "hs_v2_latest_time_in_{}", STAGES),
    ),
}
"""Several hundred, so that a list of properties is as long as a real one; nothing writes them."""
