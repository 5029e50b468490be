"""Who may call: the personal access token, and the clients that were authorised with OAuth on its pages."""

import binascii
import hashlib
import hmac
import re
import string
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from urllib.parse import unquote, urlencode, urlsplit

from aiohttp import web

from workspace_sandbox.kit.consent import Account, Box, Decision, Question, decision, fields_of, told
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.tables.state import Base, User
from workspace_sandbox.tables.wire import unauthenticated
from workspace_sandbox.tables.workspace import Workspace

TOKEN = "patQ7mWc2VxK9dLtR4.6f1c0e5a9b3d478e2f60c1d7a84b95e3f2071c6d8ba94e5f30d2716c8e9ab54f"  # noqa: S105 - opens nothing but the stand-in
CLIENT_ID = "7c1e4f02-93ab-4d58-8e6f-b20d5a7c9143"
CLIENT_SECRET = "4be1d7a0956c3f28e1b07d94a6c5f3820e9b1d47c6a8f503"  # noqa: S105 - the same
PUBLIC_CLIENT_ID = "e05b8a36-2f7d-4c19-a4d0-61f3c8b7e952"
"""A client without a secret, as applications on people's own machines are."""

CLIENTS: Mapping[str, str | None] = {CLIENT_ID: CLIENT_SECRET, PUBLIC_CLIENT_ID: None}
CODE_SECONDS = 300.0
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43,128}")
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
ALPHABET = string.ascii_letters + string.digits
MEANINGS = {
    "data.records:read": "See the data in records",
    "data.records:write": "Create, edit, and delete records",
    "data.recordComments:read": "See the comments on records",
    "data.recordComments:write": "Create, edit, and delete comments on records",
    "schema.bases:read": "See the structure of a base, like table names or field types",
    "schema.bases:write": "Create and edit the structure of a base, like new fields or tables",
    "webhook:manage": "View, create, and delete webhooks for a base",
    "user.email:read": "See your email address",
}
SCOPES = tuple(MEANINGS)


@dataclass
class OAuthRefusal(Exception):
    """A refusal in the words of RFC 6749."""

    error: str
    description: str

    @property
    def status(self) -> int:
        """Clients that are not known are unauthorised, everything else is a bad request."""
        return 401 if self.error == "invalid_client" else 400

    def body(self) -> dict[str, str]:
        """The JSON it is told with."""
        return {"error": self.error, "error_description": self.description}


@dataclass(frozen=True, slots=True)
class Access:
    """What a token opens."""

    token: str
    scopes: frozenset[str]
    user: User
    bases: frozenset[str] | None = None
    """Those that were picked; None where all are shared, later ones too."""
    client_id: str = ""
    """The client of an OAuth token."""

    @property
    def is_oauth(self) -> bool:
        """Whether a client has it by OAuth."""
        return bool(self.client_id)

    def role(self, base: Base) -> str:
        """What its user may do in *base* by it."""
        shared = self.bases is None or base.id in self.bases
        return base.role(self.user) if shared else "none"


@dataclass(slots=True)
class Grant:
    """One authorisation of a client: the tokens that are good now, and the refresh tokens that were used."""

    client_id: str
    scopes: frozenset[str]
    user: User
    bases: frozenset[str] | None = None
    access_token: str = ""
    access_until: float = 0.0
    access_scopes: frozenset[str] = frozenset()
    refresh_token: str = ""
    refresh_until: float = 0.0
    used: set[str] = field(default_factory=set)
    withdrawn: bool = False

    def opens(self, now: float) -> bool:
        """Whether its access token is good."""
        return not self.withdrawn and now < self.access_until


@dataclass(frozen=True, slots=True)
class Code:
    """What the consent page hands to the client; worth one exchange."""

    client_id: str
    redirect_uri: str
    challenge: str
    scopes: frozenset[str]
    user: User
    bases: frozenset[str] | None
    until: float


