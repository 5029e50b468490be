"""Token refresh: one task of one process refreshes expired tokens, and stores the new ones before they are used.

Some vendors replace the refresh token at each use and reject the previous one. Two concurrent refreshes would lose the
connection.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import structlog
from sqlalchemy import ColumnElement, Row, Select, func, or_, select, text, update
from sqlalchemy import Connection as SqlConnection

from connector_gateway.core.connections.account_identity import AccountIdentity
from connector_gateway.core.connections.change_notification import ConnectionListener
from connector_gateway.core.connections.token_client import (
    QUEUE_SECONDS,
    TOKEN_TIMEOUT_SECONDS,
    GrantRejected,
    TokenEndpointClient,
)
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.core.single_flight_cache import MAX_ROWS, SingleFlight
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.oauth import IssuedTokens
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

LEASE_SECONDS = QUEUE_SECONDS + TOKEN_TIMEOUT_SECONDS + 5.0
"""Seconds for which a refresh is reserved for one process: longer than its request and the wait for a reservation.

This is shorter than the minute for which vendors with a grace period accept a used refresh token. Tokens that were
lost because a process died can then be requested again.
"""

POLL_SECONDS = 0.25
"""Seconds between two checks whether another process has finished its refresh."""

BACKOFF_SECONDS = 1.0
"""Seconds after a failure in which no other token request is sent for the connection. Callers get the same error."""

REJECTED_BACKOFF_SECONDS = 60.0
"""Seconds without token requests after a definite rejection."""

IDLE_FRACTION = 2 / 3
"""The fraction of an unused refresh token's lifetime after which it is refreshed."""

WITHDRAWN = "withdrawn"
"""The reason of a connection whose authorisation was revoked at the vendor, or has expired."""

INTERRUPTED = "refresh_interrupted"
"""The reason of a connection whose refresh was interrupted after the vendor may have replaced the tokens."""

log = structlog.get_logger()
_connections = tables.connections.c
Secrets = Mapping[str, str]
F = TypeVar("F", bound=errors.UpstreamFailure)


@dataclass(slots=True)
class CurrentSecrets:
    """The current secrets of a connection."""

    secrets: Secrets = field(repr=False)
    refresh_at: float | None = None
    """The time at which the secrets should be refreshed, or None if their expiry is unknown."""

    expires_at: float | None = None
    identity: AccountIdentity = field(default=AccountIdentity(None, 0))


@dataclass(frozen=True, slots=True)
class RefreshLease:
    """A lease on the refresh of a connection's tokens, with the current ones."""

    name: str
    current: CurrentSecrets
    connector: str
    in_doubt: bool
    """Whether an earlier refresh may have changed the tokens without storing them."""


