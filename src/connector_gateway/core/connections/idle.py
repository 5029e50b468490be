"""Tokens that nobody uses are renewed before they end of that, with half of the budget: the rest is for calls.

Decision 54 has the figures.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import structlog
from sqlalchemy import Row, Select, select, text, update

from connector_gateway.core.connections.refresh import Renewals
from connector_gateway.core.connections.vault import Vault
from connector_gateway.kit.background import end
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, StorageUnavailable
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

STEP = 10
"""Connections that are renewed at a time; a call that needs a token meanwhile waits for no more requests than these."""

STEP_SECONDS = 2.0
"""From one step to the next: half of the requests for tokens that an installation may send to an application."""

ROUND_SECONDS = 60.0
"""How often it is looked whether any are due, after none were."""

AGAIN_SECONDS = 86_400.0
"""How long after it was begun such a renewal is tried again, unless it was done."""

log = structlog.get_logger()
_connections = tables.connections.c


class IdleRenewals:
    """Renews tokens that would end because nobody uses them."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        renewals: Renewals,
        clock: Clock,
        *,
        steady: Clock | None = None,
        processes: Callable[[], int] = lambda: 1,
    ) -> None:
        self._database = database
        self._vault = vault
        self._renewals = renewals
        self._clock = clock
        self._steady = steady or clock
        self._processes = processes
        """How many take such steps at the same time, and share the half of the budget."""

    async def __aenter__(self) -> Self:
        self._renewing = asyncio.create_task(self._renew_forever(), name="idle renewals")
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(self._renewing)

    async def renew(self) -> int:
        """Renew a step of those that are due; how many there were."""
        rows = await self._database.read(lambda reading: reading.execute(due_before(self._clock.now())).all())
        await asyncio.gather(*(self._renew(row) for row in rows))
        return len(rows)

    async def _renew_forever(self) -> None:
        while True:
            await self._steady.sleep(STEP_SECONDS * self._processes() if await self._step() else ROUND_SECONDS)

    async def _step(self) -> bool:
        """Whether there may be more to renew at once."""
        try:
            return await self.renew() == STEP
        except StorageUnavailable as away:
            log.warning("storage is away", job="idle renewals", private=away.private)
        except Exception:
            log.exception("a step of idle renewals failed")
        return False

    async def _renew(self, row: Row[Any]) -> None:
        # Put off before it is tried: others leave it alone, and one that fails keeps nobody waiting.
        again = self._clock.now() + AGAIN_SECONDS if self._renewals.ends_idle(row.connector) else None
        own = _connections.connection_id == row.connection_id, _connections.refresh_due_at == row.refresh_due_at
        put_off = update(tables.connections).where(*own).values(refresh_due_at=again)
        if await self._database.write(lambda writing: writing.execute(put_off).rowcount) and again is not None:
            # What failed is logged where it happened; a call that comes meanwhile is told.
            with suppress(GatewayError):
                secrets = self._vault.open(row.sealed, row.connection_id)
                await self._renewals.renewed(row.connection_id, secrets)


def due_before(now: float) -> Select[Any]:
    """A step of the connections whose tokens should be renewed though nobody calls, those first that wait longest."""
    # With the words of the index, by which SQLite finds it.
    due = select(tables.connections).where(text(tables.RENEWABLE), _connections.deleted.is_(False))
    return due.where(_connections.refresh_due_at <= now).order_by(_connections.refresh_due_at).limit(STEP)
