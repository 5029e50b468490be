"""With which secrets that is sealed which is kept: a secret that is missing is told at the start, not by every call."""

from collections.abc import Sequence

from sqlalchemy import Column, ColumnElement, LargeBinary, Row, Select, func, select
from sqlalchemy import Connection as SqlConnection

from connector_gateway.core.connections.vault import NAME_BYTES, Vault
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database


class SecretsMissing(Exception):
    """What is kept was sealed with a secret that is not set; the message says what, and what to do."""


async def check_seals(database: Database, vault: Vault) -> None:
    """Make sure that connections, and what deliveries and webhooks are signed with, can be opened.

    Writes in doubt are not looked through, since they are many and last a day; one that cannot be opened is
    ``outcome_unknown``.
    """

    def ask(reading: SqlConnection) -> tuple[Row[int, str], Sequence[str], Sequence[str]]:
        hooks, webhooks = reading.scalars(_hooks(vault)).all(), reading.scalars(_webhooks(vault)).all()
        return reading.execute(_connections(vault)).one(), hooks, webhooks

    (count, first), hooks, webhooks = await database.read(ask)
    told = [f"{count} connections, {first} among them"] if count else []
    told += (f"the deliveries of {connector}" for connector in hooks)
    told += (f"the webhook {webhook_id}" for webhook_id in webhooks)
    if told:
        raise SecretsMissing(
            f"GATEWAY_SECRET_KEYS lacks the secret that sealed what belongs to {' and to '.join(told)}; add that "
            "secret behind the present ones, after a comma. If it is lost, start with another database, or remove "
            "these ('connections remove', 'hooks forget', 'webhooks remove') and make them again."
        )


def _connections(vault: Vault) -> Select[int, str]:
    """How many connections cannot be opened, and the first of them."""
    table = tables.connections.c
    counted = select(func.count(), func.min(table.connection_id))
    return counted.where(table.deleted.is_(False), _sealed_elsewhere(table.sealed, vault))


def _hooks(vault: Vault) -> Select[str]:
    """The connectors whose secret cannot be opened."""
    table = tables.hooks.c
    return select(table.connector).where(_sealed_elsewhere(table.sealed, vault)).order_by(table.connector)


def _webhooks(vault: Vault) -> Select[str]:
    """The first webhooks whose secrets cannot be opened."""
    table = tables.webhooks.c
    return select(table.webhook_id).where(_sealed_elsewhere(table.sealed, vault)).order_by(table.webhook_id).limit(10)


def _sealed_elsewhere(sealed: Column[bytes], vault: Vault) -> ColumnElement[bool]:
    return func.substr(sealed, 1, NAME_BYTES, type_=LargeBinary()).not_in(vault.names)
