"""What tells this installation from others that use the same shared store."""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

ONLY = 1
"""The identifier of the one row."""


async def identify(database: Database) -> tuple[str, bool]:
    """The identifier of the installation on *database*, and whether it was given just now."""
    return await database.write(identified)


def identified(writing: Connection) -> tuple[str, bool]:
    """Return the identifier of the installation, and whether it was given just now."""
    new = insert(tables.installation).values(row_id=ONLY, installation_id=ulid(), epoch=0).on_conflict_do_nothing()
    given = writing.execute(new.returning(tables.installation.c.installation_id)).scalar()
    if given is not None:
        return given, True
    return writing.execute(select(tables.installation.c.installation_id)).scalar_one(), False
