"""The vendor's OAuth endpoints and the identification of accounts.

Source: developers.hubspot.com/docs, on working with OAuth and on managing its tokens, read 2026-11.
"""

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.connectors.crm.client import VERSION, CrmClient
from connector_gateway.kit.oauth import Account, Endpoint, IssuedTokens, OAuthConfig
from connector_gateway.kit.upstream.pool import UpstreamResponse

CONTACTS = ("create_or_update_contact", "look_up_contacts", "create_deal", "list_properties")
DEALS = ("create_deal", "update_deal")
SCOPES = {
    "oauth": (),
    "crm.objects.contacts.read": CONTACTS,
    # Notes are written with the scope of contacts.
    "crm.objects.contacts.write": ("create_or_update_contact", "update_deal"),
    "crm.objects.companies.read": ("create_or_update_contact",),
    "crm.objects.companies.write": ("create_or_update_contact",),
    "crm.objects.deals.read": DEALS,
    "crm.objects.deals.write": DEALS,
    "crm.objects.owners.read": ("look_up_contacts",),
}


def parse_tokens(response: UpstreamResponse) -> IssuedTokens:
    """Return the tokens of a response."""
    issued = response.decode(vendor_models.Issued)
    return IssuedTokens(issued.access_token, issued.refresh_token, issued.expires_in, issued.scopes)


OAUTH = OAuthConfig(
    vendor="HubSpot",
    authorize=Endpoint("consent", "/oauth/authorize"),
    token=Endpoint("base", f"/oauth/{VERSION}/token"),
    readable=(
        "Contacts, companies and deals, with their properties",
        "The people whom they are assigned to",
    ),
    changeable=(
        "Create and change contacts, companies and deals",
        "Log notes on deals",
    ),
    revoke=Endpoint("base", f"/oauth/{VERSION}/token/revoke"),
    revokes_account=True,
    scopes=SCOPES,
    margin_seconds=120.0,
    parse_tokens=parse_tokens,
)
"""A token lives for half an hour. The refresh token stays the same, but any new one is stored.

The vendor's pages show a verifier in token requests but no challenge in consent requests, so neither is sent.
"""


async def identify(client: CrmClient) -> Account:
    """Return the portal."""
    portal_id = str((await client.read_account()).portal_id)
    return Account(portal_id, f"Portal {portal_id}")
