"""Who may call: the token of the service key, and the applications that were authorised with OAuth."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workspace_sandbox.crm.directory import Account
from workspace_sandbox.crm.values import timestamp
from workspace_sandbox.crm.wire import (
    GrantRejection,
    expired,
    missing_scopes,
    unauthenticated,
)
from workspace_sandbox.kit.stage import Stage

SERVICE_KEY = "pat-eu1-5c1f3a52-07de-4b8a-9e64-2f6bd1c0a97e"
CODE_SECONDS = 300.0
ACCESS_TOKEN_BYTES = 240
"""Written in base64, that is more than 300 characters."""

SCOPES = (
    *("oauth", "crm.objects.contacts.read", "crm.objects.contacts.write", "crm.objects.companies.read"),
    *("crm.objects.companies.write", "crm.objects.deals.read", "crm.objects.deals.write", "crm.objects.owners.read"),
    *("crm.schemas.contacts.read", "crm.schemas.companies.read", "crm.schemas.deals.read"),
    *("crm.schemas.contacts.write", "crm.schemas.companies.write", "crm.schemas.deals.write"),
    *("tickets", "crm.objects.products.read", "crm.objects.products.write", "crm.schemas.products.write"),
    *("crm.objects.line_items.read", "crm.objects.line_items.write", "crm.schemas.line_items.write"),
    *("crm.lists.read", "crm.lists.write"),
)
"""What the portal grants when asked for it."""


@dataclass(slots=True)
class Grant:
    """One authorisation of one application; dead once its refresh token was revoked."""

    client_id: str
    scopes: tuple[str, ...]
    refresh_token: str
    account: Account
    alive: bool = True
    withdrawn: bool = False
    """Uninstalled by a user, who may install it again."""

    @property
    def opens(self) -> bool:
        """Whether it is good for anything."""
        return self.alive and not self.withdrawn


@dataclass(slots=True)
class Access:
    """One access token; the service key has no grant and never expires."""

    token: str
    app: str
    scopes: tuple[str, ...]
    account: Account
    grant: Grant | None = None
    expires_at: float | None = None
    alive: bool = True

    def require(self, scopes: tuple[str, ...]) -> None:
        """Refuse, unless one of *scopes* was granted."""
        if not set(scopes) & set(self.scopes):
            raise missing_scopes(scopes)


@dataclass(slots=True)
class Code:
    """What the consent page hands to the application; worth one exchange."""

    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...]
    expires_at: float
    account: Account
    challenge: str | None = None


@dataclass
class Grants:
    """Every authorisation of the portals that one user has; the first is that of the service key."""

    stage: Stage
    accounts: Sequence[Account] = (Account(),)
    _withdrawn: bool = False
    """Whether the service key is."""

    _codes: dict[str, Code] = field(default_factory=dict)
    _accesses: dict[str, Access] = field(default_factory=dict)
    _grants: dict[str, Grant] = field(default_factory=dict)

    def authenticate(self, header: str) -> Access:
        """The access that an ``Authorization`` header stands for; refused with 401 if it has none."""
        scheme, _, token = header.partition(" ")
        access = self.access(token.strip())
        if scheme.lower() != "bearer" or access is None:
            raise unauthenticated()
        # Checked after everything else, since expired tokens and unknown ones have different categories.
        late = self.stage.clock.now() - access.expires_at if access.expires_at is not None else -1.0
        if late >= 0 and access.expires_at is not None:
            raise expired(int(late), timestamp(access.expires_at))
        return access

    def access(self, token: str) -> Access | None:
        """The access of *token*, expired ones included, if nobody has withdrawn it."""
        if token == SERVICE_KEY:
            key = Access(token, "service-key", tuple(self.stage.knobs["scopes"]), self.accounts[0])
            return None if self._withdrawn else key
        access = self._accesses.get(token)
        if access is None or not access.alive or not (access.grant and access.grant.opens):
            return None
        return access

    def grant(self, refresh_token: str) -> Grant | None:
        """The living grant of that refresh token."""
        grant = self._grants.get(refresh_token)
        return grant if grant and grant.opens else None

    def withdraw(self, *, withdrawn: bool) -> None:
        """Take everything that is installed away, or give it back; what is installed later is not touched."""
        self._withdrawn = withdrawn
        self._codes.clear()
        for grant in self._grants.values():
            grant.withdrawn = withdrawn

    def consent(self, asked: Mapping[str, str], chosen: str) -> str:
        """The code for what a user has just agreed to, for the portal of the *chosen* id."""
        code = self._uuid("eu1-")
        # What the portal does not have is left out without a word. The token's answer lists what was granted.
        wanted = f"{asked.get('scope', '')} {asked.get('optional_scope', '')}".split()
        scopes = tuple(scope for scope in dict.fromkeys(["oauth", *wanted]) if scope in self.stage.knobs["scopes"])
        expires_at = self.stage.clock.now() + CODE_SECONDS
        challenge = asked.get("code_challenge")
        account = next((one for one in self.accounts if str(one.portal_id) == chosen), self.accounts[0])
        self._codes[code] = Code(asked["client_id"], asked["redirect_uri"], scopes, expires_at, account, challenge)
        return code

    def exchange(self, form: Mapping[str, str]) -> Access:
        """The first access token of a new grant, for a code."""
        code = self._codes.pop(form.get("code", ""), None)
        if code is None or code.client_id != form.get("client_id"):
            raise GrantRejection("invalid_grant", "BAD_AUTH_CODE", "missing or unknown auth code")
        if self.stage.clock.now() >= code.expires_at:
            raise GrantRejection("invalid_grant", "EXPIRED_AUTH_CODE", "auth code has expired")
        if code.redirect_uri != form.get("redirect_uri"):
            message = "redirect_uri does not match the one the code was issued for"
            raise GrantRejection("invalid_grant", "MISMATCH_REDIRECT_URI_AUTH_CODE", message)
        if code.challenge is not None and code.challenge != challenge_of(form.get("code_verifier", "")):
            raise GrantRejection("invalid_grant", "BAD_CODE_VERIFIER", "code_verifier does not match code_challenge")
        grant = Grant(code.client_id, code.scopes, self._uuid("eu1-"), code.account)
        self._grants[grant.refresh_token] = grant
        return self._issue(grant)

    def refresh(self, form: Mapping[str, str]) -> Access:
        """A new access token of a living grant; the refresh token stays the same."""
        # HubSpot's refresh tokens stay the same when they are used. None of its pages promises that, however.
        grant = self.grant(form.get("refresh_token", ""))
        if grant is None or grant.client_id != form.get("client_id"):
            message = "refresh token is invalid, expired or revoked"
            raise GrantRejection("invalid_grant", "BAD_REFRESH_TOKEN", message)
        return self._issue(grant)

    def revoke(self, token: str) -> None:
        """Withdraw a refresh token with all that came of it, or one access token; unknown ones are no fault."""
        if grant := self._grants.get(token):
            grant.alive = False
        if access := self._accesses.get(token):
            access.alive = False

    def _issue(self, grant: Grant) -> Access:
        token = "CK" + urlsafe_b64encode(self.stage.random.randbytes(ACCESS_TOKEN_BYTES)).decode()
        expires_at = self.stage.clock.now() + float(self.stage.knobs["token_seconds"])
        access = Access(token, grant.client_id, grant.scopes, grant.account, grant, expires_at)
        self._accesses[token] = access
        return access

    def _uuid(self, prefix: str) -> str:
        digits = f"{self.stage.random.getrandbits(128):032x}"
        return prefix + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
