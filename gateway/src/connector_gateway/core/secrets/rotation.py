"""Rotation of secret keys: all ciphertexts are encrypted again with the newest key, while calls continue.

Rows are updated in small steps, each only if it is unchanged since it was read. Values that calls
store during the rotation are not overwritten, because they are encrypted with the newest key already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import LargeBinary, Table, func, select, tuple_, update

from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.secrets.vault import NAME_BYTES, Vault
from connector_gateway.kit.errors import SecretUnreadable
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

STEP = 100
"""Maximum rows per transaction."""

ENCRYPTED_TABLES: Mapping[str, Table] = {
    "connections": tables.connections,
    "hooks": tables.hooks,
    "webhooks": tables.webhooks,
    "claims": tables.claims,
    "events": tables.events,
    "audit": tables.audit_chain,
}
"""Tables with ciphertexts in the column ``sealed``. The primary key of a row is its encryption context."""


@dataclass
class RotationResult:
    """The result of the rotation of one table."""

    resealed: int = 0
    unreadable: list[str] = field(default_factory=list)
    """The first rows that no key of this installation can decrypt. They remain unchanged."""


class SecretRotation:
    """Encrypts again the values that older keys encrypted."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def rotate(self) -> list[dict[str, Any]]:
        """Encrypt everything with the newest key. Returns the number of updated rows, and unreadable rows, per kind."""
        results = [{"kind": name, **vars(await self._rotate(table))} for name, table in ENCRYPTED_TABLES.items()]
        resealed = {kind["kind"]: kind["resealed"] for kind in results}
        await self._database.write(with_audit_entry(lambda _: True, "rotate_vault", "vault", resealed=resealed))
        return results

    async def _rotate(self, table: Table) -> RotationResult:
        result, after = RotationResult(), None
        while rows := await self._read_older(table, after):
            after = rows[-1][:-1]
            await self._encrypt_again(table, rows, result)
        return result

    async def _read_older(self, table: Table, after: Any) -> Sequence[Sequence[Any]]:
        """Return the next rows that are not encrypted with the newest key."""
        key, sealed = list(table.primary_key), table.c.sealed
        key_name = func.substr(sealed, 1, NAME_BYTES, type_=LargeBinary())
        query = select(*key, sealed).where(func.length(sealed) > 0, key_name != self._vault.current_key_name)
        query = query if after is None else query.where(tuple_(*key) > tuple(after))
        query = query.order_by(*key).limit(STEP)

        def read(db: SqlConnection) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in db.execute(query)]

        return await self._database.read(read)

    async def _encrypt_again(self, table: Table, rows: Sequence[Sequence[Any]], result: RotationResult) -> None:
        changes = []
        for *key, sealed in rows:
            owner = "\n".join(map(str, key))
            try:
                changes.append(
                    (key, sealed, self._vault.encrypt_bytes(self._vault.decrypt_bytes(sealed, owner), owner))
                )
            except SecretUnreadable:
                result.unreadable = [*result.unreadable, owner.partition("\n")[0]][:STEP]

        def replace(db: SqlConnection) -> int:
            return sum(db.execute(_replacement(table, *change)).rowcount for change in changes)

        result.resealed += await self._database.write(replace)


def _replacement(table: Table, key: Sequence[Any], before: bytes, after: bytes) -> Any:
    """Return a statement that replaces *before* with *after*, unless the row has changed."""
    is_row = [column == value for column, value in zip(table.primary_key, key, strict=True)]
    return update(table).where(*is_row, table.c.sealed == before).values(sealed=after)
