"""API keys and their callers. A key is returned only when it is created, and only its hash is stored."""

import hmac
import secrets
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, bindparam, func, insert, or_, select, update

from connector_gateway.core.access.last_used import LastUsed
from connector_gateway.core.access.quotas import DEFAULT_QUOTAS, check_quota
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight_cache import CACHE_SECONDS, MAX_ROWS, SingleFlight
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors.suggestions import SUGGESTION_KEY, closest_match
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId, ulid
from connector_gateway.kit.models import format_timestamp
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

KeyScope = Literal["read", "read_write"]
MentionRule = Literal["allow", "neutralise"]
NEUTRALISE: MentionRule = "neutralise"
"""The rule of a key, or the preference of a call, that mentions in written texts send no notifications."""

PREFIX = "cgw_"
SECRET_LENGTH = 43
"""Characters of 32 random bytes in URL-safe Base64. A checksum of six hexadecimal digits follows."""

CODE_SECONDS = 10 * 60.0
"""Seconds for which the code of an agent is valid."""

CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The characters of codes: Crockford's Base32, without letters that look like others."""

ACCESS_PREFIX = "cgwa_"
"""The prefix of agents' access tokens, which only the MCP endpoint accepts."""

CALLS_PER_MINUTE = 120

MAX_REPORTED_NAMES = 10
"""Maximum unknown operations that an error message names."""

_keys = tables.keys.c


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of an API key: its workspace, scope and restrictions."""

    key_id: KeyId
    workspace_id: WorkspaceId
    scope: KeyScope
    calls_per_minute: int
    connection_ids: frozenset[ConnectionId] | None
    expires_at: float | None
    manages_connections: bool = False
    operations: tuple[str, ...] | None = None
    """Allowed operations by name, such as ``notes_create_page``, or by pattern. None allows all."""

    mentions: MentionRule | None = None
    """The rule for mentions of people in written texts. Without a rule, the surface and the call decide."""

    passthrough: bool = False
    """Whether the key may send requests of its own to vendors' APIs."""

    confirm: tuple[str, ...] = ()
    """Writes that a person has to confirm, by name or by pattern."""

    def check_allowed(self, connector: str, operation: AnyOperation) -> None:
        """Raise an error if the key's scope, permissions or list of operations do not include *operation*."""
        if operation.permission is not None and not self.passthrough:
            raise errors.OperationNotAllowed(
                "This key may not send requests of its own to vendors.",
                {"permission": operation.permission},
                remedy="Use a key with the permission passthrough. An operator can create one with {create_key}.",
            )
        if operation.permission is None and operation.scope == "write" and self.scope == "read":
            raise errors.WriteScopeRequired("This key may only read.")
        if self.operations is None:
            return
        name = f"{connector}_{operation.name}"
        if not any(fnmatchcase(name, pattern) for pattern in self.operations):
            raise errors.OperationNotAllowed(f"This key may not call {name}.", {"allowed": list(self.operations)})

    def allows(self, connector: str, operation: AnyOperation) -> bool:
        """Return True if the key is allowed to call *operation*."""
        try:
            self.check_allowed(connector, operation)
        except errors.CallerError:
            return False
        return True

    def must_confirm(self, connector: str, operation: AnyOperation) -> bool:
        """Return True if a person has to confirm calls of *operation*."""
        if not self.confirm or operation.scope == "read":
            return False
        return any(fnmatchcase(f"{connector}_{operation.name}", pattern) for pattern in self.confirm)

    def may_use(self, connection_id: ConnectionId) -> bool:
        """Return True unless the key is limited to other connections."""
        return self.connection_ids is None or connection_id in self.connection_ids


