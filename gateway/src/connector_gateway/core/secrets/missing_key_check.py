"""A check that stored ciphertexts can be decrypted, so that a missing key fails at startup and not on every call."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, LargeBinary, Row, Select, func, select
from sqlalchemy import Connection as SqlConnection

from connector_gateway.core.secrets.vault import NAME_BYTES, Vault
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

EVENTS_CHECKED = 1000
"""Number of the oldest and of the newest events that are checked."""


Names = tuple[bytes, ...]
"""The key names with which decryptable ciphertexts begin."""


class MissingSecretKeys(Exception):
    """A stored ciphertext was encrypted with a key that is not set. The message lists the rows and the remedy."""


async def check_decryptable(database: Database, vault: Vault) -> None:
    """Check that connections, events, the secrets of hooks and webhooks, and the audit trail can be decrypted.

    Claims are not checked, since they are numerous and expire after a day. If the stored result of a claim cannot be
    decrypted, a retry returns ``secret_unreadable``, or ``outcome_unknown`` for an in-doubt write.
    """
    queries = _unreadable_queries(tuple(vault.key_names))

    def read(db: SqlConnection) -> tuple[Row[int, str], Sequence[str], Sequence[str], set[str], Sequence[str]]:
        return (
            db.execute(queries.connections).one(),
            db.scalars(queries.hooks).all(),
            db.scalars(queries.webhooks).all(),
            {name for query in queries.events for name in db.scalars(query)},
            db.scalars(queries.trails).all(),
        )

    (count, first), hooks, webhooks, events, trails = await database.read(read)
    affected = [f"{count} connections, {first} among them"] if count else []
    affected += (f"the hook secret of {connector}" for connector in hooks)
    affected += (f"the webhook {webhook_id}" for webhook_id in webhooks)
    affected += [f"events of {min(events)}"] if events else []
    affected += ("the audit trail" for _ in trails)
    if affected:
        raise MissingSecretKeys(
            f"The secret key that encrypted {' and '.join(affected)} is missing; add it to "
            "GATEWAY_DECRYPT_ONLY_KEYS. If it is lost, start with another database, or remove "
            "these ('connections remove', 'hooks forget', 'webhooks remove') and create them again; 'audit restart' "
            "begins a new chain of the audit trail."
        )


class _UnreadableQueries(NamedTuple):
    """The queries for rows that are encrypted with an unknown key."""

    connections: Select[int, str]
    """The number of such connections, and the first of them."""

    hooks: Select[str]
    webhooks: Select[str]
    events: Sequence[Select[str]]
    trails: Select[str]


@lru_cache(maxsize=1)
def _unreadable_queries(names: Names) -> _UnreadableQueries:
    connections, hooks = tables.connections.c, tables.hooks.c
    webhooks, trails = tables.webhooks.c, tables.audit_chain.c
    return _UnreadableQueries(
        connections=select(func.count(), func.min(connections.connection_id)).where(
            connections.deleted.is_(False), _has_unknown_key(connections.sealed, names)
        ),
        hooks=select(hooks.connector).where(_has_unknown_key(hooks.sealed, names)).order_by(hooks.connector),
        webhooks=select(webhooks.webhook_id)
        .where(_has_unknown_key(webhooks.sealed, names))
        .order_by(webhooks.webhook_id)
        .limit(10),
        events=list(_event_queries(names)),
        trails=select(trails.name).where(_has_unknown_key(trails.sealed, names)),
    )


def _event_queries(names: Names) -> Iterator[Select[str]]:
    """Yield queries for the connections of unreadable events among the oldest and the newest.

    A missing key is an old one or the newest. Checking all events would delay startup.
    """
    table, connections = tables.events.c, tables.connections.c
    for order in (table.observed_at, table.observed_at.desc()):
        edge = select(table.connection_id, table.sealed).order_by(order).limit(EVENTS_CHECKED).subquery().c
        unreadable = select(edge.connection_id).where(_has_unknown_key(edge.sealed, names)).distinct()
        yield unreadable.join(tables.connections, connections.connection_id == edge.connection_id).where(
            connections.deleted.is_(False)
        )


def _has_unknown_key(sealed: ColumnElement[bytes], names: Names) -> ColumnElement[bool]:
    return func.substr(sealed, 1, NAME_BYTES, type_=LargeBinary()).not_in(names)
