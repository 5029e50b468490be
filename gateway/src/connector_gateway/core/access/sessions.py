"""Console sessions, which begin when an operator signs in with a token or a link.

A session is stored, so that signing out or revoking its operator ends it everywhere. It also ends after a period
without requests. Its cookie is signed with a key that is derived from the secret keys and the operator token, so that
changing either of them ends all sessions.

A sign-in link begins one session. Its row is stored in the table of sessions, under a digest that no session has.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from connector_gateway.core.access.operators import BUILT_IN, Operator
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.secrets.secret_keys import SecretKeys, token_digest
from connector_gateway.kit.clock import Clock
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

SESSION_SECONDS = 12 * 60 * 60.0
IDLE_SECONDS = 30 * 60.0
"""Default lifetime of a session without requests, in seconds."""

LINK_SECONDS = 10 * 60.0
"""Lifetime of a sign-in link, in seconds."""

UPDATES_PER_IDLE_TIME = 30
"""Maximum updates of ``seen_at`` within the idle time. Not every request should cost a write."""

ID_BYTES = 32
VISITOR = re.compile("[A-Za-z0-9_-]{43}")
"""``ID_BYTES`` random bytes in URL-safe Base64."""

_sessions, _operators = tables.console_sessions.c, tables.operators.c
_WITH_OPERATOR = (
    select(_sessions.expires_at, _sessions.seen_at, _operators.operator_id, _operators.name, _operators.role)
    .outerjoin_from(tables.console_sessions, tables.operators, _operators.operator_id == _sessions.operator_id)
    # A session of the built-in operator has no operator_id.
    .where(
        or_(_sessions.operator_id.is_(None), and_(_operators.operator_id.is_not(None), _operators.revoked_at.is_(None)))
    )
)
"""A query for sessions whose operator is not revoked."""


@dataclass(frozen=True, slots=True)
class Session:
    """A browser session, signed in unless it is a visitor's."""

    token: str = field(repr=False)
    """The value of the browser's cookie."""

    form_token: str = field(repr=False)
    """The CSRF token of forms rendered for this browser, unguessable for other sites."""

    operator: Operator = field(default=BUILT_IN, repr=False)
    """The operator who signed in. Meaningless for a visitor."""


