"""Tokens of connections, and the OAuth flow of public ones."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.oauth.consent_page import Checkbox, ConsentAccount, ConsentForm, Decision
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token
from workspace_sandbox.notes import validation
from workspace_sandbox.notes.data import property_values
from workspace_sandbox.notes.data.state import ShareOption, User, Workspace, WorkspaceInstallation
from workspace_sandbox.notes.error_responses import ApiError, invalid, json_response
from workspace_sandbox.notes.request import read_body

CLIENT_ID = "5a1c9f0e-7d2b-4c6a-9e83-2f40b1d7c865"
CLIENT_SECRET = "secret_9XvT2mQk7LwZ4rBn8JcY6dHs1GpFa3EuRi0KoWxNyVt"  # noqa: S105 - opens nothing but the emulator
INTEGRATION_ID = "b7e2c4d8-1f35-4a90-8c6e-5d0937f1a264"
"""The integration id of the seeded connection. Connections by OAuth use the client id."""

TOKEN = "ntn_284617395024Kd7mQw3XzR8vYb5tLc1NfHs6PgJ9uAeT2"  # noqa: S105 - opens nothing but the emulator
"""The fixed token of the seeded connection."""

SCOPE = "read_content insert_content update_content read_user_with_email"
REQUIRED_PARAMETERS = {"authorization_code": "code", "refresh_token": "refresh_token"}
"""The parameter that each grant type of a token request requires."""

WANTS = ("View the content that you share", "Insert and update that content", "See names and addresses")


class NotionOAuth(OAuth):
    """The grants of one internal integration by its fixed token, and of one OAuth app in every workspace."""

    shapes: ClassVar = {"code": "{:36}", "access": "ntn_{:46}", "refresh": "nrt_{:46}"}
    # The access token ends with its refresh token.
    revoked_by_refresh = frozenset({"access", "refresh"})
    # The documentation of the token endpoint has no client credentials in the body.
    client_by = "header"
    clients: ClassVar = {CLIENT_ID: CLIENT_SECRET}

    def __init__(
        self, context: EmulatorContext, workspace: Workspace, internal: User, homes: Sequence[WorkspaceInstallation]
    ) -> None:
        super().__init__(context, {home.workspace.id: home for home in homes})
        self.register(TOKEN, "access", Grant("", WorkspaceInstallation(workspace, internal, ())))

    def has(self, bot: User) -> bool:
        """Return True if *bot* has a valid token."""
        return any(
            token.is_valid and token.kind != "code" and token.grant.account.bot is bot for token in self.tokens.values()
        )

    def check(self, params: dict[str, str]) -> None:
        """Reject an invalid consent request."""
        for name, value in (("client_id", CLIENT_ID), ("response_type", "code"), ("owner", "user")):
            validation.one_of(params.get(name), f"query.{name}", (value,))
        if not self.is_allowed_redirect(params.get("redirect_uri", "")):
            raise invalid("Missing or invalid redirect_uri.")

    def consent_page(self, _: Mapping[str, str]) -> ConsentForm:
        """Return the consent page's question: which workspace, and which of its pages."""
        accounts = [
            ConsentAccount(
                uid,
                home.workspace.name,
                tuple(Checkbox(_value(home, offer), offer.label) for offer in home.share_options),
            )
            for uid, home in self.accounts.items()
        ]
        return ConsentForm(vendor="Notion", app="Connector Gateway", wants=WANTS, accounts=accounts)

    def create_grant(self, _: Mapping[str, str], decision: Decision) -> Grant:
        """Return the grant for the chosen workspace, with the pages that were picked."""
        home: WorkspaceInstallation = self.selected_account(decision.account)
        shared_ids = (offer.ids for offer in home.share_options if decision.grants(_value(home, offer)))
        return Grant(CLIENT_ID, home, selected=frozenset().union(*shared_ids))

    async def token(self, request: web.Request) -> web.Response:
        """Return a new pair of tokens for a code or a refresh token. The refresh token ends the previous pair."""
        body = await self.form(request)
        self.identify(request, body)
        name = REQUIRED_PARAMETERS[
            validation.one_of(body.get("grant_type"), "body.grant_type", tuple(REQUIRED_PARAMETERS))
        ]
        validation.string(validation.need(body, name, "body"), f"body.{name}")
        return await super().token(request)

    async def form(self, request: web.Request) -> dict[str, Any]:
        """Return the JSON body."""
        return await read_body(request)

    def token_response(self, body: Mapping[str, Any]) -> web.Response:
        """Return *body* as a response with the request id."""
        return json_response(200, dict(body), self.context.request_id())

    def use_code(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the code. Its pages replace earlier ones, because an OAuth app has one bot per workspace."""
        code = super().use_code(client_id, form)
        code.grant.account.bot.shared = set(code.grant.selected or ())
        return code

    def issue_response(self, exchanged: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Return a new pair of tokens."""
        home: WorkspaceInstallation = exchanged.grant.account
        workspace, owner = home.workspace, home.workspace.users[home.bot.owner_id or ""]
        return {
            "access_token": self.issue("access", exchanged.grant, self.context.knobs["token_seconds"]).value,
            "token_type": "bearer",
            "refresh_token": self.issue("refresh", exchanged.grant).value,
            "bot_id": home.bot.id,
            "workspace_id": workspace.id,
            "workspace_name": workspace.name,
            "workspace_icon": None,
            "owner": {"type": "user", "user": property_values.user_object(owner, owner.id, workspace)},
            "duplicated_template_id": None,
        }

    async def revoke(self, request: web.Request) -> web.Response:
        """End the grant of a token. An unknown token is not an error."""
        if token := await self._requested_token(request):
            token.grant.is_ended = True
        return self.token_response({})

    async def introspect(self, request: web.Request) -> web.Response:
        """Return whether a token of the public connection is active."""
        token = await self._requested_token(request)
        return self.token_response(
            {"active": True, "scope": SCOPE, "iat": int(token.issued_at)} if token else {"active": False}
        )

    async def _requested_token(self, request: web.Request) -> Token | None:
        body = await self.form(request)
        self.identify(request, body)
        value = validation.populated(validation.need(body, "token", "body"), "body.token", 2000)
        token = self.find_valid(value, "access", "refresh")
        return token if token and token.grant.client_id else None

    def error(self, reason: str) -> ApiError:
        """Return the error of a token request."""
        match reason:
            case "client_id" | "client_secret":
                return ApiError(401, "invalid_client", "Client authentication failed.")
            case "redirect_uri":
                return _invalid_grant("Invalid redirect_uri: it does not match the authorization request.")
            case "refresh_token":
                return _invalid_grant("Invalid refresh token: this token has been revoked.")
            case _:
                return _invalid_grant("Invalid code: this code has been revoked.")


def _invalid_grant(message: str) -> ApiError:
    return ApiError(400, "invalid_grant", message)


def _value(home: WorkspaceInstallation, offer: ShareOption) -> str:
    return f"{home.workspace.id}/{home.share_options.index(offer)}"
