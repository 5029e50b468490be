"""crm: a customer relationship manager."""

from connector_gateway.connectors.crm import client, operations
from connector_gateway.connectors.crm.oauth import OAUTH, identify
from connector_gateway.connectors.crm.vendor_errors import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("accountType", "additionalCurrencies", "archivable", "archived", "associationSpec"),
        *("companyCurrency", "completedAt", "createdAt", "dataHostingLocation", "dataSensitivity"),
        *("description", "displayOrder", "firstName", "formField", "from", "groupName", "hidden", "lastName"),
        *("link", "numErrors", "probability", "readOnlyDefinition", "readOnlyOptions", "startedAt", "status"),
        *("timeZone", "to", "total", "uiDomain", "updatedAt", "url", "userId", "userIdIncludingInactive"),
        *("utcOffset", "utcOffsetMilliseconds", "writePermissions"),
    }
)
"""The names of documented fields in the vendor models that are not read."""

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
