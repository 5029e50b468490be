"""The audit trail of administrative actions, written in their transactions, as a tamper-evident chain.

Each entry has an HMAC of its content and of the HMAC before it, under a separate key that the vault encrypts. One row,
``audit_chain``, contains that key and the end of the chain. The row is locked while an entry is appended, so that
processes append one after the other. It has an HMAC too, so that a removal of the newest entries is detected. Entries
are never changed or deleted, because the chain would break.
"""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json
from sqlalchemy import ColumnElement, Connection, Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.audited_actions import Actor, Entry, with_audit_entry
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

CHAIN = "audit"
"""The name of the chain's row, and the encryption context of its key."""

KEY_BYTES = 32
NO_MAC = bytes(32)
"""The HMAC that precedes the first entry."""

MINUTE_SECONDS = 60.0
MAX_RECORDED_KINDS = 20
"""Kinds of rejected actions per actor and minute that have separate entries. Others are counted together.

All requests with a wrong token have the same actor, whatever their client IPs.
"""

COUNTED_TOGETHER = "several"
"""The action and outcome of rejections that are counted together."""

VERIFY_STEP = 1000
"""Entries per query when the trail is verified or exported."""

SIGNED = (
    "sequence",
    "at",
    "actor",
    "address",
    "surface",
    "act",
    "object_id",
    "workspace_id",
    "outcome",
    "count",
    "details",
)
"""The columns that the HMAC of an entry covers, in this order."""

_audit, _chain = tables.audit.c, tables.audit_chain.c
_CURRENT = select(tables.audit_chain).where(_chain.name == CHAIN)
_LOCKED = _CURRENT.with_for_update()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verifying the trail: the number of valid entries, and the first invalid one."""

    entries: int
    head: str | None
    """The number and HMAC of the last entry, to be recorded elsewhere. None if there is no entry."""

    broken: int | None = None
    """The number of the first invalid entry."""

    reason: str | None = None


@dataclass
class _Minute:
    """The rejected actions of a minute, with the number per kind that has no entry yet."""

    began: float
    uncounted: Counter[tuple[Actor, str, str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Kinds per actor."""


