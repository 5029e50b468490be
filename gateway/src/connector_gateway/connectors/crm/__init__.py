"""crm: a customer relationship manager."""

from connector_gateway.connectors.crm import client, operations
from connector_gateway.connectors.crm.oauth import OAUTH, identify
from connector_gateway.connectors.crm.vendor_errors import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("accountType", "additionalCurrencies", "archivable", "archived", "archivedAt", "associations"),
        *("associationSpec", "associationTypes", "calculationFormula", "companyCurrency", "completedAt"),
        *("createdAt", "createdUserId", "currencyPropertyName", "dataHostingLocation", "dataSensitivity"),
        *("dateDisplayHint", "description", "displayOrder", "firstName", "formField", "from", "groupName"),
        *("hidden", "hub_id", "id_token", "lastName", "link", "links", "numberDisplayHint", "numErrors"),
        *("objectWriteTraceId", "prev", "probability", "propertiesWithHistory", "readOnlyDefinition"),
        *("readOnlyOptions", "requestedAt", "sensitiveDataCategories", "showCurrencySymbol", "startedAt"),
        *("status", "teams", "textDisplayHint", "timeZone", "to", "token_type", "token_use", "total"),
        *("uiDomain", "updatedAt", "updatedUserId", "url", "user_id", "userId", "userIdIncludingInactive"),
        *("utcOffset", "utcOffsetMilliseconds", "warnings", "writePermissions"),
    }
)
"""The names of documented fields in the vendor models that are not read.

Source: the OpenAPI documents of developers.hubspot.com/docs, read 2026-11.
"""

CRM = Connector(
    name="crm",
    summary="Contacts, deals and properties of a customer relationship manager.",
    base_urls={"base": client.BASE_URL, "consent": client.CONSENT_URL},
    budgets={"portal": client.PORTAL_BUDGET, "search": client.SEARCH_BUDGET},
    client=client.CrmClient,
    operations=(
        operations.create_or_update_contact,
        operations.look_up_contacts,
        operations.create_deal,
        operations.update_deal,
        operations.list_properties,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    api_version=client.API_VERSION,
    unread_fields=UNREAD_FIELDS,
    settle_seconds=client.SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
    passthrough=client.PASSTHROUGH,
    sample=SampleCall(
        "a contact, created or updated, and linked to its company",
        operations.create_or_update_contact,
        lambda examples: {
            "email": examples["email"],
            "properties": {examples["custom_property"]: "gold"},
            "associate_company": examples["company_domain"],
        },
    ),
)