@dataclass(eq=False, repr=False)
class TokenRefresher:
    """Refreshes the tokens of connections. Expiry is compared with *clock*, waits are measured by *steady*."""

    database: Database
    vault: Vault
    tokens: TokenEndpointClient
    listener: ConnectionListener
    clock: Clock
    steady: Clock | None = field(kw_only=True, default=None)

    _backoffs: dict[str, tuple[float, errors.UpstreamFailure]] = field(init=False, default_factory=dict)
    _unsaved: dict[str, CurrentSecrets] = field(init=False, default_factory=dict)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """The number of refreshes by connector and result."""

    def __post_init__(self) -> None:
        self._steady = self.steady or self.clock
        self._refreshes: SingleFlight[tuple[str, bytes], CurrentSecrets | None] = SingleFlight(self._steady, MAX_ROWS)

    def with_refresh_time(
        self, connector: str, secrets: Secrets, expires_at: float | None, identity: AccountIdentity
    ) -> CurrentSecrets:
        """Return *secrets* with the time at which they should be refreshed."""
        oauth = self.tokens.oauth(connector)
        if oauth is None or expires_at is None or "refresh_token" not in secrets:
            return CurrentSecrets(secrets, None, expires_at, identity)
        return CurrentSecrets(secrets, expires_at - oauth.margin_seconds, expires_at, identity)

    def due_at(self, connector: str, secrets: Secrets) -> float | None:
        """Return when *secrets* should be refreshed if they stay unused, or None if unused ones do not expire."""
        seconds = self.idle_lifetime_seconds(connector)
        return self.clock.now() + seconds * IDLE_FRACTION if seconds and "refresh_token" in secrets else None

    def idle_lifetime_seconds(self, connector: str) -> float | None:
        """Return the lifetime of unused refresh tokens of the connector, or None if they do not expire."""
        oauth = self.tokens.oauth(connector)
        return oauth.idle_seconds if oauth else None

    async def refresh_if_due(self, connection_id: str, current: CurrentSecrets) -> CurrentSecrets:
        """Return refreshed secrets if *current* is due for refresh.

        A failed refresh is ignored while *current* is still valid.
        """
        if current.refresh_at is None or self.clock.now() < current.refresh_at:
            return current
        try:
            return await self.refresh_after_401(connection_id, current.secrets) or current
        except errors.UpstreamFailure as error:
            if isinstance(error, errors.ConnectionRevoked) or self.clock.now() >= (current.expires_at or 0.0):
                raise
            return current

    async def refresh_after_401(self, connection_id: str, used: Secrets) -> CurrentSecrets | None:
        """Return the secrets that replace the expired *used*, or None if they cannot be refreshed.

        Raises ``ConnectionRevoked`` if the vendor rejects the refresh token.
        Raises another ``UpstreamFailure`` if the outcome is unknown.
        """
        if "refresh_token" not in used:
            return None
        key = connection_id, token_digest(used["token"])
        return await self._refreshes.get(key, partial(self._refresh_with_lease, connection_id, used), 0.0)

    async def _refresh_with_lease(self, connection_id: str, used: Secrets) -> CurrentSecrets | None:
        self._check_backoff(connection_id)
        await self._await_unsaved(connection_id)
        deadline = self._steady.now() + LEASE_SECONDS + 2 * POLL_SECONDS
        while self._steady.now() < deadline:
            result = await self.database.write(partial(self._take_lease, connection_id, used, f"lease_{ulid()}"))
            if isinstance(result, RefreshLease):
                return await self._refresh(connection_id, result)
            if result != "taken":
                return result
            await self._steady.sleep(POLL_SECONDS)
        raise errors.UpstreamTimeout("Another process took too long to refresh the authorisation.")

    def _take_lease(
        self, connection_id: str, used: Secrets, name: str, db: SqlConnection
    ) -> RefreshLease | CurrentSecrets | Literal["taken"] | None:
        """Return a lease, or the secrets that another process has stored since.

        Returns ``"taken"`` while another process refreshes the secrets, and None if they cannot be refreshed.
        """
        row = db.execute(_select_connection(connection_id).with_for_update()).first()
        if row is None:
            return None
        secrets = self.vault.decrypt(row.sealed, connection_id)
        current = self.with_refresh_time(
            row.connector, secrets, row.expires_at, AccountIdentity(row.account_id, row.era)
        )
        if current.secrets.get("token") != used["token"]:
            return current
        if self.tokens.oauth(row.connector) is None or "refresh_token" not in current.secrets:
            return None
        now = self.database.now
        free = or_(_connections.refresh_until.is_(None), _connections.refresh_until < now)
        values = {
            "refresh_lease": name,
            "refresh_until": now + LEASE_SECONDS,
            "refresh_began_at": func.coalesce(_connections.refresh_began_at, now),
        }
        if not db.execute(_update_connection(connection_id, free, **values)).rowcount:
            return "taken"
        return RefreshLease(name, current, row.connector, row.refresh_began_at is not None)

    async def _refresh(self, connection_id: str, lease: RefreshLease) -> CurrentSecrets:
        """Request new tokens and store them."""
        before = lease.current.secrets
        try:
            grant = await self.tokens.refresh(lease.connector, before["refresh_token"])
        except GrantRejected as error:
            self.results[lease.connector, "refused"] += 1
            raise await self._revoke(connection_id, lease, error) from error
        except errors.UpstreamFailure as error:
            self.results[lease.connector, "failed"] += 1
            await self._release(connection_id, lease, error)
            raise
        self.results[lease.connector, "renewed"] += 1
        return await self._save(connection_id, lease, grant)

    async def _save(self, connection_id: str, lease: RefreshLease, grant: IssuedTokens) -> CurrentSecrets:
        now = self.clock.now()
        secrets = merge_tokens(lease.current.secrets, grant)
        current = self.with_refresh_time(lease.connector, secrets, get_expiry(grant, now), lease.current.identity)
        store = partial(self._store, connection_id, lease, current, now)
        try:
            await self.database.write(store)
        except errors.StorageUnavailable:
            # The vendor may reject the old tokens by now, so keep the new ones in memory until they can be stored.
            self._unsaved[connection_id] = current
            self.database.write_deferred(store, partial(self._discard_unsaved, connection_id))
            raise
        return current

    def _discard_unsaved(self, connection_id: str) -> None:
        self._unsaved.pop(connection_id, None)

    def _store(
        self, connection_id: str, lease: RefreshLease, current: CurrentSecrets, now: float, db: SqlConnection
    ) -> None:
        stored = {
            "sealed": self.vault.encrypt(current.secrets, connection_id),
            "expires_at": current.expires_at,
            "last_refreshed_at": now,
            "refresh_due_at": self.due_at(lease.connector, current.secrets),
            "status": "active",
            "reason": None,
            **NO_REFRESH,
        }
        row = db.execute(_select_connection(connection_id)).first()
        is_stored = db.execute(
            _update_connection(connection_id, _connections.refresh_lease == lease.name, **stored)
        ).rowcount
        if is_stored and row is not None and row.status != "active":
            self.listener.reauthorised(db, connection_id)

    async def _await_unsaved(self, connection_id: str) -> None:
        """Wait until unsaved tokens are stored, because no others may be requested before."""
        if connection_id in self._unsaved:
            await self.database.flush()
            if connection_id in self._unsaved:
                raise errors.StorageUnavailable("The refreshed authorisation could not be stored.")

    async def _revoke(
        self, connection_id: str, lease: RefreshLease, rejected: GrantRejected
    ) -> errors.ConnectionRevoked:
        reason = INTERRUPTED if lease.in_doubt else WITHDRAWN
        is_leased = _connections.refresh_lease == lease.name

        def revoke(db: SqlConnection) -> None:
            if db.execute(
                _update_connection(connection_id, is_leased, status="revoked", reason=reason, **NO_REFRESH)
            ).rowcount:
                self.listener.revoked(db, connection_id)

        await self.database.write(revoke)
        log.warning("connection revoked", connection_id=connection_id, reason=reason, vendor_code=str(rejected))
        error = errors.ConnectionRevoked(REVOCATION_MESSAGES[reason], {"reason": reason})
        return self._back_off(connection_id, error, REJECTED_BACKOFF_SECONDS)

    async def _release(self, connection_id: str, lease: RefreshLease, failure: errors.UpstreamFailure) -> None:
        """Release the lease. The refresh stays recorded as in doubt if the vendor may have replaced the tokens."""
        self._back_off(connection_id, failure, failure.retry_after or BACKOFF_SECONDS)
        arrived = not isinstance(failure, errors.UpstreamUnavailable) and (failure.doubt or failure.status != 429)
        released = NO_REFRESH if not (arrived or lease.in_doubt) else {"refresh_lease": None, "refresh_until": None}
        change = _update_connection(connection_id, _connections.refresh_lease == lease.name, **released)
        with suppress(errors.StorageUnavailable):
            await self.database.write(lambda db: db.execute(change).rowcount)

    def _back_off(self, connection_id: str, failure: F, seconds: float) -> F:
        """Record *failure*, which is then raised for *seconds* without another request, and return it."""
        if len(self._backoffs) >= MAX_ROWS:
            del self._backoffs[next(iter(self._backoffs))]
        self._backoffs[connection_id] = self._steady.now() + seconds, failure
        return failure

    def forget(self, connection_id: str) -> None:
        """Discard the recorded error and unsaved tokens, because the connection has other credentials now."""
        self._backoffs.pop(connection_id, None)
        self._unsaved.pop(connection_id, None)

    def _check_backoff(self, connection_id: str) -> None:
        until, failure = self._backoffs.get(connection_id, (0.0, None))
        if failure is not None and self._steady.now() < until:
            raise type(failure)(failure.message, *failure.details, retry_after=failure.retry_after)
        self._backoffs.pop(connection_id, None)


