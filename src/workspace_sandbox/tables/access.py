"""Who may call: the personal access token, and the clients that were authorised with OAuth."""

import hashlib
import hmac
import re
import string
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.tables.refusals import unauthenticated

TOKEN = "patQ7mWc2VxK9dLtR4.6f1c0e5a9b3d478e2f60c1d7a84b95e3f2071c6d8ba94e5f30d2716c8e9ab54f"  # noqa: S105 - opens nothing but the stand-in
CLIENT_ID = "7c1e4f02-93ab-4d58-8e6f-b20d5a7c9143"
CLIENT_SECRET = "4be1d7a0956c3f28e1b07d94a6c5f3820e9b1d47c6a8f503"  # noqa: S105 - the same
PUBLIC_CLIENT_ID = "e05b8a36-2f7d-4c19-a4d0-61f3c8b7e952"
"""A client without a secret, as applications on people's own machines are."""

CLIENTS: Mapping[str, str | None] = {CLIENT_ID: CLIENT_SECRET, PUBLIC_CLIENT_ID: None}
SCOPES = ("data.records:read", "data.records:write", "schema.bases:read", "user.email:read")
CODE_SECONDS = 300.0
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43,128}")
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
ALPHABET = string.ascii_letters + string.digits


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
    is_oauth: bool = False


@dataclass(slots=True)
class Grant:
    """One authorisation of a client: the tokens that are good now, and the refresh tokens that were used."""

    client_id: str
    scopes: frozenset[str]
    access_token: str = ""
    access_until: float = 0.0
    access_scopes: frozenset[str] = frozenset()
    refresh_token: str = ""
    refresh_until: float = 0.0
    used: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Code:
    """What the consent page hands to the client; worth one exchange."""

    client_id: str
    redirect_uri: str
    challenge: str
    scopes: frozenset[str]
    until: float


@dataclass(slots=True)
class Authorisations:
    """Everything the user has authorised; ``connected`` is taken away and given back as a whole."""

    stage: Stage
    connected: bool = True
    _grants: list[Grant] = field(default_factory=list)
    _codes: dict[str, Code] = field(default_factory=dict)

    def authenticate(self, header: str) -> Access:
        """What the token of an ``Authorization`` header opens; refused with 401 if that is nothing."""
        kind, _, token = header.partition(" ")
        token = token.strip() if kind.casefold() == "bearer" else ""
        access = self._access(token) if token and self.connected else None
        if access is None:
            raise unauthenticated(token)
        return access

    def consent(self, client_id: str, redirect_uri: str, challenge: str, scopes: frozenset[str]) -> str:
        """The code for what a user has just agreed to."""
        code = self._secret(64)
        self._codes[code] = Code(client_id, redirect_uri, challenge, scopes, self._now() + CODE_SECONDS)
        return code

    def exchange(self, client_id: str, form: Mapping[str, str]) -> dict[str, object]:
        """The first tokens of a new grant, for a code and the verifier that only its owner knows."""
        for name in ("code", "redirect_uri", "code_verifier"):
            _need(form, name)
        code = self._codes.pop(form["code"], None)
        if code is None or code.until <= self._now() or not self.connected:
            raise OAuthRefusal("invalid_grant", "The authorization code is invalid, expired or was used before.")
        if (code.client_id, code.redirect_uri) != (client_id, form["redirect_uri"]):
            raise OAuthRefusal("invalid_grant", "The authorization code was issued to another client or redirect_uri.")
        verifier = form["code_verifier"]
        if not VERIFIER.fullmatch(verifier) or not hmac.compare_digest(challenge_of(verifier), code.challenge):
            raise OAuthRefusal("invalid_grant", "The code_verifier does not match the code_challenge.")
        grant = Grant(client_id, code.scopes)
        self._grants.append(grant)
        return self._issue(grant, grant.scopes)

    def refresh(self, client_id: str, form: Mapping[str, str]) -> dict[str, object]:
        """New tokens for a refresh token, which dies by it; one that was used before ends its whole grant."""
        token = _need(form, "refresh_token")
        self._grants = [grant for grant in self._grants if token not in grant.used]
        mine = (grant for grant in self._grants if (grant.refresh_token, grant.client_id) == (token, client_id))
        grant = next(mine, None)
        if grant is None or grant.refresh_until <= self._now() or not self.connected:
            raise OAuthRefusal("invalid_grant", "The refresh token is invalid, expired or was used before.")
        scopes = frozenset(form.get("scope", "").split()) or grant.scopes
        if not scopes <= grant.scopes:
            raise OAuthRefusal("invalid_scope", "More scopes were asked for than were granted.")
        grant.used.add(token)
        return self._issue(grant, scopes)

    def _access(self, token: str) -> Access | None:
        if hmac.compare_digest(token.encode(), TOKEN.encode()):
            return Access(token, frozenset(self.stage.knobs["scopes"].split()))
        good = (grant for grant in self._grants if grant.access_token == token and grant.access_until > self._now())
        return next((Access(token, grant.access_scopes, is_oauth=True) for grant in good), None)

    def _issue(self, grant: Grant, scopes: frozenset[str]) -> dict[str, object]:
        access_seconds, refresh_seconds = (self.stage.knobs[name] for name in ("access_seconds", "refresh_seconds"))
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
