"""The check at the start that a secret key is there for what is stored encrypted, so that not every call finds out."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, LargeBinary, Row, Select, func, select
from sqlalchemy import Connection as SqlConnection

from connector_gateway.core.connections.vault import NAME_BYTES, Vault
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

EVENTS_CHECKED = 1000
"""How many of the oldest and of the newest events are looked at."""


Names = tuple[bytes, ...]
"""How what can be opened begins."""


class MissingSecretKeys(Exception):
    """What is kept was sealed with a secret that is not set; the message says what, and what to do."""


async def check_decryptable(database: Database, vault: Vault) -> None:
    """Make sure that connections, events, the keys of deliveries and webhooks, and the audit trail can be decrypted.

    Claims are not looked through, since they are many and last a day: a repeat whose first result cannot be decrypted
    is ``secret_unreadable``, and one of a write in doubt is ``outcome_unknown``.
    """
    unreadable = _unreadable(tuple(vault.names))

    def ask(reading: SqlConnection) -> tuple[Row[int, str], Sequence[str], Sequence[str], set[str], Sequence[str]]:
        return (
            reading.execute(unreadable.connections).one(),
            reading.scalars(unreadable.hooks).all(),
            reading.scalars(unreadable.webhooks).all(),
            {name for query in unreadable.events for name in reading.scalars(query)},
            reading.scalars(unreadable.trails).all(),
        )

    (count, first), hooks, webhooks, events, trails = await database.read(ask)
    told = [f"{count} connections, {first} among them"] if count else []
    told += (f"the deliveries of {connector}" for connector in hooks)
    told += (f"the webhook {webhook_id}" for webhook_id in webhooks)
    told += [f"events of {min(events)}"] if events else []
    told += ("the audit trail" for _ in trails)
    if told:
        raise MissingSecretKeys(
            f"The secret key that encrypted what belongs to {' and to '.join(told)} is missing; add it to "
            "GATEWAY_DECRYPT_ONLY_KEYS. If it is lost, start with another database, or remove "
            "these ('connections remove', 'hooks forget', 'webhooks remove') and make them again; 'audit restart' "
            "begins a new chain of the audit trail."
        )


class _Unreadable(NamedTuple):
    """The statements that find what was sealed with a key that is not among the known ones."""

    connections: Select[int, str]
    """How many there are, and the first of them."""

    hooks: Select[str]
    webhooks: Select[str]
    events: Sequence[Select[str]]
    trails: Select[str]


@lru_cache(maxsize=1)
def _unreadable(names: Names) -> _Unreadable:
    connections, hooks = tables.connections.c, tables.hooks.c
    webhooks, trails = tables.webhooks.c, tables.audit_chain.c
    return _Unreadable(
        connections=select(func.count(), func.min(connections.connection_id)).where(
            connections.deleted.is_(False), _sealed_elsewhere(connections.sealed, names)
        ),
        hooks=select(hooks.connector).where(_sealed_elsewhere(hooks.sealed, names)).order_by(hooks.connector),
        webhooks=select(webhooks.webhook_id)
        .where(_sealed_elsewhere(webhooks.sealed, names))
        .order_by(webhooks.webhook_id)
        .limit(10),
        events=list(_events(names)),
        trails=select(trails.name).where(_sealed_elsewhere(trails.sealed, names)),
    )


def _events(names: Names) -> Iterator[Select[str]]:
    """Select the connections of unreadable events among the oldest and the newest.

    A key that is missing is a former one or the newest. To look through all events would delay the start.
    """
    table, kept = tables.events.c, tables.connections.c
    for order in (table.observed_at, table.observed_at.desc()):
        edge = select(table.connection_id, table.sealed).order_by(order).limit(EVENTS_CHECKED).subquery().c
        unreadable = select(edge.connection_id).where(_sealed_elsewhere(edge.sealed, names)).distinct()
        yield unreadable.join(tables.connections, kept.connection_id == edge.connection_id).where(
            kept.deleted.is_(False)
        )


def _sealed_elsewhere(sealed: ColumnElement[bytes], names: Names) -> ColumnElement[bool]:
    return func.substr(sealed, 1, NAME_BYTES, type_=LargeBinary()).not_in(names)