NO_REFRESH: Mapping[str, Any] = {"refresh_lease": None, "refresh_until": None, "refresh_began_at": None}
"""The columns of a connection without a refresh in progress or in doubt."""

REVOCATION_MESSAGES: Mapping[str, str] = {
    WITHDRAWN: "The authorisation of this connection was withdrawn or has expired.",
    INTERRUPTED: "A refresh was interrupted, and the vendor no longer accepts the previous authorisation.",
}


def merge_tokens(before: Secrets, grant: IssuedTokens) -> dict[str, str]:
    """Return the secrets of a connection with the tokens of *grant*.

    A refresh token that is not replaced is retained.
    """
    return {**before, "token": grant.token} | ({"refresh_token": grant.refresh_token} if grant.refresh_token else {})


def get_expiry(grant: IssuedTokens, now: float) -> float | None:
    """Return when the tokens of *grant* expire, or None if the vendor states no lifetime."""
    return None if grant.lifetime_seconds is None else now + grant.lifetime_seconds


def _select_connection(connection_id: str) -> Any:
    return select(tables.connections).where(
        _connections.connection_id == connection_id, _connections.deleted.is_(False)
    )


def _update_connection(connection_id: str, condition: ColumnElement[bool], **values: Any) -> Any:
    is_current = _connections.connection_id == connection_id, _connections.deleted.is_(False)
    return update(tables.connections).where(*is_current, condition).values(**values)


