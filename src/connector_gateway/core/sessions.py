"""Sessions of the console: what a browser holds after the operator token was entered in it.

A session is stored, so that signing out ends it everywhere. What the browser holds is signed with a key that depends on
the operator token too: whoever changes that, or the secret keys, ends all sessions.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select

from connector_gateway.core.retention import PURGE_STEP
from connector_gateway.core.secrets import SecretKeys, digest
from connector_gateway.kit.clock import Clock
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

SESSION_SECONDS = 12 * 60 * 60.0
ID_BYTES = 32
VISITOR = re.compile("[A-Za-z0-9_-]{43}")
"""As many random bytes in url-safe base 64."""

_sessions = tables.console_sessions.c


@dataclass(frozen=True, slots=True)
class Session:
    """A browser in which somebody signed in."""

    token: str = field(repr=False)
    """What the browser holds."""

    form_token: str = field(repr=False)
    """What forms carry that this browser was shown; no other site can know it."""


class Sessions:
    """Begins, recognises and ends sessions."""

    def __init__(self, database: Database, keys: SecretKeys, operator_token: str, clock: Clock) -> None:
        self._database = database
        self._keys = [
            hmac.digest(key, operator_token.encode(), hashlib.sha256) for key in keys.derive("console").values()
        ]
        self._clock = clock

    async def begin(self) -> Session:
        """A new session, with an identifier that nobody knew before."""
        identifier = secrets.token_bytes(ID_BYTES)
        row = {"digest": digest(identifier), "expires_at": self._clock.now() + SESSION_SECONDS}
        await self._database.put(insert(tables.console_sessions), row)
        return self._session(identifier)

    async def find(self, token: str) -> Session | None:
        """The session of a browser that holds *token*; None if it is forged, ended or expired."""
        identifier = self._identifier(token)
        if identifier is None:
            return None
        query = select(_sessions.expires_at).where(_sessions.digest == digest(identifier))
        expires_at = await self._database.read(lambda reading: reading.execute(query).scalar())
        return self._session(identifier) if expires_at is not None and expires_at > self._clock.now() else None

    async def end(self, session: Session) -> None:
        """End a session: what the browser holds is worthless from now on, and so is any copy."""
        identifier = self._identifier(session.token) or b""
        forget = delete(tables.console_sessions).where(_sessions.digest == digest(identifier))
        await self._database.write(lambda writing: writing.execute(forget).rowcount)

    async def purge(self) -> int:
        """Delete a step of the sessions that have expired; returns how many."""
        expired = select(_sessions.digest).where(_sessions.expires_at <= self._clock.now()).limit(PURGE_STEP)
        forget = delete(tables.console_sessions).where(_sessions.digest.in_(expired))
        return await self._database.write(lambda writing: writing.execute(forget).rowcount)

    def visitor(self, token: str | None = None) -> Session:
        """Who has not signed in: *token* is what the browser was given with the form, if it was."""
        if token is None or not VISITOR.fullmatch(token):
            token = secrets.token_urlsafe(ID_BYTES)
        return Session(token, self._sign(b"visitor", token.encode()))

    def _session(self, identifier: bytes) -> Session:
        signature = hmac.digest(self._keys[0], b"session\0" + identifier, hashlib.sha256)
        token = urlsafe_b64encode(identifier + signature).decode().rstrip("=")
        return Session(token, self._sign(b"form", identifier))

    def _sign(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._keys[0], purpose + b"\0" + text, hashlib.sha256).hex()

    def _identifier(self, token: str) -> bytes | None:
        """The identifier in *token*, if it was signed here."""
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        identifier, signature = raw[:ID_BYTES], raw[ID_BYTES:]
        # By any of the keys, so that nobody is signed out when a new one is put first.
        signed = [hmac.digest(key, b"session\0" + identifier, hashlib.sha256) for key in self._keys]
        return identifier if any(hmac.compare_digest(signature, one) for one in signed) else None
