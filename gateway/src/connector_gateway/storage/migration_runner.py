"""Schema migrations, run by one process while others wait, on a server that stays in use."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, exc, text

from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

MIGRATION_KEY = 0x636F6E6E65637401
"""The number of the advisory lock for migrations, next to that of the serving process."""

LOCK_MILLISECONDS = 2_000
"""The maximum wait of a migration for a table lock, in milliseconds, because calls wait behind it."""

MAX_ATTEMPTS = 20
"""The number of attempts for a step that does not get its lock in that time."""

LOCK_NOT_AVAILABLE = "55P03"


def migrate(engine: Engine) -> None:
    """Bring the schema up to date.

    Raises ``UnusableDatabase`` if it is newer than this version, or older than the first release.
    """
    version = _version(engine)
    if version == newest_version():
        return
    if version is not None:
        _check_supported(version)
    configuration = _configuration()
    if version is None or engine.dialect.name == "sqlite":
        _upgrade(engine, configuration, "head")
    # One transaction for each step, so that a brief lock of one step is not held while the next one reads a table.
    while _version(engine) != newest_version():
        _upgrade(engine, configuration, "+1")


def newest_version() -> str:
    """Return the newest known version."""
    return max(versions())


def versions() -> list[str]:
    """Return the known versions, in no particular order."""
    return [path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")]


def _check_supported(version: str) -> None:
    if version > newest_version():
        raise UnusableDatabase(
            f"The database was brought to schema {version} by a newer version of this service, while this "
            f"version knows schemas up to {newest_version()}; start the newer version, or restore an earlier copy."
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


def _upgrade(engine: Engine, configuration: "Config", revision: str) -> None:
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        try:
            _upgrade_once(engine, configuration, revision)
        except exc.DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE or not attempts_left:
                raise
        else:
            break


def _upgrade_once(engine: Engine, configuration: "Config", revision: str) -> None:
    from alembic import command  # noqa: PLC0415  # slow to load

    with engine.connect().execution_options(writes=True) as connection:
        if engine.dialect.name != "sqlite":
            _acquire_migration_lock(connection)
        # Another process may have migrated while this one waited.
        if _version_on(connection) != newest_version():
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, revision)
        connection.commit()


def _acquire_migration_lock(connection: Connection) -> None:
    """Ensure that only this process migrates, without a timeout."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_KEY})
    connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}"))