class Audit:
    """Appends entries, lists them and verifies the chain."""

    def __init__(self, database: Database, vault: Vault, clock: Clock) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._minute = _Minute(clock.now())

    def append(self, db: Connection, entry: Entry) -> None:
        """Append *entry* to the chain. Other processes wait until the transaction has ended."""
        chain = db.execute(_LOCKED).first() or self._begin(db)
        key = self._key(chain)
        row = {**entry, "sequence": chain.sequence + 1, "at": self._clock.now()}
        row["mac"] = _mac(key, chain.mac, row)
        db.execute(insert(tables.audit), row)
        end = {"sequence": row["sequence"], "mac": row["mac"], "seal": _end_mac(key, row["sequence"], row["mac"])}
        db.execute(update(tables.audit_chain).where(_chain.name == CHAIN).values(end))

    def _begin(self, db: Connection) -> Row[Any]:
        """Insert the row of a new chain with a new key. It continues after the entries of an earlier chain."""
        last = db.execute(select(_audit.sequence, _audit.mac).order_by(_audit.sequence.desc()).limit(1)).first()
        key, sequence, mac = secrets.token_bytes(KEY_BYTES), last.sequence if last else 0, last.mac if last else NO_MAC
        row = {
            "name": CHAIN,
            "sealed": self._vault.encrypt({"key": key.hex()}, CHAIN),
            "sequence": sequence,
            "mac": mac,
            "seal": _end_mac(key, sequence, mac),
        }
        # If another process begins a chain concurrently, its row is used.
        db.execute(insert(tables.audit_chain).on_conflict_do_nothing(), row)
        return db.execute(_LOCKED).one()

    def _key(self, chain: Row[Any]) -> bytes:
        return bytes.fromhex(self._vault.decrypt(chain.sealed, CHAIN)["key"])

    async def restart(self) -> dict[str, Any]:
        """Begin a new chain after the existing entries, if the secret that encrypted its key is lost."""

        def restart(db: Connection) -> int:
            db.execute(delete(tables.audit_chain))
            return int(self._begin(db).sequence) + 1

        first = await self._database.write(with_audit_entry(restart, "restart_audit", CHAIN))
        return {"first": first}

    async def record(self, actor: Actor, act: str, object_id: str, workspace_id: str, **details: str) -> None:
        """Record an action that changes no row, before it is performed."""
        entry = actor.entry(act, object_id, workspace_id)
        entry["details"] |= details
        await self._database.write(lambda db: self.append(db, entry))

    # Rejected actions

    async def record_rejection(self, actor: Actor, act: str, outcome: str, object_id: str = "") -> None:
        """Record that an action of *actor* was rejected with the code *outcome*.

        The first of a kind in a minute gets an entry. Further ones are counted, and so are all kinds of an actor beyond
        ``RECORDED``, so that a client cannot fill the disk. While storage is unavailable, all are counted.
        """
        await self.commit()
        uncounted, kind = self._minute.uncounted, (actor, act, object_id, outcome)
        if kind in uncounted:
            uncounted[kind] += 1
            return
        if self._minute.kinds[actor.name] >= MAX_RECORDED_KINDS:
            uncounted[Actor(actor.name), COUNTED_TOGETHER, "", COUNTED_TOGETHER] += 1
            return
        self._minute.kinds[actor.name] += 1
        uncounted[kind] = 0
        uncounted[kind] += not await self._store([actor.entry(act, object_id, outcome=outcome)])

    async def commit(self) -> None:
        """Write entries for the counted rejections, once their minute has passed."""
        minute, now = self._minute, self._clock.now()
        if now - minute.began < MINUTE_SECONDS:
            return
        self._minute = _Minute(now)
        counted = {kind: count for kind, count in minute.uncounted.items() if count}
        entries = [
            actor.entry(act, object_id, outcome=outcome) | {"count": count}
            for (actor, act, object_id, outcome), count in counted.items()
        ]
        if entries and not await self._store(entries):
            self._minute.uncounted.update(counted)

    async def _store(self, entries: Sequence[Entry]) -> bool:
        """Append *entries* in a separate transaction. Returns False if storage is unavailable."""

        def append(db: Connection) -> None:
            for entry in entries:
                self.append(db, entry)

        try:
            await self._database.write(append)
        except StorageUnavailable:
            return False
        return True

    # Reading

    async def page(
        self,
        *,
        before: int | None = None,
        limit: int = 50,
        since: float | None = None,
        until: float | None = None,
        **filters: str | None,
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """Return entries that match all *filters*, newest first, and the next *before* or None."""
        conditions: list[ColumnElement[bool]] = [
            _audit[name] == value for name, value in filters.items() if value is not None
        ]
        conditions += [] if before is None else [_audit.sequence < before]
        conditions += [] if since is None else [_audit.at >= since]
        conditions += [] if until is None else [_audit.at < until]
        query = select(tables.audit).where(*conditions).order_by(_audit.sequence.desc()).limit(limit + 1)
        rows = await self._database.read_slow(lambda db: db.execute(query).mappings().all())
        entries = [_public(row) for row in rows[:limit]]
        return entries, entries[-1]["sequence"] if len(rows) > limit else None

    async def export(self, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """Yield all entries after number *after*, oldest first."""
        async for row in self._rows(after):
            yield _public(row)

    async def verify(self, after: int = 0) -> Verdict:
        """Check every entry after number *after* against the one before it, and the last one against the chain's end.

        Entries that are appended meanwhile are checked too.
        """
        chain = await self._database.read_slow(lambda db: db.execute(_CURRENT).first())
        if chain is None:
            last = await self._database.read_slow(lambda db: db.execute(select(func.max(_audit.sequence))).scalar())
            return Verdict(0, None) if last is None else Verdict(0, None, last, "The end of the chain is missing.")
        key = self._key(chain)
        if not hmac.compare_digest(chain.seal, _end_mac(key, chain.sequence, chain.mac)):
            return Verdict(0, None, chain.sequence, "The end of the chain was altered.")
        mac = await self._read_mac(after)
        if mac is None:
            return Verdict(0, None, after, f"Entry {after} is missing.")
        checked, before = 0, after
        async for row in self._rows(after):
            if reason := _invalid_reason(key, before, mac, row, chain):
                return Verdict(checked, _head(before, mac), before + 1, f"Entry {before + 1} {reason}.")
            checked, before, mac = checked + 1, row["sequence"], row["mac"]
        if before < chain.sequence:
            return Verdict(checked, _head(before, mac), before + 1, f"Entry {before + 1} is missing.")
        return Verdict(checked, _head(before, mac))

    async def _read_mac(self, sequence: int) -> bytes | None:
        """Return the HMAC of an entry, which the next entry covers, or None if there is no such entry."""
        query = select(_audit.mac).where(_audit.sequence == sequence)
        return NO_MAC if not sequence else await self._database.read_slow(lambda db: db.execute(query).scalar())

    async def _rows(self, after: int) -> AsyncIterator[Mapping[Any, Any]]:
        while True:
            query = select(tables.audit).where(_audit.sequence > after).order_by(_audit.sequence).limit(VERIFY_STEP)
            rows = await self._database.read_slow(_fetch_all(query))
            for row in rows:
                yield row
            if len(rows) < VERIFY_STEP:
                return
            after = rows[-1]["sequence"]


def _fetch_all(query: Any) -> Callable[[Connection], Sequence[Mapping[Any, Any]]]:
    return lambda db: db.execute(query).mappings().all()


def _mac(key: bytes, before: bytes, row: Mapping[Any, Any]) -> bytes:
    return hmac.digest(key, before + to_json([row[name] for name in SIGNED]), hashlib.sha256)


def _end_mac(key: bytes, sequence: int, mac: bytes) -> bytes:
    return hmac.digest(key, b"end\0%d\0" % sequence + mac, hashlib.sha256)


def _head(sequence: int, mac: bytes) -> str | None:
    return f"{sequence}:{mac.hex()}" if sequence else None


def _invalid_reason(key: bytes, before: int, mac: bytes, row: Mapping[Any, Any], chain: Row[Any]) -> str:
    """Return why the entry after number *before* is invalid, or an empty string if it is valid."""
    if row["sequence"] != before + 1:
        return "is missing"
    if not hmac.compare_digest(row["mac"], _mac(key, mac, row)):
        return "was altered, or written under another key"
    if row["sequence"] == chain.sequence and row["mac"] != chain.mac:
        return "does not match the recorded end of the chain"
    return ""


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {**row, "at": utc_datetime(row["at"]), "mac": row["mac"].hex()}
