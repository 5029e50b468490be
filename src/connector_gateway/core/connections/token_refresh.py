"""Renewal: tokens that ended are renewed by one task of one process, and stored before anybody uses them.

Decision 41 has the rules.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import structlog
from sqlalchemy import ColumnElement, Row, Select, func, or_, select, text, update
from sqlalchemy import Connection as Transaction

from connector_gateway.core.connections.account import Whose
from connector_gateway.core.connections.listeners import ConnectionListener
from connector_gateway.core.connections.token_client import (
    ANSWER_SECONDS,
    QUEUE_SECONDS,
    GrantRejected,
    TokenEndpointClient,
)
from connector_gateway.core.connections.vault import Vault
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight import MOST_ROWS, SingleFlight
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.oauth import IssuedTokens
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

LEASE_SECONDS = QUEUE_SECONDS + ANSWER_SECONDS + 5.0
"""How long others leave a renewal to whoever began it; longer than its request may take, with the wait for its turn.

Shorter than the minute for which applications with a grace period take a spent refresh token: what a process was given
just before it died is then had again (decision 53).
"""

PEEK_SECONDS = 0.25
"""How often others look whether it is done."""

REST_SECONDS = 1.0
"""How long after a failure no other request for tokens of the connection is sent; its error is told meanwhile."""

REFUSED_REST_SECONDS = 60.0
"""The same after a definite refusal."""

IDLE_PART = 2 / 3
"""Of the life of a refresh token that nobody uses: when it is used for its own sake."""

WITHDRAWN = "withdrawn"
"""Why a connection is revoked: its user, or an administrator, took the authorisation back, or let it end."""

INTERRUPTED = "refresh_interrupted"
"""The same: a renewal was cut short after the third party may have changed the tokens, and the old ones are refused."""

log = structlog.get_logger()
_connections = tables.connections.c
Secrets = Mapping[str, str]
F = TypeVar("F", bound=errors.UpstreamFailure)


@dataclass(slots=True)
class CurrentSecrets:
    """The secrets of a connection as they are now."""

    secrets: Secrets = field(repr=False)
    renew_at: float | None = None
    """When they should be renewed; None where nobody knows when they end."""

    expires_at: float | None = None
    whose: Whose = field(default=Whose(None, 0))


@dataclass(frozen=True, slots=True)
class RefreshLease:
    """The right to renew, with what is to be renewed."""

    name: str
    held: CurrentSecrets
    connector: str
    in_doubt: bool
    """Whether an earlier renewal may have changed the tokens without anybody storing them."""


@dataclass(eq=False, repr=False)
class TokenRefresher:
    """Renews the tokens of connections; when they end is told by *clock*, and waiting is measured by a *steady* one."""

    database: Database
    vault: Vault
    tokens: TokenEndpointClient
    changes: ConnectionListener
    clock: Clock
    steady: Clock | None = field(kw_only=True, default=None)

    _resting: dict[str, tuple[float, errors.UpstreamFailure]] = field(init=False, default_factory=dict)
    _unstored: dict[str, CurrentSecrets] = field(init=False, default_factory=dict)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """How often tokens were renewed, refused or not had, by connector and result."""

    def __post_init__(self) -> None:
        self._steady = self.steady or self.clock
        self._under_way: SingleFlight[tuple[str, bytes], CurrentSecrets | None] = SingleFlight(self._steady, MOST_ROWS)

    def held(self, connector: str, secrets: Secrets, expires_at: float | None, whose: Whose) -> CurrentSecrets:
        """*secrets* with the instant at which they should be renewed."""
        oauth = self.tokens.oauth(connector)
        if oauth is None or expires_at is None or "refresh_token" not in secrets:
            return CurrentSecrets(secrets, None, expires_at, whose)
        return CurrentSecrets(secrets, expires_at - oauth.margin_seconds, expires_at, whose)

    def due_at(self, connector: str, secrets: Secrets) -> float | None:
        """When *secrets* that are new now should be renewed though nobody calls; None if they do not end of that."""
        seconds = self.idle_lifetime_seconds(connector)
        return self.clock.now() + seconds * IDLE_PART if seconds and "refresh_token" in secrets else None

    def idle_lifetime_seconds(self, connector: str) -> float | None:
        """After how many seconds without use refresh tokens of the connector end; None where they do not."""
        oauth = self.tokens.oauth(connector)
        return oauth.idle_seconds if oauth else None

    async def refresh_if_due(self, connection_id: str, held: CurrentSecrets) -> CurrentSecrets:
        """Those that *held* should be replaced by, if it is time; a failure is no matter while they are still good."""
        if held.renew_at is None or self.clock.now() < held.renew_at:
            return held
        try:
            return await self.refresh_after_401(connection_id, held.secrets) or held
        except errors.UpstreamFailure as failure:
            if isinstance(failure, errors.ConnectionRevoked) or self.clock.now() >= (held.expires_at or 0.0):
                raise
            return held

    async def refresh_after_401(self, connection_id: str, used: Secrets) -> CurrentSecrets | None:
        """What replaces the secrets that were *used* and have ended; None if nothing can.

        ``ConnectionRevoked`` if the third party gives no more, another ``UpstreamFailure`` if that is not known.
        """
        if "refresh_token" not in used:
            return None
        key = connection_id, token_digest(used["token"])
        return await self._under_way.get(key, partial(self._renew, connection_id, used), 0.0)

    async def _renew(self, connection_id: str, used: Secrets) -> CurrentSecrets | None:
        self._require_rested(connection_id)
        await self._store_again(connection_id)
        deadline = self._steady.now() + LEASE_SECONDS + 2 * PEEK_SECONDS
        while self._steady.now() < deadline:
            found = await self.database.write(partial(self._take, connection_id, used, f"lease_{ulid()}"))
            if isinstance(found, RefreshLease):
                return await self._carry_out(connection_id, found)
            if found is not _BUSY:
                return cast(CurrentSecrets | None, found)
            await self._steady.sleep(PEEK_SECONDS)
        raise errors.UpstreamTimeout("Another process took too long to renew the authorisation.")

    def _take(self, connection_id: str, used: Secrets, name: str, writing: Transaction) -> Any:
        """A lease; what others have stored since; None if there is nothing to renew; ``_BUSY`` if others renew it."""
        row = writing.execute(_row(connection_id).with_for_update()).first()
        if row is None:
            return None
        secrets = self.vault.decrypt(row.sealed, connection_id)
        held = self.held(row.connector, secrets, row.expires_at, Whose(row.account_id, row.era))
        if held.secrets.get("token") != used["token"]:
            return held
        if self.tokens.oauth(row.connector) is None or "refresh_token" not in held.secrets:
            return None
        now = self.database.now
        free = or_(_connections.refresh_until.is_(None), _connections.refresh_until < now)
        taken = {
            "refresh_lease": name,
            "refresh_until": now + LEASE_SECONDS,
            "refresh_began_at": func.coalesce(_connections.refresh_began_at, now),
        }
        if not writing.execute(_change(connection_id, free, **taken)).rowcount:
            return _BUSY
        return RefreshLease(name, held, row.connector, row.refresh_began_at is not None)

    async def _carry_out(self, connection_id: str, lease: RefreshLease) -> CurrentSecrets:
        """Ask for new tokens, and store them."""
        before = lease.held.secrets
        try:
            grant = await self.tokens.refresh(lease.connector, before["refresh_token"])
        except GrantRejected as refused:
            self.results[lease.connector, "refused"] += 1
            raise await self._give_up(connection_id, lease, refused) from refused
        except errors.UpstreamFailure as failure:
            self.results[lease.connector, "failed"] += 1
            await self._let_go(connection_id, lease, failure)
            raise
        self.results[lease.connector, "renewed"] += 1
        return await self._keep(connection_id, lease, grant)

    async def _keep(self, connection_id: str, lease: RefreshLease, grant: IssuedTokens) -> CurrentSecrets:
        now = self.clock.now()
        secrets = renewed_secrets(lease.held.secrets, grant)
        held = self.held(lease.connector, secrets, ends_at(grant, now), lease.held.whose)
        store = partial(self._store, connection_id, lease, held, now)
        try:
            await self.database.write(store)
        except errors.StorageUnavailable:
            # The old pair may be dead already: the new one is kept until it can be stored (decision 41).
            self._unstored[connection_id] = held
            self.database.write_deferred(store, partial(self._stored, connection_id))
            raise
        return held

    def _stored(self, connection_id: str) -> None:
        self._unstored.pop(connection_id, None)

    def _store(
        self, connection_id: str, lease: RefreshLease, held: CurrentSecrets, now: float, writing: Transaction
    ) -> None:
        stored = {
            "sealed": self.vault.encrypt(held.secrets, connection_id),
            "expires_at": held.expires_at,
            "last_refreshed_at": now,
            "refresh_due_at": self.due_at(lease.connector, held.secrets),
            "status": "active",
            "reason": None,
            **RELEASED,
        }
        was = writing.execute(_row(connection_id)).first()
        kept = writing.execute(_change(connection_id, _connections.refresh_lease == lease.name, **stored)).rowcount
        if kept and was is not None and was.status != "active":
            self.changes.accepted(writing, connection_id)

    async def _store_again(self, connection_id: str) -> None:
        """Wait for what could not be stored; nothing is asked for before that."""
        if connection_id in self._unstored:
            await self.database.flush()
            if connection_id in self._unstored:
                raise errors.StorageUnavailable("The renewed authorisation could not be stored.")

    async def _give_up(
        self, connection_id: str, lease: RefreshLease, refused: GrantRejected
    ) -> errors.ConnectionRevoked:
        reason = INTERRUPTED if lease.in_doubt else WITHDRAWN
        ours = _connections.refresh_lease == lease.name

        def revoke(writing: Transaction) -> None:
            if writing.execute(_change(connection_id, ours, status="revoked", reason=reason, **RELEASED)).rowcount:
                self.changes.revoked(writing, connection_id)

        await self.database.write(revoke)
        log.warning("a connection was revoked", connection_id=connection_id, reason=reason, vendor_code=str(refused))
        error = errors.ConnectionRevoked(SENTENCES[reason], {"reason": reason})
        return self._rest(connection_id, error, REFUSED_REST_SECONDS)

    async def _let_go(self, connection_id: str, lease: RefreshLease, failure: errors.UpstreamFailure) -> None:
        """Let others try; whether the tokens were changed is kept in mind where nobody knows."""
        self._rest(connection_id, failure, failure.retry_after or REST_SECONDS)
        arrived = not isinstance(failure, errors.UpstreamUnavailable) and (failure.doubt or failure.status != 429)
        released = RELEASED if not (arrived or lease.in_doubt) else {"refresh_lease": None, "refresh_until": None}
        change = _change(connection_id, _connections.refresh_lease == lease.name, **released)
        with suppress(errors.StorageUnavailable):
            await self.database.write(lambda writing: writing.execute(change).rowcount)

    def _rest(self, connection_id: str, failure: F, seconds: float) -> F:
        """*failure*, which others are told for a while without another request."""
        if len(self._resting) >= MOST_ROWS:
            del self._resting[next(iter(self._resting))]
        self._resting[connection_id] = self._steady.now() + seconds, failure
        return failure

    def forget(self, connection_id: str) -> None:
        """Ask again at once, since the connection has other credentials now."""
        self._resting.pop(connection_id, None)
        self._unstored.pop(connection_id, None)

    def _require_rested(self, connection_id: str) -> None:
        until, failure = self._resting.get(connection_id, (0.0, None))
        if failure is not None and self._steady.now() < until:
            raise type(failure)(failure.message, *failure.details, retry_after=failure.retry_after)
        self._resting.pop(connection_id, None)


_BUSY = object()
"""Stands for a renewal that another process has begun."""

RELEASED: Mapping[str, Any] = {"refresh_lease": None, "refresh_until": None, "refresh_began_at": None}
"""The columns of a renewal when none is under way and none is in doubt."""

SENTENCES: Mapping[str, str] = {
    WITHDRAWN: "The authorisation of this connection was withdrawn or has ended.",
    INTERRUPTED: "A renewal was cut short, and the application does not take the former authorisation any more.",
}


def renewed_secrets(before: Secrets, grant: IssuedTokens) -> dict[str, str]:
    """The secrets of a connection with the tokens of *grant*; a refresh token that is not replaced stays."""
    return {**before, "token": grant.token} | ({"refresh_token": grant.refresh_token} if grant.refresh_token else {})


def ends_at(grant: IssuedTokens, now: float) -> float | None:
    """When the tokens of *grant* end; None if nobody says."""
    return None if grant.seconds is None else now + grant.seconds


def _row(connection_id: str) -> Any:
    return select(tables.connections).where(
        _connections.connection_id == connection_id, _connections.deleted.is_(False)
    )


def _change(connection_id: str, condition: ColumnElement[bool], **values: Any) -> Any:
    own = _connections.connection_id == connection_id
    return update(tables.connections).where(own, _connections.deleted.is_(False), condition).values(**values)


MAX_RENEWALS = 10
"""Connections that all processes renew in a round: half of the requests for tokens that an application may be sent.

