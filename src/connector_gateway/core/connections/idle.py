"""Tokens that nobody uses are renewed before they end of that, with half of the budget: the rest is for calls.

Decision 54 has the figures.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, Select, select, text, update

from connector_gateway.core.connections.refresh import Renewals
from connector_gateway.core.connections.vault import Vault
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

MAX_RENEWALS = 10
"""Connections that all processes renew in a round: half of the requests for tokens that an application may be sent.

A call that needs a token meanwhile waits for no more requests than these.
"""

AGAIN_SECONDS = 86_400.0
"""How long after it was begun such a renewal is tried again, unless it was done."""

_connections = tables.connections.c


@dataclass(eq=False, repr=False)
class IdleRenewals:
    """Renews tokens that would end because nobody uses them."""

    database: Database
    vault: Vault
    renewals: Renewals
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
        again = self.clock.now() + AGAIN_SECONDS if self.renewals.ends_idle(row.connector) else None
        own = _connections.connection_id == row.connection_id, _connections.refresh_due_at == row.refresh_due_at
        put_off = update(tables.connections).where(*own).values(refresh_due_at=again)
        if await self.database.write(lambda writing: writing.execute(put_off).rowcount) and again is not None:
            # What failed is logged where it happened; a call that comes meanwhile is told.
            with suppress(GatewayError):
                secrets = self.vault.open(row.sealed, row.connection_id)
                await self.renewals.renewed(row.connection_id, secrets)


def due_before(now: float, limit: int = MAX_RENEWALS) -> Select[Any]:
    """Some of the connections whose tokens should be renewed though nobody calls, those first that wait longest."""
    # With the words of the index, by which SQLite finds it.
    due = select(tables.connections).where(text(tables.RENEWABLE), _connections.deleted.is_(False))
    return due.where(_connections.refresh_due_at <= now).order_by(_connections.refresh_due_at).limit(limit)
