"""The routes of the consent page and of tokens."""

from acme_connector.emulator.access import AcmeOAuth
from workspace_sandbox.kit.routes import page

OAUTH_ROUTES = (
    page("GET /oauth/authorize", AcmeOAuth.authorize),
    page("POST /oauth/authorize", AcmeOAuth.authorize),
    page("POST /oauth/token", AcmeOAuth.token),
)