@dataclass(eq=False, repr=False)
class ApiKeys:
    """Creates, authenticates and revokes API keys. Look-ups are cached for seconds of the *steady* clock."""

    database: Database
    clock: Clock
    steady: Clock | None = None
    operations: Collection[str] = field(kw_only=True, default=())
    """The names of all operations to which keys can be limited."""

    quota: int = field(kw_only=True, default=DEFAULT_QUOTAS.keys)

    def __post_init__(self) -> None:
        self._callers: SingleFlight[bytes, Caller | None] = SingleFlight(
            self.steady or self.clock, MAX_ROWS, from_start=True
        )
        self.last_used = LastUsed(self.database, tables.keys, self.clock)

    async def authenticate(self, authorization: str | None) -> Caller:
        """Return the caller of an ``Authorization`` header."""
        key = parse_bearer(authorization)
        digest = token_digest(key)
        caller = self._callers.peek(digest)
        if caller is None:
            caller = await self._callers.get(digest, partial(self._look_up, key, digest), CACHE_SECONDS)
        # Cached callers are checked too, because their keys can expire while they are cached.
        if caller is None:
            raise errors.InvalidApiKey("The API key is unknown or revoked.")
        if caller.expires_at is not None and caller.expires_at <= self.clock.now():
            raise errors.InvalidApiKey(f"The API key expired at {format_timestamp(utc_datetime(caller.expires_at))}.")
        self.last_used.record(caller.key_id)
        return caller

    def _check_expiry(self, expires_at: float | None) -> None:
        """Raise ``InvalidParameters`` if a new key would already be expired."""
        if expires_at is not None and expires_at <= self.clock.now():
            raise errors.InvalidParameters(
                "The key would already be expired.",
                {
                    "parameter": "expires_at",
                    "message": "Should be in the future",
                    "value": format_timestamp(utc_datetime(expires_at)),
                },
            )

    async def create(
        self,
        workspace_id: WorkspaceId,
        scope: KeyScope,
        *,
        name: str = "",
        calls_per_minute: int = CALLS_PER_MINUTE,
        connection_ids: Sequence[ConnectionId] | None = None,
        expires_at: float | None = None,
        manages_connections: bool = False,
        operations: Sequence[str] | None = None,
        mentions: MentionRule | None = None,
        passthrough: bool = False,
        confirm: Sequence[str] | None = None,
        for_agent: bool = False,
    ) -> dict[str, Any]:
        """Create a key. Only this result contains the ``key`` itself.

        A key *for_agent* is a grant without a secret. Its ``agent_code`` can be used once, until the key expires.
        """
        _check_rights(connection_ids, manages_connections=manages_connections)
        _check_mentions(mentions, passthrough=passthrough)
        _check_operations("operations", operations or (), self.operations)
        _check_operations("confirm", confirm or (), self.operations)
        self._check_expiry(expires_at)
        secret, now = generate_code() if for_agent else generate_key(), self.clock.now()
        row: dict[str, Any] = {
            "key_id": f"key_{ulid()}",
            "workspace_id": workspace_id,
            "digest": token_digest(secret),
            "ending": "" if for_agent else secret[-4:],
            "name": name,
            "scope": scope,
            "calls_per_minute": calls_per_minute,
            "connection_ids": None if connection_ids is None else list(connection_ids),
            "created_at": now,
            "expires_at": now + CODE_SECONDS if for_agent else expires_at,
            "revoked_at": None,
            "last_used_at": None,
            "manages_connections": manages_connections,
            "operations": None if operations is None else list(operations),
            "mentions": mentions,
            "passthrough": passthrough,
            "confirm": None if confirm is None else list(confirm),
            "agent": "" if for_agent else None,
        }

        def create(connection: Connection) -> Mapping[str, Any]:
            check_quota(connection, workspace_id, "keys", self.quota, _count_query(workspace_id, now))
            connection.execute(insert(tables.keys), row)
            return row

        work = with_audit_entry(
            create,
            "create_agent_code" if for_agent else "create_key",
            row["key_id"],
            scope=scope,
            manages_connections=manages_connections,
            passthrough=passthrough,
        )
        await self.database.write(work)
        return {"agent_code" if for_agent else "key": secret} | _public(row)

    def limit_rights(self, rights: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Return *rights* for a new key, limited to those of *caller*.

        Raises ``InvalidParameters`` if none of the requested operations remains.
        """
        requested, operations = rights["operations"] or ["*"], rights["operations"]
        if caller.operations is not None:
            names = [name for name in self.operations if any(fnmatchcase(name, pattern) for pattern in requested)]
            operations = [name for name in names if any(fnmatchcase(name, pattern) for pattern in caller.operations)]
        if operations == []:
            raise errors.InvalidParameters(
                "This key may call none of the operations.",
                {"parameter": "operations", "value": requested, "allowed": list(caller.operations or ())},
            )
        return {
            **rights,
            "scope": "read" if caller.scope == "read" else rights["scope"],
            "operations": operations,
            "calls_per_minute": min(rights["calls_per_minute"], caller.calls_per_minute),
            "confirm": sorted({*caller.confirm, *(rights["confirm"] or ())}) or None,
            "mentions": NEUTRALISE if caller.mentions == NEUTRALISE else rights["mentions"],
        }

    async def page(
        self, workspace_id: WorkspaceId | None, before: str | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], str | None]:
        """Return keys older than *before*, newest first, and the next *before* or None."""
        query = select(tables.keys).order_by(_keys.key_id.desc()).limit(limit + 1)
        if workspace_id is not None:
            query = query.where(_keys.workspace_id == workspace_id)
        if before is not None:
            query = query.where(_keys.key_id < before)
        rows = await self.database.read(lambda db: db.execute(query).mappings().all())
        keys = [_public(self.last_used.apply(row)) for row in rows[:limit]]
        return keys, keys[-1]["key_id"] if len(rows) > limit else None

    async def show(self, key_id: str) -> dict[str, Any]:
        """Return the public fields of one key."""
        query = select(tables.keys).where(_keys.key_id == key_id)
        row = await self.database.read(lambda db: db.execute(query).mappings().first())
        if row is None:
            raise _not_found(key_id)
        return _public(self.last_used.apply(row))

    async def identify(self, key: str) -> KeyId | None:
        """Return the identifier of *key*, even if revoked, or None if it is not a key of this installation."""
        query = select(_keys.key_id).where(_keys.digest == token_digest(key))
        return await self.database.read(lambda db: db.execute(query).scalar()) if is_well_formed(key) else None

    async def revoke(self, key_id: KeyId) -> dict[str, Any]:
        """Revoke a key: immediately in this process, within seconds in others."""
        revoke = (
            update(tables.keys)
            .where(tables.keys.c.key_id == key_id)
            # A repeated revocation retains the time of the first one.
            .values(revoked_at=func.coalesce(tables.keys.c.revoked_at, self.clock.now()))
            .returning(*tables.keys.c)
        )

        def update_row(db: Connection) -> Mapping[Any, Any] | None:
            return db.execute(revoke).mappings().first()

        row = await self.database.write(with_audit_entry(update_row, "revoke_key", key_id))
        if row is None:
            raise _not_found(key_id)
        # Other processes use their cached callers for up to three seconds.
        self._callers.forget(row["digest"])
        return _public(self.last_used.apply(row))

    async def _look_up(self, key: str, digest: bytes) -> Caller | None:
        # The checksum avoids database look-ups of guesses and typing errors.
        if not is_well_formed(key):
            raise errors.InvalidApiKey(_malformed_key_message(key))
        row = await self.database.read(lambda connection: connection.execute(UNREVOKED, {"_digest": digest}).first())
        if row is None or not hmac.compare_digest(row.digest, digest):
            return None
        return to_caller(row)


UNREVOKED = select(tables.keys).where(_keys.digest == bindparam("_digest"), _keys.revoked_at.is_(None))


def _count_query(workspace_id: str, now: float) -> Select[Any]:
    query = select(func.count()).select_from(tables.keys)
    lasting = or_(_keys.expires_at.is_(None), _keys.expires_at > now)
    return query.where(_keys.workspace_id == workspace_id, _keys.revoked_at.is_(None), lasting)


def _not_found(key_id: str) -> errors.KeyNotFound:
    return errors.KeyNotFound(f"There is no key {truncate(key_id)}.", {"parameter": "key_id", "value": key_id})


def generate_key(prefix: str = PREFIX) -> str:
    """Return a new key: a prefix for secret scanners, 43 random characters, and a checksum against typing errors."""
    body = prefix + secrets.token_urlsafe(32)
    return body + _checksum(body)


def generate_code() -> str:
    """Return a code that a person can copy: four groups of five characters, 100 random bits."""
    return "-".join("".join(secrets.choice(CODE_ALPHABET) for _ in range(5)) for _ in range(4))


def is_well_formed(key: str, prefix: str = PREFIX) -> bool:
    """Return True if *key* has the format and checksum of a key. It can still be unknown."""
    body = key[: len(prefix) + SECRET_LENGTH]
    return key.isascii() and body.startswith(prefix) and key == body + _checksum(body)


def parse_bearer(authorization: str | None) -> str:
    """Return the token of an ``Authorization: Bearer`` header. Raises ``MissingApiKey`` if there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise errors.MissingApiKey(_missing_key_message(scheme, token))
    return token.strip()


def _missing_key_message(scheme: str, token: str) -> str:
    """Explain why a header contains no key, without quoting it."""
    if not scheme:
        return "The request has no API key."
    if scheme.lower() == "bearer":
        return "The Authorization header has no API key after the word Bearer."
    if not token:
        return "The Authorization header lacks the word Bearer before the API key."
    return "The Authorization header does not begin with the word Bearer."


def _malformed_key_message(key: str) -> str:
    """Explain why *key* is malformed, without quoting it."""
    if key.lower().startswith("bearer "):
        return "The word Bearer occurs twice before the API key."
    if key.startswith(PREFIX):
        return "The API key is incomplete or mistyped."
    if key.startswith(ACCESS_PREFIX):
        return "This is an access token of an agent, which only /mcp accepts."
    return f"This is not an API key of this gateway. Its keys begin with {PREFIX}."


def _checksum(body: str) -> str:
    return f"{zlib.crc32(body.encode()) & 0xFFFFFF:06x}"


def to_caller(row: Row[Any]) -> Caller:
    """Return the caller of a row with the columns of ``keys``."""
    return Caller(
        key_id=row.key_id,
        workspace_id=row.workspace_id,
        scope=row.scope,
        calls_per_minute=row.calls_per_minute,
        connection_ids=None if row.connection_ids is None else frozenset(row.connection_ids),
        expires_at=row.expires_at,
        manages_connections=row.manages_connections,
        operations=None if row.operations is None else tuple(row.operations),
        mentions=row.mentions,
        passthrough=bool(row.passthrough),
        confirm=tuple(row.confirm or ()),
    )


def _check_rights(connection_ids: Sequence[ConnectionId] | None, *, manages_connections: bool) -> None:
    """Raise ``InvalidParameters`` for a key that could create connections but not use them."""
    if manages_connections and connection_ids is not None:
        raise errors.InvalidParameters(
            "A key that manages connections cannot be limited to some of them.",
            {"parameter": "connection_ids", "message": "Only allowed for keys that do not manage connections"},
        )


def _check_mentions(mentions: MentionRule | None, *, passthrough: bool) -> None:
    """Raise ``InvalidParameters`` for a key whose requests to vendors would evade its rule for mentions."""
    if mentions == NEUTRALISE and passthrough:
        raise errors.InvalidParameters(
            "A key that neutralises mentions cannot send requests of its own to vendors.",
            {"parameter": "passthrough", "message": "Only allowed for keys that do not neutralise mentions"},
        )


def _check_operations(parameter: str, patterns: Sequence[str], names: Collection[str]) -> None:
    """Raise ``InvalidParameters`` for names and patterns without an operation, which would limit the key too much."""
    unknown = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
    if unknown:
        suggestions = [(pattern, closest_match(pattern, names)) for pattern in unknown]
        raise errors.InvalidParameters(
            f"There is no operation {', '.join(map(truncate, unknown[:MAX_REPORTED_NAMES]))}.",
            *(
                {"parameter": parameter, "value": name} | ({SUGGESTION_KEY: suggestion} if suggestion else {})
                for name, suggestion in suggestions
            ),
        )


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    columns = (
        "key_id",
        "workspace_id",
        "name",
        "scope",
        "calls_per_minute",
        "connection_ids",
        "manages_connections",
        "operations",
        "mentions",
        "confirm",
        "agent",
        "ending",
    )
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    return (
        {name: row[name] for name in columns}
        | {"passthrough": bool(row["passthrough"])}
        | {name: None if row[name] is None else utc_datetime(row[name]) for name in times}
    )
