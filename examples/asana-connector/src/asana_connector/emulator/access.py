"""Authorisation: the OAuth app of the gateway, and a personal access token."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import web

from asana_connector.emulator.state import User
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.oauth.server import Grant, Token
from workspace_sandbox.kit.oauth.standard import OAuthError, StandardOAuth

CREDENTIALS = {"token": "2/1201/1202:5f0c7ab84e19d26c03", "refresh_token": "2/1201/9d41b3c8e057f26a14"}
"""The tokens of the gateway's app for the first user."""

PERSONAL = {"token": "2/1201/1203:e27b60"}
"""The personal access token of the first user."""


class AsanaOAuth(StandardOAuth):
    """The grants of all users. Source: developers.asana.com/docs/oauth and /docs/oauth-scopes, read 2026-11."""

    vendor = "Asana"
    clients: ClassVar = {"1209990001112223": "8c1f5e0b7d2a"}
    shapes: ClassVar = {"code": "{:32x}", "access": "2/{0:16d}/{0:16d}:{0:32x}", "refresh": "2/{0:16d}/{0:32x}"}
    scopes: ClassVar = {
        "default": "Access all of Asana",
        "projects:read": "View projects",
        "tasks:read": "View tasks",
        "tasks:write": "Create and change tasks",
        "users:read": "View users",
    }
    default_scopes = ("default",)

    def __init__(self, context: EmulatorContext, users: Mapping[str, User]) -> None:
        super().__init__(context, users)
        user = next(iter(users.values()))
        grant = Grant(next(iter(self.clients)), user, self.default_scopes)
        self.register(CREDENTIALS["token"], "access", grant)
        self.register(CREDENTIALS["refresh_token"], "refresh", grant)
        self.register(PERSONAL["token"], "access", Grant("", user, self.default_scopes))

    def account_name(self, account: User) -> str:
        """Return the name of a user on the consent page."""
        return f"{account.name} ({account.email})"

    def issue_response(self, spent: Token, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the tokens, with the user in ``data``."""
        user: User = spent.grant.account
        data = {"gid": user.gid, "id": int(user.gid), "name": user.name, "email": user.email}
        return {**super().issue_response(spent, form), "data": data}

    async def revoke(self, request: web.Request) -> web.Response:
        """End the grant of a refresh token."""
        form = await self.form(request)
        self.identify(request, form)
        token = self.find_valid(form.get("token", ""), "refresh")
        if token is None:
            raise OAuthError("invalid_request", "The token is not a valid refresh token.")
        token.grant.is_ended = True
        return web.json_response({})
