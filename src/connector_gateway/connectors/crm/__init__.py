"""crm: a customer relationship manager."""

from connector_gateway.connectors.crm import operations
from connector_gateway.connectors.crm.client import (
    ADDRESS,
    CONSENT_ADDRESS,
    PORTAL_BUDGET,
    SEARCH_BUDGET,
    SETTLE_SECONDS,
    CrmClient,
    authorise,
    throttled,
)
from connector_gateway.connectors.crm.oauth import OAUTH, identify
from connector_gateway.connectors.crm.refusals import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

CRM = Connector(
    name="crm",
    summary="Contacts, deals and properties of a customer relationship manager.",
    addresses={"base": ADDRESS, "consent": CONSENT_ADDRESS},
    budgets={"portal": PORTAL_BUDGET, "search": SEARCH_BUDGET},
    authorise=authorise,
    client=CrmClient,
    operations=(
        operations.create_or_update_contact,
        operations.look_up_contacts,
        operations.create_deal,
        operations.update_deal,
        operations.list_properties,
    ),
    throttled=throttled,
    error_table=ERRORS,
    settle_seconds=SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
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
