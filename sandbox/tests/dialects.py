"""What an application says to each stand-in to be let in, and how it asks whose account it is in."""

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
class Dialect:
    """One vendor's way: pages and parameters, who it is by, and the second account that there is."""

    page: str
    asked: Mapping[str, str]
    token: str
    who: str
    account: tuple[str, ...]
    """Where in the answer of ``who`` the account is."""
    first: str
    second: str
    chosen: str
    """The second account as the page calls it."""
    basic: bool = False
    json: bool = False
    verb: str = "GET"
    headers: Mapping[str, str] | None = None
    verifier: bool = True
    gone: int | str = 401
    """What a request with a withdrawn token is answered with."""


DIALECTS = {
    "notes": Dialect(
        page="/v1/oauth/authorize",
        asked={"response_type": "code", "owner": "user"},
        token="/v1/oauth/token",
        who="/v1/users/me",
        account=("bot", "workspace_name"),
        first="Fernweh Studios",
        second="Lantern Bakery",
        chosen="Lantern Bakery",
        basic=True,
        json=True,
        headers=VERSION,
        verifier=False,
    ),
    "boards": Dialect(
        page="/authorize",
        asked={"response_type": "code", "scope": "read:board:trello read:member:trello offline_access", **PKCE},
        token="/oauth/token",
        who="/1/members/me",
        account=("username",),
        first="gatewaybot",
        second="ines.marchetti",
        chosen="Inès Marchetti (@ines.marchetti)",
        json=True,
    ),
    "mail": Dialect(
        page="/o/oauth2/v2/auth",
        asked={
            "response_type": "code",
            "scope": f"openid {GOOGLE}gmail.modify",
            "access_type": "offline",
            "prompt": "consent",
            **PKCE,
        },
        token="/token",
        who="/gmail/v1/users/me/profile",
        account=("emailAddress",),
        first="nora@brightfjord.test",
        second="jonas@brightfjord.test",
        chosen="Jonas Weiß (jonas@brightfjord.test)",
    ),
    "chat": Dialect(
        page="/oauth/v2/authorize",
        asked={"scope": "chat:write,channels:read", **PKCE},
        token="/api/oauth.v2.access",
        who="/api/auth.test",
        account=("team_id",),
        first="T04NW2K7QLM",
        second="T09HRB0RQ2K",
        chosen="Harbour Collective (harbour-collective.slack.com)",
        verb="POST",
        gone="account_inactive",
    ),
    "crm": Dialect(
        page="/oauth/authorize",
        asked={"scope": "oauth crm.objects.contacts.read", **PKCE},
        token="/oauth/2026-09/token",
        who="/account-info/2026-09/details",
        account=("portalId",),
        first="4471120",
        second="9022540",
        chosen="nordwolke.example (9022540)",
    ),
    "tables": Dialect(
        page="/oauth2/v1/authorize",
        asked={"response_type": "code", "scope": "data.records:read schema.bases:read", **PKCE},
        token="/oauth2/v1/token",
        who="/v0/meta/whoami",
        account=("id",),
        first="usrA8sVd3kQe71LxZm",
        second="usrK2fGh9pWn40RtYc",
        chosen="José Arán (jose.aran@example.com)",
        basic=True,
    ),
}


class Application:
    """An application that is registered with one stand-in, and asks to be let in."""

    def __init__(self, dialect: Dialect, emulator: Emulator, http: httpx.Client) -> None:
        self.dialect = dialect
        self.emulator = emulator
        self.client = emulator.client()
        self._base = emulator.context.addresses["base"]
        self._http = http

    def endpoint(self, path: str) -> str:
        """The address of a path of the vendor's."""
        return f"{self._base}{path}"

    def address(self, **changes: str) -> str:
        """Where a person is sent to be asked."""
        asked = {"client_id": self.client["client_id"], "redirect_uri": BACK, "state": "s 1"}
        return f"{self._base}{self.dialect.page}?{urlencode(asked | dict(self.dialect.asked) | changes)}"

    def exchange(self, code: str, **changes: str) -> httpx.Response:
        """The answer to a code."""
        proof = {"code_verifier": VERIFIER} if self.dialect.verifier else {}
        return self.tokens({"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, **proof, **changes})

    def refresh(self, token: str) -> httpx.Response:
        """The answer to a refresh token."""
        return self.tokens({"grant_type": "refresh_token", "refresh_token": token})

    def tokens(self, asked: Mapping[str, str]) -> httpx.Response:
        """The answer of the token endpoint."""
        known, dialect = httpx.BasicAuth(*self.client.values()), self.dialect
        body = dict(asked) if dialect.basic else {**self.client, **asked}
        sent: dict[str, Any] = {"json": body} if dialect.json else {"data": body}
        return self._http.post(
            f"{self._base}{dialect.token}", auth=known if dialect.basic else httpx.USE_CLIENT_DEFAULT, **sent
        )

    @property
    def own(self) -> str:
        """What the sandbox's own client presents, which is let in from the start."""
        known = self.emulator.credentials()
        pair = f'OAuth oauth_consumer_key="{known.get("key")}", oauth_token="{known["token"]}"'
        return pair if "key" in known else known["token"]

    def ask(self, token: str) -> httpx.Response:
        """The answer to who it is that the token is of."""
        presented = token if token.startswith("OAuth ") else f"Bearer {token}"
        headers = {"Authorization": presented, **(self.dialect.headers or {})}
        return self._http.request(self.dialect.verb, f"{self._base}{self.dialect.who}", headers=headers)

    def account(self, token: str) -> str:
        """Whose account it is in."""
        found = self.ask(token).json()
        for name in self.dialect.account:
            found = found[name]
        return str(found)

    def state(self, token: str) -> int | str:
        """What a token is worth: 200, or how it is refused."""
        answer = self.ask(token)
        return answer.json().get("error", 200) if self.dialect.verb == "POST" else answer.status_code
