"""Agents: keys whose clients are authorised with OAuth, and the tokens of these clients.

The grant of an agent is a key of its workspace, so that rights, quotas, rate limits, history and audit trail apply to
it. Its code lets a person authorise one client, which then has short-lived access tokens, and refresh tokens that are
replaced at each use. A second use of a code or a refresh token means that it was copied, and revokes the grant.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, insert, select, update

from connector_gateway.core.access.keys import (
    ACCESS_PREFIX,
    ApiKeys,
    Caller,
    KeyScope,
    generate_key,
    is_well_formed,
    parse_bearer,
    to_caller,
)
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight_cache import CACHE_SECONDS, MAX_ROWS, SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import InvalidApiKey
from connector_gateway.kit.identifiers import ConnectionId, KeyId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

ACCESS_SECONDS = 60 * 60
"""Seconds for which an access token is valid."""

REFRESH_SECONDS = 30 * 24 * 60 * 60
"""Seconds for which a refresh token is valid. A grant without a use for that long expires."""

REDEMPTION_SECONDS = 60
"""Seconds for which a client can redeem an authorization code."""

PREFIXES = {"code": "cgwo_", "access": ACCESS_PREFIX, "refresh": "cgwr_"}
"""Prefixes of tokens by kind, for secret scanners."""

MAX_AGENT = 300
LOOKALIKES = str.maketrans("OIL", "011", "- \t\n")

TokenKind = Literal["code", "access", "refresh"]

_keys, _tokens = tables.keys.c, tables.agent_tokens.c


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights that a person grants to a client: at most those of the code."""

    scope: KeyScope
    connection_ids: Sequence[ConnectionId] | None
    operations: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """A new pair of tokens, and the scope of the grant."""

    access: str
    refresh: str
    scope: KeyScope


