"""The built-in properties of the object types."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from workspace_sandbox.crm.data import ticket_product_activity_properties
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.crm.data.property_definitions import Definition, choice, definitions_for, options

LIFECYCLE = options(
    *("subscriber=Subscriber", "lead=Lead", "marketingqualifiedlead=Marketing Qualified Lead"),
    *("salesqualifiedlead=Sales Qualified Lead", "opportunity=Opportunity", "customer=Customer"),
    *("evangelist=Evangelist", "other=Other"),
)
"""The lifecycle stages in order."""

INDUSTRIES = options(
    *("COMPUTER_SOFTWARE=Computer Software", "CONSTRUCTION=Construction", "FINANCIAL_SERVICES=Financial Services"),
    *("FOOD_PRODUCTION=Food Production", "HOSPITAL_HEALTH_CARE=Hospital & Health Care"),
    *("LOGISTICS_AND_SUPPLY_CHAIN=Logistics and Supply Chain", "RENEWABLES_ENVIRONMENT=Renewables & Environment"),
)
LEAD_STATUS = options(
    *("NEW=New", "OPEN=Open", "IN_PROGRESS=In Progress", "OPEN_DEAL=Open Deal", "UNQUALIFIED=Unqualified"),
    *("ATTEMPTED_TO_CONTACT=Attempted to Contact", "CONNECTED=Connected", "BAD_TIMING=Bad Timing"),
)


def built_in(kind: ObjectType) -> Iterator[Definition]:
    """Return the built-in properties of *kind*."""
    group = GROUPS[kind.plural]
    yield from _stamps(kind)
    yield Definition("hubspot_owner_id", "Owner", "enumeration", group=group, refers_to="OWNER")
    for table in (PLAIN[kind.plural], CALCULATED.get(kind.plural, ()), FAMILIES.get(kind.plural, ())):
        for definition in table:
            yield replace(definition, group=group)


CREATOR_PROPERTIES = {
    "hs_object_source": "Record source",
    "hs_object_source_id": "Record source ID",
    "hs_object_source_label": "Record source label",
    "hs_object_source_user_id": "Record source user ID",
    "hs_created_by_user_id": "Created by user ID",
}
"""The creators of a record, as in records and the property lists of public integrations."""


def _stamps(kind: ObjectType) -> Iterator[Definition]:
    group = GROUPS[kind.plural]
    for name, label in ((kind.created, "Create Date"), (kind.modified, "Last Modified Date")):
        yield Definition(name, label, "datetime", group=group, read_only=True)
    yield Definition("hs_object_id", "Record ID", "number", group=group, read_only=True)
    for name, label in CREATOR_PROPERTIES.items():
        yield Definition(name, label, group=group, read_only=True)


def _family(kind: str, patterns: str, words: str) -> tuple[Definition, ...]:
    """Return calculated definitions for every pattern and word, as the vendor defines one per stage or source."""
    named = [pattern.format(word) for pattern, word in product(patterns.split(), words.split())]
    return tuple(
        Definition(name, name.replace("_", " ").capitalize(), kind, read_only=True, calculated=True, hidden=True)
        for name in named
    )


GROUPS = {
    "contacts": "contactinformation",
    "companies": "companyinformation",
    "deals": "dealinformation",
    "notes": "engagement",
    **ticket_product_activity_properties.GROUPS,
}

LOCATION = (
    *("address=Street Address", "city=City", "state=State/Region", "zip=Postal Code", "country=Country/Region"),
    *("website=Website URL", "phone=Phone Number", "timezone=Time Zone"),
)

PLAIN: dict[str, tuple[Definition, ...]] = {
    "contacts": (
        Definition("email", "Email", unique=True),
        *definitions_for(
            "string", "firstname=First Name", "lastname=Last Name", "company=Company Name", "jobtitle=Job Title"
        ),
        *definitions_for(
            "string", *LOCATION, "mobilephone=Mobile Phone Number", "fax=Fax Number", "salutation=Salutation"
        ),
        *definitions_for(
            "string", "hs_additional_emails=Additional email addresses", "industry=Industry", "degree=Degree"
        ),
        *definitions_for("string", "linkedinbio=LinkedIn Bio", "twitterhandle=Twitter Username", "school=School"),
        *definitions_for("string", "work_email="),
        *definitions_for(
            "string", "message=Message", "hs_content_membership_notes=Membership Notes", field_type="textarea"
        ),
        *definitions_for(
            "date", "date_of_birth=Date of birth", "start_date=Start Date", "graduation_date=Graduation date"
        ),
        *definitions_for("datetime", "closedate=Close Date", "first_deal_created_date=First Deal Created Date"),
        *definitions_for(
            "number", "annualrevenue=Annual Revenue", "numemployees=Number of Employees", "hubspotscore=Score"
        ),
        *definitions_for("bool", "hs_email_optout=Unsubscribed from all email", "hs_is_unworked=Contact unworked"),
        choice("lifecyclestage", "Lifecycle Stage", LIFECYCLE, "radio"),
        choice("hs_lead_status", "Lead Status", LEAD_STATUS, "radio"),
        choice("hs_language", "Preferred language", options("en=English", "de=German", "fr=French", "ja=Japanese")),
        choice(
            "hs_buying_role",
            "Buying Role",
            options("DECISION_MAKER=Decision Maker", "BUDGET_HOLDER=Budget Holder", "BLOCKER=Blocker", "OTHER=Other"),
            "checkbox",
        ),
    ),
    "companies": (
        *definitions_for("string", "name=Company name", "domain=Company Domain Name", *LOCATION, "about_us=About Us"),
        *definitions_for("string", "description=Description", field_type="textarea"),
        *definitions_for("string", "linkedin_company_page=LinkedIn Company Page", "twitterhandle=Twitter Handle"),
        *definitions_for("string", "hs_additional_domains=Additional Domains", "founded_year=Year Founded"),
        *definitions_for("number", "annualrevenue=Annual Revenue", "numberofemployees=Number of Employees"),
        *definitions_for("bool", "is_public=Is Public", "hs_is_target_account=Target Account"),
        choice("industry", "Industry", INDUSTRIES),
        choice("type", "Type", options("PROSPECT=Prospect", "PARTNER=Partner", "VENDOR=Vendor", "OTHER=Other")),
        choice("lifecyclestage", "Lifecycle Stage", LIFECYCLE, "radio"),
        choice("hs_lead_status", "Lead Status", LEAD_STATUS, "radio"),
    ),
    "deals": (
        *definitions_for(
            "string", "dealname=Deal Name", "hs_next_step=Next step", "closed_lost_reason=Closed Lost Reason"
        ),
        *definitions_for("string", "description=Deal Description", field_type="textarea"),
        *definitions_for("number", "amount=Amount", "hs_forecast_probability=Forecast Probability"),
        *definitions_for("datetime", "closedate=Close Date"),
        Definition("pipeline", "Pipeline", "enumeration", "select"),
        Definition("dealstage", "Deal Stage", "enumeration", "radio"),
        choice("dealtype", "Deal Type", options("newbusiness=New Business", "existingbusiness=Existing Business")),
        choice("hs_priority", "Priority", options("low=Low", "medium=Medium", "high=High")),
        choice("deal_currency_code", "Currency", options("EUR=Euro", "USD=US Dollar", "GBP=British Pound")),
    ),
    "notes": (
        *definitions_for("string", "hs_note_body=Note body", field_type="html"),
        *definitions_for("string", "hs_attachment_ids=Attached file IDs"),
        *definitions_for("datetime", "hs_timestamp=Activity date"),
    ),
    **ticket_product_activity_properties.PLAIN,
}

CALCULATED: dict[str, tuple[Definition, ...]] = {
    "contacts": (
        *definitions_for("string", "hs_email_domain=Email Domain", read_only=True, calculated=True),
        *definitions_for("string", "hs_full_name_or_email=Full name or email", read_only=True, calculated=True),
    ),
    "deals": (
        *definitions_for("bool", "hs_is_closed=Is Deal Closed?", read_only=True, calculated=True),
        *definitions_for("bool", "hs_is_closed_won=Is Closed Won", read_only=True, calculated=True),
        *definitions_for("number", "hs_deal_stage_probability=Deal probability", read_only=True, calculated=True),
        *definitions_for(
            "number", "amount_in_home_currency=Amount in company currency", read_only=True, calculated=True
        ),
    ),
    "notes": definitions_for("string", "hs_body_preview=Body preview", read_only=True, calculated=True),
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
"""Several hundred read-only properties, so that lists of properties have a realistic length."""