class Sessions:
    """Begins, finds and ends sessions."""

    def __init__(
        self,
        database: Database,
        keys: SecretKeys,
        operator_token: str,
        clock: Clock,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._database = database
        self._idle_seconds = idle_seconds
        self._keys = [
            hmac.digest(key, operator_token.encode(), hashlib.sha256) for key in keys.derive("console").values()
        ]
        self._clock = clock

    async def begin(self, operator: Operator = BUILT_IN) -> Session:
        """Begin a session of *operator* with a new identifier."""
        identifier, row = self._new_row(operator)

        def begin(db: Connection) -> int:
            return db.execute(insert(tables.console_sessions), row).rowcount

        await self._database.write(with_audit_entry(begin, "sign_in", "console"))
        return self._session(identifier, operator)

    async def create_link(self) -> str:
        """Return a token that begins one session of the built-in operator within the next ten minutes."""
        token, expires_at = secrets.token_urlsafe(ID_BYTES), self._clock.now() + LINK_SECONDS
        row = {"digest": _link_digest(token), "expires_at": expires_at, "seen_at": expires_at}

        def create(db: Connection) -> int:
            return db.execute(insert(tables.console_sessions), row).rowcount

        await self._database.write(with_audit_entry(create, "create_sign_in_link", "console"))
        return token

    async def begin_by_link(self, token: str) -> Session | None:
        """Begin the session of a sign-in link. Returns None if the link is used, expired or unknown."""
        link = and_(_sessions.digest == _link_digest(token), _sessions.expires_at > self._clock.now())
        query, use = select(_sessions.digest).where(link), delete(tables.console_sessions).where(link)
        # Guessed tokens cost no write.
        if await self._database.read(lambda db: db.execute(query).first()) is None:
            return None
        identifier, row = self._new_row(BUILT_IN)

        def begin(db: Connection) -> int | None:
            # Only one of several concurrent uses deletes the row.
            if not db.execute(use).rowcount:
                return None
            return db.execute(insert(tables.console_sessions), row).rowcount

        created = await self._database.write(with_audit_entry(begin, "sign_in", "console", by="link"))
        return self._session(identifier, BUILT_IN) if created else None

    async def find(self, token: str, *, in_use: bool = True) -> Session | None:
        """Return the session of *token*, or None if it is invalid, ended, or its operator is revoked.

        With *in_use*, the time of use is updated.
        """
        identifier = self._identifier(token)
        if identifier is None:
            return None
        query = _WITH_OPERATOR.where(_sessions.digest == token_digest(identifier))
        row = await self._database.read(lambda db: db.execute(query).first())
        now = self._clock.now()
        if row is None or row.expires_at <= now or row.seen_at + self._idle_seconds <= now:
            return None
        if in_use and now - row.seen_at >= self._idle_seconds / UPDATES_PER_IDLE_TIME:
            set_seen_at = (
                update(tables.console_sessions).where(_sessions.digest == token_digest(identifier)).values(seen_at=now)
            )
            await self._database.write(lambda db: db.execute(set_seen_at).rowcount)
        return self._session(
            identifier, BUILT_IN if row.operator_id is None else Operator(row.name, row.role, row.operator_id)
        )

    async def end(self, session: Session) -> None:
        """End a session. Its token, and any copy of it, becomes invalid."""
        identifier = self._identifier(session.token) or b""
        forget = delete(tables.console_sessions).where(_sessions.digest == token_digest(identifier))

        def end(db: Connection) -> int | None:
            return db.execute(forget).rowcount or None

        await self._database.write(with_audit_entry(end, "sign_out", "console"))

    async def purge(self) -> int:
        """Delete a limited number of expired sessions. Returns how many."""
        now = self._clock.now()
        ended = or_(_sessions.expires_at <= now, _sessions.seen_at <= now - self._idle_seconds)
        expired = select(_sessions.digest).where(ended).limit(PURGE_STEP)
        forget = delete(tables.console_sessions).where(_sessions.digest.in_(expired))
        return await self._database.write(lambda db: db.execute(forget).rowcount)

    def visitor(self, token: str | None = None) -> Session:
        """Return the session of a visitor, who is not signed in. *token* is the browser's cookie, if it has one."""
        if token is None or not VISITOR.fullmatch(token):
            token = secrets.token_urlsafe(ID_BYTES)
        return Session(token, self._sign(b"visitor", token.encode()))

    def _new_row(self, operator: Operator) -> tuple[bytes, dict[str, Any]]:
        identifier, now = secrets.token_bytes(ID_BYTES), self._clock.now()
        return identifier, {
            "digest": token_digest(identifier),
            "expires_at": now + SESSION_SECONDS,
            "seen_at": now,
            "operator_id": operator.operator_id,
        }

    def _session(self, identifier: bytes, operator: Operator) -> Session:
        signature = hmac.digest(self._keys[0], b"session\0" + identifier, hashlib.sha256)
        token = urlsafe_b64encode(identifier + signature).decode().rstrip("=")
        return Session(token, self._sign(b"form", identifier), operator)

    def _sign(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._keys[0], purpose + b"\0" + text, hashlib.sha256).hex()

    def _identifier(self, token: str) -> bytes | None:
        """Return the identifier in *token*, or None if its signature is invalid."""
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        identifier, signature = raw[:ID_BYTES], raw[ID_BYTES:]
        # Any of the keys is accepted, so that sessions remain valid after a key rotation.
        signatures = [hmac.digest(key, b"session\0" + identifier, hashlib.sha256) for key in self._keys]
        return identifier if any(hmac.compare_digest(signature, candidate) for candidate in signatures) else None


def _link_digest(token: str) -> bytes:
    """Return the digest of a sign-in link, which differs from that of any session."""
    return token_digest(b"link\0" + token.encode(errors="replace"))
