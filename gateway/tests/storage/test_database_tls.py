"""PostgreSQL with TLS, as requested by a URL with ``sslmode=verify-full``."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql.database import Database
from harness.requirement import requirement
from harness.tls_proxy import behind_tls, certificate


@pytest.fixture
def socket_of_server(new_postgres: str) -> Path:
    return Path(str(make_url(new_postgres).query["host"])) / ".s.PGSQL.5432"


def build_url(database: str, port: int, certified: Path) -> str:
    options = {"sslmode": "verify-full", "sslrootcert": str(certified)}
    url = make_url(database).set(drivername="postgresql", host="127.0.0.1", port=port, query=options)
    return url.render_as_string(hide_password=False)


@pytest.fixture
async def tls_database_url(new_postgres: str, socket_of_server: Path, tmp_path: Path) -> AsyncIterator[str]:
    certified = certificate(tmp_path)
    async with behind_tls(socket_of_server, certified, postgres=True) as port:
        yield build_url(new_postgres, port, certified)


@requirement("deployment-5")
async def test_reads_writes_and_locks_use_tls(tls_database_url: str) -> None:
    async with Database(tls_database_url) as database:
        written = await database.write(lambda db: db.execute(text("SELECT 1")).scalar())
        read = await database.read(lambda db: db.execute(text("SELECT 2")).scalar())

    assert (1, 2) == (written, read)


@requirement("deployment-5")
async def test_the_server_is_unreachable_without_tls(tls_database_url: str) -> None:
    with pytest.raises(StorageUnavailable):
        async with Database(tls_database_url.replace("verify-full", "disable"), seconds=2):
            pass


@requirement("deployment-5")
async def test_a_trusted_certificate_of_another_server_is_rejected(
    new_postgres: str, socket_of_server: Path, tmp_path: Path
) -> None:
    certified = certificate(tmp_path, "127.0.0.2")
    async with behind_tls(socket_of_server, certified, postgres=True) as port:
        with pytest.raises(StorageUnavailable) as raised:
            async with Database(build_url(new_postgres, port, certified), seconds=2):
                pass

    assert 'does not match host name "127.0.0.1"' in raised.value.private


@requirement("deployment-5")
async def test_an_untrusted_certificate_is_rejected(tls_database_url: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = certificate(tmp_path / "other")
    url = (
        make_url(tls_database_url).update_query_dict({"sslrootcert": str(other)}).render_as_string(hide_password=False)
    )

    with pytest.raises(StorageUnavailable) as raised:
        async with Database(url, seconds=2):
            pass

    assert "certificate verify failed" in raised.value.private
