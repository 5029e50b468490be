"""Who let whom into which mailbox: codes, access tokens and refresh tokens."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

AUTH = "https://www.googleapis.com/auth/"
FULL = "https://mail.google.com/"
CODE_SECONDS = 600
MAX_REFRESH_TOKENS = 100
"""Living refresh tokens of one account and client; the oldest is dropped silently for one more."""

LONG_NAMES = {"email": f"{AUTH}userinfo.email", "profile": f"{AUTH}userinfo.profile"}
ISSUER = "https://accounts.google.com"


class Denied(Exception):
    """A request to the token endpoints that is not met."""

    def __init__(self, error: str, description: str = "", status: int = 400) -> None:
        super().__init__(error)
        self.status = status
        self.body = {"error": error} | ({"error_description": description} if description else {})


@dataclass(frozen=True)
class Grant:
    """What a user allowed a client."""

    address: str
    client_id: str
    scopes: tuple[str, ...]
    offline: bool = True


@dataclass(frozen=True)
class Code:
    """A consent that waits for being exchanged."""

    grant: Grant
    redirect_uri: str
    issued_at: float
    challenge: str
    challenge_method: str
    refreshable: bool


@dataclass(frozen=True)
class Access:
    """An access token's meaning; without an end it is the seeded one."""

    grant: Grant
    expires_at: float | None


