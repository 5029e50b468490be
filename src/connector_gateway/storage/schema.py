"""Brings the schema up to date, by one process while the others wait, and on a server that others go on using."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, exc, text

from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

MIGRATION_KEY = 0x636F6E6E65637401
"""The number of the advisory lock under which the schema is changed, next to that of who serves."""

LOCK_MILLISECONDS = 2_000
"""How long calls may wait behind a migration that waits for a table."""

TRIES = 20
"""How often a step is tried that got no lock in that time."""

LOCK_NOT_AVAILABLE = "55P03"


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; ``Unusable`` if it is a newer version's, or from before the first release."""
    version = _version(engine)
    if version == newest():
        return
    if version is not None:
        _check(version)
    configuration = _configuration()
    if version is None or engine.dialect.name == "sqlite":
        _upgrade(engine, configuration, "head")
    # A transaction for each step: a lock that one step needs for a moment is not kept while the next one reads a table.
    while _version(engine) != newest():
        _upgrade(engine, configuration, "+1")


def newest() -> str:
    """The newest version that is known here."""
    return max(versions())


def versions() -> list[str]:
    """The versions that are known here, in no order."""
    return [path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")]


def _check(version: str) -> None:
    if version > newest():
        raise UnusableDatabase(
            f"The database was brought to schema {version} by a newer version of this service, which knows {newest()} "
            "as the newest; start that version, or restore a copy from before."
        )
    if version < min(versions()):
        raise UnusableDatabase(
            f"The database has schema {version}, from before the first release, which this version does not upgrade; "
            "start with an empty database."
        )


def _version(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return _version_on(connection)


def _version_on(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _configuration() -> "Config":
    from alembic.config import Config  # noqa: PLC0415  # needed once in the life of a database, and slow to load

    configuration = Config()
    configuration.set_main_option("script_location", str(MIGRATIONS))
    return configuration


def _upgrade(engine: Engine, configuration: "Config", to: str) -> None:
    for left in reversed(range(TRIES)):
        try:
            _upgrade_once(engine, configuration, to)
        except exc.DBAPIError as fault:
            if getattr(fault.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE or not left:
                raise
        else:
            break


def _upgrade_once(engine: Engine, configuration: "Config", to: str) -> None:
    from alembic import command  # noqa: PLC0415  # the same

    with engine.connect().execution_options(writes=True) as connection:
        if engine.dialect.name != "sqlite":
            _lock(connection)
        # Another process may have been quicker while this one waited.
        if _version_on(connection) != newest():
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, to)
        connection.commit()


def _lock(connection: Connection) -> None:
    """Have this process alone migrate, however long that takes."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_KEY})
    connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}"))