A call that needs a token meanwhile waits for no more requests than these.
"""

AGAIN_SECONDS = 86_400.0
"""How long after it was begun such a renewal is tried again, unless it was done."""


@dataclass(eq=False, repr=False)
class IdleRenewals:
    """Renews tokens that would end because nobody uses them, with half of the budget (decision 54)."""

    database: Database
    vault: Vault
    renewals: TokenRefresher
    clock: Clock
    processes: Callable[[], int] = field(kw_only=True, default=lambda: 1)
    """How many renew at the same time, and share the half of the budget."""

    async def renew_idle_tokens(self) -> int:
        """Renew some of those that are due, in each round of a runner; returns how many there were."""
        due = due_before(self.clock.now(), max(1, MAX_RENEWALS // self.processes()))
        rows = await self.database.read(lambda reading: reading.execute(due).all())
        await asyncio.gather(*(self._renew(row) for row in rows))
        return len(rows)

    async def _renew(self, row: Row[Any]) -> None:
        # Put off before it is tried: others leave it alone, and one that fails keeps nobody waiting.
        again = self.clock.now() + AGAIN_SECONDS if self.renewals.idle_lifetime_seconds(row.connector) else None
        own = _connections.connection_id == row.connection_id, _connections.refresh_due_at == row.refresh_due_at
        put_off = update(tables.connections).where(*own).values(refresh_due_at=again)
        if await self.database.write(lambda writing: writing.execute(put_off).rowcount) and again is not None:
            # What failed is logged where it happened; a call that comes meanwhile is told.
            with suppress(errors.GatewayError):
                secrets = self.vault.decrypt(row.sealed, row.connection_id)
                await self.renewals.refresh_after_401(row.connection_id, secrets)


def due_before(now: float, limit: int = MAX_RENEWALS) -> Select[Any]:
    """Some of the connections whose tokens should be renewed though nobody calls, those first that wait longest."""
    # With the words of the index, by which SQLite finds it.
    due = select(tables.connections).where(text(tables.RENEWABLE), _connections.deleted.is_(False))
    return due.where(_connections.refresh_due_at <= now).order_by(_connections.refresh_due_at).limit(limit)
