"""The vendor's OAuth endpoints. Source: https://acme.example/docs/oauth."""

from connector_gateway.kit.oauth import Endpoint, OAuthConfig

OAUTH = OAuthConfig(
    vendor="Acme",
    authorize=Endpoint("base", "/oauth/authorize"),
    token=Endpoint("base", "/oauth/token"),
    readable=("The items of your list",),
    changeable=("Create items",),
    scopes={"items:read": ("list_items", "create_item"), "items:write": ("create_item",)},
    pkce=True,
)
"""A token lives for an hour. Each refresh replaces the refresh token."""
