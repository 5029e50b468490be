"""The vendor's OAuth endpoints and the identification of accounts.

Source: airtable.com/developers/web/api/oauth-reference, read 2026-11.
"""

from connector_gateway.connectors.tables.client import TablesClient
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig

EVERY = ("read_records", "create_records", "update_record", "attach_file", "list_tables")

OAUTH = OAuthConfig(
    vendor="Airtable",
    authorize=Endpoint("consent", "/oauth2/v1/authorize"),
    token=Endpoint("consent", "/oauth2/v1/token"),
    readable=(
        "The records of the bases that you choose",
        "The tables and fields of these bases",
        "Your e-mail address",
    ),
    changeable=(
        "Create and change records in these bases",
        "Attach files to records",
    ),
    scopes={
        "data.records:read": tuple(name for name in EVERY if name != "list_tables"),
        "data.records:write": ("create_records", "update_record", "attach_file"),
        "schema.bases:read": EVERY,
        "user.email:read": (),
    },
    pkce=True,
    client_auth="basic",
    margin_seconds=300.0,
    idle_seconds=60 * 86_400.0,
)
"""A token lives for an hour, its refresh token for sixty days. Reuse of a refresh token revokes the authorisation.

The vendor documents no token revocation.
"""


async def identify(client: TablesClient) -> Account:
    """Return the user who selected the bases."""
    me = await client.get_user()
    return Account(me.id, me.email or me.id, me.scopes)
