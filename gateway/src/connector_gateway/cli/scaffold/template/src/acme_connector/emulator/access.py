"""The tokens of the vendor's accounts."""

from typing import ClassVar

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.oauth.server import Grant
from workspace_sandbox.kit.oauth.standard import StandardOAuth

CREDENTIALS = {"token": "acme-token-1"}
ACCOUNTS = {"a1": "Juniper Studio", "a2": "Lantern Bakery"}


class AcmeOAuth(StandardOAuth):
    """Follows RFC 6749 where nothing else is declared. ``CREDENTIALS`` belong to the first account."""

    vendor = "Acme"
    clients: ClassVar = {"acme-app": "acme-secret"}
    scopes: ClassVar = {"items:read": "Read items", "items:write": "Create items"}
    rotates_refresh_tokens = True
    revoked_by_refresh = frozenset({"access", "refresh"})

    def __init__(self, context: EmulatorContext) -> None:
        super().__init__(context, {identifier: identifier for identifier in ACCOUNTS})
        self.register(CREDENTIALS["token"], "access", Grant("", next(iter(ACCOUNTS)), tuple(self.scopes)))

    def account_name(self, account: str) -> str:
        """Return the name of an account on the consent page."""
        return ACCOUNTS[account]