@dataclass(eq=False, repr=False)
class Agents:
    """Authorises clients of agents, and issues, verifies and revokes their tokens."""

    database: Database
    keys: ApiKeys
    clock: Clock
    steady: Clock

    def __post_init__(self) -> None:
        self._callers: SingleFlight[bytes, Caller | None] = SingleFlight(self.steady, MAX_ROWS, from_start=True)

    async def authenticate(self, authorization: str | None) -> Caller:
        """Return the caller of an ``Authorization`` header with an agent's access token or an API key."""
        token = parse_bearer(authorization)
        if not token.startswith(ACCESS_PREFIX):
            return await self.keys.authenticate(authorization)
        if not is_well_formed(token, ACCESS_PREFIX):
            raise InvalidApiKey("The access token is incomplete or mistyped.")
        digest = token_digest(token)
        caller = await self._callers.get(digest, partial(self._look_up, digest), CACHE_SECONDS)
        if caller is None or (caller.expires_at or 0) <= self.clock.now():
            raise InvalidApiKey("The access token is unknown, expired or revoked.")
        self.keys.last_used.record(caller.key_id)
        return caller

    async def _look_up(self, digest: bytes) -> Caller | None:
        query = (
            select(tables.keys, _tokens.expires_at.label("token_expires_at"))
            .join(tables.agent_tokens, _tokens.key_id == _keys.key_id)
            .where(_tokens.digest == digest, _tokens.kind == "access", _keys.revoked_at.is_(None))
        )
        row = await self.database.read(lambda reading: reading.execute(query).first())
        return None if row is None else replace(to_caller(row), expires_at=min(row.expires_at, row.token_expires_at))

    # The person's part

    async def find(self, code: str) -> Row[Any] | None:
        """Return the key that *code* grants, with the name of its workspace, or None if the code is not valid."""
        workspaces = tables.workspaces
        query = (
            select(tables.keys, workspaces.c.name.label("workspace"))
            .join(workspaces, workspaces.c.workspace_id == _keys.workspace_id)
            .where(*self._unused(code))
        )
        return await self.database.read(lambda reading: reading.execute(query).first())

    async def authorise(self, code: str, client_id: str, agent: str, rights: Rights, request: Any) -> str | None:
        """Grant *rights* to a client, and return an authorization code that is bound to *request*.

        Returns None if *code* is no longer valid. *agent* is the name of the client for people.
        """
        found = await self.find(code)
        if found is None:
            return None
        until, issued = self.clock.now() + REDEMPTION_SECONDS, _generate("code")
        use = update(tables.keys).where(*self._unused(code))
        use = use.values(
            # From now on no secret authenticates the key itself.
            digest=secrets.token_bytes(32),
            agent=agent[:MAX_AGENT],
            name=found.name or agent[:200],
            scope=rights.scope,
            connection_ids=None if rights.connection_ids is None else list(rights.connection_ids),
            operations=None if rights.operations is None else list(rights.operations),
            expires_at=until,
        )

        def authorise(writing: Connection) -> str | None:
            if not writing.execute(use).rowcount:
                return None
            _insert(
                writing, "code", issued, key_id=found.key_id, client_id=client_id, expires_at=until, request=request
            )
            return issued

        return await self.database.write(
            with_audit_entry(authorise, "authorise_agent", found.key_id, found.workspace_id)
        )

    def _unused(self, code: str) -> Sequence[Any]:
        digest = token_digest(normalise_code(code))
        return (
            _keys.digest == digest,
            _keys.agent == "",
            _keys.revoked_at.is_(None),
            _keys.expires_at > self.clock.now(),
        )

    # The client's part

    async def load(self, kind: TokenKind, token: str, client_id: str | None = None) -> Row[Any] | None:
        """Return the row of a valid token, with the scope of its grant. Tokens of another client are not found.

        A used token revokes the grant.
        """
        if not is_well_formed(token, PREFIXES[kind]):
            return None
        query = (
            select(tables.agent_tokens, _keys.scope)
            .join(tables.keys, _tokens.key_id == _keys.key_id)
            .where(_tokens.digest == token_digest(token), _tokens.kind == kind)
            .where(_tokens.expires_at > self.clock.now(), _keys.revoked_at.is_(None))
        )
        if client_id is not None:
            query = query.where(_tokens.client_id == client_id)
        row = await self.database.read(lambda reading: reading.execute(query).first())
        if row is not None and row.used_at is not None:
            await self.keys.revoke(row.key_id)
            return None
        return row

    async def exchange(self, row: Row[Any]) -> IssuedTokens | None:
        """Exchange a code or a refresh token for new tokens. Returns None if the grant has ended.

        Of concurrent exchanges of one token, the second revokes the grant.
        """
        now, issued = self.clock.now(), IssuedTokens(_generate("access"), _generate("refresh"), row.scope)
        use = update(tables.agent_tokens).where(_tokens.digest == row.digest, _tokens.used_at.is_(None))
        active = _keys.key_id == row.key_id, _keys.revoked_at.is_(None), _keys.expires_at > now
        extend = update(tables.keys).where(*active).values(expires_at=now + REFRESH_SECONDS)

        pair: Sequence[tuple[TokenKind, str, int]] = [
            ("access", issued.access, ACCESS_SECONDS),
            ("refresh", issued.refresh, REFRESH_SECONDS),
        ]

        def exchange(writing: Connection) -> Literal["issued", "ended", "used"]:
            if not writing.execute(use.values(used_at=now)).rowcount:
                return "used"
            if not writing.execute(extend).rowcount:
                return "ended"
            for kind, token, seconds in pair:
                _insert(writing, kind, token, key_id=row.key_id, client_id=row.client_id, expires_at=now + seconds)
            return "issued"

        outcome = await self.database.write(exchange)
        if outcome == "used":
            await self.revoke(row.key_id)
        return issued if outcome == "issued" else None

    async def revoke(self, key_id: str) -> None:
        """Revoke the grant of an agent, and with it all its tokens: in all processes within seconds."""
        await self.keys.revoke(KeyId(key_id))

    async def purge(self) -> int:
        """Delete a bounded number of expired tokens, and of grants whose code was not used. Returns how many."""
        now = self.clock.now()
        expired = select(_tokens.digest).where(_tokens.expires_at <= now).limit(PURGE_STEP)
        unused = select(_keys.key_id).where(_keys.agent == "", _keys.expires_at <= now).limit(PURGE_STEP)

        def purge(writing: Connection) -> int:
            tokens = writing.execute(delete(tables.agent_tokens).where(_tokens.digest.in_(expired))).rowcount
            return tokens + writing.execute(delete(tables.keys).where(_keys.key_id.in_(unused))).rowcount

        return await self.database.write(purge)


def normalise_code(code: str) -> str:
    """Return a code as it was issued, however a person typed it."""
    characters = code.upper().translate(LOOKALIKES)
    return "-".join(characters[start : start + 5] for start in range(0, len(characters), 5))


def _generate(kind: TokenKind) -> str:
    return generate_key(PREFIXES[kind])


def _insert(writing: Connection, kind: TokenKind, token: str, **values: Any) -> None:
    row = {"digest": token_digest(token), "kind": kind, "request": None}
    writing.execute(insert(tables.agent_tokens), row | values)