@dataclass(slots=True)
class Authorisations:
    """Everything that users have authorised, by a personal token or with OAuth."""

    stage: Stage
    workspace: Workspace
    _withdrawn: bool = False
    """Whether the personal token is."""

    _grants: list[Grant] = field(default_factory=list)
    _codes: dict[str, Code] = field(default_factory=dict)

    def authenticate(self, header: str) -> Access:
        """What the token of an ``Authorization`` header opens; refused with 401 if that is nothing."""
        kind, _, token = header.partition(" ")
        token = token.strip() if kind.casefold() == "bearer" else ""
        access = self._access(token) if token else None
        if access is None:
            raise unauthenticated(token)
        return access

    def withdraw(self, *, withdrawn: bool) -> None:
        """Take everything that is authorised away, or give it back; what is authorised later is not touched."""
        self._withdrawn = withdrawn
        self._codes.clear()
        for grant in self._grants:
            grant.withdrawn = withdrawn

    def consent(self, consent: "Consent", challenge: str, scopes: frozenset[str], decided: Decision) -> str:
        """The code for what a user has just agreed to."""
        code, until = self._secret(64), self._now() + CODE_SECONDS
        user = next((user for user in self.workspace.users if user.id == decided.account), self.workspace.users[0])
        self._codes[code] = Code(
            consent.client_id, consent.redirect_uri, challenge, scopes, user, decided.granted, until
        )
        return code

    def exchange(self, client_id: str, form: Mapping[str, str]) -> dict[str, object]:
        """The first tokens of a new grant, for a code and the verifier that only its owner knows."""
        for name in ("code", "redirect_uri", "code_verifier"):
            _need(form, name)
        code = self._codes.pop(form["code"], None)
        if code is None or code.until <= self._now():
            raise OAuthRefusal("invalid_grant", "The authorization code is invalid, expired or was used before.")
        if (code.client_id, code.redirect_uri) != (client_id, form["redirect_uri"]):
            raise OAuthRefusal("invalid_grant", "The authorization code was issued to another client or redirect_uri.")
        verifier = form["code_verifier"]
        if not VERIFIER.fullmatch(verifier) or not hmac.compare_digest(challenge_of(verifier), code.challenge):
            raise OAuthRefusal("invalid_grant", "The code_verifier does not match the code_challenge.")
        grant = Grant(client_id, code.scopes, code.user, code.bases)
        self._grants.append(grant)
        return self._issue(grant, grant.scopes)

    def refresh(self, client_id: str, form: Mapping[str, str]) -> dict[str, object]:
        """New tokens for a refresh token, which dies by it; one that was used before ends its whole grant."""
        token = _need(form, "refresh_token")
        # A refresh token that comes twice was perhaps stolen, so the vendor ends everything that came of it.
        self._grants = [grant for grant in self._grants if token not in grant.used]
        mine = (grant for grant in self._grants if (grant.refresh_token, grant.client_id) == (token, client_id))
        grant = next(mine, None)
        if grant is None or grant.withdrawn or grant.refresh_until <= self._now():
            raise OAuthRefusal("invalid_grant", "The refresh token is invalid, expired or was used before.")
        scopes = frozenset(form.get("scope", "").split()) or grant.scopes
        if not scopes <= grant.scopes:
            raise OAuthRefusal("invalid_scope", "More scopes were asked for than were granted.")
        grant.used.add(token)
        return self._issue(grant, scopes)

    def _access(self, token: str) -> Access | None:
        if not self._withdrawn and hmac.compare_digest(token.encode(), TOKEN.encode()):
            return Access(token, frozenset(self.stage.knobs["scopes"].split()), self.workspace.users[0])
        good = (grant for grant in self._grants if grant.access_token == token and grant.opens(self._now()))
        grant = next(good, None)
        return Access(token, grant.access_scopes, grant.user, grant.bases, grant.client_id) if grant else None

    def _issue(self, grant: Grant, scopes: frozenset[str]) -> dict[str, object]:
        access_seconds, refresh_seconds = (self.stage.knobs[name] for name in ("token_seconds", "refresh_seconds"))
        grant.access_token, grant.access_scopes = f"oaa{self._secret(14)}.v1.{self._secret(64)}", scopes
        grant.refresh_token = f"oar{self._secret(14)}.v1.{self._secret(64)}"
        grant.access_until = self._now() + access_seconds
        grant.refresh_until = self._now() + refresh_seconds
        return {
            "access_token": grant.access_token,
            "refresh_token": grant.refresh_token,
            "token_type": "Bearer",
            "scope": " ".join(sorted(scopes)),
            "expires_in": access_seconds,
            "refresh_expires_in": refresh_seconds,
        }

    def _now(self) -> float:
        return self.stage.clock.now()

    def _secret(self, length: int) -> str:
        return "".join(self.stage.random.choices(ALPHABET, k=length))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _need(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise OAuthRefusal("invalid_request", f"The parameter {name} is missing.")
    return form[name]


# The pages that a user is asked on, and that tokens are had from


GRANTS = {"authorization_code": Authorisations.exchange, "refresh_token": Authorisations.refresh}


@dataclass(frozen=True, slots=True)
class Consent:
    """What a client asks the user for."""

    client_id: str
    redirect_uri: str
    state: str | None

    def back(self, **given: str) -> str:
        """The address the user is sent back to, with what was *given* and the state."""
        fields = given | ({} if self.state is None else {"state": self.state})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{urlencode(fields)}"


async def authorize(authorisations: Authorisations, request: web.Request) -> web.Response:
    """The consent page; at once the way back, where approval is automatic or the request is not well made."""
    fields, knobs = await fields_of(request), authorisations.stage.knobs
    query = dict(fields)
    try:
        consent = _asked(query, knobs["redirect_uris"])
    except OAuthRefusal as refusal:
        return told("Airtable", "This request cannot be met", f"<p>{escape(refusal.description)}</p>", 400)
    try:
        scopes = _scopes(query)
    except OAuthRefusal as refusal:
        return _redirect(consent.back(**refusal.body()))
    decided = decision(fields, automatic=knobs["auto_approve"])
    # At least one base has to be picked, so the page is shown again without.
    if decided is None or (decided.allowed and decided.granted == frozenset()):
        return _question(authorisations.workspace, scopes).page(request.path, fields)
    if not decided.allowed:
        return _redirect(consent.back(error="access_denied", error_description="The user denied the request."))
    challenge = query["code_challenge"]
    code = authorisations.consent(consent, challenge, scopes, decided)
    return _redirect(consent.back(code=code, code_challenge=challenge, code_challenge_method="S256"))


async def token(authorisations: Authorisations, request: web.Request) -> web.Response:
    """Tokens for a code or a refresh token."""
    try:
        form = await _form(request)
        client_id = _client(request.headers.get("Authorization", ""), form)
        grant = GRANTS.get(form.get("grant_type", ""))
        if grant is None:
            raise OAuthRefusal("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
        return web.json_response(grant(authorisations, client_id, form), headers={"Cache-Control": "no-store"})
    except OAuthRefusal as refusal:
        return web.json_response(refusal.body(), status=refusal.status)


def _asked(query: Mapping[str, str], registered: list[str]) -> Consent:
    """Who asks, and where the user goes after; what is wrong with that is told to the user, not to the client."""
    client_id, redirect_uri = query.get("client_id", ""), query.get("redirect_uri", "")
    if client_id not in CLIENTS:
        raise OAuthRefusal("invalid_client", "The client_id is not known.")
    if urlsplit(redirect_uri).scheme not in {"http", "https"} or (registered and redirect_uri not in registered):
        raise OAuthRefusal("invalid_request", "The redirect_uri is not registered for this client.")
    return Consent(client_id, redirect_uri, query.get("state"))


def _scopes(query: Mapping[str, str]) -> frozenset[str]:
    """The scopes of a request that is otherwise well made."""
    if query.get("response_type") != "code":
        raise OAuthRefusal("unsupported_response_type", "response_type must be code.")
    # Required even of clients with a secret ("OAuth reference").
    if query.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(query.get("code_challenge", "")):
        raise OAuthRefusal("invalid_request", "A code_challenge with code_challenge_method S256 is required.")
    scopes = frozenset(query.get("scope", "").split())
    if not scopes or not scopes <= set(SCOPES):
        raise OAuthRefusal("invalid_scope", "At least one scope is required, and all must be known.")
    return scopes


async def _form(request: web.Request) -> dict[str, str]:
    if request.content_type != "application/x-www-form-urlencoded":
        raise OAuthRefusal("invalid_request", "The body must be application/x-www-form-urlencoded.")
    return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


def _client(header: str, form: Mapping[str, str]) -> str:
    """Who asks: with a secret by HTTP Basic, without one by the body."""
    if not header:
        if form.get("client_id") in CLIENTS and CLIENTS[form["client_id"]] is None:
            return form["client_id"]
        raise OAuthRefusal("invalid_client", "Client authentication failed.")
    kind, _, encoded = header.partition(" ")
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        client_id = secret = ""
    known = CLIENTS.get(unquote(client_id))
    if kind.casefold() != "basic" or known is None or not hmac.compare_digest(unquote(secret).encode(), known.encode()):
        raise OAuthRefusal("invalid_client", "Client authentication failed.")
    return unquote(client_id)


def _redirect(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


def _question(workspace: Workspace, scopes: frozenset[str]) -> Question:
    """What a user is asked; the bases are those in which they may do anything."""
    accounts = [
        Account(
            user.id,
            f"{user.name} ({user.email})",
            tuple(Box(base.id, base.name) for base in workspace.bases if base.role(user) != "none"),
        )
        for user in workspace.users
    ]
    wants = [MEANINGS[scope] for scope in sorted(scopes)]
    return Question(vendor="Airtable", app="Connector Gateway", wants=wants, accounts=accounts)
