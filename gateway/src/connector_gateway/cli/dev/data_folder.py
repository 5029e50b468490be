"""The data folder of ``dev``: its files, its lock, and its removal by a fresh start.

``dev.json`` describes the running installation for tools. ``secrets.json`` contains the state that is retained, and
identifies a folder of ``dev``: files in other folders are never removed.
"""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from pydantic_core import from_json, to_json

from connector_gateway.storage.sql.sqlite_files import (
    DatabaseInUse,
    FileLock,
    UnusableDatabase,
    make_private_folder,
    write_private,
)

HOST = "127.0.0.1"
DEFAULT_FOLDER = Path(".data")
DESCRIPTION, STATE, FORMER_STATE = "dev.json", "secrets.json", "kept.json"
SANDBOX = "sandbox"
SECRETS = ("secret_key", "operator_token")
STATE_FILES = (
    DESCRIPTION,
    FORMER_STATE,
    "gateway.db",
    "gateway.db-wal",
    "gateway.db-shm",
    "gateway.db.epoch",
    STATE,
)
"""The files with state. The proof of ownership is last. Locks are not removed, since the next process needs them."""

State = Mapping[str, Any]
"""The retained state: secrets, workspace, keys and connections."""


@dataclass(frozen=True)
class DevInstallation:
    """The ports and the data folder of a dev installation."""

    port: int
    sandbox_port: int
    data: Path

    @property
    def base_url(self) -> str:
        """The base URL of the gateway."""
        return f"http://{HOST}:{self.port}"


def describe(data: Path) -> Mapping[str, Any]:
    """Return the description of the current or last installation in *data*, or an empty mapping."""
    return _read(data / DESCRIPTION)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = from_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def load_state(data: Path) -> State | None:
    """Return the state stored in *data*, or None if ``dev`` has never run there.

    Raises ``ClickException`` if the file is not one of ``dev``.
    """
    path = data / STATE
    try:
        state = from_json(path.read_bytes())
        secrets = {name: str(state[name]) for name in SECRETS}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise click.ClickException(
            f"{path} does not contain the secrets of an installation. Choose another folder with --data."
        ) from error
    # Earlier versions stored the rest in a separate file.
    return {**_read(data / FORMER_STATE), **state, **secrets}


def save_state(data: Path, state: State) -> None:
    """Store *state* in *data*."""
    write(data / STATE, state)
    (data / FORMER_STATE).unlink(missing_ok=True)


def write(path: Path, content: Any) -> None:
    """Write JSON to a file that only this user can read."""
    write_private(path, to_json(content, indent=2).decode())


def is_installed(data: Path) -> bool:
    """Return True if *data* contains a dev installation."""
    try:
        return load_state(data) is not None
    except click.ClickException:
        return False


def is_running(data: Path) -> bool:
    """Return True if ``dev`` is running on *data* now."""
    lock = FileLock(data / "dev", checked=False)
    try:
        lock.take()
    except DatabaseInUse:
        return True
    except UnusableDatabase:
        return False
    lock.release()
    return False


def start_command(data: Path) -> str:
    """Return the command that starts ``dev`` on *data*."""
    return "make run" if data == DEFAULT_FOLDER else f'make run ARGS="--data {data}"'


def not_running_message(data: Path) -> str:
    """Return the sentences that report that ``dev`` does not run on *data*, and how to start it."""
    return f"dev is not running in {data}. Start it with '{start_command(data)}'."


def _reachable_url(data: Path) -> str | None:
    """Return the URL of the installation in *data*, or None if it does not accept connections."""
    base_url: str | None = describe(data).get("base_url")
    address = urlsplit(base_url or "")
    with socket.socket() as probe:
        if not address.hostname or probe.connect_ex((address.hostname, address.port or 80)):
            return None
    return base_url


@contextmanager
def lock_folder(data: Path, seconds: float) -> Iterator[None]:
    """Lock the folder, creating it if needed. Waits up to *seconds* for an exiting process to release it."""
    _check_writable(data)
    _check_owner(data)
    _make_folder(data)
    deadline = time.monotonic() + seconds
    with _acquired(FileLock(data / "dev", description=f"The folder {data}", checked=False), deadline, data):
        with _acquired(_gateway_lock(data), deadline):
            pass
        yield


def clear(data: Path) -> None:
    """Remove the state of earlier starts. Raises ``ClickException`` if a gateway uses it."""
    # The lock of a running gateway, which has the database open.
    with _acquired(_gateway_lock(data), 0.0):
        for name in STATE_FILES:
            try:
                (data / name).unlink(missing_ok=True)
            except OSError as error:
                raise click.ClickException(f"{data / name} cannot be removed: {error.strerror}.") from error


def _make_folder(data: Path) -> None:
    try:
        make_private_folder(data, "gateway.db")
    except FileExistsError as error:
        raise click.ClickException(f"{data} is a file. Choose a folder with --data.") from error
    except OSError as error:
        raise click.ClickException(
            f"The folder {data} cannot be created: {error.strerror}. Choose another with --data."
        ) from error


def _gateway_lock(data: Path) -> FileLock:
    return FileLock((data / "gateway.db").resolve(), checked=False)


def _check_writable(data: Path) -> None:
    if data.is_dir() and not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise click.ClickException(f"This user cannot write to the folder {data}. Choose another with --data.")


def _check_owner(data: Path) -> None:
    """Reject a folder with files of the same names that ``dev`` did not create."""
    present = [name for name in STATE_FILES if (data / name).exists()]
    if present and load_state(data) is None:
        raise click.ClickException(
            f"The folder {data} contains {', '.join(present)}, not created by dev. Choose another with --data."
        )


@contextmanager
def _acquired(lock: FileLock, deadline: float, data: Path | None = None) -> Iterator[None]:
    """Acquire *lock*, waiting until *deadline*. Fails immediately if ``dev`` is running on *data*."""
    while True:
        try:
            lock.take()
            break
        except UnusableDatabase as error:
            raise click.ClickException(str(error)) from error
        except DatabaseInUse as taken:
            if data is not None and (base_url := _reachable_url(data)):
                raise click.ClickException(
                    f"dev is already running in {data}, at {base_url}. Use it, stop it, or choose another folder "
                    "with --data and other ports with --port and --sandbox-port."
                ) from taken
            if time.monotonic() > deadline:
                raise click.ClickException(str(taken)) from taken
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()
