"""The OAuth flow of each emulator: requests of an OAuth app, and the request for its identity."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import httpx

from workspace_sandbox.kit.emulator import Emulator

BACK = "http://127.0.0.1:9/back"
VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
PKCE = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
GOOGLE = "https://www.googleapis.com/auth/"
VERSION = {"Notion-Version": "2026-03-11"}


@dataclass(frozen=True, kw_only=True)
class OAuthFlow:
    """The OAuth flow of one vendor: pages, parameters and two accounts."""

    page: str
    authorization_params: Mapping[str, str]
    token: str
    identity_path: str
    account: tuple[str, ...]
    """The path to the account in the identity response."""
    first: str
    second: str
    second_label: str
    """The second account as the page calls it."""
    basic: bool = False
    json: bool = False
    identity_method: str = "GET"
    headers: Mapping[str, str] | None = None
    verifier: bool = True
    revoked_status: int | str = 401
    """The status or error for a request with a revoked token."""


OAUTH_FLOWS = {
    "notes": OAuthFlow(
        page="/v1/oauth/authorize",
        authorization_params={"response_type": "code", "owner": "user"},
        token="/v1/oauth/token",
        identity_path="/v1/users/me",
        account=("bot", "workspace_name"),
        first="Fernweh Studios",
        second="Lantern Bakery",
        second_label="Lantern Bakery",
        basic=True,
        json=True,
        headers=VERSION,
        verifier=False,
    ),
    "boards": OAuthFlow(
        page="/authorize",
        authorization_params={
            "response_type": "code",
            "scope": "read:board:trello read:member:trello offline_access",
            **PKCE,
        },
        token="/oauth/token",
        identity_path="/1/members/me",
        account=("username",),
        first="gatewaybot",
        second="ines.marchetti",
        second_label="Inès Marchetti (@ines.marchetti)",
        json=True,
    ),
    "mail": OAuthFlow(
        page="/o/oauth2/v2/auth",
        authorization_params={
            "response_type": "code",
            "scope": f"openid {GOOGLE}gmail.modify",
            "access_type": "offline",
            "prompt": "consent",
            **PKCE,
        },
        token="/token",
        identity_path="/gmail/v1/users/me/profile",
        account=("emailAddress",),
        first="nora@brightfjord.test",
        second="jonas@brightfjord.test",
        second_label="Jonas Weiß (jonas@brightfjord.test)",
    ),
    "chat": OAuthFlow(
        page="/oauth/v2/authorize",
        authorization_params={"scope": "chat:write,channels:read", **PKCE},
        token="/api/oauth.v2.access",
        identity_path="/api/auth.test",
        account=("team_id",),
        first="T04NW2K7QLM",
        second="T09HRB0RQ2K",
        second_label="Harbour Collective (harbour-collective.slack.com)",
        identity_method="POST",
        revoked_status="account_inactive",
    ),
    "crm": OAuthFlow(
        page="/oauth/authorize",
        authorization_params={"scope": "oauth crm.objects.contacts.read", **PKCE},
        token="/oauth/2026-09/token",
        identity_path="/account-info/2026-09/details",
        account=("portalId",),
        first="4471120",
        second="9022540",
        second_label="nordwolke.example (9022540)",
    ),
    "tables": OAuthFlow(
        page="/oauth2/v1/authorize",
        authorization_params={"response_type": "code", "scope": "data.records:read schema.bases:read", **PKCE},
        token="/oauth2/v1/token",
        identity_path="/v0/meta/whoami",
        account=("id",),
        first="usrA8sVd3kQe71LxZm",
        second="usrK2fGh9pWn40RtYc",
        second_label="José Arán (jose.aran@example.com)",
        basic=True,
    ),
}


class Application:
    """An OAuth app that is registered with one emulator."""

    def __init__(self, flow: OAuthFlow, emulator: Emulator, http: httpx.Client) -> None:
        self.flow = flow
        self.emulator = emulator
        self.client = emulator.client()
        self._base = emulator.context.addresses["base"]
        self._http = http

    def endpoint(self, path: str) -> str:
        """The address of a path of the vendor's."""
        return f"{self._base}{path}"

    def address(self, **changes: str) -> str:
        """Return the URL of the consent page."""
        params = {"client_id": self.client["client_id"], "redirect_uri": BACK, "state": "s 1"}
        return f"{self._base}{self.flow.page}?{urlencode(params | dict(self.flow.authorization_params) | changes)}"

    def exchange(self, code: str, **changes: str) -> httpx.Response:
        """The answer to a code."""
        proof = {"code_verifier": VERIFIER} if self.flow.verifier else {}
        return self.tokens({"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, **proof, **changes})

    def refresh(self, token: str) -> httpx.Response:
        """The answer to a refresh token."""
        return self.tokens({"grant_type": "refresh_token", "refresh_token": token})

    def tokens(self, params: Mapping[str, str]) -> httpx.Response:
        """The answer of the token endpoint."""
        auth, flow = httpx.BasicAuth(*self.client.values()), self.flow
        body = dict(params) if flow.basic else {**self.client, **params}
        request: dict[str, Any] = {"json": body} if flow.json else {"data": body}
        return self._http.post(
            f"{self._base}{flow.token}", auth=auth if flow.basic else httpx.USE_CLIENT_DEFAULT, **request
        )

    @property
    def own_token(self) -> str:
        """The credentials of the sandbox's own client, which are authorised from the start."""
        credentials = self.emulator.credentials()
        pair = f'OAuth oauth_consumer_key="{credentials.get("key")}", oauth_token="{credentials["token"]}"'
        return pair if "key" in credentials else credentials["token"]

    def get_identity(self, token: str) -> httpx.Response:
        """Request the identity of the token."""
        presented = token if token.startswith("OAuth ") else f"Bearer {token}"
        headers = {"Authorization": presented, **(self.flow.headers or {})}
        return self._http.request(self.flow.identity_method, f"{self._base}{self.flow.identity_path}", headers=headers)

    def account(self, token: str) -> str:
        """Whose account it is in."""
        value = self.get_identity(token).json()
        for name in self.flow.account:
            value = value[name]
        return str(value)

    def token_status(self, token: str) -> int | str:
        """Return 200 for a valid token, or the status or error for an invalid one."""
        response = self.get_identity(token)
        return response.json().get("error", 200) if self.flow.identity_method == "POST" else response.status_code
