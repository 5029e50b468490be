"""The object types with their names and scopes."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object type. ``scope`` is the scope for reading and writing its records."""

    plural: str
    singular: str
    type_id: str
    scope: str
    created: str
    modified: str
    defaults: tuple[str, ...]
    searched_properties: tuple[str, ...]
    """The properties that the text of a search is compared with."""

    required: tuple[str, ...] = ()
    """The properties that are required to create a record."""

    pipeline_properties: tuple[str, str] | None = None
    """The properties for pipeline and stage, if records have them. The pipeline has a default."""

    first_pipeline: str = "default"

    @property
    def always_returned(self) -> tuple[str, ...]:
        """The properties that every response includes."""
        return (self.created, self.modified, "hs_object_id")

    def scope_for(self, verb: Literal["read", "write"]) -> str:
        """Return the scope for reading or writing records. Tickets have one scope for both."""
        return self.scope if self.scope == "tickets" else f"crm.objects.{self.scope}.{verb}"

    @property
    def schema_scope(self) -> str:
        """The scope for changing properties and pipelines."""
        return self.scope if self.scope == "tickets" else f"crm.schemas.{self.scope}.write"


CONTACTS = ObjectType(
    *("contacts", "contact", "0-1", "contacts", "createdate", "lastmodifieddate"),
    defaults=("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"),
    searched_properties=("firstname", "lastname", "email", "phone", "company", "hs_additional_emails"),
)
COMPANIES = ObjectType(
    *("companies", "company", "0-2", "companies", "createdate", "hs_lastmodifieddate"),
    defaults=("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"),
    searched_properties=("name", "domain", "website", "phone"),
)
DEALS = ObjectType(
    *("deals", "deal", "0-3", "deals", "createdate", "hs_lastmodifieddate"),
    defaults=(
        *("amount", "closedate", "createdate", "dealname", "dealstage"),
        *("hs_lastmodifieddate", "hs_object_id", "pipeline"),
    ),
    searched_properties=("dealname", "description", "dealtype"),
    pipeline_properties=("pipeline", "dealstage"),
)
TICKETS = ObjectType(
    *("tickets", "ticket", "0-5", "tickets", "createdate", "hs_lastmodifieddate"),
    defaults=(
        *("content", "createdate", "hs_lastmodifieddate", "hs_object_id", "hs_pipeline", "hs_pipeline_stage"),
        *("hs_ticket_category", "hs_ticket_priority", "subject"),
    ),
    searched_properties=("subject", "content", "hs_ticket_category"),
    required=("subject", "hs_pipeline_stage"),
    pipeline_properties=("hs_pipeline", "hs_pipeline_stage"),
    first_pipeline="0",
)
PRODUCTS = ObjectType(
    *("products", "product", "0-7", "products", "createdate", "hs_lastmodifieddate"),
    defaults=("createdate", "description", "hs_lastmodifieddate", "hs_object_id", "name", "price"),
    searched_properties=("name", "description", "hs_sku"),
)
LINE_ITEMS = ObjectType(
    *("line_items", "line_item", "0-8", "line_items", "createdate", "hs_lastmodifieddate"),
    defaults=("amount", "createdate", "hs_lastmodifieddate", "hs_object_id", "hs_product_id", "quantity"),
    searched_properties=("name", "description", "hs_sku"),
)


def _activity(plural: str, type_id: str, searched: str) -> ObjectType:
    """Return an activity type, which uses the scopes of contacts."""
    return ObjectType(
        *(plural, plural.removesuffix("s"), type_id, "contacts", "hs_createdate", "hs_lastmodifieddate"),
        defaults=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
        searched_properties=tuple(searched.split()),
        # The position on the timeline, which HubSpot requires.
        required=("hs_timestamp",),
    )


TASKS = _activity("tasks", "0-27", "hs_task_body hs_task_subject")
NOTES = _activity("notes", "0-46", "hs_note_body")
MEETINGS = _activity("meetings", "0-47", "hs_meeting_title hs_meeting_body")
CALLS = _activity("calls", "0-48", "hs_call_title hs_call_body")
EMAILS = _activity("emails", "0-49", "hs_email_subject hs_email_text")

KINDS = (CONTACTS, COMPANIES, DEALS, NOTES, TICKETS, PRODUCTS, LINE_ITEMS, TASKS, MEETINGS, CALLS, EMAILS)
KIND_NAMES = {name: kind for kind in KINDS for name in (kind.plural, kind.singular, kind.type_id)}
"""Object types by all their names."""