MAX_PER_ROUND = 10
"""Connections that all processes together refresh per round: half of a vendor's budget for token requests.

A call that needs a token during a round waits for at most this many requests.
"""

RETRY_SECONDS = 86_400.0
"""Seconds after which a failed idle refresh is retried."""


@dataclass(eq=False, repr=False)
class IdleTokenRefresher:
    """Refreshes tokens that would expire unused, within half of the budget for token requests."""

    database: Database
    vault: Vault
    token_refresher: TokenRefresher
    clock: Clock
    processes: Callable[[], int] = field(kw_only=True, default=lambda: 1)
    """Returns the number of processes that share this half of the budget."""

    async def refresh_idle_tokens(self) -> int:
        """Refresh a bounded number of due tokens. Returns the number."""
        due = select_due(self.clock.now(), max(1, MAX_PER_ROUND // self.processes()))
        rows = await self.database.read(lambda db: db.execute(due).all())
        await asyncio.gather(*(self._refresh(row) for row in rows))
        return len(rows)

    async def _refresh(self, row: Row[Any]) -> None:
        # Deferred before the attempt: no other process repeats it, and a failure does not block other connections.
        expires = self.token_refresher.idle_lifetime_seconds(row.connector)
        retry_at = self.clock.now() + RETRY_SECONDS if expires else None
        is_due = _connections.connection_id == row.connection_id, _connections.refresh_due_at == row.refresh_due_at
        defer = update(tables.connections).where(*is_due).values(refresh_due_at=retry_at)
        if await self.database.write(lambda db: db.execute(defer).rowcount) and retry_at is not None:
            # Errors are logged by the refresher, and raised for calls in the meantime.
            with suppress(errors.GatewayError):
                secrets = self.vault.decrypt(row.sealed, row.connection_id)
                await self.token_refresher.refresh_after_401(row.connection_id, secrets)


def select_due(now: float, limit: int = MAX_PER_ROUND) -> Select[Any]:
    """Select connections whose unused tokens are due for refresh, the longest overdue first."""
    # The condition must be the literal text of the partial index, or SQLite does not use the index.
    due = select(tables.connections).where(text(tables.RENEWABLE), _connections.deleted.is_(False))
    return due.where(_connections.refresh_due_at <= now).order_by(_connections.refresh_due_at).limit(limit)
