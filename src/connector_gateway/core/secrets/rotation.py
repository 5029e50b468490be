"""Rotation: everything that is sealed is sealed again with the newest secret, while calls go on.

Rows are changed in small steps, each only if it is still as it was read: what a call seals meanwhile is not lost, and
is sealed with the newest secret already. Decision 32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection as Transaction
from sqlalchemy import LargeBinary, Table, func, select, tuple_, update

from connector_gateway.core.access.audited_actions import recorded
from connector_gateway.core.connections.vault import NAME_BYTES, Vault
from connector_gateway.kit.errors import SecretUnreadable
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

STEP = 100
"""Rows in one transaction."""

SEALED: Mapping[str, Table] = {
    "connections": tables.connections,
    "hooks": tables.hooks,
    "webhooks": tables.webhooks,
    "claims": tables.claims,
    "events": tables.events,
    "audit": tables.audit_chain,
}
"""Where sealed things are, in the column ``sealed``; each is sealed for the primary key of its row."""


@dataclass
class RotationResult:
    """What became of the sealed rows of a table."""

    resealed: int = 0
    unreadable: list[str] = field(default_factory=list)
    """The first rows that no secret of this installation opens; they are left as they are."""


class SecretRotation:
    """Seals again what older secrets sealed."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def rotate(self) -> list[dict[str, Any]]:
        """Seal everything with the newest secret; for each kind how many that were, and what cannot be opened."""
        told = [{"kind": name, **vars(await self._rotate(table))} for name, table in SEALED.items()]
        resealed = {kind["kind"]: kind["resealed"] for kind in told}
        await self._database.write(recorded(lambda _: True, "rotate_vault", "vault", resealed=resealed))
        return told

    async def _rotate(self, table: Table) -> RotationResult:
        rotated, after = RotationResult(), None
        while rows := await self._older(table, after):
            after = rows[-1][:-1]
            await self._reseal(table, rows, rotated)
        return rotated

    async def _older(self, table: Table, after: Any) -> Sequence[Sequence[Any]]:
        """The next rows that another secret than the newest sealed."""
        key, sealed = list(table.primary_key), table.c.sealed
        begins = func.substr(sealed, 1, NAME_BYTES, type_=LargeBinary())
        query = select(*key, sealed).where(func.length(sealed) > 0, begins != self._vault.current)
        query = query if after is None else query.where(tuple_(*key) > tuple(after))
        query = query.order_by(*key).limit(STEP)

        def ask(reading: Transaction) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in reading.execute(query)]

        return await self._database.read(ask)

    async def _reseal(self, table: Table, rows: Sequence[Sequence[Any]], rotated: RotationResult) -> None:
        changes = []
        for *key, sealed in rows:
            owner = "\n".join(map(str, key))
            try:
                changes.append((key, sealed, self._vault.seal_bytes(self._vault.open_bytes(sealed, owner), owner)))
            except SecretUnreadable:
                rotated.unreadable = [*rotated.unreadable, owner.partition("\n")[0]][:STEP]

        def reseal(writing: Transaction) -> int:
            return sum(writing.execute(_change(table, *change)).rowcount for change in changes)

        rotated.resealed += await self._database.write(reseal)


def _change(table: Table, key: Sequence[Any], before: bytes, after: bytes) -> Any:
    """Put *after* in place of what was read *before*, unless that was changed meanwhile."""
    here = [column == value for column, value in zip(table.primary_key, key, strict=True)]
    return update(table).where(*here, table.c.sealed == before).values(sealed=after)