class Grants:
    """Issues, reads and withdraws what lets a client in."""

    def __init__(self, random: Random, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self._random = random
        self._now = now
        self._knobs = knobs
        self._codes: dict[str, Code] = {}
        self._access: dict[str, Access] = {}
        self._refresh: dict[str, Grant] = {}
        self._suspended: set[str] = set()

    def seed(self, address: str) -> str:
        """The token that lets the sandbox's own client into that mailbox, now and always the same one."""
        token = f"ya29.a0{sha256(address.encode()).hexdigest()}"
        self._access[token] = Access(Grant(address, self._knobs["client_id"], ()), None)
        return token

    def withdraw(self, address: str) -> None:
        """Refuse every token there is of that user until it is restored."""
        self._suspended |= self._tokens(address)
        self._codes = {code: held for code, held in self._codes.items() if held.grant.address != address}

    def restore(self) -> None:
        """Take every token again that was withdrawn."""
        self._suspended.clear()

    def access(self, token: str) -> Grant | None:
        """What *token* allows, if it is alive."""
        held = self._access.get(token)
        if held is None or token in self._suspended:
            return None
        if held.expires_at is None:
            return Grant(held.grant.address, held.grant.client_id, tuple(self._knobs["token_scopes"]))
        return held.grant if self._now() < held.expires_at else None

    def seconds_left(self, token: str) -> int:
        """How long *token* still lives."""
        expires_at = self._access[token].expires_at
        return self._knobs["token_seconds"] if expires_at is None else int(expires_at - self._now())

    def consent(self, grant: Grant, wanted: Mapping[str, str]) -> str:
        """A code for *grant*, as asked for by the parameters *wanted* of the consent page."""
        if wanted.get("include_granted_scopes") == "true":
            grant = Grant(grant.address, grant.client_id, self._merged(grant), grant.offline)
        first = not self._alike(grant)
        refreshable = grant.offline and (first or "consent" in wanted.get("prompt", "").split())
        code = f"4/0A{self._noise(40)}"
        method = wanted.get("code_challenge_method", "plain")
        challenge = wanted.get("code_challenge", "")
        self._codes[code] = Code(grant, wanted["redirect_uri"], self._now(), challenge, method, refreshable)
        return code

    def exchange(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Tokens for a code, once."""
        code = self._codes.pop(given.get("code", ""), None)
        if code is None or self._now() - code.issued_at > CODE_SECONDS:
            raise Denied("invalid_grant", "Bad Request" if code else "Malformed auth code.")
        if code.grant.client_id != given.get("client_id"):
            raise Denied("unauthorized_client", "Unauthorized", 401)
        if code.redirect_uri != given.get("redirect_uri"):
            raise Denied("redirect_uri_mismatch", "Bad Request")
        _prove(code, given.get("code_verifier", ""))
        refresh = {"refresh_token": self._keep(code.grant)} if code.refreshable else {}
        return self._issue(code.grant) | refresh

    def refresh(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A new access token for a refresh token, which stays as it is."""
        token = given.get("refresh_token", "")
        grant = self._refresh.get(token)
        if grant is None or token in self._suspended:
            raise Denied("invalid_grant", "Token has been expired or revoked.")
        if grant.client_id != given.get("client_id"):
            raise Denied("unauthorized_client", "Unauthorized", 401)
        return self._issue(grant)

    def revoke(self, token: str) -> None:
        """Let nothing in any more that this token's user allowed its client."""
        held = self._access.get(token)
        grant = held.grant if held else self._refresh.get(token)
        if grant is None:
            raise Denied("invalid_token", "Token expired or revoked")
        self._access = {one: held for one, held in self._access.items() if not self._same(grant, held.grant)}
        self._refresh = {one: held for one, held in self._refresh.items() if not self._same(grant, held)}

    def _issue(self, grant: Grant) -> dict[str, Any]:
        token = f"ya29.a0{self._noise(120)}"
        seconds = self._knobs["token_seconds"]
        self._access[token] = Access(grant, self._now() + seconds)
        answer = {
            "access_token": token,
            "expires_in": seconds,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
        return answer | ({"id_token": self._identity(grant)} if "openid" in grant.scopes else {})

    def _keep(self, grant: Grant) -> str:
        token = f"1//0g{self._noise(64)}"
        self._refresh[token] = grant
        for oldest in self._alike(grant)[:-MAX_REFRESH_TOKENS]:
            del self._refresh[oldest]
        return token

    def _identity(self, grant: Grant) -> str:
        now = int(self._now())
        claims = {"iss": ISSUER, "azp": grant.client_id, "aud": grant.client_id, "sub": subject(grant.address)}
        if LONG_NAMES["email"] in grant.scopes:
            claims |= {"email": grant.address}
        return _unsigned_jwt(claims | {"email_verified": True, "iat": now, "exp": now + self._knobs["token_seconds"]})

    def _merged(self, grant: Grant) -> tuple[str, ...]:
        earlier = (scope for token in self._alike(grant) for scope in self._refresh[token].scopes)
        return tuple(dict.fromkeys([*grant.scopes, *earlier]))

    def _alike(self, grant: Grant) -> list[str]:
        living = (token for token in self._refresh if token not in self._suspended)
        return [token for token in living if self._same(grant, self._refresh[token])]

    def _tokens(self, address: str) -> set[str]:
        access = {token for token, held in self._access.items() if held.grant.address == address}
        return access | {token for token, grant in self._refresh.items() if grant.address == address}

    def _noise(self, length: int) -> str:
        return urlsafe_b64encode(self._random.randbytes(length)).decode().rstrip("=")[:length]

    @staticmethod
    def _same(grant: Grant, other: Grant) -> bool:
        return (grant.address, grant.client_id) == (other.address, other.client_id)


def subject(address: str) -> str:
    """The number that always means this account."""
    return f"1{int(sha256(address.encode()).hexdigest(), 16) % 10**20:020d}"


def _prove(code: Code, verifier: str) -> None:
    if not code.challenge:
        return
    digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    if code.challenge != (digest if code.challenge_method == "S256" else verifier):
        raise Denied("invalid_grant", "Invalid code verifier." if verifier else "Missing code verifier.")


def _unsigned_jwt(claims: Mapping[str, Any]) -> str:
    header = {"alg": "RS256", "kid": "sandbox", "typ": "JWT"}
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in (header, claims)]
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in [*parts, b"sandbox-signature"])
