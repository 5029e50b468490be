"""PgBouncer in front of a test server, if the program is available."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from sqlalchemy import make_url

from harness.ports import free_port
from harness.wait import wait_until

CONFIGURATION = """
[databases]
* = host={host} port=5432 user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 12
ignore_startup_parameters = {ignored}
"""


@contextmanager
def run_pgbouncer(address: str, *, ignored: str = "extra_float_digits") -> Iterator[str]:
    """Run a pooler for *address* that shares sessions between transactions, and yield its URL."""
    program = os.environ.get("TESTS_PGBOUNCER") or shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed here")
    url, port = make_url(address), free_port()
    host = str(url.query["host"])
    with TemporaryDirectory(prefix="pgbouncer-") as folder:
        path = Path(folder) / "pgbouncer.ini"
        path.write_text(CONFIGURATION.format(host=host, user=url.username, port=port, ignored=ignored), "utf-8")
        Path(folder).chmod(0o755)
        # It does not run as root; everyone who can read the server's socket can run it.
        process = subprocess.Popen([program, "--user", Path(host).owner(), path], stderr=subprocess.DEVNULL)
        through = url.set(host="127.0.0.1", port=port, query={})
        try:
            wait_until(lambda: process.poll() is not None or _answers(through.render_as_string(hide_password=False)))
            assert process.poll() is None
            yield through.render_as_string(hide_password=False)
        finally:
            process.kill()
            process.wait()


def _answers(address: str) -> bool:
    try:
        psycopg.connect(address.replace("+psycopg", ""), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
